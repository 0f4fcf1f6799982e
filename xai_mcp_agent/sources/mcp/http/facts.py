"""What is known of one HTTP connection and of each request on its way.

The SDK posts each message in a task of its own, which knows nothing of the call behind it. But it
posts it in the context of the one who sent it, and so `RequestContext` reaches the HTTP client.
"""

from __future__ import annotations

import secrets
from collections import deque
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import Context, ContextVar
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING, Any

import anyio

from ..auth.errors import AuthFailure
from ..wire.streams import param_of

if TYPE_CHECKING:
    import httpx2
    from mcp_types import JSONRPCMessage

SESSION_HEADER = "mcp-session-id"
"""Names the session, in the older era of the protocol."""

# Only a request that is under way is looked for, and those are few.
_REMEMBERED = 1000
_SHOWN = 100  # characters of a number, which may be a text


class Taken:
    """Large results that were taken out of their answers, by the names that stand for them."""

    def __init__(self) -> None:
        self._results: dict[str, dict[str, Any]] = {}

    def put(self, result: dict[str, Any]) -> str:
        """Keep a result; the name under which it is found."""
        name = secrets.token_hex(8)  # nobody else can say it
        self._results[name] = result
        return name

    def pop(self, name: object) -> dict[str, Any] | None:
        """The result of this name, once."""
        return self._results.pop(str(name), None)


class HttpFacts:
    """What was noticed at the HTTP level.

    `status` is that of the last answer, `failure` why there was none. `on_doubt` is called
    when the server may be gone. `is_repeatable` is asked whether a tool does no more when it is
    called twice. `mask` hides secrets, to be used before a text is cut. `no_access` says why access
    could not be had, if that was so. `has_no_endpoint`: nothing at this URL takes messages.
    `large` has large results of no particular request. `answers_in_json`: what was asked last was
    answered with one JSON text. `session_id` goes along with all that is sent in the older era.
    """

    def __init__(self) -> None:
        self.status: int | None = None
        self.failure = ""
        self.has_no_endpoint = False
        self.answers_in_json = False
        self.session_id = ""
        self.large = Taken()
        self.no_access: AuthFailure | None = None
        self.on_doubt: Callable[[], None] = _nothing
        self.is_repeatable: Callable[[str], bool] = _never
        self.mask: Callable[[str], str] = str
        self._given_up: deque[Any] = deque(maxlen=_REMEMBERED)

    def give_up(self, request: Any) -> None:
        """Nobody waits for the answer to this request any more, and the server is told so."""
        self._given_up.append(request)

    def is_given_up(self, request: Any) -> bool:
        """Whether the server was told to stop working on this request."""
        return request in self._given_up


def _nothing() -> None:
    """Nobody wants to know."""


def _never(_tool: str) -> bool:
    """Nobody has said that a tool may be called twice."""
    return False


class Connections:
    """How many one client has open, and in use; about, for its pool does not tell.

    It closes idle ones after `idle_seconds`.
    """

    def __init__(self, idle_seconds: float) -> None:
        self._idle_seconds = idle_seconds
        self._in_use: int = 0
        self._open: int = 0
        self._all_in_use_at = 0.0

    @property
    def is_one_idle(self) -> bool:
        """Whether the next request needs no new one."""
        if monotonic() - self._all_in_use_at > self._idle_seconds:
            self._open = self._in_use
        return self._in_use < self._open

    def begin(self) -> None:
        """A request takes one, until `end`."""
        self._in_use += 1
        self._open = max(self._open, self._in_use)

    def end(self) -> None:
        """A request is over."""
        if self._in_use == self._open:
            self._all_in_use_at = monotonic()
        self._in_use -= 1


@dataclass(slots=True)
class RequestContext:
    """One request: its number, and when nobody waits for its answer any more.

    `may_go_twice`: nothing changes when the server carries it out a second time. `body` is the
    answer where it is one JSON text, until it was looked at. `resumed`: how often its stream was
    opened again. `large` has its result if that is large. `answer` is one that is here already.
    """

    id: Any
    deadline: float
    may_go_twice: bool
    body: bytes | None = None
    answer: httpx2.Response | None = None
    resumed: int = 0
    large: Taken = field(default_factory=Taken)

    def why_not_mine(self, answered: object) -> str:
        """Why an answer with this number is not that to this request, for a sentence; or empty."""
        # Some give the number back as text or with a fraction; in an error, none is allowed.
        is_one = isinstance(answered, str | int | float)
        if answered is None or (is_one and str(answered).removesuffix(".0") == str(self.id)):
            return ""
        return f"it answers request {repr(answered)[:_SHOWN] if is_one else '?'}, not ours"


_current: ContextVar[RequestContext | None] = ContextVar("xai_mcp_request", default=None)


def current_request() -> RequestContext | None:
    """The request that this task is posting; None for all that is not a request."""
    return _current.get()


def context_in(context: Context | None) -> RequestContext | None:
    """The request behind what was done in this context."""
    return context.get(_current) if context is not None else None


@contextmanager
def context_of(message: JSONRPCMessage, facts: HttpFacts) -> Generator[None]:
    """Whose message is handed over within the block, for those who carry it from there."""
    method = getattr(message, "method", None)
    if method == "notifications/cancelled":
        facts.give_up(param_of(message, "requestId"))
    is_request = method is not None and getattr(message, "id", None) is not None
    # Taken back at the end: this task sends other things as well.
    token = _current.set(_new(message, facts) if is_request else None)
    try:
        yield
    finally:
        _current.reset(token)


def _new(request: Any, facts: HttpFacts) -> RequestContext:
    # All other methods only read, or begin what is forgotten when nobody goes on with it.
    repeatable = request.method != "tools/call" or facts.is_repeatable(param_of(request, "name"))
    return RequestContext(request.id, anyio.current_effective_deadline(), repeatable)
