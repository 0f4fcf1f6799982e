"""The part of the Python face about the history: what happened, and what was there when.

See docs/python.md and docs/history.md. Kept stable.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from ...core.tools import Tool
from . import asking
from .asking import At, StoreStatus

if TYPE_CHECKING:
    from ...catalog.comparing.compared import ToolChanged, Version
    from ...catalog.drawing.graph import Graph
    from ...catalog.records.fold import Records
    from ...catalog.records.record import ToolRecord
    from ...history.event import Event

T = TypeVar("T")


class Past(ABC):
    """These methods of `Bridge`.

    All but `refresh` and `store` raise:
        StoreFailed: the history cannot be used; the message says why and what to do.
    """

    @abstractmethod
    def run(self, do: Callable[..., Coroutine[Any, Any, T]], *args: Any, **options: Any) -> T:
        """Run an engine's coroutine method on the bridge's loop and wait for it."""

    def history(
        self,
        server: str | None = None,
        tool: str | None = None,
        *,
        since: datetime | None = None,
        limit: int | None = None,
    ) -> list[Event]:
        """What happened, oldest first: to all, to one server and its tools, or to one tool.

        `limit` is for the newest so many. A time without a zone is one of this machine's.

        Raises:
            UnknownServer, UnknownTool: the history knows none of that name.
        """
        return self.run(asking.events, server, tool, since, limit)

    def records(self, at: At = None) -> Records:
        """Every server and tool there ever was: now, or as it was known at a time or position."""
        return self.run(asking.records, at)

    def tool_record(self, server: str, tool: str) -> ToolRecord:
        """What is known of one tool: since when it is there, how often it was called and failed.

        Raises:
            UnknownServer, UnknownTool: the history knows none of that name.
        """
        return self.run(asking.tool_record, server, tool)

    def difference(
        self, server: str | None = None, tool: str | None = None, *, before: At, after: At = None
    ) -> list[ToolChanged]:
        """What is different between two times or positions: of all, of a server, or of a tool.

        A tool whose server is merely not connected has not gone.

        Raises:
            UnknownServer, UnknownTool: the history knows none of that name.
        """
        return self.run(asking.difference, server, tool, before, after)

    def versions(self, server: str, tool: str) -> list[Version]:
        """Every definition that a tool had, the first one first, each with how it differs.

        Raises:
            UnknownServer, UnknownTool: the history knows none of that name.
        """
        return self.run(asking.versions, server, tool)

    def graph(self, at: At = None) -> Graph:
        """All there ever was and what hangs on what: `as_json()`, `as_mermaid()`."""
        return self.run(asking.graph, at)

    def store(self) -> StoreStatus:
        """Where the history is kept, and what is wrong with that. Does not raise."""
        return self.run(asking.store)

    def refresh(self, server: str, force: bool = False) -> list[Tool]:
        """Ask the server anew for its tools. With `force` each is written into the history.

        Raises:
            UnknownServer, SettingsError, SourceFailed: it cannot be used; the message says why.
            SourceClosed, ToolTimeout, ServerError: the far side.
        """
        return self.run(asking.refresh, server, force)


class AioPast(ABC):
    """The methods of `Past` as coroutines."""

    @abstractmethod
    async def run(self, do: Callable[..., Coroutine[Any, Any, T]], *args: Any, **options: Any) -> T:
        """Run an engine's coroutine method on the bridge's loop and await it."""

    async def history(
        self,
        server: str | None = None,
        tool: str | None = None,
        *,
        since: datetime | None = None,
        limit: int | None = None,
    ) -> list[Event]:
        """See `Bridge.history`."""
        return await self.run(asking.events, server, tool, since, limit)

    async def records(self, at: At = None) -> Records:
        """See `Bridge.records`."""
        return await self.run(asking.records, at)

    async def tool_record(self, server: str, tool: str) -> ToolRecord:
        """See `Bridge.tool_record`."""
        return await self.run(asking.tool_record, server, tool)

    async def difference(
        self, server: str | None = None, tool: str | None = None, *, before: At, after: At = None
    ) -> list[ToolChanged]:
        """See `Bridge.difference`."""
        return await self.run(asking.difference, server, tool, before, after)

    async def versions(self, server: str, tool: str) -> list[Version]:
        """See `Bridge.versions`."""
        return await self.run(asking.versions, server, tool)

    async def graph(self, at: At = None) -> Graph:
        """See `Bridge.graph`."""
        return await self.run(asking.graph, at)

    async def store(self) -> StoreStatus:
        """See `Bridge.store`."""
        return await self.run(asking.store)

    async def refresh(self, server: str, force: bool = False) -> list[Tool]:
        """See `Bridge.refresh`."""
        return await self.run(asking.refresh, server, force)
