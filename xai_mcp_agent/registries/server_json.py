"""Reads a document in the words of server.json (schemas 2025-07-09 to 2025-12-11)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..core.json import JsonObject, as_list, as_object
from ..core.visible import visible_text
from ..settings.fields import wrong_with_url
from .values import (
    NAME_CHARS,
    TEXT_CHARS,
    Argument,
    Input,
    Package,
    Refused,
    Remote,
    Server,
    shown,
)
from .versions import tag_and_digest, wrong_with

RUNNERS = {"npm": "npx", "pypi": "uvx", "oci": "docker", "nuget": "dnx"}
"""Which program starts packages of which type."""
REMOTE_TYPES = ("streamable-http", "sse")

_NAME = re.compile(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+")
_PLAIN_NAME = re.compile(r"[A-Za-z0-9@][A-Za-z0-9@._/-]*")
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
_SHORTEST_NAME = 3
_MOST = 100  # packages, arguments, variables: real ones have a dozen
_LEVELS = 3  # of variables within variables
_IDENTIFIER_CHARS = 300
# They have a program run other code than that of its package, or fetch it from elsewhere.
_MEANS_CODE = re.compile(
    r"PATH|LD_.*|DYLD_.*|NODE_OPTIONS|NODE_PATH|PYTHON(PATH|HOME|STARTUP|USERBASE)|BASH_ENV|ENV|"
    r"IFS|SHELL|PERL5?(LIB|OPT)|RUBY(LIB|OPT)|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|DOTNET_STARTUP_HOOKS|"
    r"GIT_(SSH.*|EXEC_PATH|CONFIG.*|PROXY_COMMAND)|NPM_CONFIG_.*|PIP_.*|UV_.*|NUGET_.*|DOCKER_.*|"
    r"HTTPS?_PROXY|ALL_PROXY|SSL_CERT_.*|NODE_EXTRA_CA_CERTS|NODE_TLS_REJECT_UNAUTHORIZED|"
    r"REQUESTS_CA_BUNDLE",
    re.IGNORECASE,
)


def read_server(document: Any, *, has_namespace: bool = True) -> Server:
    """Return the server that a document describes.

    Names of other registries need no namespace.

    Raises:
        Refused: nothing of it may be used; says why.
    """
    entry = as_object(document)
    name = entry.get("name")
    if not isinstance(name, str) or not name:
        raise Refused("", "it has no name")
    _check_name(name, has_namespace=has_namespace)
    version = _plain(entry.get("version"))
    if (version or has_namespace) and (problem := wrong_with_own(version)):
        raise Refused(name, problem)
    packages = tuple(_package(as_object(x)) for x in as_list(entry.get("packages"))[:_MOST])
    remotes = tuple(_remote(as_object(x)) for x in as_list(entry.get("remotes"))[:_MOST])
    ways = (*packages, *remotes)
    if ways and all(x.problem for x in ways):
        raise Refused(name, "; ".join(dict.fromkeys(x.problem for x in ways)))
    return Server(name, shown(entry.get("description")), packages, remotes)


def wrong_with_own(version: str) -> str:
    """Return why this cannot be the version of a server: it is a range, or moves."""
    problem = wrong_with(version)
    # Some count in words of their own; what is exact in them cannot be told, a range can.
    is_own_word = version.lower() != "latest" and re.fullmatch(r"[A-Za-z0-9._+-]{1,255}", version)
    return "" if is_own_word and "moves" not in problem and not _is_wild(version) else problem


def _is_wild(version: str) -> bool:
    return bool(re.search(r"(?:^|\.)[xX*](?:\.|$)", version))


def _check_name(name: str, *, has_namespace: bool) -> None:
    if len(name) > NAME_CHARS:
        raise Refused(name, f"its name is longer than {NAME_CHARS} characters")
    if has_namespace and "/" not in name:
        raise Refused(name, "its name has no namespace: it should be like io.github.somebody/name")
    pattern = _NAME if has_namespace else _PLAIN_NAME
    if not pattern.fullmatch(name) or (has_namespace and len(name) < _SHORTEST_NAME):
        raise Refused(name, "its name has characters in it that names do not have")


# Packages


def _package(entry: JsonObject) -> Package:
    kind, identifier = _plain(entry.get("registryType")).lower(), _plain(entry.get("identifier"))
    package = Package(
        kind,
        identifier,
        _plain(entry.get("version")),
        _plain(as_object(entry.get("transport")).get("type")) or "stdio",
        _plain(entry.get("registryBaseUrl")),
        _plain(entry.get("fileSha256")),
        _arguments(entry.get("runtimeArguments")),
        _arguments(entry.get("packageArguments")),
        _inputs(entry.get("environmentVariables")),
    )
    problem = _problem(package)
    return replace(package, problem=problem, unsupported="" if problem else _unsupported(package))


def _problem(package: Package) -> str:
    """Return why it must not be started."""
    about = f"its package {package.shown}" if package.identifier else "one of its packages"
    if reason := _wrong_identifier(package) or _wrong_version(package):
        return f"{about}: {reason}"
    names = [x.name for x in package.environment]
    if wrong := [x for x in names if not _ENVIRONMENT_NAME.fullmatch(x)]:
        return f"{about}: {_short(wrong[0])} is no name of a variable"
    is_set = [x.name for x in package.environment if (x.value, x.default) != (None, None)]
    if code := [x for x in is_set if _MEANS_CODE.fullmatch(x)]:
        return f"{about}: it sets {code[0]}, by which other code could be run"
    arguments = (*package.runtime_arguments, *package.arguments)
    if odd := [x.flag for x in arguments if x.flag and not _FLAG.fullmatch(x.flag)]:
        return f"{about}: {_short(odd[0])} is no name of an argument"
    return ""


def _wrong_identifier(package: Package) -> str:
    identifier = package.identifier
    if not identifier:
        return "it has no identifier"
    if identifier.startswith("-") or any(x.isspace() for x in identifier):
        return "its identifier would be read as options"
    if len(identifier) > _IDENTIFIER_CHARS:
        return "its identifier is too long"
    pattern = _IDENTIFIERS.get(package.type)
    if pattern and not pattern.fullmatch(identifier):
        return "its identifier is no name of a package"
    return ""


def _wrong_version(package: Package) -> str:
    if package.type == "mcpb" and not _SHA256.fullmatch(package.sha256):
        return "it is a file to download, and its `fileSha256` is missing"
    if package.type in ("mcpb", "oci"):
        tag, has_digest = tag_and_digest(package.identifier)
        tag = tag or package.version
        return "" if has_digest or not tag else wrong_with(tag) if tag == "latest" else ""
    return wrong_with(package.version, semantic=package.type == "npm")


def _unsupported(package: Package) -> str:
    if package.type not in RUNNERS:
        known = ", ".join(RUNNERS)
        kind = _short(package.type) if package.type else "no type"
        return f"its package is of type {kind}, which no runner starts here; known are {known}"
    if package.transport != "stdio":
        return (
            f"its package {package.shown} has to be started and then reached over "
            f"{_short(package.transport)}: start it yourself, and write its `url` into the settings"
        )
    return ""


def _arguments(value: Any) -> tuple[Argument, ...]:
    return tuple(_argument(as_object(x)) for x in as_list(value)[:_MOST])


def _argument(entry: JsonObject) -> Argument:
    is_named = entry.get("type") == "named"
    flag = _plain(entry.get("name")) if is_named else ""
    hint = _plain(entry.get("valueHint")) or (flag if is_named else "") or "argument"
    return Argument(**_fields(entry, hint), flag=flag)


def _inputs(value: Any) -> tuple[Input, ...]:
    entries = (as_object(x) for x in as_list(value)[:_MOST])
    return tuple(Input(**_fields(x, _plain(x.get("name")))) for x in entries)


def _fields(entry: JsonObject, name: str, levels: int = _LEVELS) -> dict[str, Any]:
    return {
        "name": name,
        "description": shown(entry.get("description")),
        "is_required": entry.get("isRequired") is True,
        "is_secret": entry.get("isSecret") is True,
        "format": _plain(entry.get("format")) or "string",
        "value": _value(entry.get("value")),
        "default": _value(entry.get("default")),
        "choices": tuple(x for x in map(_value, as_list(entry.get("choices"))[:_MOST]) if x),
        "placeholder": shown(entry.get("placeholder")),
        "variables": _variables(entry.get("variables"), levels - 1) if levels else {},
    }


def _variables(value: Any, levels: int) -> Mapping[str, Input]:
    entries = list(as_object(value).items())[:_MOST]
    return {name: Input(**_fields(as_object(x), name, levels)) for name, x in entries}


def _value(value: Any) -> str | None:
    """A value as text; one that no program can be entry counts as none."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)[:_IDENTIFIER_CHARS]
    return _plain(value) if isinstance(value, str) and _plain(value) == value else None


# Remotes


def _remote(entry: JsonObject) -> Remote:
    remote = Remote(
        _plain(entry.get("type")),
        _plain(entry.get("url")),
        _inputs(entry.get("headers")),
        _variables(entry.get("variables"), _LEVELS),
    )
    return replace(remote, problem=_wrong_with_remote(remote))


def _wrong_with_remote(remote: Remote) -> str:
    if remote.type not in REMOTE_TYPES:
        return f"its remote is of type {_short(remote.type) or 'none'}, which is not known"
    # What stands in braces is not known yet.
    without = re.sub(r"\{[^{}]*\}", "x", remote.url)
    if problem := wrong_with_url(
        without if not remote.url.startswith("{") else f"https://{without}"
    ):
        return f"the URL of its remote cannot be used: {problem.rstrip('.')}"
    if wrong := [x.name for x in remote.headers if not _HEADER_NAME.fullmatch(x.name)]:
        return f"{_short(wrong[0])} is no name of a header"
    return ""


# Texts


def _plain(value: Any) -> str:
    """A text that a program can be entry: on one line, with nothing in it that is not seen."""
    if not isinstance(value, str) or len(value) > TEXT_CHARS:
        return ""
    return value if value.isprintable() else ""


def _short(text: str) -> str:
    return repr(visible_text(text, 80))
