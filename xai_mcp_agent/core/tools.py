"""What a tool is: one value, the same for every kind of source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

from .schema_parts import References

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


def json_type(value: object) -> str:
    """The JSON Schema type of a value, as `json.loads` returns it or as Python has it for a list.

    Empty for what is no JSON. A number without a fraction that is written with one is a `number`.
    """
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list() | tuple():
            return "array"
        case dict():
            return "object"
        case _:
            return ""


def properties(
    schema: Mapping[str, Any], references: References | None = None
) -> dict[str, JsonObject]:
    """The schema's parameters by name; anything odd reads as a parameter of any type.

    What they refer to stands in its place. `references` are those of the document that the schema
    is a part of; by default it is all of it.
    """
    found = schema.get("properties")
    if not isinstance(found, dict):
        return {}
    items = cast(dict[str, Any], found).items()
    references = references or References(schema)
    # As JSON has them: a schema that Python made may have a number for a name.
    return {str(name): references.resolved(spec) for name, spec in items}


def required(schema: Mapping[str, Any]) -> list[str]:
    """The names of the parameters that must be given."""
    found = schema.get("required")
    names = cast(list[Any], found) if isinstance(found, list) else []
    return [x for x in names if isinstance(x, str)]
