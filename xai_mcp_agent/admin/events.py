"""Server-sent events of a bridge, and calls that wait for an answer of their reader."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from itertools import groupby
from typing import TypeAlias

import anyio
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from ..bridge.operations import Operations
from ..core.approval import ApprovalAnswer, ApprovalRequest, ApprovalScope, approval_too_late
from ..core.calls import Nobody
from ..core.errors import StoreFailed
from ..core.events import SourceStatus
from ..core.json import JsonObject
from ..core.tools import Tool
from ..history.event import Event
from ..views.history import event_json
from ..views.servers import status_json
from .problems import UnknownApproval

_APPROVER = "a person at the admin page"
_NO_QUESTIONS = (
    "nobody can be asked questions of servers over the REST interface. Call it from an agent, or "
    'set "elicitation": "defaults" for this server in the settings'
)
# No event says that a source starts to connect, or that its breaker closed.
_LOOK_SECONDS = 1.0
_BURST_SECONDS = 0.05  # a listing and its events in the history come shortly after each other
_KEEP_ALIVE_LOOKS = 15  # a proxy closes a connection that is silent for a minute
_SEND_SECONDS = 30.0
_FIRST_EVENTS, _MAX_EVENTS, _MAX_ROWS = 30, 200, 2000
_OF_LISTINGS = ("seeded", "discovered", "confirmed", "returned", "unavailable")

ServerEvent: TypeAlias = tuple[str, JsonObject, int | None]
"""Name, data, and the position in the history, if it has one."""


@dataclass(eq=False)
class WaitingCall:
    """Call that waits for an answer."""

    request: ApprovalRequest
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    answer: ApprovalAnswer | None = None
    answered: anyio.Event = field(default_factory=anyio.Event)

    def as_json(self) -> JsonObject:
        """Return the id and every field of the request."""
        return {"id": self.id, "title": self.request.title, **asdict(self.request)}


class ApprovalDesk(Nobody):
    """Host that shows calls over the REST interface until a client answers. On the loop."""

    def __init__(self) -> None:
        super().__init__(_NO_QUESTIONS)
        self.waiting: dict[str, WaitingCall] = {}
        self.on_change: set[Callable[[], None]] = set()

    async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:
        """Return the answer, or a no if there is none in time."""
        call = WaitingCall(request)
        self.waiting[call.id] = call
        self._notify()
        try:
            with anyio.move_on_after(request.limit_seconds):
                await call.answered.wait()
            return call.answer or approval_too_late(request)
        finally:
            self.waiting.pop(call.id, None)
            self._notify()

    def decide(self, call_id: str, scope: ApprovalScope) -> None:
        """Answer a call.

        Raises:
            UnknownApproval: no call waits under this id.
        """
        call = self.waiting.pop(call_id, None)
        if call is None:
            raise UnknownApproval(f"No call waits under the id {call_id!r}.")
        reason = "a person said no" if scope == "no" else ""
        call.answer = ApprovalAnswer(scope, reason, by=_APPROVER)
        call.answered.set()

    def _notify(self) -> None:
        for notify in tuple(self.on_change):
            notify()


class WatchedDesk(Nobody):
    """Desk for other callers in this process; usable while a client reads the events."""

    def __init__(self, desk: ApprovalDesk) -> None:
        super().__init__(_NO_QUESTIONS)
        self._desk = desk

    @property
    def is_watched(self) -> bool:
        """Whether a client reads the events."""
        return bool(self._desk.on_change)

    async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:
        """Return the answer at the desk, or a no if no client reads the events."""
        if not self.is_watched:
            return ApprovalAnswer.nobody("nobody has the admin page open")
        return await self._desk.approve(request)


class EventStream(Response):
    """Response that streams events to one client until it disconnects.

    It begins with the state of every source, the newest events (or those after the position
    `after`) and the waiting calls. It sends what differs since the last time, so nothing is queued
    for a slow client: one that missed much gets `reread`, one that reads nothing is cut off.
    """

    media_type = "text/event-stream"

    def __init__(self, operations: Operations, desk: ApprovalDesk, after: int) -> None:
        super().__init__(headers={"X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._operations = operations
        self._desk = desk
        self._after = after
        self._woken = asyncio.Event()
        self._sources: dict[str, SourceStatus] = {}
        self._tools: dict[str, tuple[Tool, ...]] | None = None
        self._calls: dict[str, WaitingCall] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send events until the client disconnects, or reads none for long."""
        engine, loop = self._operations.engine, asyncio.get_running_loop()
        wake = self._woken.set

        def wake_from_thread(_: object) -> None:
            loop.call_soon_threadsafe(wake)

        leave = engine.catalog.subscribe(lambda _: wake()), engine.recorder.follow(wake_from_thread)
        self._desk.on_change.add(wake)
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._send_all, send, tasks.cancel_scope)
                while (await receive())["type"] != "http.disconnect":
                    pass
                tasks.cancel_scope.cancel()
        finally:
            self._desk.on_change.discard(wake)
            for end in leave:
                end()

    async def _send_all(self, send: Send, scope: anyio.CancelScope) -> None:
        start = {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
        await send(start)
        await self._check_position()
        with anyio.move_on_after(_SEND_SECONDS) as limit:
            silent = 0
            while True:
                self._woken.clear()
                text = "".join(map(_event_text, await self._changes()))
                silent = 0 if text else silent + 1
                if not text and silent % _KEEP_ALIVE_LOOKS == 0:
                    text = ":\n\n"
                limit.deadline = anyio.current_time() + _SEND_SECONDS
                if text:
                    body = text.encode()
                    await send({"type": "http.response.body", "body": body, "more_body": True})
                limit.deadline = float("inf")
                with anyio.move_on_after(_LOOK_SECONDS):
                    await self._woken.wait()
                    await anyio.sleep(_BURST_SECONDS)
        scope.cancel()

    async def _check_position(self) -> None:
        """Start again for a client of another history, such as that of an earlier process."""
        with suppress(StoreFailed):
            newest = await self._operations.look_up(lambda history: history.position_of())
            if self._after > newest:
                self._after = 0

    async def _changes(self) -> list[ServerEvent]:
        sources = [*await self._changed_sources()]
        return [*sources, *self._changed_tools(), *await self._new_events(), *self._changed_calls()]

    async def _changed_sources(self) -> Iterator[ServerEvent]:
        before = self._sources
        self._sources = {x.name: x for x in await self._operations.servers()}
        changed = (x for name, x in self._sources.items() if before.get(name) != x)
        return (("source", status_json(x), None) for x in changed)

    def _changed_tools(self) -> Iterator[ServerEvent]:
        inventories = self._operations.catalog.inventories()
        before, self._tools = self._tools, {name: x.tools for name, x in inventories.items()}
        if before is not None:
            for name in before.keys() | self._tools.keys():
                tools = self._tools.get(name, ())
                if before.get(name, ()) is not tools:
                    yield "inventory", {"source": name, "tool_count": len(tools)}, None

    async def _new_events(self) -> list[ServerEvent]:
        is_first = not self._after
        try:
            events = await self._operations.history(after=self._after, limit=_MAX_ROWS)
        except StoreFailed:  # everything else is still sent
            return []
        if not events:
            return []
        self._after = events[-1].position
        bursts = [list(alike) for _, alike in groupby(events, _burst)]
        newest = bursts[-_FIRST_EVENTS:] if is_first else bursts[-_MAX_EVENTS:]
        new: list[ServerEvent] = [
            ("history", {**event_json(x[-1]), "count": len(x)}, x[-1].position) for x in newest
        ]
        missed = len(bursts) > len(new) or len({x.position for x in events}) == _MAX_ROWS
        return [("reread", {}, None), *new] if missed and not is_first else new

    def _changed_calls(self) -> Iterator[ServerEvent]:
        before, self._calls = self._calls, dict(self._desk.waiting)
        for call_id in before.keys() - self._calls.keys():
            answer = before[call_id].answer
            scope = answer.scope if answer else "no"
            yield "approval_over", {"id": call_id, "answer": scope}, None
        for call in (x for name, x in self._calls.items() if name not in before):
            yield "approval", call.as_json(), None


def _burst(event: Event) -> object:
    """Return a key that is equal for events about the same change of all tools of a source."""
    subject = event.subject
    is_listing = subject.tool and event.change in _OF_LISTINGS
    return (event.change, subject.source) if is_listing else (event.position, subject)


def _event_text(event: ServerEvent) -> str:
    name, data, position = event
    ident = "" if position is None else f"id: {position}\n"
    return f"{ident}event: {name}\ndata: {json.dumps(data)}\n\n"
