"""A call of an operation as the HTTP request that is sent: a plan, filled in with arguments.

Nothing of the arguments is lost and nothing is added; what cannot be written is refused before
anything is sent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

from ....core.errors import BadSetting, InvalidArguments
from ..plan import Body, Placement, RequestPlan
from .bodies import Encoded, encode_body
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

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_MOST_URL_CHARS = 65_536  # the HTTP library sends no longer ones, and hardly a service takes them
# The connection decides them; another value would make the server read other requests than these.
_OF_THE_CONNECTION = frozenset((
    "connection", "content-length", "host", "keep-alive", "proxy-connection", "te", "trailer",
    "transfer-encoding", "upgrade",
))  # fmt: skip
# What a template of a path may hold besides letters; anything else is encoded.
_IN_TEMPLATE = "%/:@!$&'()*+,;=~"
# Some services answer nobody who does not say who asks. Others of the packings need a library.
_OURS = {"User-Agent": "xai-mcp-agent", "Accept-Encoding": "gzip, deflate"}
_READING = ("GET", "HEAD", "OPTIONS", "QUERY")
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True, slots=True, repr=False)
class Access:
    """What credentials add to a request. Never printed."""

    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    query: tuple[tuple[str, str], ...] = ()
    cookies: tuple[tuple[str, str], ...] = ()


NO_ACCESS = Access()


@dataclass(frozen=True, slots=True, repr=False)
class RequestParts:
    """A request before it is put together; an operator may replace some of it.

    `url` is without what the access adds to it.
    """

    method: str
    url: str
    headers: Mapping[str, str]
    cookies: tuple[tuple[str, str], ...] = ()
    body: Encoded | None = None


def build_request(
    plan: RequestPlan,
    arguments: Mapping[str, Any],
    *,
    base_url: str = "",
    access: Access = NO_ACCESS,
    extra_headers: Mapping[str, str] | None = None,
) -> httpx2.Request:
    """The request that calls the operation with these arguments.

    `base_url` counts in place of that of the plan. `extra_headers` are an operator's: they count in
    place of what arguments say.

    Raises:
        InvalidArguments: an argument is missing or unknown, or cannot be written where it belongs.
        BadSetting: there is no base URL.
    """
    parts = request_parts(plan, arguments, base_url=base_url)
    return put_together(parts, access=access, extra_headers=extra_headers)


def request_parts(
    plan: RequestPlan, arguments: Mapping[str, Any], *, base_url: str = ""
) -> RequestParts:
    """All that the arguments decide; see `build_request`."""
    name = f"{plan.method} {plan.path}"
    _check_names(plan, arguments, name)
    filling = _Filling(plan, arguments, name)
    headers = {"Accept": plan.accept, **filling.headers()}
    body = filling.body()
    if body is not None:
        headers = {x: y for x, y in headers.items() if x.lower() != "content-type"}
        headers["Content-Type"] = body[0]
    url = _base(base_url or plan.base_url) + filling.target()
    return RequestParts(plan.method, url, headers, tuple(filling.cookies()), body)


def can_be_header(name: str) -> bool:
    """Whether a document or an argument may have this header sent."""
    return bool(_HEADER_NAME.fullmatch(name)) and name.lower() not in _OF_THE_CONNECTION


def put_together(
    parts: RequestParts,
    *,
    access: Access = NO_ACCESS,
    extra_headers: Mapping[str, str] | None = None,
) -> httpx2.Request:
    """The request of these parts.

    Raises:
        InvalidArguments: a header has a line break, or the URL is too long.
        BadSetting: the URL is none.
    """
    import httpx2  # here, because it takes a while and most runs send nothing

    headers = _overlaid(_OURS, parts.headers, extra_headers or {}, access.headers)
    cookies = [f"{name}={text}" for name, text in (*parts.cookies, *access.cookies)]
    if cookies:
        before = [text for name, text in headers.items() if name.lower() == "cookie"]
        headers = _overlaid(headers, {"Cookie": "; ".join([*before, *cookies])})
    url = _with_query(parts.url, [f"{name}={text}" for name, text in access.query])
    if len(url) > _MOST_URL_CHARS:
        problem = f"the URL: it would be longer than {_MOST_URL_CHARS:,} characters"
        raise InvalidArguments("the request", [problem], "less in the path and the query")
    content = parts.body[1] if parts.body is not None else None
    encoded = [(name.encode("ascii"), text.encode()) for name, text in headers.items()]
    try:
        return httpx2.Request(parts.method, url, headers=encoded, content=content)
    except httpx2.InvalidURL as cause:
        raise BadSetting(
            f"The service cannot be called at its base URL: {cause}. Give another as `baseUrl`."
        ) from None


class _Filling:
    """Writes the arguments of one call, each where it belongs."""

    def __init__(self, plan: RequestPlan, arguments: Mapping[str, Any], name: str) -> None:
        self._plan = plan
        self._arguments = arguments
        self._name = name

    def target(self) -> str:
        """The path and the query."""
        path, mark, query = self._plan.path.partition("?")
        path, query = self._filled(path), self._filled(query)
        self._check(path, lambda: refuse_dot_segments(path))
        added = [f"{name}={text}" for name, text in self._pairs("query", query_pairs)]
        added += [
            self._written(place, querystring)
            for place in self._places("querystring")
            if self._arguments[place.argument] is not None
        ]
        return _with_query(path + mark + query, added)

    def headers(self) -> dict[str, str]:
        """Those that arguments are."""
        found: dict[str, str] = {}
        for place in self._places("header"):
            is_ours = place.name.lower() in _OF_THE_CONNECTION
            if self._arguments[place.argument] is None or is_ours:
                continue
            if not _HEADER_NAME.fullmatch(place.name):
                raise self._wrong(place.argument, "its header has a name that no header can have")
            found[place.name] = self._written(place, header_text)
        return found

    def cookies(self) -> Pairs:
        """Those that arguments are."""
        return self._pairs("cookie", cookie_pairs)

    def body(self) -> Encoded | None:
        """What is sent as the body; None without any."""
        body = self._plan.body
        if body is None:
            return None
        if body.argument:
            if body.argument in self._arguments:
                return self._encoded(body, self._arguments[body.argument])
            if body.is_required:
                raise self._wrong(body.argument, "is missing, and is the body")
            return None
        value = {x.name: self._arguments[x.argument] for x in self._places("body")}
        return self._encoded(body, value) if value or body.is_required else None

    def _encoded(self, body: Body, value: Any) -> Encoded:
        return self._check(body.argument or "the body", lambda: encode_body(body, value))

    def _places(self, location: str) -> list[Placement]:
        given = self._arguments
        return [x for x in self._plan.placements if x.location == location and x.argument in given]

    def _pairs(self, location: str, written: Callable[[Placement, Any], Pairs]) -> Pairs:
        return [pair for x in self._places(location) for pair in self._written(x, written)]

    def _written(self, place: Placement, written: Callable[[Placement, Any], T]) -> T:
        value = self._arguments[place.argument]
        return self._check(place.argument, lambda: written(place, value))

    def _filled(self, template: str) -> str:
        """A template with the arguments of the path in it. Braces of others stay, encoded."""
        places = {x.name: x for x in self._plan.placements if x.location == "path"}
        pieces = _PLACEHOLDER.split(template)
        return "".join(
            self._in_path(places[x]) if n % 2 and x in places
            else quote(f"{{{x}}}" if n % 2 else x, safe=_IN_TEMPLATE)
            for n, x in enumerate(pieces)
        )  # fmt: skip

    def _in_path(self, place: Placement) -> str:
        text = self._written(place, path_text)
        if not text and self._plan.method.upper() not in _READING:
            raise self._wrong(place.argument, "it is empty, and another thing would be changed")
        return text

    def _check(self, argument: str, do: Callable[[], T]) -> T:
        try:
            return do()
        except Unwritable as cause:
            raise self._wrong(argument, str(cause)) from None

    def _wrong(self, argument: str, problem: str) -> InvalidArguments:
        return InvalidArguments(self._name, [f"{argument}: {problem}"], _expected(self._plan))


def _check_names(plan: RequestPlan, arguments: Mapping[str, Any], name: str) -> None:
    known = {x.argument for x in plan.placements}
    if plan.body is not None and plan.body.argument:
        known.add(plan.body.argument)
    problems = [f"there is no argument {x!r}" for x in arguments if x not in known]
    problems += [
        f"{x.argument} is missing"
        for x in plan.placements
        if x.argument not in arguments
        and (x.location == "path" or (x.is_required and x.location != "body"))
    ]
    if problems:
        raise InvalidArguments(name, problems, _expected(plan))


def _expected(plan: RequestPlan) -> str:
    names = [x.argument for x in plan.placements]
    if plan.body is not None and plan.body.argument:
        names.append(plan.body.argument)
    return ", ".join(dict.fromkeys(names)) or "no arguments"


def _base(url: str) -> str:
    if not url:
        raise BadSetting(
            "The document names no server that can be called. Give its address as `baseUrl`, such "
            "as https://api.example.com/v1."
        )
    return url.rstrip("/")


def _with_query(url: str, added: list[str]) -> str:
    if not (added := [x for x in added if x]):
        return url
    between = "" if url.endswith(("?", "&")) else "&" if "?" in url else "?"
    return url + between + "&".join(added)


def _overlaid(*layers: Mapping[str, str]) -> dict[str, str]:
    """Headers, later ones in place of earlier ones whose name differs in case only.

    Raises:
        InvalidArguments: one has a line break.
    """
    found: dict[str, tuple[str, str]] = {}
    for layer in layers:
        found |= {name.lower(): (name, text) for name, text in layer.items()}
    return {name: _checked(name, text) for name, text in found.values()}


def _checked(name: str, text: str) -> str:
    try:
        return one_line(text)
    except Unwritable as cause:
        raise InvalidArguments("the request", [f"header {name}: {cause}"], "one line") from None
