"""The part of the Python face with which people decide about tools.

See docs/python.md. Kept stable.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from . import making
from .making import Choice

T = TypeVar("T")


class Deciding(ABC):
    """These methods of `Bridge`. They raise:

    UnknownServer, SettingsError, UnknownTool: there is none, and there was none.
    SourceFailed: only the server would know, and it cannot be used.
    StoreFailed: it counts in this process, but cannot be kept.
    """

    @abstractmethod
    def run(self, do: Callable[..., Coroutine[Any, Any, T]], *args: Any, **options: Any) -> T:
        """Run an engine's coroutine method on the bridge's loop and wait for it."""

    def disable(self, server: str, *tools: str) -> list[Choice]:
        """Let no agent use these tools; calls of a person or a program still work.

        It is kept in the history, whatever becomes of the tools and of their server. `canvas` is
        the server of the tools that are drawn. Other processes know it at their next run.
        """
        return self.run(making.for_good, making.disable, server, tools)

    def enable(self, server: str, *tools: str) -> list[Choice]:
        """Let agents use these tools again."""
        return self.run(making.for_good, making.enable, server, tools)

    def accept(self, server: str, *tools: str) -> list[Choice]:
        """Accept the definitions that these tools have now; without any, all that have changed.

        Calls of a pinned tool are held to what was accepted.
        """
        return self.run(making.for_good, making.accept, server, tools)


class AioDeciding(ABC):
    """The methods of `Deciding` as coroutines."""

    @abstractmethod
    async def run(self, do: Callable[..., Coroutine[Any, Any, T]], *args: Any, **options: Any) -> T:
        """Run an engine's coroutine method on the bridge's loop and await it."""

    async def disable(self, server: str, *tools: str) -> list[Choice]:
        """See `Bridge.disable`."""
        return await self.run(making.for_good, making.disable, server, tools)

    async def enable(self, server: str, *tools: str) -> list[Choice]:
        """See `Bridge.enable`."""
        return await self.run(making.for_good, making.enable, server, tools)

    async def accept(self, server: str, *tools: str) -> list[Choice]:
        """See `Bridge.accept`."""
        return await self.run(making.for_good, making.accept, server, tools)
