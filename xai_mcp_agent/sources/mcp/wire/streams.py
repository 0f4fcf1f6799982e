"""Streams of messages between the SDK's session and a transport, read, watched and sanitized.

The SDK tells nobody when a stream ends, spends much time on each of a flood of notices, and loses
a whole answer for one odd part of it. So each message is looked at once here: the end is told,
notices are counted and not passed on where nobody wants them, answers are mended (`sanitize.py`),
long listings come in pieces, and the question for the era has a limit of ours.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import cache
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Any, Self, cast

import anyio
import anyio.to_thread

from ....core.tools import JsonObject
from ..http.facts import TROUBLE
from .listing_chunks import ListingChunks
from .questions import TOO_MANY, QuestionPace
from .sanitize import MENDERS, unknown_type_of
from .watch import Watch

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

# For each call; after that only now and then: nobody can read thousands of them.
_PROGRESS_PASSED = 100
_PROGRESS_PAUSE_SECONDS = 0.1
_KNOWN_NOTICES = (
    "notifications/elicitation/complete",
    "notifications/prompts/list_changed",
    "notifications/resources/list_changed",
    "notifications/resources/updated",
    "notifications/subscriptions/acknowledged",
)
_MANY = 200
_LONG_LISTS = ("content", "resources", "resourceTemplates", "prompts", "contents")
_REFUSAL_SECONDS = 1.0  # for a server that does not even take a no


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
            sending = _WatchedWrite(write, traffic, probe)
            yield _WatchedRead(read, traffic, watch, probe, sending), sending
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
    def __init__(
        self, inner: Any, traffic: _Traffic, watch: Watch, probe: Probe, write: _WatchedWrite
    ) -> None:
        super().__init__(inner)
        self._traffic = traffic
        self._watch = watch
        self._probe = probe
        self._write = write

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
            if item is not None and (isinstance(item, Exception) or await self._is_wanted(item)):
                return item

    async def _is_wanted(self, item: SessionMessage) -> bool:
        message: Any = item.message
        result: JsonObject = getattr(message, "result", None) or {}
        items = [result.get(name) for name in _LONG_LISTS]
        many = any(isinstance(x, list) and len(cast(list[Any], x)) > _MANY for x in items)
        if many or "tools" in result:
            # In a thread: to mend so many, or a tool of any size, can hold others up.
            return await anyio.to_thread.run_sync(self._traffic.received, item)
        return self._traffic.received(item) and await self._is_admitted(message)

    async def _is_admitted(self, message: Any) -> bool:
        request = getattr(message, "id", None)
        if request is None or not hasattr(message, "method"):
            return True
        if await self._traffic.questions.admits(request):
            return True
        with anyio.move_on_after(_REFUSAL_SECONDS):
            await self._write.send(error_answer(request, INTERNAL_ERROR, TOO_MANY))
        return False

    async def receive(self) -> SessionMessage | Exception:
        """The next message; raises EndOfStream at the end."""
        try:
            return await self.__anext__()
        except StopAsyncIteration:
            raise anyio.EndOfStream from None


class _WatchedWrite(Wrapped):
    def __init__(self, inner: Any, traffic: _Traffic, probe: Probe) -> None:
        super().__init__(inner)
        self._traffic = traffic
        self._probe = probe
        self._one_answer = anyio.Lock()

    async def send(self, item: SessionMessage) -> None:
        """Send a message, and note it; one that asks for a piece that is here already is not sent.

        Raises:
            NotDelivered: a request that nobody takes any more.
            ClosedResourceError, BrokenResourceError: the same of any other message.
        """
        if self._traffic.pieces.are_there and self._traffic.pieces.has(item.message):
            return
        self._traffic.sent(item.message)
        if not self._probe.is_over:
            self._probe.sent(
                getattr(item.message, "method", None), getattr(item.message, "id", None)
            )
        if not hasattr(item.message, "method"):
            await self._send_answer(item)
            return
        try:
            await self._inner.send(item)
        except (anyio.ClosedResourceError, anyio.BrokenResourceError) as cause:
            if getattr(item.message, "id", None) is None:
                raise  # the SDK expects these for all but requests
            raise NotDelivered from cause

    async def _send_answer(self, item: SessionMessage) -> None:
        try:
            # Over HTTP all that is sent waits in one line: of answers one at a time stands in it.
            async with self._one_answer:
                await self._inner.send(item)
        finally:
            self._traffic.questions.is_over(getattr(item.message, "id", None))


class _Traffic:
    """Knows which answer belongs to which request, and which notices are wanted."""

    def __init__(self, watch: Watch) -> None:
        self.pieces = ListingChunks()
        self.questions = QuestionPace()
        self._watch = watch
        # By the request's id as text: some servers give numbers back as text.
        self._method_of: dict[str, str] = {}
        self._progress: dict[str, _Progress] = {}

    def sent(self, message: Any) -> None:
        """Note a message on its way to the server."""
        method = getattr(message, "method", None)
        if method in MENDERS:
            self._method_of[str(message.id)] = method
            if param_of(message, "cursor") is None:
                self._watch.begins(method)
        elif method == "notifications/cancelled":
            self._forget(param_of(message, "requestId"))

    def received(self, item: SessionMessage) -> bool:
        """Look at a message from the server, mend it, and say whether the SDK should have it."""
        message: Any = item.message
        self._watch.heard_at = monotonic()
        method = getattr(message, "method", None)
        if method is not None:
            return self._is_wanted(method, message)
        asked = self._forget(message.id)
        mend = MENDERS.get(asked)
        result = getattr(message, "result", None)
        if mend is None or not isinstance(result, dict):
            return True
        if kind := unknown_type_of(cast(JsonObject, result)):
            why = f"it is of the type {kind}, which is not known here"
            item.message = unreadable_answer(message.id, why).message
            return True
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
            case "notifications/cancelled":
                self.questions.is_over(param_of(message, "requestId"))
                return True
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
