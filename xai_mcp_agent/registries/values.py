"""A server as a registry describes it, in the words of its server.json; every text may be hostile.

Texts for people are cleaned and cut when they are read; what becomes part of a command or an
address is kept as it is, and refused where it is not what it should be.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..core.errors import XaiMcpError
from ..core.json import JsonObject
from ..core.visible import visible_text

NAME_CHARS = 200
TEXT_CHARS = 2_000


def shown(value: Any, at_most: int = TEXT_CHARS) -> str:
    """Return a stranger's text as somebody who looks at it sees it; empty for anything else."""
    return visible_text(value, at_most).strip() if isinstance(value, str) else ""


class RegistryError(XaiMcpError):
    """A registry cannot be used, or has no such server; says which, why, and what to do."""


class Refused(XaiMcpError):
    """A document that a client must not act on. `name` is what it calls itself, cleaned."""

    def __init__(self, name: str, reason: str) -> None:
        self.name = visible_text(name, NAME_CHARS).replace("\n", " ").strip() or "(without a name)"
        self.reason = reason
        super().__init__(f"{self.name} is refused: {reason}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """A value that a server is given: fixed, with a default, or for a person to give.

    In `value` `{names}` stand for its `variables`.
    """

    name: str
    description: str = ""
    is_required: bool = False
    is_secret: bool = False
    format: str = "string"
    value: str | None = None
    default: str | None = None
    choices: tuple[str, ...] = ()
    placeholder: str = ""
    variables: Mapping[str, Input] = field(default_factory=dict[str, "Input"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument(Input):
    """One of the arguments of a command. Without a `flag` it is known by its place alone."""

    flag: str = ""


@dataclass(frozen=True, slots=True)
class Package:
    """A program that a package manager provides; `problem` says why it must not be started.

    `unsupported` says why it cannot be, where nothing is wrong with it.
    """

    type: str
    identifier: str
    version: str = ""
    transport: str = "stdio"
    base_url: str = ""
    sha256: str = ""
    runtime_arguments: tuple[Argument, ...] = ()
    arguments: tuple[Argument, ...] = ()
    environment: tuple[Input, ...] = ()
    problem: str = ""
    unsupported: str = ""

    @property
    def shown(self) -> str:
        """The type, the name and the version, for a person."""
        version = f" {self.version}" if self.version else ""
        return f"{self.type} {visible_text(self.identifier, NAME_CHARS)}{version}"


@dataclass(frozen=True, slots=True)
class Remote:
    """A server behind a URL, in which `{names}` stand for its `variables`."""

    type: str
    url: str
    headers: tuple[Input, ...] = ()
    variables: Mapping[str, Input] = field(default_factory=dict[str, Input])
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Server:
    """What a document says of a server; at least one way to use it is not refused."""

    name: str
    description: str = ""
    packages: tuple[Package, ...] = ()
    remotes: tuple[Remote, ...] = ()


@dataclass(frozen=True, slots=True)
class Document:
    """What a registry says of one version of a server.

    `server` is in the words of server.json, whatever words the registry uses; `original` is what
    its digest is of. `meta` is what the registry itself adds, `extras` what else is told of it, by
    the names of a `RegistryManifest`. `refused` says why it must not be used. Where names have a
    namespace, somebody may have proved that it is theirs.
    """

    name: str
    version: str
    server: JsonObject
    original: object
    meta: JsonObject = field(default_factory=dict[str, object])
    extras: JsonObject = field(default_factory=dict[str, object])
    place: str = ""
    refused: str = ""
    has_namespace: bool = True
