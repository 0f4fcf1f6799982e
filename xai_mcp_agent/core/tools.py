"""What a tool is: one value, the same for every kind of source."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

JsonObject: TypeAlias = dict[str, Any]
"""A JSON object as `json.loads` returns it. Treated as read-only once handed over."""


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
    annotations: ToolAnnotations = field(default_factory=ToolAnnotations)
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
