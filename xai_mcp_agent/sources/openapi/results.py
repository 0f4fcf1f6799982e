"""Responses of services as tool results: JSON, text, images, files, refusals.

It masks secrets only before it cuts a text; `secrets/masking.py` masks all results later. Binary
answers become files: a model cannot read them, but a person or another tool can open them.
"""

from __future__ import annotations

import base64
import codecs
import hashlib
import io
import mimetypes
import re
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import anyio.to_thread

from ...core.results import (
    AudioPart,
    ImagePart,
    ResourcePart,
    ResultPart,
    TextPart,
    ToolResult,
    bytes_of,
    is_outage,
)
from ...secrets.private_files import make_private_folder, replace_private
from ...secrets.secrets import Mask, mask_and_cut
from ..web.json_text import LONG_BYTES, read_json
from ..web.network_errors import STATUS_HELP
from .client import ServiceResponse
from .plan import is_json_type

_MAX_REFUSAL_CHARS = 4_000  # about 1,000 tokens: the cause stands at the beginning
_TEXT = re.compile(
    r"text/.*|application/(xml|javascript|yaml|x-yaml|x-ndjson|jsonl|json-seq|graphql|sql|"
    r"x-www-form-urlencoded|[\w.-]+\+(xml|yaml))"
)
_CHARSET = re.compile(r"charset=\"?([\w.:-]+)", re.IGNORECASE)
# Python codecs that no service uses for text: two are for host names and take quadratic time, and
# one always fails.
_NO_CHARSETS = ("punycode", "idna", "undefined")
_STREAM = "text/event-stream"
_HELP = {
    **STATUS_HELP,
    401: "The credentials were not accepted: check `auth` of the service in the settings.",
    404: "Check the ids and names in the arguments: one does not exist, or you may not see it.",
}
_DAYS = 7  # time to look at a file; nobody has to clean up
_DIGEST_CHARS = 16


async def result_of(response: ServiceResponse, mask: Mask) -> ToolResult:
    """Return the tool result for a response. A refusal becomes an error that the model reads.

    It reads a large response in a thread, so that the event loop goes on.
    """
    if len(response.body) < LONG_BYTES:
        return _result(response, mask)
    return await anyio.to_thread.run_sync(_result, response, mask)


async def with_files(result: ToolResult, service: str) -> ToolResult:
    """Write binary parts to private files, and note where, or why that failed."""
    parts = [x for x in result.parts if isinstance(x, ResourcePart) and x.data]
    if not parts:
        return result
    # Here, because most services answer with text.
    from platformdirs import user_cache_path

    folder = user_cache_path("xai-mcp-agent", appauthor=False) / "answers"
    folder /= re.sub(r"[^A-Za-z0-9_-]", "_", service)
    notes = await anyio.to_thread.run_sync(_write_files, parts, folder, abandon_on_cancel=True)
    return replace(result, notes=(*result.notes, *notes))


def _result(response: ServiceResponse, mask: Mask) -> ToolResult:
    if response.status >= 300:
        return _refusal(response, mask)
    if not response.body:
        return ToolResult.of_text(f"Done: HTTP {_status(response, mask)}, without content.")
    kind = response.media_type
    if not kind or is_json_type(kind):
        return _json_result(response, mask)
    notes = ("the response was cut at the limit",) if response.is_cut else ()
    if kind == _STREAM:
        part = TextPart(_event_data(_text(response)))
    elif _TEXT.fullmatch(kind):
        part = TextPart(_text(response))
    else:
        part = _binary(response, mask)
    return ToolResult((part,), notes=notes)


def _json_result(response: ServiceResponse, mask: Mask) -> ToolResult:
    text = _text(response)
    part, value, notes = TextPart(text), None, ()
    try:
        value = read_json(text)
    except (ValueError, RecursionError):
        if response.media_type:
            notes = ("it claims to be JSON, but is not",)
        elif b"\0" in response.body:
            part = _binary(response, mask)
    return ToolResult((part,), structured=value, notes=notes)


def _text(response: ServiceResponse) -> str:
    """Return the body as text in its declared encoding, or UTF-8."""
    try:
        match = _CHARSET.search(response.headers.get("content-type", ""))
        name = codecs.lookup(match[1]).name if match else "utf-8"
        # UTF-8 may begin with a byte order mark.
        encoding = "utf-8-sig" if name in ("utf-8", *_NO_CHARSETS) else name
        return response.body.decode(encoding, "replace")
    except (LookupError, UnicodeError):
        return response.body.decode("utf-8-sig", "replace")


def _binary(response: ServiceResponse, mask: Mask) -> ResultPart:
    data = base64.b64encode(response.body).decode()
    kind = mask_and_cut(response.media_type, mask) or "application/octet-stream"
    if kind.startswith("image/"):
        return ImagePart(data, kind)
    if kind.startswith("audio/"):
        return AudioPart(data, kind)
    return ResourcePart(response.url, data=data, mime_type=kind)


def _event_data(stream: str) -> str:
    """Return the data of all events in a stream."""
    # Line by line: splitting millions of lines at once would block other tasks.
    lines = io.StringIO(stream, newline=None)
    data = (x.partition(":")[2].removeprefix(" ") for x in lines if x.startswith("data:"))
    return "\n".join(x.removesuffix("\n") for x in data)


# Refusals


def _refusal(response: ServiceResponse, mask: Mask) -> ToolResult:
    """Return an error with the status and the service's explanation."""
    kind = response.media_type
    if not kind or is_json_type(kind) or _TEXT.fullmatch(kind):
        words = mask(_text(response).strip())
    else:
        words = mask(f"({kind[:80]}, {len(response.body)} bytes)")
    if len(words) > _MAX_REFUSAL_CHARS:
        words = f"{words[:_MAX_REFUSAL_CHARS]} [...]"
    lines = [f"HTTP {_status(response, mask)}{':' if words else '.'} {words}".rstrip()]
    if wait := response.headers.get("retry-after"):
        lines.append(f"It asks to wait: Retry-After {mask_and_cut(wait, mask, 40)}.")
    if response.status < 400:
        lines.append("It redirects, but does not say where.")
    if help_ := _HELP.get(response.status):
        lines.append(help_)
    parts = (TextPart("\n".join(lines)),)
    return ToolResult(parts, is_error=True, is_outage=is_outage(response.status))


def _status(response: ServiceResponse, mask: Mask) -> str:
    return f"{response.status} {mask_and_cut(response.reason, mask)}".strip()


# Files


def _write_files(parts: list[ResourcePart], folder: Path) -> list[str]:
    try:
        make_private_folder(folder)
        _remove_old(folder)
        return [_write(x, folder) for x in parts]
    except OSError as cause:
        why = cause.strerror or str(cause)
        return [f"its bytes could not be written to a file in {folder}: {why}"]


def _write(part: ResourcePart, folder: Path) -> str:
    data = bytes_of(part)
    name = hashlib.sha256(data).hexdigest()[:_DIGEST_CHARS]
    file = folder / f"{name}{mimetypes.guess_extension(part.mime_type or '') or '.bin'}"
    replace_private(file, data)
    return f"its {len(data):,} bytes are kept for {_DAYS} days as the file {file}"


def _remove_old(folder: Path) -> None:
    oldest = time.time() - _DAYS * 24 * 3600
    for file in folder.iterdir():
        with suppress(OSError):  # another process may have removed it
            if file.stat().st_mtime < oldest:
                file.unlink()
