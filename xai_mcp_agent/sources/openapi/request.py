"""A call of an operation as the HTTP request that is sent: a plan, filled in with arguments.

Nothing of the arguments is lost and nothing is added; what cannot be written is refused before
anything is sent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

from ...core.errors import BadSetting, InvalidArguments
from .content import Content, encode_body
from .plan import Location, Placement, RequestPlan
from .serialize import (
    Pairs,
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
"""Where a parameter stands in a path."""

IN_TEMPLATE = "%/:@!$&'()*+,;=~"
"""What a template of a path may hold besides letters; anything else is encoded."""

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_MAX_URL_CHARS = 65_536  # the HTTP library sends no longer ones, and hardly a service takes them
# The connection decides them; another value would make the server read other requests than these.
_OF_THE_CONNECTION = frozenset((
    "connection", "content-length", "host", "keep-alive", "proxy-connection", "te", "trailer",
    "transfer-encoding", "upgrade",
))  # fmt: skip
# Some services answer nobody who does not say who asks. Other packings need a library.
_OURS = {"User-Agent": "xai-mcp-agent", "Accept-Encoding": "gzip, deflate"}
_READING = ("GET", "HEAD", "OPTIONS", "QUERY")


@dataclass(frozen=True, slots=True, repr=False)
class RequestParts:
    """A request before it is put together; templates may replace parts."""

    method: str
    url: str
    headers: Mapping[str, str]
    cookies: tuple[tuple[str, str], ...] = ()
    body: Content | None = None


def build_request(
    plan: RequestPlan,
    arguments: Mapping[str, Any],
    *,
    base_url: str = "",
) -> httpx2.Request:
    """Return the request that calls the operation with these arguments, without credentials.

    `base_url` counts in place of that of the plan.

    Raises:
        InvalidArguments: an argument is missing or unknown, or cannot be written where it belongs.
        BadSetting: there is no base URL.
    """
    return put_together(request_parts(plan, arguments, base_url=base_url))


def request_parts(
    plan: RequestPlan, arguments: Mapping[str, Any], *, base_url: str = ""
) -> RequestParts:
    """Return all that the arguments decide; see `build_request`."""
    return _Filling(plan, arguments).parts(base_url or plan.base_url)


def can_be_header(name: str) -> bool:
    """Whether a document or an argument may have this header sent."""
    return bool(_HEADER_NAME.fullmatch(name)) and name.lower() not in _OF_THE_CONNECTION


def put_together(
    parts: RequestParts, extra_headers: Mapping[str, str] | None = None
) -> httpx2.Request:
    """Return the request of these parts; an operator's `extra_headers` replace those of arguments.

    Raises:
        InvalidArguments: a header has a line break, or the URL is too long.
        BadSetting: the URL is none.
    """
    import httpx2  # here, because it takes a while and most runs send nothing

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


class _Filling:
    """Writes the arguments of one call, each where it belongs."""

    def __init__(self, plan: RequestPlan, arguments: Mapping[str, Any]) -> None:
        self._plan = plan
        self._arguments = arguments

    def parts(self, base_url: str) -> RequestParts:
        """Return the whole request."""
        self._check_names()
        headers = {"Accept": self._plan.accept, **self._headers()}
        body = self._body()
        if body is not None:
            headers = {x: y for x, y in headers.items() if x.lower() != "content-type"}
            headers["Content-Type"] = body[0]
        if not base_url:
            raise BadSetting(
                "The document names no server that can be called. Write its address as `baseUrl`, "
                "such as https://api.example.com/v1."
            )
        url = base_url.rstrip("/") + self._target()
        cookies = tuple(self._pairs("cookie", cookie_pairs))
        return RequestParts(self._plan.method, url, headers, cookies, body)

    def _check_names(self) -> None:
        names, places = self._names(), self._plan.placements
        problems = [f"there is no argument {x!r}" for x in self._arguments if x not in names]
        problems += [
            f"{x.argument} is missing"
            for x in places
            if x.argument not in self._arguments
            and (x.location == "path" or (x.is_required and x.location != "body"))
        ]
        if problems:
            raise self._error(problems)

    def _target(self) -> str:
        """Return the path and the query."""
        path, mark, query = self._plan.path.partition("?")
        path, query = self._fill(path), self._fill(query)
        self._check(path, lambda: refuse_dot_segments(path))
        added = [f"{name}={text}" for name, text in self._pairs("query", query_pairs)]
        added += [self._write(x, querystring) for x in self._places("querystring", nulls=False)]
        return _with_query(path + mark + query, added)

    def _headers(self) -> dict[str, str]:
        headers: dict[str, str] = {}
        for place in self._places("header", nulls=False):
            if place.name.lower() in _OF_THE_CONNECTION:
                continue
            if not _HEADER_NAME.fullmatch(place.name):
                problem = "its header has an invalid name"
                raise self._error([f"{place.argument}: {problem}"])
            headers[place.name] = self._write(place, header_text)
        return headers

    def _body(self) -> Content | None:
        body = self._plan.body
        if body is None:
            return None
        if body.argument:
            if body.argument not in self._arguments:
                if body.is_required:
                    raise self._error([f"{body.argument} is missing"])
                return None
            value = self._arguments[body.argument]
        else:
            value = {x.name: self._arguments[x.argument] for x in self._places("body")}
            if not value and not body.is_required:
                return None
        return self._check(body.argument or "the body", lambda: encode_body(body, value))

    def _places(self, location: Location, *, nulls: bool = True) -> list[Placement]:
        return [
            x
            for x in self._plan.placements
            if x.location == location
            and x.argument in self._arguments
            and (nulls or self._arguments[x.argument] is not None)
        ]

    def _pairs(self, location: Location, write: Callable[[Placement, Any], Pairs]) -> Pairs:
        return [pair for x in self._places(location) for pair in self._write(x, write)]

    def _write(self, place: Placement, write: Callable[[Placement, Any], T]) -> T:
        value = self._arguments[place.argument]
        return self._check(place.argument, lambda: write(place, value))

    def _fill(self, template: str) -> str:
        """Fill the arguments of the path into a template. Braces of others stay, encoded."""
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
            raise self._error([f"{place.argument}: {problem}"])
        return text

    def _check(self, argument: str, do: Callable[[], T]) -> T:
        try:
            return do()
        except Unwritable as cause:
            raise self._error([f"{argument}: {cause}"]) from None

    def _names(self) -> dict[str, None]:
        body = self._plan.body
        whole = [body.argument] if body and body.argument else []
        return dict.fromkeys([*(x.argument for x in self._plan.placements), *whole])

    def _error(self, problems: list[str]) -> InvalidArguments:
        name = f"{self._plan.method} {self._plan.path}"
        return InvalidArguments(name, problems, ", ".join(self._names()) or "no arguments")


def _with_query(url: str, added: list[str]) -> str:
    if not (added := [x for x in added if x]):
        return url
    between = "" if url.endswith(("?", "&")) else "&" if "?" in url else "?"
    return url + between + "&".join(added)


def _overlay(*layers: Mapping[str, str]) -> dict[str, str]:
    """Lay headers over each other: later ones replace those whose name differs in case only.

    Raises:
        InvalidArguments: one has a line break.
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
