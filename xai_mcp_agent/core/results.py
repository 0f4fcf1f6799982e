"""Results of tool calls, resources and prompts: lists of parts, the same for every source.

`more` are the extra fields that a source sends with a value, in MCP's form: `annotations`, `_meta`,
`size`, `title`. They are for programs.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import Any, TypeAlias

from .json import JsonObject
from .tools import PROMPT, RESOURCE, TEMPLATE, Icon, Tool, ToolKey

_TOO_MANY_REQUESTS, _SERVER_FAULTS = 429, 500  # HTTP statuses; the latter and all above it

OnProgress: TypeAlias = Callable[[float, float | None, str], Awaitable[None]]
"""Receives the progress of a running call: done, total (or None), and the source's message."""


@dataclass(frozen=True, slots=True)
class TextPart:
    """Plain text."""

    text: str
    more: JsonObject | None = None


@dataclass(frozen=True, slots=True)
class ImagePart:
    """An image. `data` is base64 text, `mime_type` for instance `image/png`."""

    data: str
    mime_type: str
    more: JsonObject | None = None


@dataclass(frozen=True, slots=True)
class AudioPart:
    """A sound. `data` is base64 text, `mime_type` for instance `audio/wav`."""

    data: str
    mime_type: str
    more: JsonObject | None = None


@dataclass(frozen=True, slots=True)
class LinkPart:
    """A link to a resource of the source, without its content."""

    uri: str
    name: str
    description: str | None = None
    mime_type: str | None = None
    more: JsonObject | None = None


@dataclass(frozen=True, slots=True)
class ResourcePart:
    """A resource with its content: `text`, or `data` as base64 text when it is binary.

    `around` are the extra fields of the part of a result that holds it.
    """

    uri: str
    text: str | None = None
    data: str | None = None
    mime_type: str | None = None
    more: JsonObject | None = None
    around: JsonObject | None = None


@dataclass(frozen=True, slots=True)
class UnknownPart:
    """Content of an unknown kind. `raw` is the value as sent."""

    kind: str
    raw: Any


ResultPart: TypeAlias = TextPart | ImagePart | AudioPart | LinkPart | ResourcePart | UnknownPart
"""One part of a result or of a prompt's message."""

_KINDS = (TextPart, ImagePart, AudioPart, LinkPart, ResourcePart, UnknownPart)
_PARTS: dict[str, type[ResultPart]] = {x.__name__: x for x in _KINDS}


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a tool call.

    `is_error` means that the tool itself failed: its text is meant for the model. `structured` is
    the JSON value of a tool with an output schema. `notes` are ours, for instance that the result
    breaks that schema. `meta` is what the source added for programs, such as costs, or None.
    `is_outage` tells the circuit breaker that the source itself is in trouble.
    """

    parts: tuple[ResultPart, ...] = ()
    structured: Any = None
    is_error: bool = False
    notes: tuple[str, ...] = ()
    meta: JsonObject | None = None
    is_outage: bool = False

    @staticmethod
    def of_text(text: str, *, is_error: bool = False) -> ToolResult:
        """Return a result with one piece of text."""
        return ToolResult(parts=(TextPart(text),), is_error=is_error)

    @property
    def text(self) -> str:
        """All parts as text, with a placeholder for each binary part."""
        lines = [describe(part) for part in self.parts]
        if not lines and self.structured is not None:
            lines = [json.dumps(self.structured, ensure_ascii=False)]
        return "\n".join(lines)


def is_outage(status: int) -> bool:
    """Return whether an HTTP status means that the service itself is in trouble."""
    return status == _TOO_MANY_REQUESTS or status >= _SERVER_FAULTS


def bytes_of(part: ImagePart | AudioPart | ResourcePart) -> bytes:
    """Return the content of this part as bytes of a file; empty if its data is not base64."""
    if isinstance(part, ResourcePart) and part.text is not None:
        return part.text.encode()
    try:
        return base64.b64decode(part.data or "")
    except ValueError:
        return b""


def result_as_json(result: ToolResult) -> JsonObject:
    """Return a result as JSON, for `result_from_json`; without `is_outage`."""
    parts = [{"part": type(x).__name__, **fields_of(x)} for x in result.parts]
    names = ("structured", "is_error", "notes", "meta")
    return {"parts": parts, **{x: getattr(result, x) for x in names}}


def result_from_json(value: JsonObject) -> ToolResult:
    """Read a result that `result_as_json` returned.

    Raises:
        KeyError, TypeError: the value is something else.
    """
    fields = dict(value)
    values = [dict(x) for x in fields.pop("parts")]
    parts = tuple(_PARTS[x.pop("part")](**x) for x in values)
    return ToolResult(parts, notes=tuple(fields.pop("notes")), **fields)


def fields_of(value: ResultPart | Resource | Prompt) -> JsonObject:
    """Return the fields of a value as JSON, with extra fields only if there are some."""
    fields = asdict(value)
    return {x: y for x, y in fields.items() if y is not None or x not in ("more", "around")}


def describe(part: ResultPart) -> str:
    """Return one part as text; a binary part as a placeholder with its kind and size."""
    match part:
        case TextPart(text):
            return text
        case ImagePart(data, mime_type):
            return f"[image {mime_type}, {_bytes_in(data)} bytes, not shown as text]"
        case AudioPart(data, mime_type):
            return f"[audio {mime_type}, {_bytes_in(data)} bytes, not shown as text]"
        case LinkPart(uri, name, description):
            return f"[resource {name}: {uri}]" + (f" {description}" if description else "")
        case ResourcePart(uri, text, data, mime_type):
            if text is not None:
                return text
            return f"[resource {uri}, {mime_type or 'binary'}, {_bytes_in(data or '')} bytes]"
        case UnknownPart(kind):
            return f"[content of unknown kind {kind!r}, left out]"


def _bytes_in(base64_text: str) -> int:
    return len(base64_text.rstrip("=")) * 3 // 4


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource that a source offers. A template's `uri` has `{parameters}` to fill in."""

    uri: str
    name: str
    description: str = ""
    mime_type: str | None = None
    is_template: bool = False
    title: str | None = None
    icons: tuple[Icon, ...] = ()
    more: JsonObject | None = field(default=None, hash=False)


@dataclass(frozen=True, slots=True)
class PromptArgument:
    """An argument of a prompt. All values are text."""

    name: str
    description: str = ""
    required: bool = False
    title: str | None = None


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt that a source offers."""

    name: str
    description: str = ""
    arguments: tuple[PromptArgument, ...] = ()
    title: str | None = None
    icons: tuple[Icon, ...] = ()
    more: JsonObject | None = field(default=None, hash=False)


@dataclass(frozen=True, slots=True)
class PromptMessage:
    """One message of a filled-in prompt. `role` is `user` or `assistant`."""

    role: str
    content: ResultPart


@dataclass(frozen=True, slots=True)
class Completion:
    """Completions of a value. `total` is their number, if the source gives it.

    A source returns a hundred at most; `has_more` says that it has more.
    """

    values: tuple[str, ...] = ()
    has_more: bool = False
    total: int | None = None


def tools_of_features(source: str, features: Iterable[Prompt | Resource]) -> Iterator[Tool]:
    """Yield these prompts and resources of a source as tools; a resource's name is its URI."""
    for x in features:
        yield _of_prompt(source, x) if isinstance(x, Prompt) else _of_resource(source, x)


# Cached, so that a long listing without changes is compared by identity. The fields in `more` are
# in no tool, and have no hash.
@lru_cache(maxsize=10_000)
def _of_prompt(source: str, prompt: Prompt) -> Tool:
    schemas: JsonObject = {x.name: {"type": "string"} for x in prompt.arguments}
    for x in prompt.arguments:
        schemas[x.name] |= {"description": x.description} if x.description else {}
    required = [x.name for x in prompt.arguments if x.required]
    return Tool(
        ToolKey(PROMPT.name, source, prompt.name),
        prompt.description,
        {"type": "object", "properties": schemas, "required": required},
        title=prompt.title,
        icons=prompt.icons,
    )


@lru_cache(maxsize=10_000)
def _of_resource(source: str, resource: Resource) -> Tool:
    kind, mime_type = TEMPLATE if resource.is_template else RESOURCE, resource.mime_type
    return Tool(
        ToolKey(kind.name, source, resource.uri),
        resource.description,
        {"type": "object", "properties": {}},
        {"type": "string", "contentMediaType": mime_type} if mime_type else None,
        title=resource.title or resource.name,
        icons=resource.icons,
    )
