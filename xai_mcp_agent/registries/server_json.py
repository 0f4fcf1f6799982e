"""Documents in the form of server.json (schemas 2025-07-09 to 2025-12-11), and their versions.

Any text of a document may be hostile. The models clean and cut texts for people. Texts that become
part of a command or an address do not change; an invalid one makes the document refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeAlias, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel

from ..core.errors import XaiMcpError
from ..core.json import JsonObject, as_list, as_object
from ..core.visible import visible_text
from ..settings.entry import url_problem

RUNNERS = {"npm": "npx", "pypi": "uvx", "oci": "docker", "nuget": "dnx"}
"""The program that starts a package, by package type."""
REMOTE_TYPES = ("streamable-http", "sse")

NAME_CHARS = 200
TEXT_CHARS = 2_000
_VERSION_CHARS = 255

_NAME = re.compile(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+")
_IDENTIFIERS = {
    "npm": re.compile(r"(?:@[A-Za-z0-9~][\w.~-]*/)?[A-Za-z0-9~][\w.~-]*", re.ASCII),
    "pypi": re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"),
    "nuget": re.compile(r"[A-Za-z0-9_][\w.-]*", re.ASCII),
    "oci": re.compile(
        r"[a-z0-9]+(?:[._-]+[a-z0-9]+)*(?::\d{1,5}(?=/))?(?:/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*"
        r"(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(?:@sha256:[0-9a-f]{64})?"
    ),
}
_ENVIRONMENT_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_FLAG = re.compile(r"-{0,2}[A-Za-z0-9][\w.:-]*", re.ASCII)
_SHA256 = re.compile(r"[0-9a-fA-F]{64}")
# With one of these, a program runs code other than its package's, or fetches it from elsewhere.
_LOADS_CODE = re.compile(
    r"PATH|LD_.*|DYLD_.*|NODE_OPTIONS|NODE_PATH|PYTHON(PATH|HOME|STARTUP|USERBASE)|BASH_ENV|ENV|"
    r"IFS|SHELL|PERL5?(LIB|OPT)|RUBY(LIB|OPT)|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|DOTNET_STARTUP_HOOKS|"
    r"GIT_(SSH.*|EXEC_PATH|CONFIG.*|PROXY_COMMAND)|NPM_CONFIG_.*|PIP_.*|UV_.*|NUGET_.*|DOCKER_.*|"
    r"HTTPS?_PROXY|ALL_PROXY|SSL_CERT_.*|NODE_EXTRA_CA_CERTS|NODE_TLS_REJECT_UNAUTHORIZED|"
    r"REQUESTS_CA_BUNDLE",
    re.IGNORECASE,
)
_EXACT = {
    "npm": re.compile(r"\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?"),
    "server": re.compile(r"(?!latest\Z)[A-Za-z0-9._+-]+"),
}
_ANY_EXACT = re.compile(r"v?\d[0-9A-Za-z._+!-]*")
_WILD = re.compile(r"(?:^|\.)[xX*](?:\.|$)")
_DIGEST = re.compile(r"@sha256:[0-9a-f]{64}\Z")
_TAG = re.compile(r":([A-Za-z0-9_][A-Za-z0-9_.-]{0,127})\Z")
_VERSION_PART = re.compile(r"\d+|[A-Za-z]+")


class RegistryError(XaiMcpError):
    """A registry cannot be used, or has no such server; says which, why, and what to do."""


class Refused(XaiMcpError):
    """The document must not be used. `name` is its own name, cleaned."""

    def __init__(self, name: str, reason: str) -> None:
        self.name = visible_text(name, NAME_CHARS).replace("\n", " ").strip() or "(without a name)"
        self.reason = reason
        super().__init__(f"{self.name} is refused: {reason}.")


def clean_text(value: Any, at_most: int = TEXT_CHARS) -> str:
    """Return the visible part of an untrusted text; empty for any other value."""
    return visible_text(value, at_most).strip() if isinstance(value, str) else ""


def _line(value: Any) -> str:
    """Return a text for use in a command: one line without hidden characters, or empty."""
    if not isinstance(value, str) or len(value) > TEXT_CHARS or not value.isprintable():
        return ""
    return value


def _value(value: Any) -> str | None:
    """Return a value as a program reads it, or None."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    return value if isinstance(value, str) and _line(value) == value else None


def _choices(value: Any) -> list[str]:
    return [x for x in map(_value, as_list(value)) if x]


def _objects(value: Any) -> list[JsonObject]:
    return [as_object(x) for x in as_list(value)]


def _objects_by_name(value: Any) -> dict[str, JsonObject]:
    return {name: {**as_object(x), "name": name} for name, x in as_object(value).items()}


_T = TypeVar("_T")
_Line: TypeAlias = Annotated[str, BeforeValidator(_line)]
_Prose: TypeAlias = Annotated[str, BeforeValidator(clean_text)]
_Value: TypeAlias = Annotated[str | None, BeforeValidator(_value)]
_Flag: TypeAlias = Annotated[bool, BeforeValidator(lambda x: x is True)]
_Items: TypeAlias = Annotated[tuple[_T, ...], BeforeValidator(_objects)]
_Named: TypeAlias = Annotated[Mapping[str, _T], BeforeValidator(_objects_by_name)]


class _RegistryModel(BaseModel):
    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True)


class Variable(_RegistryModel):
    """A value that replaces `{name}` in another one."""

    name: _Line = ""
    description: _Prose = ""
    is_required: _Flag = False
    is_secret: _Flag = False
    format: Annotated[str, BeforeValidator(lambda x: _line(x) or "string")] = "string"
    value: _Value = None
    default: _Value = None
    choices: Annotated[tuple[str, ...], BeforeValidator(_choices)] = ()
    placeholder: _Prose = ""
    value_hint: _Line = ""

    @property
    def label(self) -> str:
        """Its name for a person."""
        return self.value_hint or self.name or "argument"


class RegistryInput(Variable):
    """A header, an environment variable or an argument: fixed, with a default, or a person's.

    An argument of type `named` comes after its flag.
    """

    type: _Line = ""
    variables: _Named[Variable] = Field(default_factory=dict[str, Variable])

    @property
    def flag(self) -> str:
        """The flag before the value of an argument; empty if there is none."""
        return self.name if self.type == "named" else ""


class Package(_RegistryModel):
    """A program that a package manager provides."""

    type: Annotated[str, BeforeValidator(lambda x: _line(x).lower())] = Field(
        "", alias="registryType"
    )
    identifier: _Line = ""
    version: _Line = ""
    transport: Annotated[
        str, BeforeValidator(lambda x: _line(as_object(x).get("type")) or "stdio")
    ] = "stdio"
    registry_base_url: _Line = ""
    file_sha256: _Line = ""
    runtime_arguments: _Items[RegistryInput] = ()
    package_arguments: _Items[RegistryInput] = ()
    environment_variables: _Items[RegistryInput] = ()

    @property
    def title(self) -> str:
        """The type, the name and the version, for a person."""
        version = f" {self.version}" if self.version else ""
        return f"{self.type} {visible_text(self.identifier, NAME_CHARS)}{version}"

    @property
    def problem(self) -> str:
        """Why the package must not be started; empty if it may."""
        problem = self._wrong_identifier() or self._wrong_version() or self._wrong_inputs()
        about = f"its package {self.title}" if self.identifier else "one of its packages"
        return f"{about}: {problem}" if problem else ""

    @property
    def unsupported(self) -> str:
        """Why a valid package cannot be started here; empty if it can."""
        if self.type not in RUNNERS:
            kind = _quote(self.type) if self.type else "no type"
            types = ", ".join(RUNNERS)
            return f"its package is of type {kind}, which no runner starts here; known are {types}"
        if self.transport != "stdio":
            return (
                f"its package {self.title} serves {_quote(self.transport)}: start it yourself, "
                "and write its `url` into the settings"
            )
        return ""

    def _wrong_identifier(self) -> str:
        if not self.identifier:
            return "it has no identifier"
        pattern = _IDENTIFIERS.get(self.type)
        is_valid = pattern is None or pattern.fullmatch(self.identifier)
        return "" if is_valid else "its identifier is not a valid package name"

    def _wrong_version(self) -> str:
        if self.type == "mcpb" and not _SHA256.fullmatch(self.file_sha256):
            return "it is a file to download, and its `fileSha256` is missing"
        if self.type not in ("mcpb", "oci"):
            return wrong_with_version(self.version, self.type)
        tag, has_digest = tag_and_digest(self.identifier)
        is_latest = not has_digest and (tag or self.version) == "latest"
        return wrong_with_version("latest") if is_latest else ""

    def _wrong_inputs(self) -> str:
        for variable in self.environment_variables:
            if not _ENVIRONMENT_NAME.fullmatch(variable.name):
                return f"{_quote(variable.name)} is not a valid variable name"
            is_set = variable.value is not None or variable.default is not None
            if is_set and _LOADS_CODE.fullmatch(variable.name):
                return f"it sets {variable.name}, which can make it run other code"
        for argument in (*self.runtime_arguments, *self.package_arguments):
            if argument.flag and not _FLAG.fullmatch(argument.flag):
                return f"{_quote(argument.flag)} is not a valid argument name"
        return ""


class Remote(_RegistryModel):
    """A server behind a URL, in which `{name}` stands for a variable."""

    type: _Line = ""
    url: _Line = ""
    headers: _Items[RegistryInput] = ()
    variables: _Named[Variable] = Field(default_factory=dict[str, Variable])

    @property
    def problem(self) -> str:
        """Why the remote must not be used; empty if it may."""
        if self.type not in REMOTE_TYPES:
            return f"its remote is of type {_quote(self.type) or 'none'}, which is not known"
        # The values in braces are not known yet.
        url = re.sub(r"\{[^{}]*\}", "x", self.url)
        if problem := url_problem(f"https://{url}" if self.url.startswith("{") else url):
            return f"the URL of its remote cannot be used: {problem.rstrip('.')}"
        for header in self.headers:
            if not _HEADER_NAME.fullmatch(header.name):
                return f"{_quote(header.name)} is not a valid header name"
        return ""


class Server(_RegistryModel):
    """A server as its document describes it; at least one of its packages or remotes is usable."""

    name: str = ""
    version: _Line = ""
    description: _Prose = ""
    packages: _Items[Package] = ()
    remotes: _Items[Remote] = ()


@dataclass(frozen=True, slots=True)
class RegistryDocument:
    """One version of a server in a registry.

    `server` is its server.json, and `digest` the digest of its content. `meta` has the registry's
    additions (status, dates). `refused` says why it must not be used. `changed` is its present
    content if that differs from the first one, `since` a time.
    """

    name: str
    version: str
    server: JsonObject
    digest: str = ""
    meta: JsonObject = field(default_factory=dict[str, object])
    place: str = ""
    refused: str = ""
    changed: RegistryDocument | None = None
    since: str = ""


def read_server(document: Any, *, is_npm: bool = False) -> Server:
    """Return the server that a document describes. npm's names have no namespace.

    Raises:
        Refused: it must not be used; says why.
    """
    name = as_object(document).get("name")
    if not isinstance(name, str) or not name:
        raise Refused("", "it has no name")
    if problem := _wrong_name(name, is_npm=is_npm):
        raise Refused(name, problem)
    server = Server.model_validate(document)
    if problem := wrong_with_version(server.version, "server"):
        raise Refused(name, problem)
    ways = (*server.packages, *server.remotes)
    problems = dict.fromkeys(x.problem for x in ways)
    if ways and all(problems):
        raise Refused(name, "; ".join(problems))
    return server


def _wrong_name(name: str, *, is_npm: bool) -> str:
    if len(name) > NAME_CHARS:
        return f"its name is longer than {NAME_CHARS} characters"
    if "/" not in name and not is_npm:
        return "its name has no namespace: it should be like io.github.somebody/name"
    pattern = _IDENTIFIERS["npm"] if is_npm else _NAME
    return "" if pattern.fullmatch(name) else "its name has invalid characters"


# Versions


def wrong_with_version(version: str, of: str = "") -> str:
    """Return why a version is not exact, for a sentence; empty if it is.

    `of` is a type of package, or `server`. For npm, fewer than three numbers are a range; some
    servers have a scheme of their own.
    """
    if not version:
        return "it names no version"
    text = visible_text(version, 80)
    is_exact = _EXACT.get(of, _ANY_EXACT).fullmatch(version) and not _WILD.search(version)
    is_short = len(version) <= _VERSION_CHARS
    return "" if is_exact and is_short else f"its version {text!r} is not exact"


def tag_and_digest(image: str) -> tuple[str, bool]:
    """Return the tag of an image, empty if it has none, and whether it names a digest."""
    bare = _DIGEST.sub("", image)
    tag = _TAG.search(bare.rpartition("/")[2])
    return tag[1] if tag else "", bare != image


def version_order(version: str) -> tuple[tuple[int, int, str], ...]:
    """Return a sort key of versions: by their numbers, a release after its pre-releases."""
    release, _, before = version.removeprefix("v").partition("+")[0].partition("-")
    return (*_parts(release), (1 if not before else 0, 0, ""), *_parts(before))


def _parts(text: str) -> list[tuple[int, int, str]]:
    parts = _VERSION_PART.findall(text)
    return [(2, int(x), "") if x.isdecimal() else (1, 0, x) for x in parts]


def _quote(text: str) -> str:
    return repr(visible_text(text, 80))
