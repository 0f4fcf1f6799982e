"""Answers of services as tool results: JSON, text, pictures, files, refusals.

Secrets are masked only in what is cut: all results are masked later (secrets/masking.py).
"""

from __future__ import annotations

import base64
import codecs
import io
import json
import re
from collections.abc import Mapping
from typing import Any

import anyio.to_thread

from ....core.results import (
    AudioPart,
    ImagePart,
    ResourcePart,
    ResultPart,
    TextPart,
    ToolResult,
    is_outage,
)
from ....secrets.secrets import Mask, masked_and_cut
from ...web.large_json import SHORT_BYTES, TooMuch, read_large
from .client import Answer

_MAX_REFUSAL_CHARS = 4_000  # about 1,000 tokens: what is wrong stands at the beginning
_JSON = re.compile(r"(application|text)/(json|problem\+json|[\w.-]+\+json)")
_TEXT = re.compile(
    r"text/.*|application/(xml|javascript|yaml|x-yaml|x-ndjson|jsonl|json-seq|graphql|sql|"
    r"x-www-form-urlencoded|[\w.-]+\+(xml|yaml))"
)
_CHARSET = re.compile(r"charset=\"?([\w.:-]+)", re.IGNORECASE)
# Python's own, and no text is sent in them: for names of hosts, which takes time as the square of
# the length, and one that fails always.
_NO_CHARSETS = ("punycode", "idna", "undefined")
_STREAM = "text/event-stream"
_HELP = {
    401: "The credentials were not accepted: `auth` of the service in the settings.",
    403: "The credentials do not allow this.",
    404: "Check the arguments that name a thing: it does not exist, or may not be seen.",
    429: "Too many calls: wait before the next one.",
}


def result_of(answer: Answer, mask: Mask) -> ToolResult:
    """The result that an answer is. One that refuses is an error that the model reads."""
    if answer.status >= 300:
        return _refusal(answer, mask)
    if not answer.body:
        return ToolResult.of_text(f"Done: HTTP {_status(answer, mask)}, without any content.")
    kind = answer.media_type
    notes = ("the answer was cut at the limit",) if answer.is_cut else ()
    if kind == _STREAM:
        return ToolResult((TextPart(_events(text_in(answer))),), notes=notes)
    if _JSON.fullmatch(kind) or not kind:
        return _json(answer, mask)
    if _TEXT.fullmatch(kind):
        return ToolResult((TextPart(text_in(answer)),), notes=notes)
    return ToolResult((_binary(answer, mask),), notes=notes)


async def result_within(answer: Answer, mask: Mask) -> ToolResult:
    """The same; of a large answer in a thread, so that others on the loop go on."""
    if len(answer.body) < SHORT_BYTES:
        return result_of(answer, mask)
    return await anyio.to_thread.run_sync(result_of, answer, mask)


def text_in(answer: Answer) -> str:
    """The body as text, in the encoding that it says, or UTF-8."""
    try:
        return answer.body.decode(_encoding(answer), "replace")
    except (LookupError, UnicodeError):
        return answer.body.decode("utf-8-sig", "replace")


def _encoding(answer: Answer) -> str:
    """What Python calls it. UTF-8 may begin with a mark that is no part of the text.

    Raises:
        LookupError: nobody knows it.
    """
    found = _CHARSET.search(answer.headers.get("content-type", ""))
    name = codecs.lookup(found[1]).name if found else "utf-8"
    return "utf-8-sig" if name in ("utf-8", *_NO_CHARSETS) else name


def _json(answer: Answer, mask: Mask) -> ToolResult:
    text = text_in(answer)
    try:
        value = _read(text)
    except TooMuch as cause:
        return ToolResult((TextPart(text),), notes=(f"it is not read as JSON, because {cause}",))
    except (ValueError, RecursionError):
        notes = ("it says that it is JSON, and is not",) if answer.media_type else ()
        is_text = answer.media_type or b"\0" not in answer.body
        return ToolResult((TextPart(text) if is_text else _binary(answer, mask),), notes=notes)
    return ToolResult((TextPart(text),), structured=value)


def _read(text: str) -> Any:
    """The value of a JSON text; large ones in steps, in a thread, so that others go on."""
    if len(text) <= SHORT_BYTES:
        return json.loads(text)
    return read_large(text.encode())


def _binary(answer: Answer, mask: Mask) -> ResultPart:
    data = base64.b64encode(answer.body).decode()
    kind = masked_and_cut(answer.media_type, mask) or "application/octet-stream"
    if kind.startswith("image/"):
        return ImagePart(data, kind)
    if kind.startswith("audio/"):
        return AudioPart(data, kind)
    return ResourcePart(answer.url, data=data, mime_type=kind)


def _events(stream: str) -> str:
    """The data of the events of a stream, one after the other."""
    # Line by line: split at once, millions of them would hold up everybody.
    lines = io.StringIO(stream, newline=None)
    data = (x.partition(":")[2].removeprefix(" ") for x in lines if x.startswith("data:"))
    return "\n".join(x.removesuffix("\n") for x in data)


def _refusal(answer: Answer, mask: Mask) -> ToolResult:
    """An error with the status and what the service says about it."""
    said = mask(_said(answer))
    cut = f"{said[:_MAX_REFUSAL_CHARS]} [...]" if len(said) > _MAX_REFUSAL_CHARS else said
    lines = [f"HTTP {_status(answer, mask)}{':' if cut else '.'} {cut}".rstrip()]
    if wait := answer.headers.get("retry-after"):
        lines.append(f"It asks to wait: Retry-After {masked_and_cut(wait, mask, 40)}.")
    if 300 <= answer.status < 400:
        lines.append("It redirects without saying where.")
    if help_ := _HELP.get(answer.status):
        lines.append(help_)
    parts = (TextPart("\n".join(lines)),)
    return ToolResult(parts, is_error=True, is_outage=is_outage(answer.status))


def _said(answer: Answer) -> str:
    kind = answer.media_type
    if kind == "application/problem+json" and (problem := _problem(answer.json_object())):
        return problem
    is_text = not kind or _JSON.fullmatch(kind) or _TEXT.fullmatch(kind)
    return text_in(answer).strip() if is_text else f"({kind[:80]}, {len(answer.body)} bytes)"


def _problem(found: Mapping[str, Any]) -> str:
    """RFC 9457: a title and a detail, then whatever else is said."""
    words = [x for x in (found.get("title"), found.get("detail")) if isinstance(x, str)]
    known = ("title", "detail", "status", "type", "instance")
    rest = {name: x for name, x in found.items() if name not in known}
    told = [json.dumps(rest, ensure_ascii=False)] if rest else []
    return "\n".join([". ".join(x.rstrip(".") for x in words), *told]).strip() if words else ""


def _status(answer: Answer, mask: Mask) -> str:
    return f"{answer.status} {masked_and_cut(answer.reason, mask)}".strip()
