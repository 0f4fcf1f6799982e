"""Values as text, in each style of a parameter (OpenAPI 3.2, Style Values; RFC 6570).

If a style has no form for a nested value, the value is written as JSON. Null is omitted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeAlias
from urllib.parse import quote, unquote, urlencode

from ...core.json import JsonObject, is_list, is_object
from .plan import Placement, Style


class Unwritable(ValueError):
    """The value cannot be written in its place; the message says why and begins with `it`."""


Pairs: TypeAlias = list[tuple[str, str]]
Encode: TypeAlias = Callable[[str], str]
"""Encodes a text for its place. `str` leaves it as it is."""

_EXACT = 2**53  # larger numbers are not exact in most programs; they stay as written
# Allowed in a query besides unreserved characters, and neither ends nor divides it.
_IN_QUERY = ":/?@!$'()*,;"
_IN_PATH = ":@!$&'()*+,;="
_TRIPLET = re.compile(r"(%[0-9A-Fa-f]{2})")
_MAX_DECODED = 20  # times; real addresses are encoded twice at most
_MAX_DEPTH = 50  # of a deep object: no service nests that far
# Line breaks end a header, servers refuse other controls, and surrogates cannot be sent.
_NO_HEADER = re.compile("[\x00-\x08\x0a-\x1f\x7f\ud800-\udfff]")
# RFC 6265, and what servers accept anyway: commas, quotes, and spaces in the middle.
_COOKIE_TEXT = re.compile(r"(?! )[\x20-\x3a\x3c-\x7e]*(?<! )")
_DELIMITERS = {"spaceDelimited": " ", "pipeDelimited": "|", "tabDelimited": "\t"}


def in_url(text: str, safe: str = "") -> str:
    """Percent-encode every character that is neither unreserved nor `safe`."""
    try:
        return quote(text, safe=safe)
    except UnicodeEncodeError:
        raise Unwritable("it has half of a character (a lone surrogate)") from None


def _encode_unreserved(text: str, safe: str) -> str:
    """Percent-encode all but reserved characters and text that is encoded already."""
    parts = _TRIPLET.split(text)
    return "".join(x if n % 2 else in_url(x, safe) for n, x in enumerate(parts))


in_query = partial(_encode_unreserved, safe=_IN_QUERY)
"""Percent-encode all characters that a query cannot contain (`allowReserved`)."""


def value_text(value: Any) -> str:
    """Write one value as text: numbers as in JSON, 3.0 as 3, lists and objects as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT:
        return str(int(value))
    return json_text(value)


def json_text(value: Any) -> str:
    """Write JSON without spaces, in ASCII, so that it fits anywhere.

    Raises:
        Unwritable: the value cannot be written as JSON.
    """
    try:
        return json.dumps(value, separators=(",", ":"), allow_nan=False)
    except RecursionError:
        raise Unwritable("it is nested too deeply") from None
    except (TypeError, ValueError):
        raise Unwritable("it is not a JSON value") from None


def content_text(value: Any, media_type: str) -> str:
    """Write a value in this media type: plain text, a form, or otherwise JSON."""
    if media_type.startswith("text/"):
        return value_text(value)
    if "x-www-form-urlencoded" in media_type and is_object(value):
        return urlencode(_members(value))
    return json_text(value)


def pairs(name: str, value: Any, style: Style, explode: bool, encode: Encode) -> Pairs:
    """Return encoded names and values for a query, a form or cookies.

    There are none for null, and for a list or object without items.
    """
    if style == "deepObject":
        return [(encode(name + keys), encode(x)) for keys, x in _deep(value)]
    if is_object(value) and explode:
        return [(encode(key), encode(x)) for key, x in _members(value)]
    if not isinstance(value, dict | list):
        return [] if value is None else [(encode(name), encode(value_text(value)))]
    texts = _texts(value)
    if explode:
        return [(encode(name), encode(x)) for x in texts]
    delimiter = encode(_DELIMITERS[style]) if style in _DELIMITERS else ","
    return [(encode(name), delimiter.join(map(encode, texts)))] if texts else []


def query_pairs(place: Placement, value: Any) -> Pairs:
    """Return the query pairs of one parameter."""
    encode = in_query if place.allow_reserved else in_url
    if place.media_type:
        return [(in_url(place.name), encode(content_text(value, place.media_type)))]
    return pairs(place.name, value, place.style, place.explode, encode)


def querystring(place: Placement, value: Any) -> str:
    """Write a parameter that is the whole query. A text is used as the query itself."""
    if "x-www-form-urlencoded" in place.media_type and is_object(value):
        groups = (pairs(key, x, "form", explode=True, encode=in_url) for key, x in value.items())
        return "&".join(f"{key}={x}" for several in groups for key, x in several)
    text = content_text(value, place.media_type)
    return _encode_unreserved(text, f"{_IN_QUERY}&=+") if isinstance(value, str) else in_url(text)


def path_text(place: Placement, value: Any) -> str:
    """Write one path parameter.

    Raises:
        Unwritable: the result would be a different path.
    """
    if value is None:
        raise Unwritable("it is null, which a path cannot hold")
    encode = partial(_encode_unreserved, safe=_IN_PATH) if place.allow_reserved else in_url
    if place.media_type:
        text = encode(content_text(value, place.media_type))
    elif place.style == "matrix":
        members = pairs(place.name, value, "form", place.explode, encode)
        text = "".join(f";{name}={x}" if x else f";{name}" for name, x in members)
    elif place.style == "label":
        text = "." + _simple(value, place.explode, encode, "." if place.explode else ",")
    else:
        text = _simple(value, place.explode, encode)
    if text == "." or (not text and not isinstance(value, list | dict)):
        raise Unwritable("it is empty, and would lead to another address")
    refuse_dot_segments(text)
    return text


def refuse_dot_segments(path: str) -> None:
    """Refuse `..`, encoded or not: servers decode before they check, some of them twice.

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
    """Write a header value, which is not percent-encoded.

    Raises:
        Unwritable: it has a line break.
    """
    if place.media_type:
        return one_line(content_text(value, place.media_type))
    return one_line(_simple(value, place.explode, str))


def one_line(text: str) -> str:
    """Return a text as a header value, without surrounding blanks, which have no meaning there.

    Raises:
        Unwritable: it has a line break or another control character.
    """
    text = text.strip(" \t")
    if _NO_HEADER.search(text):
        raise Unwritable("it has a line break or a control character, which a header cannot hold")
    return text


def cookie_pairs(place: Placement, value: Any) -> Pairs:
    """Return the cookies of one parameter.

    The style `form` would join items with `&`, which no server understands in a cookie: each item
    becomes a cookie.

    Raises:
        Unwritable: the style `cookie` does not encode, and a cookie cannot hold the value.
    """
    if place.media_type:
        return [(in_url(place.name), in_url(content_text(value, place.media_type)))]
    encode = str if place.style == "cookie" else in_url
    cookies = pairs(place.name, value, place.style, place.explode, encode)
    if encode is str and not all(_COOKIE_TEXT.fullmatch(x) for pair in cookies for x in pair):
        raise Unwritable("it has a character that a cookie cannot hold")
    return cookies


def _simple(value: Any, explode: bool, encode: Encode, delimiter: str = ",") -> str:
    if is_object(value) and explode:
        return delimiter.join(f"{encode(key)}={encode(x)}" for key, x in _members(value))
    if isinstance(value, dict | list):
        return delimiter.join(map(encode, _texts(value)))
    return "" if value is None else encode(value_text(value))


def _texts(value: Any) -> list[str]:
    """Return the items of a list, or the names and values of an object in turn."""
    if is_object(value):
        return [x for member in _members(value) for x in member]
    return [value_text(x) for x in value if x is not None]


def _members(value: JsonObject) -> Pairs:
    return [(key, value_text(x)) for key, x in value.items() if x is not None]


def _deep(value: Any, keys: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """Yield every nested value with the keys that lead to it; list items by index."""
    if depth > _MAX_DEPTH:
        raise Unwritable("it is nested too deeply")
    if is_object(value) or is_list(value):
        members = value.items() if is_object(value) else enumerate(value)
        for key, x in members:
            yield from _deep(x, f"{keys}[{key}]", depth + 1)
    elif value is not None:
        yield keys, value_text(value)
