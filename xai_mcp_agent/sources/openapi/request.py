"""The HTTP request of a call: a plan filled in with arguments.

It loses and adds nothing. A value that cannot be written is refused before anything is sent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

from ...core.errors import BadSetting, InvalidArguments
from .bodies import Content, encode_body
from .plan import (
    Location,
    Placement,
    RequestPlan,
    Unwritable,
    cookie_pairs,
    header_text,
    one_line,
    path_text,
    query_pairs,
    querystring,
    refuse_dot_segments,
)

if TYPE_CHECKING:
    import httpx2

T = TypeVar("T")
HOLE = re.compile(r"\{([^{}]*)\}")
"""A parameter in a path."""

TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
"""The name of a header or a cookie, or a method (RFC 9110, 5.6.2)."""

IN_TEMPLATE = "%/:@!$&'()*+,;=~"
"""Allowed in a path template besides letters; anything else is encoded."""

_MAX_URL_CHARS = 65_536  # the HTTP library sends nothing longer, and few services accept it
# The connection sets these; another value would make the server read other requests.
_CONNECTION_HEADERS = frozenset((
    "connection", "content-length", "host", "keep-alive", "proxy-connection", "te", "trailer",
    "transfer-encoding", "upgrade",
))  # fmt: skip
# Some services refuse clients without a User-Agent. Other encodings need a library.
_OURS = {"User-Agent": "xai-mcp-agent", "Accept-Encoding": "gzip, deflate"}
_READING = ("GET", "HEAD", "OPTIONS", "QUERY")


@dataclass(frozen=True, slots=True, repr=False)
class RequestParts:
    """A request before it is assembled; templates may replace parts."""

    method: str
    url: str
    headers: Mapping[str, str]
    cookies: tuple[tuple[str, str], ...] = ()
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

    headers = _overlay(_OURS, parts.headers, extra_headers or {})
    if cookies := [f"{name}={text}" for name, text in parts.cookies]:
        before = [text for name, text in headers.items() if name.lower() == "cookie"]
        headers = _overlay(headers, {"Cookie": "; ".join([*before, *cookies])})
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


def _overlay(*layers: Mapping[str, str]) -> dict[str, str]:
    """Merge headers: later ones replace earlier ones, ignoring case.

    Raises:
        InvalidArguments: a header has a line break.
    """
    by_name = {x.lower(): (x, text) for layer in layers for x, text in layer.items()}
    headers: dict[str, str] = {}
    for name, text in by_name.values():
        try:
            headers[name] = one_line(text)
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
        for place in self._places("header", nulls=False):
            if place.name.lower() not in _CONNECTION_HEADERS:
                headers[place.name] = self._write(place, header_text)
        if body := self._body():
            headers = {x: y for x, y in headers.items() if x.lower() != "content-type"}
            headers["Content-Type"] = body[0]
        if not base_url:
            raise BadSetting(
                "The document names no server that can be called. Write its address as `baseUrl`, "
                "such as https://api.example.com/v1."
            )
        url = base_url.rstrip("/") + self._target()
        cookies = [y for x in self._places("cookie") for y in self._write(x, cookie_pairs)]
        return RequestParts(self._plan.method, url, headers, tuple(cookies), body)

    def _check_names(self) -> None:
        problems = [f"there is no argument {x!r}" for x in self._arguments if x not in self._names]
        problems += [
            f"{x.argument} is missing"
            for x in self._plan.placements
            if x.argument not in self._arguments
            and (x.location == "path" or (x.is_required and x.location != "body"))
        ]
        if problems:
            raise self._error(*problems)

    def _target(self) -> str:
        """Return the path and the query."""
        path, mark, query = self._plan.path.partition("?")
        path, query = self._fill(path), self._fill(query)
        self._check(path, lambda: refuse_dot_segments(path))
        query_arguments = [y for x in self._places("query") for y in self._write(x, query_pairs)]
        parts = [f"{name}={text}" for name, text in query_arguments]
        parts += [self._write(x, querystring) for x in self._places("querystring", nulls=False)]
        url = path + mark + query
        if not (parts := [x for x in parts if x]):
            return url
        between = "" if url.endswith(("?", "&")) else "&" if "?" in url else "?"
        return url + between + "&".join(parts)

    def _fill(self, template: str) -> str:
        """Fill path arguments into a template. Other braces stay, encoded."""
        places = {x.name: x for x in self._plan.placements if x.location == "path"}
        return "".join(
            self._in_path(places[x]) if n % 2 and x in places
            else quote(f"{{{x}}}" if n % 2 else x, safe=IN_TEMPLATE)
            for n, x in enumerate(HOLE.split(template))
        )  # fmt: skip

    def _in_path(self, place: Placement) -> str:
        text = self._write(place, path_text)
        if not text and self._plan.method.upper() not in _READING:
            problem = "it is empty, and the call would change something else"
            raise self._error(f"{place.argument}: {problem}")
        return text

    def _body(self) -> Content | None:
        body = self._plan.body
        if body is None:
            return None
        value = {x.name: self._arguments[x.argument] for x in self._places("body")}
        if not value and not body.is_required and body.argument not in self._arguments:
            return None
        if body.argument:
            if body.argument not in self._arguments:
                raise self._error(f"{body.argument} is missing")
            value = self._arguments[body.argument]
        return self._check(body.argument or "the body", lambda: encode_body(body, value))

    def _places(self, location: Location, *, nulls: bool = True) -> list[Placement]:
        return [
            x
            for x in self._plan.placements
            if x.location == location
            and x.argument in self._arguments
            and (nulls or self._arguments[x.argument] is not None)
        ]

    def _write(self, place: Placement, write: Callable[[Placement, Any], T]) -> T:
        value = self._arguments[place.argument]
        return self._check(place.argument, lambda: write(place, value))

    def _check(self, argument: str, do: Callable[[], T]) -> T:
        try:
            return do()
        except Unwritable as cause:
            raise self._error(f"{argument}: {cause}") from None

    def _error(self, *problems: str) -> InvalidArguments:
        name = f"{self._plan.method} {self._plan.path}"
        return InvalidArguments(name, problems, ", ".join(self._names) or "no arguments")
