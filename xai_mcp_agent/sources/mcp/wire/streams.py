"""What passes between the SDK's session and a transport, watched on its way.

The SDK tells nobody when a stream ends, spends much time on each of a flood of
notices, and loses a whole answer for one odd part of it. So each message is
looked at once here: the end is told, notices are counted and not passed on
where nobody wants them, and answers are mended (`mending.py`).
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from time import monotonic
from typing import TYPE_CHECKING, Any, cast

import anyio
import anyio.to_thread

from ....core.tools import JsonObject
from .mending import MENDERS
from .messages import param_of
from .pieces import Pieces
from .probe import Probe
from .watch import Watch
from .wrapped import Wrapped

if TYPE_CHECKING:
    from mcp.shared.message import SessionMessage

    Streams = tuple[Any, Any]
    Transport = AbstractAsyncContextManager[Streams]

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
_MANY_TOOLS = 200


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
        tools = result.get("tools")
        if isinstance(tools, list) and len(cast(list[Any], tools)) > _MANY_TOOLS:
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
        self.pieces = Pieces()
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
