"""The HTTP request of a call: a plan filled in with arguments.

It loses and adds nothing. A value that cannot be written is refused before anything is sent.
"""

from __future__ import annotations

import base64
import binascii
import re
import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar
from urllib.parse import quote, unquote, unquote_to_bytes

from ...core.errors import BadSetting, InvalidArguments
from ...core.json import is_list, is_object
from . import styles
from .plan import (
    FORM,
    JSON,
    MULTIPART,
    Body,
    FormPart,
    Location,
    Placement,
    RequestPlan,
    base_of,
    is_json,
)
from .styles import Unwritable

if TYPE_CHECKING:
    import httpx2

T = TypeVar("T")

Content: TypeAlias = tuple[str, bytes]
"""A media type and the bytes."""

TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
"""The name of a header or a cookie, or a method (RFC 9110, 5.6.2)."""

_HOLE = re.compile(r"\{([^{}]*)\}")  # a parameter in a path
# Allowed in a path template besides letters; anything else is encoded.
_IN_TEMPLATE = "%/:@!$&'()*+,;=~?"
_MAX_URL_CHARS = 65_536  # the HTTP library sends nothing longer, and few services accept it
# The connection sets these; another value would make the server read other requests.
_CONNECTION_HEADERS = frozenset((
    "connection", "content-length", "host", "keep-alive", "proxy-connection", "te", "trailer",
    "transfer-encoding", "upgrade",
))  # fmt: skip
# Some services refuse clients without a User-Agent. Other encodings need a library.
_OURS = {"User-Agent": "xai-mcp-agent", "Accept-Encoding": "gzip, deflate"}
_BINARY = "application/octet-stream"
_LINES = ("application/jsonl", "application/x-ndjson", "application/ndjson")
_DATA_URL = "data:"
_FILE_NAMES = ("name", "filename")
_READING = ("GET", "HEAD", "OPTIONS", "QUERY")


@dataclass(frozen=True, slots=True, repr=False)
class RequestParts:
    """A request before it is assembled; templates may replace parts."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: Content | None = None


def build_request(
    plan: RequestPlan, arguments: Mapping[str, Any], *, base_url: str = ""
) -> httpx2.Request:
    """Return the request that calls the operation with these arguments, without credentials.

    `base_url` replaces the plan's base URL.

    Raises:
        InvalidArguments: an argument is missing or unknown, or cannot be written in its place.
        BadSetting: there is no base URL.
    """
    return assemble_request(request_parts(plan, arguments, base_url=base_url))


def request_parts(
    plan: RequestPlan, arguments: Mapping[str, Any], *, base_url: str = ""
) -> RequestParts:
    """Return the parts that depend on the arguments; see `build_request`."""
    return _Filling(plan, arguments).parts(base_url or plan.base_url)


def fill_path(template: str, texts: Mapping[str, str]) -> str:
    """Put texts in the holes of a path, by name. Other braces stay, encoded."""
    return "".join(
        texts[x] if n % 2 and x in texts
        else quote(f"{{{x}}}" if n % 2 else x, safe=_IN_TEMPLATE)
        for n, x in enumerate(_HOLE.split(template))
    )  # fmt: skip


def can_be_header(name: str) -> bool:
    """Return whether a document or an argument may set this header."""
    return bool(TOKEN.fullmatch(name)) and name.lower() not in _CONNECTION_HEADERS


def assemble_request(
    parts: RequestParts, extra_headers: Mapping[str, str] | None = None
) -> httpx2.Request:
    """Assemble a request; `extra_headers` from the settings replace the other headers.

    Raises:
        InvalidArguments: a header has a line break, or the URL is too long.
        BadSetting: the URL is not valid.
    """
    import httpx2  # here, because importing it is slow and most runs send nothing

    headers = overlay_headers(_OURS, parts.headers, extra_headers or {})
    if len(parts.url) > _MAX_URL_CHARS:
        problem = f"the URL: it would be longer than {_MAX_URL_CHARS:,} characters"
        raise InvalidArguments("the request", [problem], "less in the path and the query")
    content = parts.body[1] if parts.body is not None else None
    encoded = [(name.encode("ascii"), text.encode()) for name, text in headers.items()]
    try:
        return httpx2.Request(parts.method, parts.url, headers=encoded, content=content)
    except httpx2.InvalidURL as cause:
        raise BadSetting(
            f"The base URL of the service is not valid: {cause}. Write another as `baseUrl`."
        ) from None


def overlay_headers(*layers: Mapping[str, str]) -> dict[str, str]:
    """Merge headers: later ones replace earlier ones, ignoring case.

    Raises:
        InvalidArguments: a header has a line break.
    """
    by_name = {x.lower(): (x, text) for layer in layers for x, text in layer.items()}
    headers: dict[str, str] = {}
    for name, text in by_name.values():
        try:
            headers[name] = styles.one_line(text)
        except Unwritable as cause:
            problem = f"header {name}: {cause}"
            raise InvalidArguments("the request", [problem], "one line") from None
    return headers


class _Filling:
    """Writer that puts the arguments of one call in their places."""

    def __init__(self, plan: RequestPlan, arguments: Mapping[str, Any]) -> None:
        self._plan = plan
        self._arguments = arguments
        whole = [plan.body.argument] if plan.body and plan.body.argument else []
        self._names = dict.fromkeys([*(x.argument for x in plan.placements), *whole])

    def parts(self, base_url: str) -> RequestParts:
        """Return the whole request."""
        self._check_names()
        headers = {"Accept": self._plan.accept}
        for place, text in self._write("header", styles.header_text, nulls=False):
            if place.name.lower() not in _CONNECTION_HEADERS:
                headers[place.name] = text
        if body := self._body():
            headers = {x: y for x, y in headers.items() if x.lower() != "content-type"}
            headers["Content-Type"] = body[0]
        if not base_url:
            raise BadSetting(
                "The document names no server that can be called. Write its address as `baseUrl`, "
                "such as https://api.example.com/v1."
            )
        url = base_url.rstrip("/") + self._target()
        cookies = [x for _, several in self._write("cookie", styles.cookie_pairs) for x in several]
        if cookies:
            before = [text for name, text in headers.items() if name.lower() == "cookie"]
            pairs = [f"{name}={text}" for name, text in cookies]
            headers = overlay_headers(headers, {"Cookie": "; ".join([*before, *pairs])})
        return RequestParts(self._plan.method, url, headers, body)

    def _check_names(self) -> None:
        problems = [f"there is no argument {x!r}" for x in self._arguments if x not in self._names]
        problems += [
            f"{x.argument} is missing"
            for x in self._plan.placements
            if x.is_required and x.location != "body" and x.argument not in self._arguments
        ]
        if problems:
            raise self._error(*problems)

    def _target(self) -> str:
        """Return the path and the query."""
        texts: dict[str, str] = {}
        for place, text in self._write("path", styles.path_text):
            if not text and self._plan.method.upper() not in _READING:
                problem = "it is empty, and the call would change something else"
                raise self._error(f"{place.argument}: {problem}")
            texts[place.name] = text
        url = fill_path(self._plan.path, texts)
        path = url.partition("?")[0]
        self._check(path, lambda: styles.refuse_dot_segments(path))
        pairs = [x for _, several in self._write("query", styles.query_pairs) for x in several]
        query = [f"{name}={text}" for name, text in pairs]
        whole = self._write("querystring", styles.querystring, nulls=False)
        query += [text for _, text in whole if text]
        if not query:
            return url
        between = "" if url.endswith(("?", "&")) else "&" if "?" in url else "?"
        return url + between + "&".join(query)

    def _body(self) -> Content | None:
        body, arguments = self._plan.body, self._arguments
        if body is None:
            return None
        places = (x for x in self._plan.placements if x.location == "body")
        value = {x.name: arguments[x.argument] for x in places if x.argument in arguments}
        if not value and not body.is_required and body.argument not in arguments:
            return None
        if body.argument:
            if body.argument not in arguments:
                raise self._error(f"{body.argument} is missing")
            value = arguments[body.argument]
        return self._check(body.argument or "the body", lambda: _encode_body(body, value))

    def _write(
        self, location: Location, write: Callable[[Placement, Any], T], *, nulls: bool = True
    ) -> Iterator[tuple[Placement, T]]:
        """Yield each argument of a location as it is written."""
        for place in self._plan.placements:
            value = self._arguments.get(place.argument)
            has_value = place.argument in self._arguments and (nulls or value is not None)
            if place.location == location and has_value:
                yield place, self._check(place.argument, partial(write, place, value))

    def _check(self, argument: str, do: Callable[[], T]) -> T:
        try:
            return do()
        except Unwritable as cause:
            raise self._error(f"{argument}: {cause}") from None

    def _error(self, *problems: str) -> InvalidArguments:
        name = f"{self._plan.method} {self._plan.path}"
        return InvalidArguments(name, problems, ", ".join(self._names) or "no arguments")


# Bodies (OpenAPI 3.2, Media Type Object and Encoding Object)
#
# A file argument is one text that a model can write: its content, or a `data:` URL with its media
# type, its name as `name=` and its bytes in base64. Local files are never read: a model would
# choose which.


def _encode_body(body: Body, value: Any) -> Content:
    """Return the `Content-Type` and the bytes of a body with this value.

    Raises:
        Unwritable: the media type cannot hold the value.
    """
    kind = base_of(body.media_type)
    if is_json(kind):
        media_type = body.media_type if kind and "*" not in kind else JSON
        return media_type, styles.json_text(value).encode()
    if kind == FORM:
        return FORM, "&".join(f"{key}={x}" for key, x in _form_pairs(body, value)).encode()
    if kind.startswith("multipart/"):
        return _multipart(body, kind if kind != "multipart/*" else MULTIPART, value)
    if kind in _LINES:
        lines = value if is_list(value) else [value]
        return body.media_type, "".join(f"{styles.json_text(x)}\n" for x in lines).encode()
    if kind.startswith("text/"):
        return f"{kind}; charset=utf-8", styles.value_text(value).encode("utf-8", "replace")
    data, media_type, _ = _file_of(value)
    return styles.one_line((media_type or _BINARY) if "*" in kind else kind), data


def _members(value: Any) -> Iterator[tuple[str, Any]]:
    if not is_object(value):
        raise Unwritable("it is not an object, and a form has named fields")
    return iter(value.items())


def _form_pairs(body: Body, value: Any) -> Iterator[tuple[str, str]]:
    for name, member in _members(value):
        part = body.parts.get(name, FormPart())
        if part.style:
            encode = styles.in_query if part.allow_reserved else styles.in_url
            yield from styles.pairs(name, member, part.style, part.explode, encode)
        else:
            for x in _each(part, member):
                yield styles.in_url(name), styles.in_url(_field_text(part, x))


def _field_text(part: FormPart, value: Any) -> str:
    """Write a field in its media type; text stays unquoted even if that is JSON."""
    is_text = isinstance(value, str) and is_json(base_of(part.media_type))
    if part.is_file or not part.media_type or is_text:
        return styles.value_text(value)
    return styles.content_text(value, part.media_type)


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
        for key, text in styles.pairs(name, value, part.style, part.explode, str):
            yield key, (None, text.encode("utf-8", "replace"))
        return
    for item in _each(part, value):
        if part.is_file:
            data, media_type, file_name = _file_of(item)
            media_type = media_type or part.media_type or _BINARY
            yield name, (file_name or name, data, styles.one_line(media_type))
        else:
            is_json_part = part.media_type and is_json(base_of(part.media_type))
            text = styles.json_text(item) if is_json_part else styles.value_text(item)
            data = text.encode("utf-8", "replace")
            yield name, (None, data, _part_type(part, item))


def _part_type(part: FormPart, value: Any) -> str | None:
    """Return the `Content-Type` of a part, or None for plain text."""
    if part.media_type and not part.media_type.startswith("text/plain"):
        return styles.one_line(part.media_type)
    return JSON if isinstance(value, dict | list) else None


def _file_of(value: Any) -> tuple[bytes, str, str]:
    """Return the bytes, media type and name of a file argument.

    Raises:
        Unwritable: it begins with `data:` but is not a valid `data:` URL.
    """
    text = styles.value_text(value)
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
