"""What a tool is, and of which kind of source: one value, the same for all; its digest."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any, TypeAlias

from .json import JsonObject


@dataclass(frozen=True, slots=True)
class SourceKind:
    """A kind of source, known by its name. `noun` is what one of it is called, such as server.

    A source that `connects` is an anchor in the event graph, on which its tools hang. The tools
    of a kind that does not are there from the start, and hang on the project itself. One that is
    `one_tool` has no other, so the two may have one name. `event_name` stands for the kind in ids
    of events. A kind with another `item` than tools is that of such items of a source of the kind
    `of`.
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
"""Tools of ours that somebody has switched on, in sets."""
OPENAPI = SourceKind("openapi", "service")
AGENT = SourceKind("agent", "agent", event_name="acp")
"""Agents of others, over A2A; in ids of events stands a protocol that was merged into it."""
WORKFLOW = SourceKind("workflow", "workflow", one_tool=True)
STATIC = SourceKind("tools", "tool", connects=False)
"""Tools drawn on the canvas: part of the workflow, so never found out while it runs."""
META = SourceKind("meta", "tool", connects=False)
"""Our own tools for the model: to search, to explain, to remember."""

PROMPT, RESOURCE, TEMPLATE = FEATURES = tuple(
    SourceKind(f"mcp_{item}", MCP.noun, event_name=MCP.name, item=item, of=MCP)
    for item in ("prompt", "resource", "template")
)

_KINDS = (MCP, FUNCTIONS, BUILTIN, OPENAPI, AGENT, WORKFLOW, STATIC, META)
KIND_NAMES = tuple(kind.name for kind in _KINDS)
_KNOWN = {kind.name: kind for kind in (*_KINDS, *FEATURES)}


def kind_named(name: str) -> SourceKind:
    """The kind of this name, as a history tells it. One that is not known here has the usual shape.

    Every kind belongs in this file: what is read of it must come out as it was written.
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
    """What a source claims about a tool's effects. Untrusted; `None` means not said."""

    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None
    open_world: bool | None = None


NO_CLAIMS = ToolAnnotations()
"""The annotations of a tool whose source claims nothing."""


@dataclass(frozen=True, slots=True)
class Icon:
    """A picture that a source gives for a thing: its address or its data as `data:`.

    Never fetched by us. `sizes` such as `48x48`, or `any`.
    """

    src: str
    mime_type: str | None = None
    sizes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Operation:
    """What a tool does at an HTTP service: `GET` and `/orders/{id}`, as a document has them."""

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
        """The name its source knows it by; the model reads a shown name instead."""
        return self.key.name

    @property
    def source(self) -> str:
        """The name of the source that offers it."""
        return self.key.source


ItemKey: TypeAlias = tuple[str, str]
"""Identifies a tool, prompt or resource of one source: what it is, and its name there."""


def item_key(tool: Tool) -> ItemKey:
    """The key of a tool, or of a prompt or resource in the form of one."""
    return kind_named(tool.key.kind).item, tool.name


_DIGEST_CHARS = 32  # 128 bits: with half of them somebody could make two definitions of one digest
_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), default=str).encode


def definition_of(tool: Tool) -> JsonObject:
    """Every field that counts as a change when it changes, those that are not given left out.

    Not `meta`, which is for programs, and in which some servers put the time of day; nor our own
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
    """The definition as JSON in ASCII, the same whatever the order of keys in it."""
    return _encode(definition_of(tool))


def digest_of(definition: str) -> str:
    """A short text that is equal only for equal texts, such as definitions."""
    import hashlib  # here, because it takes longer to load than all of this file

    return hashlib.sha256(definition.encode()).hexdigest()[:_DIGEST_CHARS]


def digest_of_value(value: Any) -> str:
    """The digest of a JSON value, such as a definition, whatever the order of its keys."""
    return digest_of(_encode(value))


def inventory_digest(digests: Iterable[str]) -> str:
    """Equal for inventories of the same definitions, in whatever order they were listed."""
    return digest_of("".join(sorted(digests)))
