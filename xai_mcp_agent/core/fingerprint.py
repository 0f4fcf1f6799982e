"""The definition of a tool as JSON, and its digest: equal ones are the same definition."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

from .tools import Icon, JsonObject, Tool, ToolAnnotations

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
    if claims := _of_annotations(tool.annotations):
        fields["annotations"] = claims
    if tool.icons:
        fields["icons"] = [_of_icon(icon) for icon in tool.icons]
    if tool.tags:
        fields["tags"] = sorted(set(tool.tags))  # their order means nothing
    if tool.operation is not None:
        fields["operation"] = {"method": tool.operation.method, "path": tool.operation.path}
    return fields


def definition_text(tool: Tool) -> str:
    """The definition as JSON in ASCII, the same whatever the order of keys in it."""
    return _encode(definition_of(tool))


def digest_of(definition: str) -> str:
    """A short text that is the same for the same definition only."""
    return hashlib.sha256(definition.encode()).hexdigest()[:_DIGEST_CHARS]


def digest_of_definition(definition: JsonObject) -> str:
    """The digest of a definition that was read from somewhere."""
    return digest_of(_encode(definition))


def inventory_digest(digests: Iterable[str]) -> str:
    """Equal for inventories of the same definitions, in whatever order they were listed."""
    return digest_of("".join(sorted(digests)))


def _of_annotations(claims: ToolAnnotations) -> JsonObject:
    fields = {
        "read_only": claims.read_only,
        "destructive": claims.destructive,
        "idempotent": claims.idempotent,
        "open_world": claims.open_world,
    }
    return {name: x for name, x in fields.items() if x is not None}


def _of_icon(icon: Icon) -> JsonObject:
    return {"src": icon.src, "mime_type": icon.mime_type, "sizes": list(icon.sizes)}
