"""Values of arguments as text of a URL, of headers and of cookies, by style and explode.

OpenAPI 3.2 (Style Values) and RFC 6570 decide how. What they leave open: a value within a value,
where a style has no place for one, is written as JSON; null is not written, as RFC 6570 has it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias
from urllib.parse import quote, unquote, urlencode

from ...core.json import is_list, is_object
from .plan import Placement, Style

Pairs: TypeAlias = list[tuple[str, str]]

_EXACT = 2**53  # numbers above it are no longer exact in most programs; they stay as written
# What may stand in a query besides unreserved characters and does not end or divide it.
_IN_QUERY = ":/?@!$'()*,;"
_IN_PATH = ":@!$&'()*+,;="
_TRIPLET = re.compile(r"(%[0-9A-Fa-f]{2})")
_MAX_DECODED = 20  # times; nobody encodes more than twice
_MAX_DEPTH = 50  # of a deep object: no service goes down so far
# Line breaks end a header, servers refuse the others, and halves of characters cannot be sent.
_NO_HEADER = re.compile("[\x00-\x08\x0a-\x1f\x7f\ud800-\udfff]")
# RFC 6265, and what servers read in spite of it: commas, quotes, and spaces in the middle.
_COOKIE_TEXT = re.compile(r"(?! )[\x20-\x3a\x3c-\x7e]*(?<! )")
_DELIMITERS = {"spaceDelimited": " ", "pipeDelimited": "|", "tabDelimited": "\t"}


class Unwritable(ValueError):
    """A value that its place cannot hold; the message says why, beginning with `it`."""


@dataclass(frozen=True, slots=True)
class Writing:
    """How texts are encoded in one place, and whether that includes what stands between them."""

    encode: Callable[[str], str]
    encodes_delimiters: bool = True

    def join(self, texts: list[str], delimiter: str) -> str:
        """Join texts. A comma is always written as it is."""
        if delimiter != "," and self.encodes_delimiters:
            delimiter = quote(delimiter)
        return delimiter.join(map(self.encode, texts))


def in_url(text: str) -> str:
    """Encode every character that is not unreserved."""
    try:
        return quote(text, safe="")
    except UnicodeEncodeError:
        raise Unwritable("it has half of a character (a lone surrogate)") from None


URL_WRITING = Writing(in_url)
PLAIN_WRITING = Writing(str, encodes_delimiters=False)
QUERY_RESERVED = Writing(lambda text: _encode_but_reserved(text, _IN_QUERY))
_PATH_RESERVED = Writing(lambda text: _encode_but_reserved(text, _IN_PATH))


def value_text(value: Any) -> str:
    """Write one value as text: numbers as in JSON, 3.0 as 3, what has parts as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT:
        return str(int(value))
    return json_text(value)


def json_text(value: Any) -> str:
    """Write JSON without spaces, in ASCII: it can stand anywhere.

    Raises:
        Unwritable: it holds what JSON has not.
    """
    try:
        return json.dumps(value, separators=(",", ":"), allow_nan=False)
    except RecursionError:
        raise Unwritable("it is nested too deeply") from None
    except (TypeError, ValueError):
        raise Unwritable("it is not a JSON value") from None


def content_text(value: Any, media_type: str) -> str:
    """Write a value as this media type: JSON, but plain text and forms."""
    if media_type.startswith("text/"):
        return value_text(value)
    if "x-www-form-urlencoded" in media_type and is_object(value):
        return urlencode(_members(value))
    return json_text(value)


def pairs(name: str, value: Any, style: Style, explode: bool, writing: Writing) -> Pairs:
    """Return encoded names and values, as they stand in a query, a form or cookies.

    Without any where there is nothing to write: null, or a list or an object without parts.
    """
    encode = writing.encode
    if style == "deepObject":
        named = ((name + "".join(f"[{key}]" for key in keys), x) for keys, x in _deep(value))
        return [(encode(key), encode(x)) for key, x in named]
    if is_object(value):
        members = _members(value)
        if explode:
            return [(encode(key), encode(x)) for key, x in members]
        texts = [x for member in members for x in member]
    elif is_list(value):
        texts = _items(value)
        if explode:
            return [(encode(name), encode(x)) for x in texts]
    else:
        return [] if value is None else [(encode(name), encode(value_text(value)))]
    delimiter = _DELIMITERS.get(style, ",")
    return [(encode(name), writing.join(texts, delimiter))] if texts else []


def query_pairs(place: Placement, value: Any) -> Pairs:
    """Return what one parameter adds to the query."""
    writing = QUERY_RESERVED if place.allow_reserved else URL_WRITING
    if place.media_type:
        return [(in_url(place.name), writing.encode(content_text(value, place.media_type)))]
    return pairs(place.name, value, place.style, place.explode, writing)


def querystring(place: Placement, value: Any) -> str:
    """Write a parameter that is the whole query."""
    if "x-www-form-urlencoded" in place.media_type and is_object(value):
        written = [
            x for key, member in value.items()
            for x in pairs(key, member, "form", explode=True, writing=URL_WRITING)
        ]  # fmt: skip
        return "&".join(f"{key}={x}" for key, x in written)
    text = content_text(value, place.media_type)
    # A text is the query itself, as far as a query can hold it.
    is_text = isinstance(value, str)
    return _encode_but_reserved(text, f"{_IN_QUERY}&=+") if is_text else in_url(text)


def path_text(place: Placement, value: Any) -> str:
    """Write one parameter of the path.

    Raises:
        Unwritable: it would be another path than the one that is meant.
    """
    if value is None:
        raise Unwritable("it is null, which a path cannot hold")
    writing = _PATH_RESERVED if place.allow_reserved else URL_WRITING
    if place.media_type:
        text = writing.encode(content_text(value, place.media_type))
    elif place.style == "matrix":
        members = pairs(place.name, value, "form", place.explode, writing)
        text = "".join(f";{name}={x}" if x else f";{name}" for name, x in members)
    elif place.style == "label":
        text = "." + _simple(value, place.explode, writing, "." if place.explode else ",")
    else:
        text = _simple(value, place.explode, writing, ",")
    if text == "." or (not text and not isinstance(value, list | dict)):
        raise Unwritable("it is empty, and would lead to another address")
    refuse_dot_segments(text)
    return text


def refuse_dot_segments(path: str) -> None:
    """Refuse `..`, also encoded: servers decode before they look for it, some of them twice.

    Raises:
        Unwritable: it leads out of the path.
    """
    for _ in range(_MAX_DECODED):
        if any(x in (".", "..") for x in re.split(r"[/\\]", path)):
            raise Unwritable("it has `.` or `..` as a part of the path, which would lead elsewhere")
        decoded = unquote(path)
        if decoded == path:
            return
        path = decoded
    raise Unwritable("it is percent-encoded too many times")


def header_text(place: Placement, value: Any) -> str:
    """Write a header, which is not percent-encoded.

    Raises:
        Unwritable: it has a line break.
    """
    if place.media_type:
        return one_line(content_text(value, place.media_type))
    return one_line(_simple(value, place.explode, PLAIN_WRITING, ","))


def one_line(text: str) -> str:
    """Return a text as a header can hold it. Blanks around it have no meaning there.

    Raises:
        Unwritable: it has a line break or another control character.
    """
    text = text.strip(" \t")
    if _NO_HEADER.search(text):
        raise Unwritable("it has a line break or a control character, which a header cannot hold")
    return text


def cookie_pairs(place: Placement, value: Any) -> Pairs:
    """Return the cookies of one parameter.

    The style `form` would put `&` between them, which no server takes for that: each is a cookie.

    Raises:
        Unwritable: style `cookie` does not encode, and the value has what a cookie cannot hold.
    """
    if place.media_type:
        return [(in_url(place.name), in_url(content_text(value, place.media_type)))]
    if place.style != "cookie":
        return pairs(place.name, value, place.style, place.explode, URL_WRITING)
    written = pairs(place.name, value, place.style, place.explode, PLAIN_WRITING)
    if not all(_COOKIE_TEXT.fullmatch(x) for pair in written for x in pair):
        raise Unwritable("it has a character that a cookie cannot hold")
    return written


def _encode_but_reserved(text: str, safe: str) -> str:
    """Encode all but reserved characters, and what is percent-encoded already."""
    parts = _TRIPLET.split(text)
    return "".join(x if n % 2 else quote(x, safe=safe) for n, x in enumerate(parts))


def _simple(value: Any, explode: bool, writing: Writing, delimiter: str) -> str:
    encode = writing.encode
    if is_list(value):
        return delimiter.join(map(encode, _items(value)))
    if is_object(value):
        between = "=" if explode else ","
        return delimiter.join(f"{encode(k)}{between}{encode(x)}" for k, x in _members(value))
    return "" if value is None else encode(value_text(value))


def _items(value: list[Any]) -> list[str]:
    return [value_text(x) for x in value if x is not None]


def _members(value: dict[str, Any]) -> Pairs:
    return [(key, value_text(x)) for key, x in value.items() if x is not None]


def _deep(value: Any, keys: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield every value within, with the keys that lead to it; items of a list by their number."""
    if len(keys) > _MAX_DEPTH:
        raise Unwritable("it is nested too deeply")
    if is_object(value) or is_list(value):
        members = value.items() if is_object(value) else enumerate(value)
        for key, x in members:
            yield from _deep(x, (*keys, str(key)))
    elif value is not None:
        yield keys, value_text(value)
