"""Values of arguments as text of a URL, of headers and of cookies, by style and explode.

OpenAPI 3.2 (Style Values) and RFC 6570 decide how. What they leave open: a value within a value,
where a style has no place for one, is written as JSON; null is not written, as RFC 6570 has it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias, cast
from urllib.parse import quote, unquote, urlencode

from ..plan import Placement, Style

Pairs: TypeAlias = list[tuple[str, str]]
Encode: TypeAlias = Callable[[str], str]

# Numbers above it are no longer exact in most programs; they are left as they are written.
_EXACT = 2**53
# What may stand in a query besides unreserved characters and does not end or divide it.
_IN_QUERY = ":/?@!$'()*,;"
_IN_PATH = ":@!$&'()*+,;="
_TRIPLET = re.compile(r"(%[0-9A-Fa-f]{2})")
_MOST_DECODED = 20  # times; nobody encodes more than twice
_DOTS = (".", "..")
_MOST_DEEP = 50  # levels of a deep object: no service goes down so far
# Line breaks end a header, servers refuse the others, and halves of characters cannot be sent.
_NO_HEADER = re.compile("[\x00-\x08\x0a-\x1f\x7f\ud800-\udfff]")
# RFC 6265, and what servers read in spite of it: commas, quotes, and spaces in the middle.
_COOKIE_TEXT = re.compile(r"(?! )[\x20-\x3a\x3c-\x7e]*(?<! )")
_DELIMITERS: dict[str, str] = {
    "spaceDelimited": " ", "pipeDelimited": "|", "tabDelimited": "\t",
}  # fmt: skip


class Unwritable(ValueError):
    """A value that its place cannot hold; the message says why, beginning with `it`."""


@dataclass(frozen=True, slots=True)
class Writing:
    """How texts are encoded in one place, and whether that includes what stands between them."""

    encode: Encode
    encodes_delimiters: bool = True

    def joined(self, texts: list[str], delimiter: str) -> str:
        """Several texts as one. A comma is always written as it is."""
        if delimiter != "," and self.encodes_delimiters:
            delimiter = quote(delimiter)
        return delimiter.join(map(self.encode, texts))


def in_url(text: str) -> str:
    """Every character encoded that is not unreserved."""
    try:
        return quote(text, safe="")
    except UnicodeEncodeError:
        raise Unwritable("it has half of a character (a surrogate)") from None


URL_WRITING = Writing(in_url)
PLAIN_WRITING = Writing(str, encodes_delimiters=False)
QUERY_RESERVED = Writing(lambda text: _reserved(text, _IN_QUERY))
_PATH_RESERVED = Writing(lambda text: _reserved(text, _IN_PATH))


def text_of(value: Any) -> str:
    """One value as text: numbers as in JSON, 3.0 as 3, what has parts as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT:
        return str(int(value))
    return json_text(value)


def json_text(value: Any) -> str:
    """JSON without spaces, in ASCII: it can stand anywhere.

    Raises:
        Unwritable: it holds what JSON has not.
    """
    try:
        return json.dumps(value, separators=(",", ":"), allow_nan=False)
    except RecursionError:
        raise Unwritable("it is nested too deeply") from None
    except (TypeError, ValueError):
        raise Unwritable("it is no JSON value") from None


def pairs(name: str, value: Any, style: Style, explode: bool, writing: Writing) -> Pairs:
    """Names and values, encoded, as they stand in a query, a form or cookies.

    Without any where there is nothing to write: null, or a list or an object without parts.
    """
    if style == "deepObject":
        return [(_bracketed(name, keys, writing), writing.encode(x)) for keys, x in _deep(value)]
    if isinstance(value, dict):
        return _object_pairs(name, _members(cast(dict[str, Any], value)), style, explode, writing)
    if isinstance(value, list):
        texts = _items(cast(list[Any], value))
        if explode:
            return [(writing.encode(name), writing.encode(x)) for x in texts]
        return _joined_pair(name, texts, style, writing)
    return [] if value is None else [(writing.encode(name), writing.encode(text_of(value)))]


def _object_pairs(
    name: str, members: Pairs, style: Style, explode: bool, writing: Writing
) -> Pairs:
    if explode:
        return [(writing.encode(key), writing.encode(x)) for key, x in members]
    return _joined_pair(name, [x for member in members for x in member], style, writing)


def _joined_pair(name: str, texts: list[str], style: Style, writing: Writing) -> Pairs:
    delimiter = _DELIMITERS.get(style, ",")
    return [(writing.encode(name), writing.joined(texts, delimiter))] if texts else []


def query_pairs(place: Placement, value: Any) -> Pairs:
    """What one parameter adds to the query."""
    writing = QUERY_RESERVED if place.allow_reserved else URL_WRITING
    if place.media_type:
        return [(in_url(place.name), writing.encode(content_text(value, place.media_type)))]
    return pairs(place.name, value, place.style, place.explode, writing)


def querystring(place: Placement, value: Any) -> str:
    """A parameter that is the whole query."""
    if "x-www-form-urlencoded" in place.media_type and isinstance(value, dict):
        members = cast(dict[str, Any], value).items()
        found = [pair for key, x in members for pair in pairs(key, x, "form", True, URL_WRITING)]
        return "&".join(f"{key}={x}" for key, x in found)
    text = content_text(value, place.media_type)
    # A text is the query itself, as far as a query can hold it.
    return _reserved(text, _IN_QUERY + "&=+") if isinstance(value, str) else in_url(text)


def path_text(place: Placement, value: Any) -> str:
    """What stands in the path for one parameter.

    Raises:
        Unwritable: it would be another path than the one that is meant.
    """
    text = _path_text(place, value)
    if text == "." or (not text and not isinstance(value, list | dict)):
        raise Unwritable("it is empty, and would lead to another address")
    _refuse_dots(text)
    return text


def _path_text(place: Placement, value: Any) -> str:
    writing = _PATH_RESERVED if place.allow_reserved else URL_WRITING
    if value is None:
        raise Unwritable("it is null, and a path has no place for that")
    if place.media_type:
        return writing.encode(content_text(value, place.media_type))
    if place.style == "matrix":
        return _matrix(place, value, writing)
    if place.style == "label":
        return "." + _simple(value, place.explode, writing, "." if place.explode else ",")
    return _simple(value, place.explode, writing, ",")


def _matrix(place: Placement, value: Any, writing: Writing) -> str:
    found = pairs(place.name, value, "form", place.explode, writing)
    return "".join(f";{name}={text}" if text else f";{name}" for name, text in found)


def _simple(value: Any, explode: bool, writing: Writing, delimiter: str) -> str:
    encode = writing.encode
    if isinstance(value, list):
        return delimiter.join(map(encode, _items(cast(list[Any], value))))
    if isinstance(value, dict):
        between = "=" if explode else ","
        members = _members(cast(dict[str, Any], value))
        return delimiter.join(f"{encode(key)}{between}{encode(x)}" for key, x in members)
    return "" if value is None else encode(text_of(value))


def header_text(place: Placement, value: Any) -> str:
    """The value of a header, which is not percent-encoded.

    Raises:
        Unwritable: it has a line break.
    """
    if place.media_type:
        text = content_text(value, place.media_type)
    else:
        text = _simple(value, place.explode, PLAIN_WRITING, ",")
    return one_line(text)


def one_line(text: str) -> str:
    """A text as a header can hold it. What is around it has no meaning there.

    Raises:
        Unwritable: it has a line break or another control character.
    """
    text = text.strip(" \t")
    if _NO_HEADER.search(text):
        raise Unwritable("it has a line break or a control character, which no header can hold")
    return text


def cookie_pairs(place: Placement, value: Any) -> Pairs:
    """The cookies of one parameter.

    The style `form` would put `&` between them, which no server takes for that: each is a cookie.

    Raises:
        Unwritable: style `cookie` does not encode, and the value has what a cookie cannot hold.
    """
    if place.media_type:
        return [(in_url(place.name), in_url(content_text(value, place.media_type)))]
    if place.style != "cookie":
        return pairs(place.name, value, place.style, place.explode, URL_WRITING)
    found = pairs(place.name, value, place.style, place.explode, PLAIN_WRITING)
    if not all(_COOKIE_TEXT.fullmatch(x) for pair in found for x in pair):
        raise Unwritable("it has a character that a cookie cannot hold")
    return found


def content_text(value: Any, media_type: str) -> str:
    """A value as this media type: JSON, but plain text and forms."""
    if media_type.startswith("text/"):
        return text_of(value)
    if "x-www-form-urlencoded" in media_type and isinstance(value, dict):
        members = _members(cast(dict[str, Any], value))
        return urlencode(members)
    return json_text(value)


def _reserved(text: str, safe: str) -> str:
    """Encoded but for reserved characters, and what is percent-encoded already."""
    parts = _TRIPLET.split(text)
    encoded = (x if n % 2 else quote(x, safe=safe) for n, x in enumerate(parts))
    return "".join(encoded)


def _items(value: list[Any]) -> list[str]:
    return [text_of(x) for x in value if x is not None]


def _members(value: dict[str, Any]) -> Pairs:
    return [(key, text_of(x)) for key, x in value.items() if x is not None]


def _deep(value: Any, keys: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """Every value within, with the keys that lead to it; items of a list by their number."""
    if len(keys) > _MOST_DEEP:
        raise Unwritable("it is nested too deeply")
    if isinstance(value, dict):
        members = cast(dict[str, Any], value).items()
    elif isinstance(value, list):
        members = [(str(n), x) for n, x in enumerate(cast(list[Any], value))]
    else:
        if value is not None:
            yield keys, text_of(value)
        return
    for key, x in members:
        yield from _deep(x, (*keys, key))


def _bracketed(name: str, keys: tuple[str, ...], writing: Writing) -> str:
    return writing.encode(name + "".join(f"[{key}]" for key in keys))


def _refuse_dots(text: str) -> None:
    """Servers decode before they look for `..`, some of them twice."""
    for _ in range(_MOST_DECODED):
        if any(x in _DOTS for x in re.split(r"[/\\]", text)):
            raise Unwritable("it has `.` or `..` as a part of a path, which leads elsewhere")
        decoded = unquote(text)
        if decoded == text:
            return
        text = decoded
    raise Unwritable("it is percent-encoded over and over")


def refuse_dot_segments(path: str) -> None:
    """Refuse a whole path that leads out of itself; see `path_text`."""
    _refuse_dots(path)
