"""How a call of an operation becomes a request: plain data, made once for each tool.

The words mean what they do in OpenAPI 3.2; Swagger 2.0 is translated into them. Below them stands
how each style writes a value (OpenAPI 3.2, Style Values; RFC 6570). What these leave open: a value
within a value, where a style has no place for one, is written as JSON; null is not written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import Field, dataclass, field, fields, is_dataclass
from functools import partial
from typing import Any, Literal, TypeAlias, cast
from urllib.parse import quote, unquote, urlencode

from ...core.json import JsonObject, is_list, is_object

Location: TypeAlias = Literal["path", "query", "header", "cookie", "querystring", "body"]

Style: TypeAlias = Literal[
    "form", "simple", "label", "matrix", "spaceDelimited", "pipeDelimited", "tabDelimited",
    "deepObject", "cookie",
]  # fmt: skip
"""As in OpenAPI; `tabDelimited` is `collectionFormat: tsv` of Swagger 2.0."""


@dataclass(frozen=True, slots=True)
class Placement:
    """Where one argument of the tool goes. `name` is what the service calls it.

    With a `media_type` its value is written as that, and not by its style. One in the `body` is a
    property of it.
    """

    argument: str
    location: Location
    name: str
    style: Style = "simple"
    explode: bool = False
    allow_reserved: bool = False
    media_type: str = ""
    is_required: bool = False


@dataclass(frozen=True, slots=True)
class Part:
    """How one property of a form is written. `is_file`: as bytes, with a name for the file.

    With a `style` it is written as a parameter in the query would be, otherwise as `media_type`.
    """

    media_type: str = ""
    style: Style | None = None
    explode: bool = True
    allow_reserved: bool = False
    is_file: bool = False
    is_list: bool = False
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Body:
    """What is sent as the body.

    `argument` is the one that is the whole body; without it the placements in the `body` are its
    properties. `parts` are those of a form, by their names at the service.
    """

    media_type: str
    argument: str = ""
    is_required: bool = False
    parts: Mapping[str, Part] = field(default_factory=dict[str, Part])


@dataclass(frozen=True, slots=True)
class SecurityNeed:
    """One scheme that a request must satisfy. `scheme` is the name in the document.

    `kind` as in the document; `http` has its `method` (`basic`, `bearer`), `apiKey` where its
    `name` goes (`place`), `oauth2` its `token_url` for client credentials.
    """

    scheme: str
    kind: Literal["apiKey", "http", "oauth2", "openIdConnect", "mutualTLS"]
    place: Literal["", "header", "query", "cookie"] = ""
    name: str = ""
    method: str = ""
    scopes: tuple[str, ...] = ()
    token_url: str = ""

    @property
    def family(self) -> str:
        """Its kind, or of `http` its method in lower case."""
        return self.method.lower() if self.kind == "http" else self.kind


@dataclass(frozen=True, slots=True)
class RequestPlan:
    """How one operation is called.

    `path` is the template of the document, with the mere name of each parameter; `base_url` is
    absolute, its variables filled in, or empty where the document names no server. `security` are
    alternatives, the needs of each belong together; an empty alternative: none is needed; empty:
    the document does not say. `may_be_async`: it answers 202 and says where its result will be.
    """

    method: str
    path: str
    base_url: str
    placements: tuple[Placement, ...] = ()
    body: Body | None = None
    security: tuple[tuple[SecurityNeed, ...], ...] = ()
    accept: str = "*/*"
    may_be_async: bool = False

    def as_json(self) -> JsonObject:
        """The plan as a person reads it: what is as usual is left out."""
        return _to_json(self)


def _to_json(value: Any) -> Any:
    if is_dataclass(value):
        members = ((x, getattr(value, x.name)) for x in fields(value))
        return {x.name: _to_json(y) for x, y in members if _is_shown(x, y)}
    if isinstance(value, Mapping):
        members = cast(Mapping[str, Any], value).items()
        return {name: _to_json(x) for name, x in members}
    return [_to_json(x) for x in cast(Any, value)] if isinstance(value, list | tuple) else value


def _is_shown(member: Field[Any], value: Any) -> bool:
    is_usual = value is None or value in (member.default, "", (), {})
    return not is_usual or member.name == "base_url" or (member.name == "style" and bool(value))


# Values as text


class Unwritable(ValueError):
    """A value that its place cannot hold; the message says why, beginning with `it`."""


Pairs: TypeAlias = list[tuple[str, str]]
Encode: TypeAlias = Callable[[str], str]
"""How a text is encoded in its place. `str` leaves it as it is."""

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


def in_url(text: str) -> str:
    """Encode every character that is not unreserved."""
    try:
        return quote(text, safe="")
    except UnicodeEncodeError:
        raise Unwritable("it has half of a character (a lone surrogate)") from None


def _but_reserved(text: str, safe: str) -> str:
    """Encode all but reserved characters, and what is percent-encoded already."""
    parts = _TRIPLET.split(text)
    return "".join(x if n % 2 else quote(x, safe=safe) for n, x in enumerate(parts))


in_query = partial(_but_reserved, safe=_IN_QUERY)
"""Encode all but what may stand in a query (`allowReserved`)."""


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


def pairs(name: str, value: Any, style: Style, explode: bool, encode: Encode) -> Pairs:
    """Return encoded names and values, as they stand in a query, a form or cookies.

    Without any where there is nothing to write: null, or a list or an object without parts.
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
    """Return what one parameter adds to the query."""
    encode = in_query if place.allow_reserved else in_url
    if place.media_type:
        return [(in_url(place.name), encode(content_text(value, place.media_type)))]
    return pairs(place.name, value, place.style, place.explode, encode)


def querystring(place: Placement, value: Any) -> str:
    """Write a parameter that is the whole query. A text is the query itself."""
    if "x-www-form-urlencoded" in place.media_type and is_object(value):
        written = (pairs(key, x, "form", explode=True, encode=in_url) for key, x in value.items())
        return "&".join(f"{key}={x}" for several in written for key, x in several)
    text = content_text(value, place.media_type)
    return _but_reserved(text, f"{_IN_QUERY}&=+") if isinstance(value, str) else in_url(text)


def path_text(place: Placement, value: Any) -> str:
    """Write one parameter of the path.

    Raises:
        Unwritable: it would be another path than the one that is meant.
    """
    if value is None:
        raise Unwritable("it is null, which a path cannot hold")
    encode = partial(_but_reserved, safe=_IN_PATH) if place.allow_reserved else in_url
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
    return one_line(_simple(value, place.explode, str))


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
    encode = str if place.style == "cookie" else in_url
    written = pairs(place.name, value, place.style, place.explode, encode)
    if encode is str and not all(_COOKIE_TEXT.fullmatch(x) for pair in written for x in pair):
        raise Unwritable("it has a character that a cookie cannot hold")
    return written


def _simple(value: Any, explode: bool, encode: Encode, delimiter: str = ",") -> str:
    if is_object(value) and explode:
        return delimiter.join(f"{encode(key)}={encode(x)}" for key, x in _members(value))
    if isinstance(value, dict | list):
        return delimiter.join(map(encode, _texts(value)))
    return "" if value is None else encode(value_text(value))


def _texts(value: Any) -> list[str]:
    """Return the items of a list, or the names and values of an object, in turn."""
    if is_object(value):
        return [x for member in _members(value) for x in member]
    return [value_text(x) for x in value if x is not None]


def _members(value: JsonObject) -> Pairs:
    return [(key, value_text(x)) for key, x in value.items() if x is not None]


def _deep(value: Any, keys: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """Yield every value within, with the keys that lead to it; items of a list by their number."""
    if depth > _MAX_DEPTH:
        raise Unwritable("it is nested too deeply")
    if is_object(value) or is_list(value):
        members = value.items() if is_object(value) else enumerate(value)
        for key, x in members:
            yield from _deep(x, f"{keys}[{key}]", depth + 1)
    elif value is not None:
        yield keys, value_text(value)
