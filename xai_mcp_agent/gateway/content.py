"""Conversion of tools, prompts, resources and results to MCP."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from ..core.json import JsonObject, as_object
from ..core.results import (
    AudioPart,
    Completion,
    ImagePart,
    LinkPart,
    Prompt,
    PromptMessage,
    Resource,
    ResourcePart,
    ResultPart,
    TextPart,
    ToolResult,
    UnknownPart,
)
from ..core.tools import Tool, ToolAnnotations

_HINTS = {
    "read_only": "readOnlyHint", "destructive": "destructiveHint", "idempotent": "idempotentHint",
    "open_world": "openWorldHint",
}  # fmt: skip
# for the far server; the client's cursor is the gateway's
_SERVER = "io.modelcontextprotocol/serverInfo"


def tool_json(name: str, tool: Tool) -> JsonObject:
    """Return a tool under the name that the client uses."""
    fields = {
        "name": name,
        "inputSchema": tool.input_schema,
        "outputSchema": tool.output_schema,
        "annotations": _annotations(tool.annotations),
        "_meta": tool.meta,
    }
    return _for_people(tool, fields)


def prompt_json(name: str, prompt: Prompt) -> JsonObject:
    """Return a prompt under the name that the client uses."""
    arguments = [_without_nothing(asdict(x)) for x in prompt.arguments]
    fields = {"name": name, "arguments": arguments}
    return _for_people(prompt, fields) | (prompt.more or {})


def resource_json(uri: str, resource: Resource) -> JsonObject:
    """Return a resource or template under the URI that the client uses."""
    fields = {
        "uriTemplate" if resource.is_template else "uri": uri,
        "name": resource.name,
        "mimeType": resource.mime_type,
    }
    return _for_people(resource, fields) | (resource.more or {})


def result_json(result: ToolResult) -> JsonObject:
    """Return the result of a call, with our notes as its last part."""
    notes = [{"type": "text", "text": f"Note: {x}"} for x in result.notes]
    meta = {name: x for name, x in (result.meta or {}).items() if name != _SERVER}
    fields = _without_nothing({"isError": result.is_error, "_meta": meta})
    if result.structured is not None:
        fields["structuredContent"] = result.structured
    return {"content": [*map(part_json, result.parts), *notes], **fields}


def error_json(text: str) -> JsonObject:
    """Return a result that says why a call failed."""
    return {"content": [{"type": "text", "text": text}], "isError": True}


def messages_json(prompt: Prompt, messages: Sequence[PromptMessage]) -> JsonObject:
    """Return a filled-in prompt."""
    message_list = [{"role": x.role, "content": part_json(x.content)} for x in messages]
    return _without_nothing({"description": prompt.description}) | {"messages": message_list}


def contents_json(parts: Sequence[ResourcePart], uri: str) -> JsonObject:
    """Return the contents of a resource, under the URI that the client requested."""
    first = parts[0].uri if parts else ""
    return {"contents": [{**_contents(x), "uri": uri if x.uri == first else x.uri} for x in parts]}


def completion_json(completion: Completion) -> JsonObject:
    """Return completions of a value."""
    fields = {
        "values": list(completion.values), "hasMore": completion.has_more,
        "total": completion.total,
    }  # fmt: skip
    return {"completion": {name: x for name, x in fields.items() if x is not None}}


def part_json(part: ResultPart) -> JsonObject:
    """Return one part of a result or prompt; unknown parts stay as they are."""
    match part:
        case TextPart(text, more):
            return {"type": "text", "text": text, **(more or {})}
        case ImagePart(data, mime_type, more):
            return {"type": "image", "data": data, "mimeType": mime_type, **(more or {})}
        case AudioPart(data, mime_type, more):
            return {"type": "audio", "data": data, "mimeType": mime_type, **(more or {})}
        case LinkPart(uri, name, description, mime_type, more):
            fields = {"uri": uri, "name": name, "description": description, "mimeType": mime_type}
            return {"type": "resource_link", **_without_nothing(fields), **(more or {})}
        case ResourcePart(around=around):
            return {"type": "resource", "resource": _contents(part), **(around or {})}
        case UnknownPart(_, raw):
            return as_object(raw) or {"type": "text", "text": str(raw)}


def _contents(part: ResourcePart) -> JsonObject:
    fields = {"uri": part.uri, "mimeType": part.mime_type, "text": part.text, "blob": part.data}
    return {name: x for name, x in fields.items() if x is not None} | (part.more or {})


def _annotations(annotations: ToolAnnotations) -> JsonObject:
    hints = asdict(annotations)
    return {_HINTS[name]: hint for name, hint in hints.items() if hint is not None}


def _for_people(item: Tool | Prompt | Resource, fields: JsonObject) -> JsonObject:
    """Return these fields of an item that have a value, and those that a person reads."""
    icons = [
        _without_nothing({"src": x.src, "mimeType": x.mime_type, "sizes": list(x.sizes)})
        for x in item.icons
    ]
    shared = {"title": item.title, "description": item.description, "icons": icons}
    return _without_nothing({**shared, **fields})


def _without_nothing(fields: JsonObject) -> JsonObject:
    """Return the fields that have a value; `inputSchema` may be empty."""
    empty: tuple[Any, ...] = (None, "", [], {}, False)
    return {name: x for name, x in fields.items() if name == "inputSchema" or x not in empty}
