"""Conversion of a server's JSON to our values, field by field; nothing is lost silently.

Listings for people and prompts for a model are cleaned of invisible characters, except for the
names by which items are requested. Tools and results stay unchanged, because they are compared and
programs use them; the code that displays them cleans them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, cast

from ...core.json import JsonObject, as_list, as_object
from ...core.results import (
    AudioPart,
    Completion,
    ImagePart,
    LinkPart,
    Prompt,
    PromptArgument,
    PromptMessage,
    Resource,
    ResourcePart,
    ResultPart,
    TextPart,
    ToolResult,
    UnknownPart,
)
from ...core.tools import MCP, Icon, Tool, ToolAnnotations, ToolKey
from ...core.visible import is_visible, visible, visible_text

_TAG_KEYS = ("fastmcp", "_fastmcp")  # keys of `_meta` since fastmcp 3, and before
_COMMON_FIELDS = ("_meta", "annotations")
_MAX_CHARS = 4000  # of a title or a description
_MAX_VALUE_CHARS = 2000  # of a value suggested for an argument
_MAX_PROMPT_CHARS = 200_000  # of one message; no model's window holds more


def tool_of(source: str, raw: JsonObject) -> Tool:
    """Convert a tool with a name and an input schema; other invalid fields read as absent."""
    hints, meta, schema = (as_object(raw.get(x)) for x in ("annotations", "_meta", "outputSchema"))
    return Tool(
        key=ToolKey(MCP.name, source, raw["name"]),
        description=_text(raw.get("description")),
        input_schema=raw["inputSchema"],
        output_schema=schema if isinstance(raw.get("outputSchema"), dict) else None,
        title=_text(raw.get("title")) or _text(hints.get("title")) or None,
        annotations=ToolAnnotations(
            read_only=_flag(hints.get("readOnlyHint")),
            destructive=_flag(hints.get("destructiveHint")),
            idempotent=_flag(hints.get("idempotentHint")),
            open_world=_flag(hints.get("openWorldHint")),
        ),
        meta=meta if isinstance(raw.get("_meta"), dict) else None,
        icons=_icons(raw.get("icons")),
        tags=_tags(meta),
    )


def result_of(raw: JsonObject, notes: Iterable[str] = ()) -> ToolResult:
    """Convert a result, with its parts in order and these notes."""
    content, meta = raw.get("content"), raw.get("_meta")
    blocks: list[Any] = [content] if isinstance(content, str | dict) else []
    if isinstance(content, list):
        blocks = cast("list[Any]", content)
    return ToolResult(
        parts=tuple(map(part_of, blocks)),
        structured=raw.get("structuredContent"),
        is_error=raw.get("isError") in (True, "true"),
        notes=tuple(notes),
        meta=cast("JsonObject", meta) if isinstance(meta, dict) and meta else None,
    )


def part_of(block: Any) -> ResultPart:
    """Convert a content block; one without its required fields is kept as it came."""
    match block:
        case str():
            return TextPart(block)
        case {"type": "text", "text": str(text)}:
            return TextPart(text, _more(block))
        case {"type": "image", "data": str(data), "mimeType": str(mime_type)}:
            return ImagePart(data, mime_type, _more(block))
        case {"type": "audio", "data": str(data), "mimeType": str(mime_type)}:
            return AudioPart(data, mime_type, _more(block))
        case {"type": "resource_link", "uri": str(uri), "name": str(name)}:
            description, kind = (_text(block.get(x)) or None for x in ("description", "mimeType"))
            return LinkPart(uri, name, description, kind, _more(block, "size", "title"))
        case {"type": "resource", "resource": contents} if part := resource_part_of(contents):
            return replace(part, around=_more(block))
        case {"type": kind}:
            return UnknownPart(kind=str(kind), raw=block)
        case _:
            return UnknownPart(kind="?", raw=block)


def resource_part_of(contents: Any) -> ResourcePart | None:
    """Convert a resource's content, text or binary; None if it has no URI or no content."""
    fields = as_object(contents)
    uri, text, data, kind = (fields.get(x) for x in ("uri", "text", "blob", "mimeType"))
    if not isinstance(uri, str) or not (isinstance(text, str) or isinstance(data, str)):
        return None
    return ResourcePart(
        uri,
        text if isinstance(text, str) else None,
        data if isinstance(data, str) else None,
        kind if isinstance(kind, str) else None,
        _more(fields),
    )


def usable_items(
    items: Any, kind: str, required: tuple[str, ...], note: Callable[[str], None]
) -> list[JsonObject]:
    """Return the listed items that have the required texts, each once.

    `note` gets a line for each item that is left out. The last required text identifies an item;
    `kind` begins a sentence.
    """
    items_by_id: dict[str, JsonObject] = {}
    for item in map(as_object, as_list(items)):
        missing = [x for x in required if not isinstance(item.get(x), str)]
        if missing:
            label = next((f" {item[x]!r}" for x in required if x not in missing), "")
            note(f"{kind}{label} was left out: it has no {missing[0]}.")
        elif (name := item[required[-1]]) in items_by_id:
            note(f"{kind} {name!r} is listed twice; the first one is used.")
        else:
            items_by_id[name] = item
    return list(items_by_id.values())


def resource_of(raw: JsonObject, *, is_template: bool = False) -> Resource:
    """Convert a listed resource; a template's URI has parameters to fill in."""
    return Resource(
        raw["uriTemplate" if is_template else "uri"],
        raw["name"],
        _clean(raw.get("description")),
        _text(raw.get("mimeType")) or None,
        is_template=is_template,
        title=_clean(raw.get("title")) or None,
        icons=_icons(raw.get("icons")),
        more=_more(raw, "size"),
    )


def prompt_of(raw: JsonObject) -> Prompt:
    """Convert a listed prompt with its arguments."""
    arguments = tuple(
        PromptArgument(
            x["name"],
            _clean(x.get("description")),
            x.get("required") is True,
            _clean(x.get("title")) or None,
        )
        for x in map(as_object, as_list(raw.get("arguments")))
        if isinstance(x.get("name"), str)
    )
    title = _clean(raw.get("title")) or None
    description = _clean(raw.get("description"))
    icons, more = _icons(raw.get("icons")), _more(raw)
    return Prompt(raw["name"], description, arguments, title, icons, more)


def prompt_message_of(raw: JsonObject) -> PromptMessage:
    """Convert one message of a filled-in prompt."""
    role = "assistant" if raw.get("role") == "assistant" else "user"
    return PromptMessage(role, visible_part(part_of(raw.get("content"))))


def visible_part(part: ResultPart) -> ResultPart:
    """Return the part for a model, with visible characters only and up to a limit."""
    match part:
        case TextPart(text):
            return replace(part, text=visible_text(text, _MAX_PROMPT_CHARS))
        case LinkPart(uri, name, description):
            description = _clean(description) or None
            return replace(part, uri=visible(uri), name=_clean(name), description=description)
        case ResourcePart(text=str(text)):
            return replace(part, text=visible_text(text, _MAX_PROMPT_CHARS))
        case _:
            return part


def completion_of(raw: JsonObject) -> Completion:
    """Convert a completion, without values that are too long or have invisible characters."""
    completion = as_object(raw.get("completion"))
    values, total = as_list(completion.get("values")), completion.get("total")
    total = total if isinstance(total, int) else None
    has_more = completion.get("hasMore") is True or (total or 0) > len(values)
    texts = (x for x in values if isinstance(x, str) and len(x) <= _MAX_VALUE_CHARS)
    return Completion(tuple(x for x in texts if is_visible(x)), has_more, total)


def _icons(raw: Any) -> tuple[Icon, ...]:
    """Convert icons; invalid ones are left out."""
    return tuple(
        Icon(
            x["src"],
            _text(x.get("mimeType")) or None,
            tuple(size for size in as_list(x.get("sizes")) if isinstance(size, str)),
        )
        for x in map(as_object, as_list(raw))
        if isinstance(x.get("src"), str)
    )


def _tags(meta: JsonObject) -> tuple[str, ...]:
    """Return a tool's fastmcp tags, sorted because a set's order differs in each run."""
    places = [as_object(meta.get(x)) for x in _TAG_KEYS]
    tags = {x for place in places for x in as_list(place.get("tags")) if isinstance(x, str) and x}
    return tuple(sorted(tags))


def _more(raw: JsonObject, *fields: str) -> JsonObject | None:
    """Return the valid ones of these fields, annotations and `_meta`, for other clients."""
    if raw.keys().isdisjoint((*_COMMON_FIELDS, *fields)):
        return None  # true of nearly all items
    valid: JsonObject = {
        "_meta": as_object(raw.get("_meta")),
        "annotations": _annotations(as_object(raw.get("annotations"))),
        "size": size if isinstance(size := raw.get("size"), int) else None,
        "title": _clean(raw.get("title")),
    }
    return {x: y for x, y in valid.items() if y and x in (*_COMMON_FIELDS, *fields)} or None


def _annotations(raw: JsonObject) -> JsonObject:
    priority, modified = raw.get("priority"), raw.get("lastModified")
    readers = [x for x in as_list(raw.get("audience")) if x in ("user", "assistant")]
    valid: JsonObject = {"audience": readers} if readers else {}
    if isinstance(priority, int | float) and 0 <= priority <= 1:
        valid["priority"] = priority
    if isinstance(modified, str):
        valid["lastModified"] = modified
    return valid


def _clean(text: Any) -> str:
    return visible_text(_text(text), _MAX_CHARS)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _flag(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None
