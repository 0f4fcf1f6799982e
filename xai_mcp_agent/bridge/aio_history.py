"""The history, and what runs taught, as coroutines: a part of `AioBridge`."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from ..history.place import StoreStatus
from . import history, learning
from .aio_caller import AioCaller
from .flows import MOST_FLOWS
from .history import At

if TYPE_CHECKING:
    from ..history.diff.changes import ToolChanged, Version
    from ..history.event import Event
    from ..history.graph import Graph
    from ..history.learned import Learnings
    from ..history.records import Records, ToolRecord
    from ..history.stats import Stats


class AioHistory(AioCaller):
    """All but `store` raise StoreFailed when the history cannot be used."""

    async def history(
        self,
        server: str | None = None,
        tool: str | None = None,
        *,
        since: datetime | None = None,
        until: At = None,
        failed: bool = False,
        agent: str | None = None,
        text: str = "",
        limit: int | None = None,
    ) -> list[Event]:
        """What happened, oldest first: to all, to one server and its tools, or to one tool.

        Only what `failed`, was called by an `agent`, or has a `text` in it; and `until` a moment.
        `limit` is for the newest so many. A time without a zone is one of this machine's.

        Raises:
            UnknownServer, UnknownTool, UnknownAgent: the history knows none of that name.
            StoreFailed: it cannot be used; the message says why and what to do.
        """
        chosen = history.Chosen(since, until, failed, agent, text, limit)
        return await self.run(history.events, server, tool, chosen)

    async def records(self, at: At = None) -> Records:
        """Every server and tool there ever was: now, or as it was known at a time or position.

        Raises:
            StoreFailed: the history cannot be used; the message says why and what to do.
        """
        return await self.run(history.records, at)

    async def stats(self, since: datetime | None = None) -> Stats:
        """How often each tool was called, failed, and how long that took; and for each server.

        Of all calls there ever were, or since a time; without a zone it is one of this machine's.

        Raises:
            StoreFailed: as `records`.
        """
        return await self.run(history.stats, since)

    async def tool_record(self, server: str, tool: str) -> ToolRecord:
        """What is known of one tool: since when it is there, how often it was called and failed.

        Raises:
            UnknownServer, UnknownTool, StoreFailed: as `history`.
        """
        return await self.run(history.tool_record, server, tool)

    async def difference(
        self, server: str | None = None, tool: str | None = None, *, before: At, after: At = None
    ) -> list[ToolChanged]:
        """What is different between two times or positions: of all, of a server, or of a tool.

        A tool whose server is merely not connected has not gone.

        Raises:
            UnknownServer, UnknownTool, StoreFailed: as `history`.
        """
        return await self.run(history.difference, server, tool, before, after)

    async def learned(
        self, server: str | None = None, tool: str | None = None, toolbelt: str | None = None
    ) -> Learnings:
        """What runs with these tools taught for plans: `runs` and `shapes`, without any value.

        Raises:
            StoreFailed: the history cannot be used; the message says why and what to do.
        """
        return await self.run(learning.learned, server, tool, toolbelt)

    async def forget_learned(
        self, server: str | None = None, tool: str | None = None, toolbelt: str | None = None
    ) -> Learnings:
        """Forget all that, for good; what it was.

        Raises:
            StoreFailed: the history cannot be written, and all is kept still.
        """
        return await self.run(learning.forget, server, tool, toolbelt)

    async def versions(self, server: str, tool: str) -> list[Version]:
        """Every definition that a tool had, the first one first, each with how it differs.

        Raises:
            UnknownServer, UnknownTool, StoreFailed: as `history`.
        """
        return await self.run(history.versions, server, tool)

    async def graph(
        self,
        at: At = None,
        server: str | None = None,
        tool: str | None = None,
        limit: int = MOST_FLOWS,
    ) -> Graph:
        """All there ever was and what hangs on what: `as_json()`, `as_mermaid()`.

        Of a server or a tool: what is around it, with the `limit` best `flows` to and from it.
        Which tools are switched off is what is decided now; `at` a time, what the history notes.

        Raises:
            StoreFailed: the history cannot be used; the message says why and what to do.
            UnknownServer, UnknownTool: there never was one; the message has the nearest.
        """
        if server is None and tool is None:
            return await self.run(history.graph, at)
        return await self.run(history.graph_around, at, server, tool, limit)

    async def store(self) -> StoreStatus:
        """Where the history is kept, and what is wrong with that. Does not raise."""
        return await self.run(history.store)
