"""From a server of a registry to an entry of the settings: the way, the command, what is missing.

Everything is data: a program and a list of arguments, never a shell. The entry is switched off and
locked; whoever wants it reads it first.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from ..core.errors import BadSetting
from ..core.json import JsonObject
from .placeholders import GIVEN, Need, NotWritable, Values, finished, prefix_of
from .server_json import REMOTE_TYPES, RUNNERS
from .values import Argument, Package, Refused, Remote, Server
from .versions import tag_and_digest

ALLOWED = {
    "image-tag": "an image that is named by its tag, or not even by one: whoever owns it may "
    "change what runs",
    "runtime-options": "options of npx, uvx or docker that give a server more than it needs",
    "secret-argument": "a secret among the arguments or in the URL, which others can see",
    "deprecated": "a server that its registry calls deprecated",
}
"""What is refused unless a person allows it, by the word that does."""

_ORDER = (REMOTE_TYPES[0], *RUNNERS, REMOTE_TYPES[1])
# What is harmless before the package; anything else may fetch from elsewhere or open the machine.
# A switch has no value: that would be read as the package.
_SWITCHES = {
    "npx": {"-y", "--yes", "-q", "--quiet", "--silent"},
    "uvx": {"-q", "--quiet", "--no-progress", "--isolated"},
    "dnx": {"-y", "--yes"},
    "docker": {"run", "-i", "--interactive", "--rm", "--init", "--read-only"},
}
_WITH_VALUE = {"--cap-drop", "--memory", "-m", "--cpus", "--pids-limit", "--platform", "--workdir",
               "-w", "--user"}  # fmt: skip
_MOUNTS = {"-v", "--volume", "--mount"}
_ENVIRONMENT = {"-e", "--env"}
_BOOLEAN = "boolean"
_FROM_HOST = re.compile(r"(?:^|,)\s*(?:src|source|volume-opt=device)=([^,]*)", re.IGNORECASE)
_ROOT = re.compile(r"(?:root|0*)(?::.*)?")
_VOLUME = re.compile(r"[A-Za-z0-9][\w.-]*", re.ASCII)
_SETTINGS_VARIABLE = re.compile(r"(?<!\$)\$\{[^{}]*\}")


@dataclass(frozen=True, slots=True)
class Composition:
    """An entry for the settings. `way` is what it uses; `needs` are what only a person can give.

    `optional` may be given besides, `remarks` are what to know of the way, `risks` what its runner
    opens of this machine; `passed_over` says why the others were not taken.
    """

    entry: JsonObject
    way: Package | Remote
    needs: tuple[Need, ...]
    optional: tuple[Need, ...]
    remarks: tuple[str, ...]
    risks: tuple[str, ...]
    passed_over: tuple[str, ...]


def compose(
    server: Server,
    name: str,
    *,
    given: Mapping[str, str] | None = None,
    allow: Collection[str] = (),
    prefer: str = "",
    taken: Collection[str] = (),
) -> Composition:
    """Return the entry of a server under a name; `prefer` is a type of package, or `remote`.

    `taken` are variables that other entries use: this server is not to be given their values.

    The way is the first of: a remote over Streamable HTTP, npm, pypi, oci, nuget, a remote over
    SSE. One that may not be used is passed over.

    Raises:
        Refused: none may be used; says why, of each.
        BadSetting: a value that was given does not fit, or nothing asks for it.
    """
    passed: list[str] = []
    for way in _ways(server, prefer):
        try:
            values = Values(prefix_of(name), given or {}, frozenset(taken))
            return _composed(way, values, allow, passed)
        except (_NotThisWay, NotWritable) as reason:
            passed.append(str(reason))
    nothing = "it names neither a package nor a remote"
    if prefer and not passed:
        types = ", ".join(dict.fromkeys(x.type for x in (*server.packages, *server.remotes)))
        nothing = f"it has nothing of type {prefer!r}{f', only {types}' if types else ''}"
    raise Refused(server.name, "; ".join(dict.fromkeys(passed)) or nothing)


class _NotThisWay(Exception):
    """Why a way is not taken."""


def _ways(server: Server, prefer: str) -> list[Package | Remote]:
    ways: list[Package | Remote] = [*server.packages, *server.remotes]
    if prefer:
        ways = [x for x in ways if prefer in (x.type, "remote" if isinstance(x, Remote) else "")]
    return sorted(ways, key=lambda x: _ORDER.index(x.type) if x.type in _ORDER else len(_ORDER))


def _composed(
    way: Package | Remote, values: Values, allow: Collection[str], passed: list[str]
) -> Composition:
    if reason := way.problem or (way.unsupported if isinstance(way, Package) else ""):
        raise _NotThisWay(reason)
    remarks, risks = list[str](), list[str]()
    if isinstance(way, Remote):
        entry = _remote_entry(way, values, allow)
    else:
        entry = _package_entry(way, values, allow, remarks, risks)
    if unused := values.unused():
        known = sorted({*values.needs, *values.optional}) or ["nothing"]
        raise BadSetting(f"Nothing asks for {', '.join(unused)}. It asks for {', '.join(known)}.")
    needs = tuple(values.needs.values())
    optional = tuple(x for x in values.optional.values() if x.variable not in values.needs)
    return Composition(
        entry, way, needs, optional, tuple(remarks), tuple(dict.fromkeys(risks)), tuple(passed)
    )


# Remotes


def _remote_entry(remote: Remote, values: Values, allow: Collection[str]) -> JsonObject:
    secret = any(x.is_secret for x in remote.variables.values())
    _require("secret-argument", not secret, allow, "its URL has a secret in it")
    url = values.template(remote.url, remote.variables, "the URL")
    if {"{", "}"} & {*_SETTINGS_VARIABLE.sub("", url)}:
        raise _NotThisWay("its URL has braces in it that stand for nothing")
    if "@" in url.partition("://")[2].partition("/")[0]:
        raise _NotThisWay("its URL has a user before the host, which may be taken for the host")
    headers = {x.name: values.of(x, f"the header {x.name}") for x in remote.headers}
    entry: JsonObject = {
        "type": "http" if remote.type == REMOTE_TYPES[0] else "sse",
        "url": url,
    }
    if headers := {key: x for key, x in headers.items() if x is not None}:
        entry["headers"] = headers
    return entry


# Packages


def _package_entry(
    package: Package,
    values: Values,
    allow: Collection[str],
    remarks: list[str],
    risks: list[str],
) -> JsonObject:
    runner = RUNNERS[package.type]
    for argument in (*package.runtime_arguments, *package.arguments):
        secret = argument.is_secret or any(x.is_secret for x in argument.variables.values())
        shown = argument.flag or argument.name
        _require(
            "secret-argument", not secret, allow,
            f"it wants the secret {shown} as an argument, which every program here can see",
        )  # fmt: skip
    options = list(_words(package.runtime_arguments, values))
    environment = {
        x.name: values.of(x, f"the variable {x.name}", own_name=True) for x in package.environment
    }
    environment = {key: x for key, x in environment.items() if x is not None}
    before = _before(package.type, options, sorted(environment))
    for risk, is_chosen in _risks(runner, before):
        _require("runtime-options", is_chosen, allow, risk)
        risks.append(risk)
    after = [finished(x) for x in _words(package.arguments, values)]
    words = [*map(finished, before), *_package_words(package, after, allow)]
    if package.type == "pypi":
        remarks.append(
            "uvx starts the command that is called like the package; if it has another name, put "
            f"`--from {package.identifier}=={package.version}` and that name in its place."
        )
    if package.base_url:
        remarks.append(
            f"It says that the package is at {package.base_url}; {runner} asks whichever registry "
            "is configured here."
        )
    entry: JsonObject = {"command": runner, "args": words}
    return entry | ({"env": environment} if environment else {})


def _before(kind: str, options: list[str], names: list[str]) -> list[str]:
    """The words before the package. npx and dnx would ask otherwise, and nobody could answer."""
    match kind:
        case "npm":
            return options if {"-y", "--yes"} & {*options} else ["-y", *options]
        case "oci":
            others = [x for x in options if x not in ("run", "-i", "--interactive", "--rm")]
            return ["run", "-i", "--rm", *others, *(x for name in names for x in ("-e", name))]
        case "nuget":
            return [x for x in options if x not in ("-y", "--yes")]
        case _:
            return options


def _package_words(package: Package, after: list[str], allow: Collection[str]) -> list[str]:
    """The package, and what it is given itself."""
    exact = package.identifier, package.version
    match package.type:
        case "npm":
            return ["@".join(exact), *after]
        case "pypi":
            return ["==".join(exact), *after]
        case "nuget":
            return ["@".join(exact), "--yes", *(["--", *after] if after else [])]
        case _:
            return [_image(package, allow), *after]


def _image(package: Package, allow: Collection[str]) -> str:
    tag, has_digest = tag_and_digest(package.identifier)
    image = package.identifier
    if not tag and not has_digest and package.version:
        tag, image = package.version, f"{image}:{package.version}"
    problem = f"its image {image} has neither a tag nor a digest"
    if tag:
        problem = f"its image {image} is named by the tag {tag!r} only"
    _require("image-tag", has_digest, allow, f"{problem}, so another one may run tomorrow")
    return image


def _risks(runner: str, words: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """What the words before the package open, read as the runner does; whether a person chose it.

    Values are filled in, those of the person marked: a default of the registry is not theirs.
    """
    reading = iter(words)
    for word in reading:
        flag, is_joined, value = word.partition("=")
        if word in _SWITCHES[runner]:
            continue
        if runner != "docker" or flag not in _MOUNTS | _ENVIRONMENT | _WITH_VALUE:
            yield f"{runner} is given {finished(word)}", False
            continue
        value = value if is_joined else next(reading, None)
        if value is None:  # the image would be taken for it, and the next word for the image
            yield f"docker is given {flag} without a value", False
        elif flag in _MOUNTS:
            yield from _folders(GIVEN.sub("\0", value), finished(f"{flag} {value}"))
        elif flag == "--user" and _ROOT.fullmatch(value):
            yield f"docker is given {flag} {value}, so it runs as root", False


def _folders(value: str, shown: str) -> Iterator[tuple[str, bool]]:
    """The folders of this machine in a mount, in which `\\0` stands for what a person gave."""
    sources = _FROM_HOST.findall(value) or [value.partition(":")[0]]
    is_bind = "type=bind" in value
    for source in [value] if '"' in value else sources:
        if is_bind or not _VOLUME.fullmatch(source):
            yield f"its container may use a folder of this machine: {shown}", source == "\0"


def _words(arguments: Collection[Argument], values: Values) -> Iterator[str]:
    for argument in arguments:
        yield from _words_of(argument, values)


def _words_of(argument: Argument, values: Values) -> Iterator[str]:
    """One word where it is known by its place, two where it has a flag, none where it is left out.

    To be finished: what a person gave is marked.

    Two words, not `--flag=value`: all that reads arguments understands it. A value that would be
    read as a flag is joined to its own.
    """
    flag = argument.flag
    shown = f"the argument {flag or argument.name}"
    if flag and argument.format == _BOOLEAN:
        value = values.of(argument, shown)
        if value not in (None, "true", "false"):
            raise _NotThisWay(f"{shown} is switched on or off by a value that is missing")
        yield from [flag] if value == "true" else []
        return
    if flag and _is_bare(argument):
        yield from [flag] if argument.is_required else []
        return
    value = values.marked(argument, shown)
    if value is None:
        return
    if flag and finished(value).startswith("-"):
        yield f"{flag}={value}"
    elif flag:
        yield from (flag, value)
    else:
        yield value


def _is_bare(argument: Argument) -> bool:
    """Whether a flag has nothing that could be its value."""
    hints = (argument.description, argument.placeholder, argument.choices)
    has_value = argument.value is not None or argument.default is not None
    return not has_value and argument.name == argument.flag and not any(hints)


def _require(word: str, is_fine: bool, allow: Collection[str], reason: str) -> None:
    if not is_fine and word not in allow:
        raise _NotThisWay(f"{reason} (to allow it: --allow {word})")
