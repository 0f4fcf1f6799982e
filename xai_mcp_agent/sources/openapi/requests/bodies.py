"""The body of a request: JSON, forms, files, text and XML, as a plan says.

OpenAPI 3.2 (Media Type Object, Encoding Object) decides how.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias, cast

from ..plan import Body, Part
from .files import file_of
from .serialize import (
    PLAIN_WRITING,
    QUERY_RESERVED,
    URL_WRITING,
    Pairs,
    Unwritable,
    content_text,
    json_text,
    one_line,
    pairs,
    text_of,
)
from .xml import xml_document

Encoded: TypeAlias = tuple[str, bytes]
"""A media type, and the bytes."""

_FileField: TypeAlias = tuple[str | None, bytes, str | None, dict[str, str]]

_FORM = "application/x-www-form-urlencoded"
_LINES = ("application/jsonl", "application/x-ndjson", "application/ndjson")
_JSON_SEQUENCE = "application/json-seq"
_NO_PART = Part()


def encode_body(body: Body, value: Any) -> Encoded:
    """The body that holds this value, and what its `Content-Type` says.

    Raises:
        Unwritable: it cannot be held by the media type.
    """
    kind = body.media_type.partition(";")[0].strip().lower()
    if is_json(kind):
        return body.media_type if "*" not in kind and kind else "application/json", _json(value)
    if kind == _FORM:
        return _FORM, "&".join(f"{k}={v}" for k, v in _form_pairs(body, value)).encode()
    if kind.startswith("multipart/"):
        return _multipart(body, kind, value)
    if kind in _LINES or kind == _JSON_SEQUENCE:
        return body.media_type, _lines(value, "\x1e" if kind == _JSON_SEQUENCE else "")
    if kind in ("application/xml", "text/xml") or kind.endswith("+xml"):
        return body.media_type, _xml(body, value)
    if kind.startswith("text/"):
        return f"{kind}; charset=utf-8", text_of(value).encode("utf-8", "replace")
    return _file(kind, value)


def is_json(kind: str) -> bool:
    """Whether values are written as JSON where this media type, in lower case, is wanted."""
    return kind in ("", "*/*", "application/*", "text/json") or (
        kind.endswith(("/json", "+json")) and kind.startswith(("application/", "text/"))
    )


def _json(value: Any) -> bytes:
    return json_text(value).encode()


def _lines(value: Any, before: str) -> bytes:
    """One JSON text in each line."""
    values = cast(list[Any], value) if isinstance(value, list) else [value]
    return "".join(f"{before}{json_text(x)}\n" for x in values).encode()


def _xml(body: Body, value: Any) -> bytes:
    if isinstance(value, str) and value.lstrip().startswith("<"):
        return value.encode("utf-8", "replace")  # the document itself
    return xml_document(value, body.xml_name or "root", body.xml)


def _file(kind: str, value: Any) -> Encoded:
    """A file as the whole body: of the type that the plan names, else of the one it has."""
    file = file_of(value)
    if "*" in kind:
        kind = file.media_type or "application/octet-stream"
    return one_line(kind), file.data


def _properties(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise Unwritable("it is no object, and a form has named fields")
    return cast(dict[str, Any], value)


def _form_pairs(body: Body, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):  # a form that is written already
        raise Unwritable("it is a text, and a form has named fields")
    for name, member in _properties(value).items():
        part = body.parts.get(name, _NO_PART)
        if part.style:
            writing = QUERY_RESERVED if part.allow_reserved else URL_WRITING
            yield from pairs(name, member, part.style, part.explode, writing)
        else:
            encode = URL_WRITING.encode
            yield from ((encode(name), encode(x)) for x in _texts(part, member))


def _texts(part: Part, value: Any) -> Iterator[str]:
    """The values of a field: one, or one for each item of a list."""
    for item in _each(part, value):
        if part.is_file:
            yield text_of(item)
        elif part.media_type:
            yield (
                content_text(item, part.media_type) if _is_structured(part, item) else text_of(item)
            )
        else:
            yield text_of(item)


def _is_structured(part: Part, value: Any) -> bool:
    """Whether it is written as the media type, where that is JSON: texts are not put in quotes."""
    return not isinstance(value, str) or not is_json(part.media_type.partition(";")[0].lower())


def _each(part: Part, value: Any) -> list[Any]:
    """The values of a field. A list without a media type of its own has one for each item."""
    if isinstance(value, list) and (part.is_list or part.is_file or not part.media_type):
        return [x for x in cast(list[Any], value) if x is not None]
    return [] if value is None else [value]


def _multipart(body: Body, kind: str, value: Any) -> Encoded:
    from httpx2 import Request  # here, because most bodies need none of it

    fields = [x for name, member in _properties(value).items() for x in _fields(body, name, member)]
    boundary = secrets.token_hex(16)
    kind = kind if kind != "multipart/*" else "multipart/form-data"
    media_type = f"{kind}; boundary={boundary}"
    if not fields:
        return media_type, f"--{boundary}--\r\n".encode()
    headers = {"content-type": f"multipart/form-data; boundary={boundary}"}
    try:
        # Names may have any character: the library escapes them.
        return media_type, Request("POST", "http://form", headers=headers, files=fields).read()
    except ValueError as cause:
        raise Unwritable(f"it has a field that a form cannot hold: {cause}") from None


def _fields(body: Body, name: str, value: Any) -> Iterator[tuple[str, _FileField]]:
    part = body.parts.get(name, _NO_PART)
    headers = {key: one_line(x) for key, x in part.headers.items()}
    if part.style and not part.is_file:
        for key, text in _unescaped(name, value, part):
            yield key, (None, text.encode("utf-8", "replace"), None, dict(headers))
        return
    for item in _each(part, value):
        yield name, _file_field(name, part, item, headers) if part.is_file else (
            None, _part_bytes(part, item), _part_type(part, item), dict(headers)
        )  # fmt: skip


def _unescaped(name: str, value: Any, part: Part) -> Pairs:
    assert part.style
    return pairs(name, value, part.style, part.explode, PLAIN_WRITING)


def _file_field(name: str, part: Part, value: Any, headers: Mapping[str, str]) -> _FileField:
    file = file_of(value)
    # A media type that lists several leaves the choice.
    told = part.media_type if "*" not in part.media_type and "," not in part.media_type else ""
    told = file.media_type or told or "application/octet-stream"
    return file.name or name, file.data, one_line(told), dict(headers)


def _part_bytes(part: Part, value: Any) -> bytes:
    if is_json(part.media_type.partition(";")[0].strip().lower()) and part.media_type:
        return _json(value)
    return text_of(value).encode("utf-8", "replace")


def _part_type(part: Part, value: Any) -> str | None:
    """Said where it is not plain text."""
    if (
        part.media_type
        and not part.media_type.startswith("text/plain")
        and "*" not in part.media_type
    ):
        return one_line(part.media_type.partition(",")[0])
    return "application/json" if isinstance(value, dict | list) else None
