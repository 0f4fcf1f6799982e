"""The body of a request: JSON, forms, files and text, as a plan says.

OpenAPI 3.2 (Media Type Object, Encoding Object) decides how. A file as an argument is one text,
which a model can write: its content, or a `data:` URL with its bytes in base64, in which its media
type stands, and its name as `name=`. Files of this machine are never read: a model would choose
which.
"""

from __future__ import annotations

import base64
import binascii
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias
from urllib.parse import unquote, unquote_to_bytes

from ...core.json import is_list, is_object
from .plan import Body, Part
from .serialize import (
    PLAIN_WRITING,
    QUERY_RESERVED,
    URL_WRITING,
    Unwritable,
    content_text,
    json_text,
    one_line,
    pairs,
    value_text,
)

Content: TypeAlias = tuple[str, bytes]
"""A media type, and the bytes."""

_Field: TypeAlias = tuple[str | None, bytes, str | None, dict[str, str]]

JSON, FORM, MULTIPART = (
    "application/json",
    "application/x-www-form-urlencoded",
    "multipart/form-data",
)
_BINARY = "application/octet-stream"
_LINES = ("application/jsonl", "application/x-ndjson", "application/ndjson")
_JSON_SEQUENCE = "application/json-seq"
_DATA_URL = "data:"
_FILE_NAMES = ("name", "filename")


def encode_body(body: Body, value: Any) -> Content:
    """Return the body that holds this value, and what its `Content-Type` says.

    Raises:
        Unwritable: it cannot be held by the media type.
    """
    kind = base_of(body.media_type)
    if is_json(kind):
        media_type = body.media_type if kind and "*" not in kind else JSON
        return media_type, json_text(value).encode()
    if kind == FORM:
        return FORM, "&".join(f"{key}={x}" for key, x in _form_pairs(body, value)).encode()
    if kind.startswith("multipart/"):
        return _multipart(body, kind, value)
    if kind in _LINES or kind == _JSON_SEQUENCE:
        before = "\x1e" if kind == _JSON_SEQUENCE else ""
        lines = value if is_list(value) else [value]
        return body.media_type, "".join(f"{before}{json_text(x)}\n" for x in lines).encode()
    if kind.startswith("text/"):
        return f"{kind}; charset=utf-8", value_text(value).encode("utf-8", "replace")
    file = file_of(value)
    media_type = (file.media_type or _BINARY) if "*" in kind else kind
    return one_line(media_type), file.data


def base_of(media_type: str) -> str:
    """Return a media type without its parameters, in lower case."""
    return media_type.partition(";")[0].strip().lower()


def is_json(kind: str) -> bool:
    """Whether values are written as JSON where this media type, in lower case, is wanted."""
    return kind in ("", "*/*", "application/*", "text/json") or (
        kind.endswith(("/json", "+json")) and kind.startswith(("application/", "text/"))
    )


# Forms


def _members(value: Any) -> Mapping[str, Any]:
    if not is_object(value):
        raise Unwritable("it is not an object, and a form has named fields")
    return value


def _form_pairs(body: Body, value: Any) -> Iterator[tuple[str, str]]:
    for name, member in _members(value).items():
        part = body.parts.get(name, Part())
        if part.style:
            writing = QUERY_RESERVED if part.allow_reserved else URL_WRITING
            yield from pairs(name, member, part.style, part.explode, writing)
        else:
            encode = URL_WRITING.encode
            yield from ((encode(name), encode(_field_text(part, x))) for x in _each(part, member))


def _field_text(part: Part, value: Any) -> str:
    """Write a field as its media type; texts are not put in quotes where that is JSON."""
    is_text = isinstance(value, str) and is_json(base_of(part.media_type))
    if part.is_file or not part.media_type or is_text:
        return value_text(value)
    return content_text(value, part.media_type)


def _each(part: Part, value: Any) -> list[Any]:
    """Return the values of a field: of a list without a media type one for each item."""
    if is_list(value) and (part.is_list or part.is_file or not part.media_type):
        return [x for x in value if x is not None]
    return [] if value is None else [value]


def _multipart(body: Body, kind: str, value: Any) -> Content:
    from httpx2 import Request  # here, because most bodies need none of it

    fields = [x for name, member in _members(value).items() for x in _fields(body, name, member)]
    boundary = secrets.token_hex(16)
    kind = kind if kind != "multipart/*" else MULTIPART
    media_type = f"{kind}; boundary={boundary}"
    if not fields:
        return media_type, f"--{boundary}--\r\n".encode()
    headers = {"content-type": f"multipart/form-data; boundary={boundary}"}
    try:
        # Names may have any character: the library escapes them.
        return media_type, Request("POST", "http://form", headers=headers, files=fields).read()
    except ValueError as cause:
        raise Unwritable(f"a form cannot hold one of its fields: {cause}") from None


def _fields(body: Body, name: str, value: Any) -> Iterator[tuple[str, _Field]]:
    part = body.parts.get(name, Part())
    headers = {key: one_line(x) for key, x in part.headers.items()}
    if part.style and not part.is_file:
        for key, text in pairs(name, value, part.style, part.explode, PLAIN_WRITING):
            yield key, (None, text.encode("utf-8", "replace"), None, dict(headers))
        return
    for item in _each(part, value):
        if part.is_file:
            yield name, _file_field(name, part, item, headers)
        else:
            yield name, (None, _part_bytes(part, item), _part_type(part, item), dict(headers))


def _file_field(name: str, part: Part, value: Any, headers: Mapping[str, str]) -> _Field:
    file = file_of(value)
    # A media type that lists several leaves the choice.
    is_one = "*" not in part.media_type and "," not in part.media_type
    media_type = file.media_type or (part.media_type if is_one else "") or _BINARY
    return file.name or name, file.data, one_line(media_type), dict(headers)


def _part_bytes(part: Part, value: Any) -> bytes:
    if part.media_type and is_json(base_of(part.media_type)):
        return json_text(value).encode()
    return value_text(value).encode("utf-8", "replace")


def _part_type(part: Part, value: Any) -> str | None:
    """Return what is said of a part that is not plain text."""
    media_type = part.media_type
    if media_type and not media_type.startswith("text/plain") and "*" not in media_type:
        return one_line(media_type.partition(",")[0])
    return JSON if isinstance(value, dict | list) else None


# Files


@dataclass(frozen=True, slots=True)
class SentFile:
    """The bytes of a file, its media type and its name, as far as they are given."""

    data: bytes
    media_type: str = ""
    name: str = ""


def file_of(value: Any) -> SentFile:
    """Return the file that an argument stands for.

    Raises:
        Unwritable: it begins as a `data:` URL and is none.
    """
    text = value_text(value)
    if text[: len(_DATA_URL)].lower() != _DATA_URL:
        return SentFile(text.encode("utf-8", "surrogatepass"))
    head, comma, data = text[len(_DATA_URL) :].partition(",")
    if not comma:
        raise Unwritable("it begins with `data:` but has no comma before its data")
    media_type, *parameters = (x.strip() for x in head.split(";"))
    named = [(x, *x.partition("=")[::2]) for x in parameters]
    names = [unquote(y).strip('"') for _, key, y in named if key.lower() in _FILE_NAMES]
    others = [x for x, key, _ in named if "=" in x and key.lower() not in _FILE_NAMES]
    is_base64 = any(x.lower() == "base64" for x in parameters)
    usual = _BINARY if is_base64 else "text/plain"
    return SentFile(
        _decode(data) if is_base64 else unquote_to_bytes(data),
        ";".join([media_type, *others]) if media_type else usual,
        "".join(names[:1]).replace("\\", "/").rpartition("/")[2],
    )


def _decode(data: str) -> bytes:
    """Decode base64 as it is written: with line breaks, without its end, in URLs' alphabet."""
    plain = "".join(unquote(data).split()).rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except binascii.Error:
        raise Unwritable("its data is not base64") from None
