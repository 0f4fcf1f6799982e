"""Settings entries for servers of a registry: a command or URL, and the values still missing.

Text from a registry is data. A command is a program and a list of arguments, never a line for a
shell. A `${` in the registry's text is escaped, or its author could have the value of any variable
of this machine sent anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise

from ..core.errors import BadSetting
from ..core.json import JsonObject
from .server_json import (
    REMOTE_TYPES,
    RUNNERS,
    Package,
    Refused,
    RegistryInput,
    Remote,
    Server,
    Variable,
    tag_and_digest,
)

ALLOWED = {
    "image-tag": "an image that is named by its tag, or by none: its owner may change what runs",
    "runtime-options": "options of npx, uvx or docker that give a server more than it needs",
    "secret-argument": "a secret among the arguments or in the URL, where others can see it",
    "deprecated": "a server that its registry calls deprecated",
}
"""Risks that are refused unless a person allows them, by the word for `--allow`."""

_ORDER = (REMOTE_TYPES[0], *RUNNERS, REMOTE_TYPES[1])
# npx and dnx ask before they fetch a package, and no one could answer.
_OWN_OPTIONS = {"npm": ("-y",), "oci": ("run", "-i", "--rm")}
# Any other option may fetch from elsewhere, or open the machine to the server.
_HARMLESS_OPTIONS = {
    "npm": {"-y", "--yes", "-q", "--quiet", "--silent"},
    "pypi": {"-q", "--quiet", "--no-progress", "--isolated"},
    "nuget": {"-y", "--yes"},
    "oci": {"run", "-i", "--interactive", "--rm", "--init", "--read-only"},
}
_VARIABLE = re.compile(r"\{([A-Za-z_][A-Za-z0-9_.-]*)\}")
_SETTINGS_VARIABLE = re.compile(r"(?<!\$)\$\{[^{}]*\}")
_NOT_IN_VARIABLES = re.compile(r"[^A-Z0-9]+")


@dataclass(frozen=True, slots=True)
class Need:
    """A value that only a person can provide, in the environment variable `variable`.

    `where` names the part of the entry that needs it, and `spec` describes it.
    """

    variable: str
    where: str
    spec: Variable

    @property
    def name(self) -> str:
        """The name of the value for a person."""
        return self.spec.label.lstrip("-")


@dataclass(frozen=True, slots=True)
class Composition:
    """An entry of the settings, and the package or remote that it uses.

    A person must provide `needs` and may provide `optional`. `risk` says what the runner exposes of
    this machine; `passed_over` says why other packages and remotes were not used.
    """

    entry: JsonObject
    way: Package | Remote
    needs: tuple[Need, ...]
    optional: tuple[Need, ...]
    risk: str
    passed_over: tuple[str, ...]


def compose(
    server: Server,
    name: str,
    *,
    values: Mapping[str, str] | None = None,
    allow: Collection[str] = (),
    prefer: str = "",
    other_variables: Collection[str] = (),
) -> Composition:
    """Return the entry of a server under a name; `prefer` is a type of package, or `remote`.

    `other_variables` are variables of other entries: this server must not get their values. The
    order of preference is: a remote over Streamable HTTP, npm, pypi, oci, nuget, a remote over SSE.

    Raises:
        Refused: no package or remote may be used; says why for each.
        BadSetting: a value of `values` does not fit, or the server does not ask for it.
    """
    problems: list[str] = []
    for way in _ways(server, prefer):
        try:
            return _Composer(name, values or {}, allow, other_variables).compose(
                way, tuple(problems)
            )
        except _Unusable as reason:
            problems.append(str(reason))
    problem = "; ".join(dict.fromkeys(problems)) or "it names neither a package nor a remote"
    if prefer and not problems:
        types = ", ".join(dict.fromkeys(x.type for x in (*server.packages, *server.remotes)))
        problem = f"it has nothing of type {prefer!r}{f', only {types}' if types else ''}"
    raise Refused(server.name, problem)


class _Unusable(Exception):
    """The package or remote cannot be used; says why."""


def _ways(server: Server, prefer: str) -> list[Package | Remote]:
    ways: list[Package | Remote] = [*server.packages, *server.remotes]
    if prefer:
        ways = [x for x in ways if prefer in (x.type, "remote" if isinstance(x, Remote) else "")]
    return sorted(ways, key=lambda x: _ORDER.index(x.type) if x.type in _ORDER else len(_ORDER))


class _Composer:
    """Builder of the entry for one package or remote; it collects the values that it needs."""

    def __init__(
        self,
        name: str,
        values: Mapping[str, str],
        allow: Collection[str],
        other_variables: Collection[str],
    ) -> None:
        self._prefix = _as_variable(name) or "SERVER"
        if self._prefix[0].isdigit():
            self._prefix = f"SERVER_{self._prefix}"
        self._person_values, self._allow, self._other_variables = values, allow, other_variables
        self._consumed: set[str] = set()
        self._needs: dict[str, Need] = {}
        self._risk = ""

    def compose(self, way: Package | Remote, passed_over: tuple[str, ...]) -> Composition:
        if problem := way.problem or (way.unsupported if isinstance(way, Package) else ""):
            raise _Unusable(problem)
        entry = self._remote(way) if isinstance(way, Remote) else self._package(way)
        if unused := sorted({*self._person_values} - self._consumed):
            names = ", ".join(sorted(self._needs)) or "nothing"
            raise BadSetting(f"Nothing asks for {', '.join(unused)}. It asks for {names}.")
        needs = self._needs.values()
        return Composition(
            entry, way, tuple(x for x in needs if x.spec.is_required),
            tuple(x for x in needs if not x.spec.is_required), self._risk, passed_over,
        )  # fmt: skip

    def _require(self, word: str, is_fine: bool, reason: str) -> None:
        if not is_fine and word not in self._allow:
            raise _Unusable(f"{reason} (to allow it: --allow {word})")

    # Remotes

    def _remote(self, remote: Remote) -> JsonObject:
        has_secret = any(x.is_secret for x in remote.variables.values())
        self._require("secret-argument", not has_secret, "its URL has a secret in it")
        unknown = {x: Variable(name=x) for x in _VARIABLE.findall(remote.url)}
        url = self._fill(remote.url, {**unknown, **remote.variables}, "the URL")
        if {"{", "}"} & {*_SETTINGS_VARIABLE.sub("", url)}:
            raise _Unusable("its URL has braces that no variable fills")
        if "@" in url.partition("://")[2].partition("/")[0]:
            raise _Unusable("its URL has a user before the host, which may be taken for the host")
        entry: JsonObject = {
            "type": "http" if remote.type == REMOTE_TYPES[0] else "sse",
            "url": url,
        }
        headers = self._values(remote.headers, "the header")
        return entry | ({"headers": headers} if headers else {})

    def _values(
        self, inputs: Iterable[RegistryInput], kind: str, *, own_name: bool = False
    ) -> JsonObject:
        """Return the inputs that have a value, by name."""
        texts = {x.name: self._text(x, f"{kind} {x.name}", own_name=own_name) for x in inputs}
        return {name: text for name, text in texts.items() if text is not None}

    # Packages

    def _package(self, package: Package) -> JsonObject:
        runner = RUNNERS[package.type]
        for argument in (*package.runtime_arguments, *package.package_arguments):
            variables = argument.variables.values()
            is_secret = argument.is_secret or any(x.is_secret for x in variables)
            label = argument.flag or argument.label
            reason = f"it takes the secret {label} as an argument, which every program here can see"
            self._require("secret-argument", not is_secret, reason)
        options = self._words(package.runtime_arguments)
        environment = self._values(package.environment_variables, "the variable", own_name=True)
        if risky := [x for x in options if x not in _HARMLESS_OPTIONS[package.type]]:
            self._risk = f"{runner} is given {' '.join(risky)}"
            self._require("runtime-options", False, self._risk)
        own_options = _OWN_OPTIONS.get(package.type, ())
        words = [
            *own_options,
            *(x for x in options if x not in own_options),
            *(x for name in sorted(environment) if package.type == "oci" for x in ("-e", name)),
            *self._package_words(package, self._words(package.package_arguments)),
        ]
        entry: JsonObject = {"command": runner, "args": words}
        return entry | ({"env": environment} if environment else {})

    def _package_words(self, package: Package, arguments: list[str]) -> list[str]:
        name, version = package.identifier, package.version
        if package.type == "oci":
            return [self._image(package), *arguments]
        if package.type == "nuget":
            return [f"{name}@{version}", "--yes", *(["--", *arguments] if arguments else [])]
        exact = f"{name}=={version}" if package.type == "pypi" else f"{name}@{version}"
        return [exact, *arguments]

    def _image(self, package: Package) -> str:
        image, (tag, has_digest) = package.identifier, tag_and_digest(package.identifier)
        if not tag and not has_digest and package.version:
            tag, image = package.version, f"{image}:{package.version}"
        by_tag = f"is named by the tag {tag!r} only" if tag else "has neither a tag nor a digest"
        reason = f"its image {image} {by_tag}, so another one may run tomorrow"
        self._require("image-tag", has_digest, reason)
        return image

    def _words(self, arguments: Iterable[RegistryInput]) -> list[str]:
        return [word for argument in arguments for word in self._words_of(argument)]

    def _words_of(self, argument: RegistryInput) -> list[str]:
        """Return the words of an argument: its flag and its value, or none if it is omitted.

        A flag and its value are two words, which every program understands; a value that begins
        with `-` is joined to its flag.
        """
        flag = argument.flag
        where = f"the argument {flag or argument.label}"
        if flag and _is_switch(argument):
            return [flag] if argument.is_required else []
        text = self._text(argument, where)
        if text is None:
            return []
        if flag and argument.format == "boolean":
            if text not in ("true", "false"):
                raise _Unusable(f"{where} is a switch, and its value is missing")
            return [flag] if text == "true" else []
        if flag and text.startswith("-"):
            return [f"{flag}={text}"]
        return [flag, text] if flag else [text]

    # Values

    def _text(self, spec: Variable, where: str, *, own_name: bool = False) -> str | None:
        """Return the text of an input for the settings, or None if it is omitted."""
        need = self._need(spec, where, own_name=own_name)
        text = spec.value
        if text is None:
            if (value := self._value_of(need)) is not None:
                return value
            text = spec.default
        if text is not None:
            variables = spec.variables if isinstance(spec, RegistryInput) else dict[str, Variable]()
            return self._fill(text, variables, where)
        same = self._needs.setdefault(need.variable, need)
        if not spec.is_required:
            return None
        if not same.spec.is_required:
            self._needs[need.variable] = need
        return f"${{{need.variable}}}"

    def _fill(self, text: str, variables: Mapping[str, Variable], where: str) -> str:
        """Return a text of the registry with its variables filled in; each must have a value.

        Only the person's values may name variables of the settings: `${` is escaped, and a `$` must
        not end up before a `{`.
        """
        pieces: list[str] = []
        end = 0
        for match in _VARIABLE.finditer(text):
            if variable := variables.get(match[1]):
                needed = variable.model_copy(update={"is_required": True})
                pieces += (_escape(text[end : match.start()]), self._text(needed, where) or "")
                end = match.end()
        pieces.append(_escape(text[end:]))
        for before, after in pairwise(filter(None, pieces)):
            if before.endswith("$") and after.startswith(("{", "$")):
                raise _Unusable("it has a $ before a value, which settings read as a variable")
        return "".join(pieces)

    def _need(self, spec: Variable, where: str, *, own_name: bool = False) -> Need:
        """Return the need for a value, with this entry's prefix in its variable.

        Two servers may both have a `port`, and PATH always exists. A variable of the server's
        environment keeps its name if no other entry uses it.
        """
        variable = _as_variable(spec.label) or "VALUE"
        if own_name and spec.name not in self._other_variables:
            variable = spec.name
        elif variable in self._other_variables or not variable.startswith(f"{self._prefix}_"):
            variable = f"{self._prefix}_{variable}"
        return Need(variable, where, spec)

    def _value_of(self, need: Need) -> str | None:
        for key in (need.variable, need.name):
            if key in self._person_values:
                self._consumed.add(key)
                return _check_value(need, self._person_values[key])
        return None


def _as_variable(name: str) -> str:
    return _NOT_IN_VARIABLES.sub("_", name.upper()).strip("_")


def _escape(text: str) -> str:
    """Return a text with `${` escaped, so that settings read it literally."""
    return text.replace("${", "$${")


def _is_switch(argument: RegistryInput) -> bool:
    """Return whether nothing indicates that a flag takes a value."""
    hints = (argument.value_hint, argument.description, argument.placeholder, argument.choices)
    has_value = argument.value is not None or argument.default is not None
    return not has_value and not any(hints) and argument.format != "boolean"


def _check_value(need: Need, value: str) -> str:
    """Return a person's value in the form for the settings.

    Raises:
        BadSetting: it does not fit, or is a secret, which only a variable may hold.
    """
    if value.startswith("${") and value.endswith("}"):
        return value
    if need.spec.is_secret:
        raise BadSetting(
            f"{need.name} is a secret, and is never written into settings. Set the environment "
            f"variable {need.variable} instead; the entry takes it from there."
        )
    if not value.isprintable():
        raise BadSetting(f"{need.name} has a control character, which no program accepts.")
    choices = need.spec.choices or (("true", "false") if need.spec.format == "boolean" else ())
    if choices and value not in choices:
        raise BadSetting(f"{need.name} is {value!r}. Give one of {', '.join(choices)}.")
    return value
