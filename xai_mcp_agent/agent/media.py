"""Pictures and sounds in tool results: as parts of a message, within limits.

A result with media becomes a message with a list of parts as its content, in the shape of Chat
Completions: the text, which names each of them, and then the media. `models/` decides how a service
takes them and which it refuses.
"""

from __future__ import annotations

import base64
from collections.abc import Collection, Iterable, Sequence
from itertools import accumulate, takewhile
from typing import Any, cast

from ..core.results import AudioPart, ImagePart, ResourcePart, ResultPart, ToolResult
from .messages import Message, text_of

# A request shows the pictures of the most recent results only: one costs about 1,000 tokens each
# time, and a page as it looked ten steps ago misleads more than it helps.
RESULTS_WITH_MEDIA = 4
_MEDIA_CHARS = 14_000_000  # 10 MB together: a request is made on the loop
MAX_PARTS = 8
# Of one result, as base64: 5 MB, the limit of the strictest of the large services.
MAX_CHARS = 7_000_000
_HEAD_CHARS = 24  # of base64: enough to tell the file type
_BEGINNINGS = {b"\x89PNG": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif"}
_RIFF = {b"WEBP": "image/webp", b"WAVE": "audio/wav"}
_SOUNDS = {"audio/wav": "wav", "audio/mpeg": "mp3"}
_KINDS = {"image_url": "image", "input_audio": "audio"}
_LIMITS = (
    f"A result shows {MAX_PARTS} at most, of 5 MB together, and these kinds: PNG, JPEG, GIF, WebP, "
    "WAV, MP3."
)
_FOLDED = "[Pictures and sounds of this result are not shown any more.]"


def content_of(text: str, result: ToolResult) -> str | list[Any]:
    """Return the content of a result's message: its text, or text and media."""
    accepted: list[Any] = []
    omitted_count, chars = 0, 0
    for part in result.parts:
        data = _data_of(part)
        if data is None:
            continue
        fits = len(accepted) < MAX_PARTS and chars + len(data) <= MAX_CHARS
        if fits and (media := _part(data)):
            accepted.append(media)
            chars += len(data)
        else:
            omitted_count += 1
    if omitted_count:
        text = f"{text}\n[{omitted_count} of the pictures and sounds cannot be shown. {_LIMITS}]"
    return _content(text, accepted)


def fold_old(messages: Sequence[Message]) -> list[Message]:
    """Return the messages with media in the last few results only, and a note in older ones."""
    with_media = [n for n, x in enumerate(messages) if x["role"] == "tool" and split(x)[1]]
    sizes = accumulate(_chars_in(messages[n]) for n in reversed(with_media))
    recent = sum(1 for _ in takewhile(lambda chars: chars <= _MEDIA_CHARS, sizes))
    old = set(with_media[: -min(recent, RESULTS_WITH_MEDIA) or None])
    return [
        {**x, "content": f"{text_of(x)}\n{_FOLDED}"} if n in old else x
        for n, x in enumerate(messages)
    ]


def kinds_in(messages: Iterable[Message]) -> set[str]:
    """Return the kinds of media in these messages' tool results: `image`, `audio`."""
    results = (x for x in messages if x["role"] == "tool")
    return {_KINDS[part["type"]] for x in results for part in split(x)[1]}


def without(message: Message, refused: Collection[str]) -> Message:
    """Return a result's message with words in place of the kinds that a service refuses."""
    text, media = split(message)
    accepted = [x for x in media if _KINDS[x["type"]] not in refused]
    if len(accepted) == len(media):
        return message
    omitted_count = len(media) - len(accepted)
    note = f"{omitted_count} of the pictures and sounds of this result are not shown to you"
    text = f"{text}\n[{note}: your service takes none.]"
    return {**message, "content": _content(text, accepted)}


def split(message: Message) -> tuple[str, list[Any]]:
    """Return the text of a message, and its pictures and sounds."""
    content = message.get("content")
    parts = cast(list[Any], content) if isinstance(content, list) else []
    media: list[Any] = [
        x for x in parts if isinstance(x, dict) and cast(Any, x).get("type") in _KINDS
    ]
    return text_of(message), media


def _chars_in(message: Message) -> int:
    media = [part.get(part["type"]) for part in split(message)[1]]
    values = [value for x in media if isinstance(x, dict) for value in cast(Any, x).values()]
    return sum(len(x) for x in values if isinstance(x, str))


def _content(text: str, media: list[Any]) -> str | list[Any]:
    return [{"type": "text", "text": text}, *media] if media else text


def _data_of(part: ResultPart) -> str | None:
    """Return the base64 text of a picture or a sound; None for any other part."""
    if isinstance(part, ImagePart | AudioPart):
        return part.data
    if isinstance(part, ResourcePart) and (part.mime_type or "").startswith(("image/", "audio/")):
        return part.data
    return None


def _part(data: str) -> dict[str, Any] | None:
    """Return a message part, typed by its own bytes; None for types that no model takes."""
    data = "".join(data.split())
    mime_type = _mime_type(data)
    if mime_type in _SOUNDS:
        return {"type": "input_audio", "input_audio": {"data": data, "format": _SOUNDS[mime_type]}}
    url = f"data:{mime_type};base64,{data}"
    return {"type": "image_url", "image_url": {"url": url}} if mime_type else None


def _mime_type(data: str) -> str:
    try:
        head = base64.b64decode(data[:_HEAD_CHARS])
    except ValueError:
        return ""
    if head.startswith(b"RIFF"):
        return _RIFF.get(head[8:12], "")
    if head.startswith(b"ID3") or (
        head[:1] == b"\xff" and head[1:2] in (b"\xfb", b"\xf3", b"\xf2")
    ):
        return "audio/mpeg"
    return next((x for start, x in _BEGINNINGS.items() if head.startswith(start)), "")
