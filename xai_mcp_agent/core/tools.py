"""Tools, their definitions and digests, and the kinds of their sources."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any, TypeAlias

from .json import JsonObject


@dataclass(frozen=True, slots=True)
class SourceKind:
    """A kind of source, identified by its name. `noun` is the word for one, such as server.

    A source that `connects` is an anchor in the event graph, and its tools hang on it. Tools of a
    kind that does not connect are there from the start and hang on the project itself. A `one_tool`
    source has only one tool, so the two may share a name. `event_name` stands for the kind in ids
    of events. A kind with an `item` other than tools covers such items of sources of the kind `of`.
    """

    name: str
    noun: str = field(default="source", compare=False)
    connects: bool = field(default=True, compare=False)
    one_tool: bool = field(default=False, compare=False)
    event_name: str = field(default="", compare=False)
    item: str = field(default="tool", compare=False, repr=False)
    of: SourceKind | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "event_name", self.event_name or self.name)


MCP = SourceKind("mcp", "server")
FUNCTIONS = SourceKind("functions", "file")
BUILTIN = SourceKind("builtin", "set")
"""Built-in tools that a person has switched on, in sets."""
OPENAPI = SourceKind("openapi", "service")
AGENT = SourceKind("agent", "agent", event_name="acp")
"""Remote agents, over A2A; ids of events use the name of a protocol that A2A absorbed."""
WORKFLOW = SourceKind("workflow", "workflow", one_tool=True)
STATIC = SourceKind("tools", "tool", connects=False)
"""Tools drawn on the canvas: part of the workflow, so never discovered at run time."""
META = SourceKind("meta", "tool", connects=False)
"""Our own tools for the model: to search, to explain, to remember."""

PROMPT, RESOURCE, TEMPLATE = FEATURES = tuple(
    SourceKind(f"mcp_{item}", MCP.noun, event_name=MCP.name, item=item, of=MCP)
    for item in ("prompt", "resource", "template")
)

_KINDS = (MCP, FUNCTIONS, BUILTIN, OPENAPI, AGENT, WORKFLOW, STATIC, META)
KIND_NAMES = tuple(kind.name for kind in _KINDS)
_KNOWN = {kind.name: kind for kind in (*_KINDS, *FEATURES)}


def find_kind(name: str) -> SourceKind:
    """Return the kind of this name; an unknown one from a history gets the default attributes.

    Every kind must be defined in this file, so that it is read as it was written.
    """
    return _KNOWN.get(name) or SourceKind(name)


@dataclass(frozen=True, slots=True, order=True)
class ToolKey:
    """Identifies a tool: the kind and name of the source that offers it, and its name there.

    `kind` is the name of a `SourceKind`; `source` is empty for kinds that have one source only.
    """

    kind: str
    source: str
    name: str

    def __str__(self) -> str:
        return f"{self.source or self.kind}/{self.name}"


@dataclass(frozen=True, slots=True)
class ToolAnnotations:
    """What a source claims about a tool's effects. Untrusted; `None` means no claim."""

    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None
    open_world: bool | None = None


NO_CLAIMS = ToolAnnotations()
"""The annotations of a tool without claims."""


@dataclass(frozen=True, slots=True)
class Icon:
    """An icon that a source provides: an address, or its data as `data:`.

    Never fetched by us. `sizes` such as `48x48`, or `any`.
    """

    src: str
    mime_type: str | None = None
    sizes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Operation:
    """The HTTP operation of a tool, as in its document: `GET` and `/orders/{id}`."""

    method: str
    path: str


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as its source describes it now.

    `input_schema` and `output_schema` are JSON Schemas exactly as the source sent them; `tags` are
    the source's own words for what it belongs to. `note` is ours: why a tool was changed or should
    be read with care.
    """

    key: ToolKey
    description: str
    input_schema: JsonObject
    output_schema: JsonObject | None = None
    title: str | None = None
    annotations: ToolAnnotations = NO_CLAIMS
    meta: JsonObject | None = None
    icons: tuple[Icon, ...] = ()
    tags: tuple[str, ...] = ()
    operation: Operation | None = None
    note: str | None = None

    @property
    def name(self) -> str:
        """The source's name for it; the model reads a shown name instead."""
        return self.key.name

    @property
    def source(self) -> str:
        """The name of the source that offers it."""
        return self.key.source


ItemKey: TypeAlias = tuple[str, str]
"""Identifies a tool, prompt or resource of one source: its kind of item, and its name there."""


def item_key(tool: Tool) -> ItemKey:
    """Return the key of a tool, or of a prompt or resource in the form of one."""
    return find_kind(tool.key.kind).item, tool.name


_DIGEST_CHARS = 32  # 128 bits: with 64, an attacker could make two definitions with one digest
_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), default=str).encode


def definition_of(tool: Tool) -> JsonObject:
    """Return every field in which a difference counts as a change; absent ones are left out.

    Not `meta`, which is for programs and in which some servers put the time of day; nor our own
    `note`.
    """
    fields: JsonObject = {
        "name": tool.name,
        "description": tool.description,
        "input_schema": tool.input_schema,
    }
    if tool.title is not None:
        fields["title"] = tool.title
    if tool.output_schema is not None:
        fields["output_schema"] = tool.output_schema
    if tool.annotations != NO_CLAIMS:
        claims = asdict(tool.annotations).items()
        fields["annotations"] = {name: claim for name, claim in claims if claim is not None}
    if tool.icons:
        fields["icons"] = [{**asdict(icon), "sizes": list(icon.sizes)} for icon in tool.icons]
    if tool.tags:
        fields["tags"] = sorted(set(tool.tags))  # their order means nothing
    if tool.operation is not None:
        fields["operation"] = asdict(tool.operation)
    return fields


def definition_text(tool: Tool) -> str:
    """Return the definition as ASCII JSON, the same for any order of keys."""
    return _encode(definition_of(tool))


def digest_of(definition: str) -> str:
    """Return a short text that is equal only for equal texts, such as definitions."""
    import hashlib  # here because it takes longer to load than this whole module

    return hashlib.sha256(definition.encode()).hexdigest()[:_DIGEST_CHARS]


def digest_of_value(value: Any) -> str:
    """Return the digest of a JSON value, such as a definition, the same for any order of keys."""
    return digest_of(_encode(value))


def inventory_digest(digests: Iterable[str]) -> str:
    """Return the same digest for inventories of the same definitions, in any order."""
    return digest_of("".join(sorted(digests)))
