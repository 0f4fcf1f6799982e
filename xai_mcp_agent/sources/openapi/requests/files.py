"""A file as an argument: one text, which a model can write.

It is the file's content, or a `data:` URL with its bytes in base64: its media type stands in it,
and its name as `name=`. Files of this machine are never read: a model would choose which.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, unquote_to_bytes

from .serialize import Unwritable, text_of

_SCHEME = "data:"
_BINARY = "application/octet-stream"
_NAMES = ("name", "filename")


@dataclass(frozen=True, slots=True)
class SentFile:
    """The bytes of a file. Without a `media_type` or a `name` nothing was said of these."""

    data: bytes
    media_type: str = ""
    name: str = ""


def file_of(value: Any) -> SentFile:
    """The file that an argument stands for.

    Raises:
        Unwritable: it begins as a `data:` URL and is none.
    """
    text = text_of(value)
    if text[: len(_SCHEME)].lower() != _SCHEME:
        return SentFile(text.encode("utf-8", "surrogatepass"))
    head, comma, data = text[len(_SCHEME) :].partition(",")
    if not comma:
        raise Unwritable("it begins with `data:` and has no comma before its data")
    media_type, *parameters = (x.strip() for x in head.split(";"))
    names = [x.partition("=") for x in parameters]
    name = next((unquote(x).strip('"') for key, _, x in names if key.lower() in _NAMES), "")
    is_base64 = any(x.lower() == "base64" for x in parameters)
    kept = [x for x in parameters if "=" in x and x.partition("=")[0].lower() not in _NAMES]
    return SentFile(
        _decoded(data) if is_base64 else unquote_to_bytes(data),
        ";".join([media_type, *kept]) if media_type else _BINARY if is_base64 else "text/plain",
        name.replace("\\", "/").rpartition("/")[2],
    )


def _decoded(data: str) -> bytes:
    """Base64 as it is written: with line breaks, without its end, in the alphabet for URLs."""
    plain = "".join(unquote(data).split()).rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except binascii.Error:
        raise Unwritable("its data is no base64") from None
