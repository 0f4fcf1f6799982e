"""The history and what can be learned from it: queries of the store, each with a time limit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import anyio
import anyio.to_thread

from ...catalog.entry import Refreshed
from ...core.errors import BadSetting, StoreFailed, XaiMcpError
from ...core.tools import Tool
from ...history.event import At, Range
from ...history.place import StoreStatus
from ..context import OperationContext
from ..flows import MOST_FLOWS, flows_around
from ..store import answer_of
from .tools import ToolOperations

if TYPE_CHECKING:
    from ...history.event import Event
    from ...history.graph import Graph
    from ...history.history import History
    from ...history.records import Records, ToolRecord
    from ...history.tool_changes import ToolChanged, Version
    from ...history.usage import Stats

T = TypeVar("T")

# Enough for a million events on a busy machine with a slow disk.
ANSWER_SECONDS = 120.0
_ASK_FOR_LESS = "Ask for less, with a limit or a later start, or ask again when it is less busy."


class StoreQueries(OperationContext):
    """Asks the store."""

    async def answer(self, question: Callable[[History], T], *, from_any_file: bool = False) -> T:
        """Return the history's answer, once it has everything that happened before.

        `from_any_file`: also read a file that cannot be written.

        Raises:
            StoreFailed: it cannot be used, or does not answer in time. Errors of the question are
                raised, too.
        """
        recorder = self.engine.recorder
        asking = recorder.read(question) if from_any_file else recorder.ask(question)
        return await answer_of(recorder.place, asking, ANSWER_SECONDS, _ASK_FOR_LESS)

    async def look_up(self, question: Callable[[History], T]) -> T:
        """Like `answer`, for reading only: also from a file that we cannot write."""
        is_only_to_read = self.engine.recorder.place.is_only_to_read
        return await self.answer(question, from_any_file=is_only_to_read)


class HistoryOperations(ToolOperations, StoreQueries):
    """Operations on the history. All but `store` raise StoreFailed if it cannot be used."""

    async def history(
        self,
        server: str | None = None,
        tool: str | None = None,
        *,
        since: datetime | None = None,
        after: int = 0,
        until: At = None,
        failed: bool = False,
        agent: str | None = None,
        text: str = "",
        limit: int | None = None,
    ) -> list[Event]:
        """Return what happened, oldest first: to all, to one server and its tools, or to one tool.

        Select what `failed`, was called by an `agent`, or contains a `text`; what came `after` the
        event of this position, and `until` a moment. `limit` keeps the newest rows: a connection or
        loss is one row, with everything it implies for its tools. A time without a zone is local.

        Raises:
            UnknownServer, UnknownTool, UnknownAgent: the history knows none of that name.
            StoreFailed: it cannot be used; the message says why and what to do.
        """
        if limit is not None and limit < 1:
            raise BadSetting(f"`limit` is {limit}. Give how many of the newest events, or None.")

        def events(history: History) -> list[Event]:
            history.check_agent(agent)
            last = history.position_of(until)
            event_range = Range(
                since=since, after=after, until=last, failed=failed, agent=agent, text=text,
                limit=limit,
            )  # fmt: skip
            return history.events(event_range, server, tool)

        return await self.look_up(events)

    async def records(self, at: At = None) -> Records:
        """Return every server and tool there ever was, as known now, or at a time or position.

        Raises:
            StoreFailed: the history cannot be used; the message says why and what to do.
        """
        records = await self.look_up(lambda history: history.records(at))
        if at is None:
            await self.engine.decisions.read()
            records.tools = {x: self._with_decisions(y) for x, y in records.tools.items()}
        return records

    async def stats(self, since: datetime | None = None) -> Stats:
        """Return how often each tool and server was called and failed, and how long that took.

        It counts all calls ever made, or those since a time; without a zone it is local.

        Raises:
            StoreFailed: as `records`.
        """
        return await self.answer(lambda history: history.stats(since), from_any_file=True)

    async def tool_record(self, server: str, tool: str) -> ToolRecord:
        """Return what is known of one tool: since when it exists, its calls and failures.

        Raises:
            UnknownServer, UnknownTool, StoreFailed: as `history`.
        """
        record = await self.look_up(lambda history: history.tool_record(server, tool))
        await self.engine.decisions.read()
        return self._with_decisions(record)

    async def difference(
        self, server: str | None = None, tool: str | None = None, *, before: At, after: At = None
    ) -> list[ToolChanged]:
        """Return the differences between two times or positions: of all, of a server, or of a tool.

        A tool whose server is merely not connected still exists.

        Raises:
            UnknownServer, UnknownTool, StoreFailed: as `history`.
        """
        return await self.look_up(lambda history: history.changes(server, tool, before, after))

    async def versions(self, server: str, tool: str) -> list[Version]:
        """Return every definition that a tool had, the first one first, with the differences.

        Raises:
            UnknownServer, UnknownTool, StoreFailed: as `history`.
        """
        return await self.look_up(lambda history: history.versions(server, tool))

    async def graph(
        self,
        at: At = None,
        server: str | None = None,
        tool: str | None = None,
        limit: int = MOST_FLOWS,
    ) -> Graph:
        """Return the graph of everything there ever was: `as_json()`, `as_mermaid()`.

        For a server or a tool it has the neighbours, with the `limit` best `flows` to and from it.
        The current decisions say which tools are switched off; `at` a time the history says so.

        Raises:
            StoreFailed: the history cannot be used; the message says why and what to do.
            UnknownServer, UnknownTool: there never was one; the message has the nearest.
        """
        is_off = None
        if at is None:
            await self.engine.decisions.read()
            is_off = self.engine.decisions.is_off
        if server is None and tool is None:
            graph = await self.look_up(lambda history: history.graph(at))
            return graph.marked(is_off) if is_off else graph
        tool_graph = await self.look_up(lambda history: history.tool_graph(at, server, tool))
        # In a thread: it reads thousands of tools.
        around = partial(flows_around, tool_graph, is_off, limit)
        return await anyio.to_thread.run_sync(around)

    async def store(self) -> StoreStatus:
        """Return where the history is, and what is wrong with that. It does not raise."""
        place = self.engine.recorder.place
        if place.is_off:
            return StoreStatus(place.label)
        try:
            await self.answer(_nothing)
        except StoreFailed as reason:
            return StoreStatus(place.label, str(reason))
        return StoreStatus(place.label)

    async def refresh(self, *servers: str, force: bool = False) -> list[Refreshed]:
        """List the tools of these servers, or of all, again, and compare them with the last time.

        An `error` of one server does not affect the others. With `force` every tool is written into
        the history, even without changes.
        """
        servers = servers or self.settings.usable
        results: dict[str, Refreshed] = {}
        await self.engine.rules.renew()

        async def refresh(name: str) -> None:
            results[name] = await self._refresh_one(name, force)

        async with anyio.create_task_group() as tasks:
            for name in servers:
                tasks.start_soon(refresh, name)
        return [results[x] for x in servers]

    async def record_canvas_tools(self, tools: Iterable[Tool]) -> None:
        """Record that these drawn tools exist from the start of a run."""
        self.engine.record_static(tools)

    async def _refresh_one(self, server: str, force: bool) -> Refreshed:
        position, before, trouble = 0, None, ""
        try:
            position, before = await self.answer(lambda history: history.last_listed(server))
        except StoreFailed as reason:
            trouble = str(reason)
        try:
            tools = await self._list_again(server, force)
            entries = await self.entries({server: tools})
        except XaiMcpError as error:
            return Refreshed(
                server, before=before, error=error.with_traceback(None), trouble=trouble
            )
        changes: Sequence[ToolChanged] | None = None
        if not trouble:
            try:
                changes = await self.answer(lambda history: history.changes(server, None, position))
            except StoreFailed as reason:
                trouble = str(reason)
        difference = None if changes is None else tuple(changes)
        return Refreshed(server, tuple(entries.values()), before, difference, trouble=trouble)

    async def _list_again(self, server: str, force: bool) -> tuple[Tool, ...]:
        engine = self.engine
        engine.breakers.reset(server)  # a person asks for it
        source = engine.pool.start(server)
        with engine.recorder.writing_all(server) if force else nullcontext():
            if source.state in ("idle", "connecting"):
                return await self.tools_of(server)  # listed once, by connecting
            return (await source.refresh(self.caller)).tools

    def _with_decisions(self, record: ToolRecord) -> ToolRecord:
        lock = self.lock_of(record.subject.source)
        return self.engine.decisions.record_with_decisions(record, lock)


def _nothing(_: History) -> None:
    pass
