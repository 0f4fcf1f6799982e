"""Bodies of requests: JSON, text, forms and files, each in its media type.

OpenAPI 3.2 (Media Type Object, Encoding Object) decides how a body is written. A file argument is
one text that a model can write: its content, or a `data:` URL with its media type, its name as
`name=` and its bytes in base64. Local files are never read: a model would choose which.
"""

from __future__ import annotations

import base64
import binascii
import secrets
from collections.abc import Iterator
from typing import Any, TypeAlias
from urllib.parse import unquote, unquote_to_bytes

from ...core.json import is_list, is_object
from .plan import (
    Body,
    FormPart,
    Unwritable,
    content_text,
    in_query,
    in_url,
    json_text,
    one_line,
    pairs,
    value_text,
)

Content: TypeAlias = tuple[str, bytes]
"""A media type and the bytes."""

JSON, FORM, MULTIPART = (
    "application/json",
    "application/x-www-form-urlencoded",
    "multipart/form-data",
)
_BINARY = "application/octet-stream"
_LINES = ("application/jsonl", "application/x-ndjson", "application/ndjson")
_DATA_URL = "data:"
_FILE_NAMES = ("name", "filename")


def encode_body(body: Body, value: Any) -> Content:
    """Return the `Content-Type` and the bytes of a body with this value.

    Raises:
        Unwritable: the media type cannot hold the value.
    """
    kind = base_of(body.media_type)
    if is_json(kind):
        media_type = body.media_type if kind and "*" not in kind else JSON
        return media_type, json_text(value).encode()
    if kind == FORM:
        return FORM, "&".join(f"{key}={x}" for key, x in _form_pairs(body, value)).encode()
    if kind.startswith("multipart/"):
        return _multipart(body, kind if kind != "multipart/*" else MULTIPART, value)
    if kind in _LINES:
        lines = value if is_list(value) else [value]
        return body.media_type, "".join(f"{json_text(x)}\n" for x in lines).encode()
    if kind.startswith("text/"):
        return f"{kind}; charset=utf-8", value_text(value).encode("utf-8", "replace")
    data, media_type, _ = _file_of(value)
    return one_line((media_type or _BINARY) if "*" in kind else kind), data


def base_of(media_type: str) -> str:
    """Return a media type without its parameters, in lower case."""
    return media_type.partition(";")[0].strip().lower()


def is_json_type(kind: str) -> bool:
    """Return whether a media type, in lower case, is JSON."""
    return kind.endswith(("/json", "+json"))


def is_json(kind: str) -> bool:
    """Return whether a body of this media type, in lower case, is written as JSON."""
    return kind in ("", "*/*", "application/*") or is_json_type(kind)


def _members(value: Any) -> Iterator[tuple[str, Any]]:
    if not is_object(value):
        raise Unwritable("it is not an object, and a form has named fields")
    return iter(value.items())


def _form_pairs(body: Body, value: Any) -> Iterator[tuple[str, str]]:
    for name, member in _members(value):
        part = body.parts.get(name, FormPart())
        if part.style:
            encode = in_query if part.allow_reserved else in_url
            yield from pairs(name, member, part.style, part.explode, encode)
        else:
            yield from ((in_url(name), in_url(_field_text(part, x))) for x in _each(part, member))


def _field_text(part: FormPart, value: Any) -> str:
    """Write a field in its media type; text stays unquoted even if that is JSON."""
    is_text = isinstance(value, str) and is_json(base_of(part.media_type))
    if part.is_file or not part.media_type or is_text:
        return value_text(value)
    return content_text(value, part.media_type)


def _each(part: FormPart, value: Any) -> list[Any]:
    """Return the values of a field; a list without a media type has one for each item."""
    if is_list(value) and (part.is_list or part.is_file or not part.media_type):
        return [x for x in value if x is not None]
    return [] if value is None else [value]


def _multipart(body: Body, kind: str, value: Any) -> Content:
    from httpx2 import Request  # here, because most bodies do not need it

    fields = [field for name, x in _members(value) for field in _fields(body, name, x)]
    boundary = secrets.token_hex(16)
    media_type = f"{kind}; boundary={boundary}"
    if not fields:
        return media_type, f"--{boundary}--\r\n".encode()
    headers = {"content-type": f"multipart/form-data; boundary={boundary}"}
    try:
        # Names may contain any character: the library escapes them.
        return media_type, Request("POST", "http://form", headers=headers, files=fields).read()
    except ValueError as cause:
        raise Unwritable(f"a form cannot hold one of its fields: {cause}") from None


def _fields(body: Body, name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the fields of one property in the HTTP library's form."""
    part = body.parts.get(name, FormPart())
    if part.style and not part.is_file:
        for key, text in pairs(name, value, part.style, part.explode, str):
            yield key, (None, text.encode("utf-8", "replace"))
        return
    for item in _each(part, value):
        if part.is_file:
            data, media_type, file_name = _file_of(item)
            # A list of media types leaves the choice to us.
            is_one = "*" not in part.media_type and "," not in part.media_type
            media_type = media_type or (part.media_type if is_one else "") or _BINARY
            yield name, (file_name or name, data, one_line(media_type))
        else:
            is_json_part = part.media_type and is_json(base_of(part.media_type))
            text = json_text(item) if is_json_part else value_text(item)
            data = text.encode("utf-8", "replace")
            yield name, (None, data, _part_type(part, item))


def _part_type(part: FormPart, value: Any) -> str | None:
    """Return the `Content-Type` of a part, or None for plain text."""
    media_type = part.media_type
    if media_type and not media_type.startswith("text/plain") and "*" not in media_type:
        return one_line(media_type.partition(",")[0])
    return JSON if isinstance(value, dict | list) else None


def _file_of(value: Any) -> tuple[bytes, str, str]:
    """Return the bytes, media type and name of a file argument.

    Raises:
        Unwritable: it begins with `data:` but is not a valid `data:` URL.
    """
    text = value_text(value)
    if text[: len(_DATA_URL)].lower() != _DATA_URL:
        return text.encode("utf-8", "surrogatepass"), "", ""
    head, comma, data = text[len(_DATA_URL) :].partition(",")
    if not comma:
        raise Unwritable("it begins with `data:` but has no comma before its data")
    media_type, *parameters = (x.strip() for x in head.split(";"))
    fields = [(x, *x.partition("=")[::2]) for x in parameters]
    names = [unquote(y).strip('"') for _, key, y in fields if key.lower() in _FILE_NAMES]
    others = [x for x, key, _ in fields if "=" in x and key.lower() not in _FILE_NAMES]
    is_base64 = any(x.lower() == "base64" for x in parameters)
    return (
        _decode(data) if is_base64 else unquote_to_bytes(data),
        ";".join([media_type, *others]) if media_type else _BINARY if is_base64 else "text/plain",
        "".join(names[:1]).replace("\\", "/").rpartition("/")[2],
    )


def _decode(data: str) -> bytes:
    """Decode base64 with line breaks, without padding, or in the URL-safe alphabet."""
    plain = "".join(unquote(data).split()).rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except binascii.Error:
        raise Unwritable("its data is not base64") from None
