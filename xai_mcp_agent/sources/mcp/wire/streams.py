"""Streams of messages between the SDK's session and a transport, read, watched and sanitized.

The SDK tells nobody when a stream ends, spends much time on each of a flood of notices, and loses
a whole answer for one odd part of it. So each message is looked at once here: the end is told,
notices are counted and not passed on where nobody wants them, answers are mended (`sanitize.py`),
long listings come in pieces, and the question for the era has a limit of ours.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import cache
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Any, Self, cast

import anyio
import anyio.to_thread

from ....core.tools import JsonObject
from .sanitize import MENDERS
from .watch import TROUBLE, Watch

if TYPE_CHECKING:
    from mcp.shared.message import SessionMessage

    Streams = tuple[Any, Any]
    Transport = AbstractAsyncContextManager[Streams]

PARSE_ERROR = -32700
METHOD_NOT_FOUND = -32601
INTERNAL_ERROR = -32603
"""Stands for anything that went wrong on the way."""
# Codes of the protocol, as the SDK reads them.
_TIMED_OUT = -32001
_OTHER_VERSION = -32022
_ANSWER = {"jsonrpc", "id", "result"}
_PROBE = "server/discover"
_FIRST_MODERN = "2026"  # versions are dates

# A few milliseconds of the SDK's time.
_TOOLS_IN_A_PIECE = 100
_CURSOR = "xai-mcp-agent/piece/"

# For each call; after that only now and then: nobody can read thousands of them.
_PROGRESS_PASSED = 100
_PROGRESS_PAUSE_SECONDS = 0.1
_KNOWN_NOTICES = (
    "notifications/cancelled",
    "notifications/elicitation/complete",
    "notifications/prompts/list_changed",
    "notifications/resources/list_changed",
    "notifications/resources/updated",
    "notifications/subscriptions/acknowledged",
)
_MANY = 200


def is_modern(version: str) -> bool:
    """Whether a server that speaks this version is asked without shaking hands first."""
    return version >= _FIRST_MODERN


def param_of(message: Any, name: str) -> Any:
    """One parameter of a request or notice; None where it has none of that name."""
    params: dict[str, Any] = message.params or {}
    return params.get(name)


@cache
def message_reader() -> Callable[[Any], SessionMessage]:
    """Makes a message of what JSON holds; it raises ValueError where that is none."""
    # Here, because the SDK is only imported once a server is started.
    from mcp.shared.message import SessionMessage
    from mcp_types import JSONRPCResponse, jsonrpc_message_adapter

    any_message, answer = jsonrpc_message_adapter.validate_python, JSONRPCResponse.model_validate

    def read(value: Any) -> SessionMessage:
        # Nearly all are answers; of those the SDK would find out by trying every kind.
        is_answer = isinstance(value, dict) and cast("dict[str, Any]", value).keys() == _ANSWER
        return SessionMessage((answer if is_answer else any_message)(value, by_name=False))

    return read


def error_answer(request: Any, code: int, message: str, data: Any = None) -> SessionMessage:
    """An answer to this request that says it went wrong."""
    # Here, because the SDK is only imported once a server is started.
    from mcp.shared.message import SessionMessage
    from mcp_types import ErrorData, JSONRPCError

    error = ErrorData(code=code, message=message, data=data)
    return SessionMessage(JSONRPCError(jsonrpc="2.0", id=request, error=error))


def unreadable_answer(request: Any, why: str) -> SessionMessage:
    """In place of an answer that came and is no use."""
    return error_answer(request, PARSE_ERROR, why, {TROUBLE: "unreadable"})


class Probe:
    """The wait for the answer to the first question, which protocol the server speaks.

    The SDK asks in the newer era first, and waits ten seconds, for ever fixed, before it shakes
    hands in the older one. When our wait is over it gets an answer in the server's place. A server
    that was merely slow is none the worse: when it refuses to shake hands, the SDK asks again.
    """

    def __init__(self, seconds: float) -> None:
        self.is_over = False
        self._seconds = seconds
        self._asked: Any = None
        self._handshake: Any = None
        self._late_versions: list[Any] = []
        self._scope = anyio.CancelScope()

    def sent(self, method: str | None, request: Any) -> None:
        """Note what is sent to the server."""
        if method == _PROBE:
            self._asked = request
            self._scope.deadline = anyio.current_time() + self._seconds
        elif method == "initialize":
            self._handshake = request
        elif method is not None:
            self.is_over = True  # the era is settled

    async def next_of(self, stream: Any) -> SessionMessage | Exception:
        """The next message, or the answer that stands for the one that does not come."""
        with anyio.CancelScope(deadline=self._scope.deadline) as self._scope:
            item = await stream.__anext__()
            return item if isinstance(item, Exception) else self._seen(item)
        self._scope = anyio.CancelScope()
        return error_answer(self._asked, _TIMED_OUT, f"no answer to {_PROBE}")

    def _seen(self, item: SessionMessage) -> SessionMessage:
        message: Any = item.message
        request = getattr(message, "id", None)
        if request is None:
            return item
        if request == self._asked:
            self._scope.deadline = inf
            result: JsonObject = getattr(message, "result", None) or {}
            self._late_versions = result.get("supportedVersions", []) if self._handshake else []
        elif request == self._handshake and self._late_versions and hasattr(message, "error"):
            # It was slow, and does not speak the older era at all: the SDK is to ask again.
            versions = {"supported": self._late_versions, "requested": ""}
            return error_answer(request, _OTHER_VERSION, "it speaks another protocol", versions)
        return item


class ListingChunks:
    """The pieces of one connection's last listing that were not asked for yet.

    The SDK looks at each tool several times, on the event loop: thousands on one page would hold
    up every other server. So a long page becomes several; those after the first are answered here.
    """

    def __init__(self) -> None:
        self._rest: dict[str, JsonObject] = {}
        self._answers: deque[SessionMessage] = deque()
        self._scope = anyio.CancelScope()
        # A place that was listed before would look like a listing in circles.
        self._numbers = itertools.count(1)

    @property
    def are_there(self) -> bool:
        """Whether messages are to be taken from here too."""
        return bool(self._rest or self._answers)

    def cut(self, page: JsonObject) -> None:
        """Leave as many tools on the page as the SDK may have at once, and keep the others."""
        self._rest.clear()
        tools: list[Any] = page["tools"]
        if len(tools) <= _TOOLS_IN_A_PIECE:
            return
        before, goes_on = page, page.get("nextCursor")
        for start in range(_TOOLS_IN_A_PIECE, len(tools), _TOOLS_IN_A_PIECE):
            piece = {**page, "tools": tools[start : start + _TOOLS_IN_A_PIECE]}
            before["nextCursor"] = cursor = f"{_CURSOR}{next(self._numbers)}"
            self._rest[cursor] = before = piece
        before["nextCursor"] = goes_on
        page["tools"] = tools[:_TOOLS_IN_A_PIECE]

    def has(self, message: Any) -> bool:
        """Whether this request asks for one of them; then its answer comes out of `next_of`."""
        params: JsonObject = getattr(message, "params", None) or {}
        cursor = params.get("cursor")
        piece = self._rest.pop(cursor, None) if isinstance(cursor, str) else None
        if piece is None:
            return False
        # Here, because the SDK is only imported once a server is started.
        from mcp.shared.message import SessionMessage
        from mcp_types import JSONRPCResponse

        answer = JSONRPCResponse(jsonrpc="2.0", id=message.id, result=piece)
        self._answers.append(SessionMessage(answer))
        self._scope.cancel()
        return True

    async def next_of(self, stream: Any) -> SessionMessage | Exception | None:
        """The next message from here or from the stream; None is no message, ask again."""
        if self._answers:
            return self._answers.popleft()
        with anyio.CancelScope() as self._scope:
            return await stream.__anext__()
        return None


@asynccontextmanager
async def watched(
    transport: Transport, watch: Watch, probe_seconds: float
) -> AsyncGenerator[Streams]:
    """The same transport, with its messages seen and mended and its end told to `watch`.

    The question for the era is given up after `probe_seconds`.
    """
    async with transport as (read, write):
        traffic, probe = _Traffic(watch), Probe(probe_seconds)
        try:
            yield _WatchedRead(read, traffic, watch, probe), _WatchedWrite(write, traffic, probe)
        finally:
            watch.ended.set()


class NotDelivered(Exception):
    """A request was not even handed over: the server cannot have seen it."""


class Wrapped:
    """Opens, closes and does all else as the stream in it, until a subclass says otherwise."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    async def __aenter__(self) -> Self:
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *exc: Any) -> Any:
        return await self._inner.__aexit__(*exc)

    def __aiter__(self) -> Self:
        return self

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class _WatchedRead(Wrapped):
    def __init__(self, inner: Any, traffic: _Traffic, watch: Watch, probe: Probe) -> None:
        super().__init__(inner)
        self._traffic = traffic
        self._watch = watch
        self._probe = probe

    async def __anext__(self) -> SessionMessage | Exception:
        while True:
            try:
                if not self._probe.is_over:
                    item = await self._probe.next_of(self._inner)
                elif self._traffic.pieces.are_there:
                    item = await self._traffic.pieces.next_of(self._inner)
                else:
                    item = await self._inner.__anext__()
            except (StopAsyncIteration, anyio.ClosedResourceError):
                self._watch.ended.set()
                raise
            if item is not None and (
                isinstance(item, Exception) or await self._is_wanted(item.message)
            ):
                return item

    async def _is_wanted(self, message: Any) -> bool:
        result: JsonObject = getattr(message, "result", None) or {}
        for several in (result.get("tools"), result.get("content")):
            if isinstance(several, list) and len(cast(list[Any], several)) > _MANY:
                # In a thread: to mend so many takes long enough to hold others up.
                return await anyio.to_thread.run_sync(self._traffic.received, message)
        return self._traffic.received(message)

    async def receive(self) -> SessionMessage | Exception:
        try:
            return await self.__anext__()
        except StopAsyncIteration:
            raise anyio.EndOfStream from None


class _WatchedWrite(Wrapped):
    def __init__(self, inner: Any, traffic: _Traffic, probe: Probe) -> None:
        super().__init__(inner)
        self._traffic = traffic
        self._probe = probe

    async def send(self, item: SessionMessage) -> None:
        if self._traffic.pieces.are_there and self._traffic.pieces.has(item.message):
            return
        self._traffic.sent(item.message)
        if not self._probe.is_over:
            self._probe.sent(
                getattr(item.message, "method", None), getattr(item.message, "id", None)
            )
        try:
            await self._inner.send(item)
        except (anyio.ClosedResourceError, anyio.BrokenResourceError) as cause:
            if getattr(item.message, "id", None) is None or not hasattr(item.message, "method"):
                raise  # the SDK expects these for all but requests
            raise NotDelivered from cause


class _Traffic:
    """Knows which answer belongs to which request, and which notices are wanted."""

    def __init__(self, watch: Watch) -> None:
        self.pieces = ListingChunks()
        self._watch = watch
        # By the request's id as text: some servers give numbers back as text.
        self._method_of: dict[str, str] = {}
        self._progress: dict[str, _Progress] = {}

    def sent(self, message: Any) -> None:
        """Note a message on its way to the server."""
        method = getattr(message, "method", None)
        if method in MENDERS:
            self._method_of[str(message.id)] = method
        elif method == "notifications/cancelled":
            self._forget(param_of(message, "requestId"))

    def received(self, message: Any) -> bool:
        """Look at a message from the server, mend it, and say whether the SDK should have it."""
        self._watch.heard_at = monotonic()
        method = getattr(message, "method", None)
        if method is not None:
            return self._is_wanted(method, message)
        asked = self._forget(message.id)
        mend = MENDERS.get(asked)
        result = getattr(message, "result", None)
        if mend is not None and isinstance(result, dict):
            mend(cast(JsonObject, result), self._watch)
            if asked == "tools/list":
                self.pieces.cut(cast(JsonObject, result))
        return True

    def _is_wanted(self, method: str, message: Any) -> bool:
        match method:
            case (
                "notifications/tools/list_changed"
                | "notifications/prompts/list_changed"
                | "notifications/resources/list_changed"
            ):
                self._watch.on_list_changed(method.split("/")[1])
                return False
            case "notifications/resources/updated":
                self._watch.on_resource_updated(str(param_of(message, "uri")))
                return False
            case "notifications/message":
                self._watch.on_log(message.params or {})
                return False
            case "notifications/progress":
                return self._is_progress_wanted(param_of(message, "progressToken"))
            case _:
                # Of a flood of those that nobody knows, the SDK would look at each for long.
                return method in _KNOWN_NOTICES or getattr(message, "id", None) is not None

    def _is_progress_wanted(self, token: Any) -> bool:
        request = str(token)
        if request not in self._method_of:
            return False
        return self._progress.setdefault(request, _Progress()).passes(self._watch.heard_at)

    def _forget(self, request: Any) -> str:
        self._progress.pop(str(request), None)
        return self._method_of.pop(str(request), "")


class _Progress:
    """Thins out the progress notices of one call."""

    def __init__(self) -> None:
        self._count = 0
        self._next_at = 0.0

    def passes(self, now: float) -> bool:
        self._count += 1
        if self._count > _PROGRESS_PASSED and now < self._next_at:
            return False
        self._next_at = now + _PROGRESS_PAUSE_SECONDS
        return True
