"""Conversion of the SDK's types to our values, field by field; nothing is lost silently.

What is listed for people, and a prompt, which goes to a model, are cleaned of what nobody sees, but
for the names by which things are asked for. Tools and results are kept as they came: they are
compared, and programs use them; whoever shows them cleans them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, cast

import anyio.to_thread

from ...core.kinds import MCP
from ...core.resources import Completion, Prompt, PromptArgument, PromptMessage, Resource
from ...core.results import (
    AudioPart,
    ImagePart,
    LinkPart,
    ResourcePart,
    ResultPart,
    TextPart,
    ToolResult,
    UnknownPart,
)
from ...core.tools import Icon, JsonObject, Tool, ToolAnnotations, ToolKey
from ...core.visible import is_visible, visible, visible_text
from .wire.sanitize import RAW, kept_in

if TYPE_CHECKING:
    import mcp_types as types

_MANY = 200
_TAGGED = ("fastmcp", "_fastmcp")  # keys of `_meta`, since and before its version 3
_MOST_CHARS = 4000  # of a title, or of what a server says of something
_MOST_VALUE_CHARS = 2000  # of a value that is offered for an argument
_MOST_PROMPT_CHARS = 200_000  # of one message; more fits into no model's window
# Far above what anybody writes; each is part of the definition, and matched against groups.
_MOST_TAGS, _TAG_CHARS = 100, 200


def raw_of(listed: types.Tool) -> JsonObject:
    """The JSON of a tool as it came; the same object where it is what came the last time."""
    return cast(JsonObject, kept_in(listed.meta) or listed.model_dump(by_alias=True))


def tool_of(source: str, listed: types.Tool) -> Tool:
    """A tool as the server sent it. Odd optional fields read as absent."""
    raw = raw_of(listed)
    output_schema, annotations = raw.get("outputSchema"), raw.get("annotations")
    hints = cast(JsonObject, annotations) if isinstance(annotations, dict) else {}
    meta = raw.get("_meta")
    return Tool(
        key=ToolKey(MCP.name, source, listed.name),
        description=_text(raw.get("description")),
        input_schema=cast(JsonObject, raw["inputSchema"]),
        output_schema=cast(JsonObject, output_schema) if isinstance(output_schema, dict) else None,
        title=_text(raw.get("title")) or _text(hints.get("title")) or None,
        annotations=ToolAnnotations(
            read_only=_flag(hints.get("readOnlyHint")),
            destructive=_flag(hints.get("destructiveHint")),
            idempotent=_flag(hints.get("idempotentHint")),
            open_world=_flag(hints.get("openWorldHint")),
        ),
        meta=cast(JsonObject, meta) if isinstance(meta, dict) else None,
        icons=_icons_in(raw.get("icons")),
        tags=_tags_in(meta),
    )


async def read_result(result: types.CallToolResult, notes: Iterable[str] = ()) -> ToolResult:
    """As `result_of`; one of very many parts is made in a thread, and holds up nobody."""
    kept = cast(JsonObject, kept_in(result.meta) or {})
    if len(kept.get("content", ())) > _MANY:
        return await anyio.to_thread.run_sync(result_of, result, notes)
    return result_of(result, notes)


def result_of(result: types.CallToolResult, notes: Iterable[str] = ()) -> ToolResult:
    """The parts of a result in their order, with these notes."""
    kept = cast(JsonObject, kept_in(result.meta)) or result.model_dump(by_alias=True)
    return ToolResult(
        parts=tuple(part_in(block) for block in kept["content"]),
        structured=kept.get("structured"),
        is_error=bool(result.is_error),
        notes=tuple(notes),
        meta={name: x for name, x in (result.meta or {}).items() if name != RAW} or None,
    )


def part_of(block: Any) -> ResultPart:
    """One content block of the SDK's."""
    return part_in(block.model_dump(by_alias=True))


def part_in(block: JsonObject) -> ResultPart:
    """One content block, with all that its kind must have."""
    match block["type"]:
        case "text" if RAW in (block.get("_meta") or {}):
            raw = kept_in(block["_meta"])
            kind = cast(JsonObject, raw).get("type", "?") if isinstance(raw, dict) else "?"
            return UnknownPart(kind=str(kind), raw=raw)
        case "text":
            return TextPart(block["text"])
        case "image":
            return ImagePart(block["data"], block["mimeType"])
        case "audio":
            return AudioPart(block["data"], block["mimeType"])
        case "resource_link":
            name, description = block["name"], block.get("description")
            return LinkPart(str(block["uri"]), name, description, block.get("mimeType"))
        case "resource":
            return _resource_part_in(block["resource"])
        case kind:
            return UnknownPart(kind=str(kind), raw=block)


def resource_part_of(contents: Any) -> ResourcePart:
    """The content of one resource; text or binary."""
    return _resource_part_in(contents.model_dump(by_alias=True))


def _resource_part_in(contents: JsonObject) -> ResourcePart:
    return ResourcePart(
        uri=str(contents["uri"]),
        text=contents.get("text"),
        data=contents.get("blob"),
        mime_type=contents.get("mimeType"),
    )


def resource_of(
    listed: types.Resource | types.ResourceTemplate, uri: str, *, is_template: bool = False
) -> Resource:
    """A listed resource; the uri of a template has parameters to fill in."""
    return Resource(
        str(uri),
        listed.name,
        _said(listed.description),
        listed.mime_type,
        is_template=is_template,
        title=_said(listed.title) or None,
        icons=_icons(listed.icons),
    )


def prompt_of(listed: types.Prompt) -> Prompt:
    """A listed prompt with its arguments."""
    arguments = tuple(
        PromptArgument(a.name, _said(a.description), bool(a.required))
        for a in listed.arguments or ()
    )
    said, title = _said(listed.description), _said(listed.title) or None
    return Prompt(listed.name, said, arguments, title, _icons(listed.icons))


def prompt_message_of(message: types.PromptMessage) -> PromptMessage:
    """One message of a filled-in prompt."""
    return PromptMessage(message.role, seen_part(part_of(message.content)))


def seen_part(part: ResultPart) -> ResultPart:
    """The same part for a model: its words as they look, and not endless."""
    match part:
        case TextPart(text):
            return TextPart(visible_text(text, _MOST_PROMPT_CHARS))
        case LinkPart(uri, name, description, mime_type):
            return LinkPart(visible(uri), _said(name), _said(description) or None, mime_type)
        case ResourcePart(uri, text, data, mime_type):
            seen = None if text is None else visible_text(text, _MOST_PROMPT_CHARS)
            return ResourcePart(uri, seen, data, mime_type)
        case _:
            return part


def completion_of(completion: types.Completion) -> Completion:
    """What a value may be completed to; values that are not what they look like are left out."""
    total = completion.total
    has_more = completion.has_more or (total or 0) > len(completion.values)
    values = (x for x in completion.values if len(x) <= _MOST_VALUE_CHARS and is_visible(x))
    return Completion(tuple(values), has_more, total)


def _icons_in(raw: Any) -> tuple[Icon, ...]:
    """The icons of a tool, as it came; odd ones are left out."""
    icons = [cast(JsonObject, x) for x in _list(raw) if isinstance(x, dict)]
    return tuple(
        Icon(
            x["src"],
            _text(x.get("mimeType")) or None,
            tuple(size for size in _list(x.get("sizes")) if isinstance(size, str)),
        )
        for x in icons
        if isinstance(x.get("src"), str)
    )


def _tags_in(meta: Any) -> tuple[str, ...]:
    """The tags of a tool, where fastmcp puts them. Sorted: a set has another order in each run."""
    fields = cast(JsonObject, meta) if isinstance(meta, dict) else {}
    places = [cast(JsonObject, x) for k in _TAGGED if isinstance(x := fields.get(k), dict)]
    texts = {x for place in places for x in _list(place.get("tags")) if isinstance(x, str) and x}
    return tuple(sorted(x for x in texts if len(x) <= _TAG_CHARS)[:_MOST_TAGS])


def _icons(listed: Iterable[types.Icon] | None) -> tuple[Icon, ...]:
    return tuple(Icon(x.src, x.mime_type, tuple(x.sizes or ())) for x in listed or ())


def _list(value: Any) -> list[Any]:
    return cast(list[Any], value) if isinstance(value, list) else []


def _said(text: str | None) -> str:
    return visible_text(text or "", _MOST_CHARS)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _flag(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None
