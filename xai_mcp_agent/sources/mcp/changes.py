"""Notices that a server's tools changed, in both protocol eras.

The handshake era sends them by itself; on 2026-07-28 nothing arrives unless a
`subscriptions/listen` stream is open. Either way a notice is only a cue to list again; it is
seen where messages come in (`streams.py`), before the SDK gets them.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import anyio

from ...core.errors import SourceError

if TYPE_CHECKING:
    from anyio.abc import TaskStatus
    from mcp import Client

logger = logging.getLogger(__name__)

# A server that rebuilds its tools sends one notice for each; they come within milliseconds.
_BURST_SECONDS = 0.05
# The stream may be closed by a proxy or a restart; opening it anew is cheap.
_REOPEN_SECONDS = 1.0
_LISTEN_ACK_SECONDS = 5.0


class ChangeWatch:
    """One server's change notices, turned into at most one listing per burst."""

    def __init__(self) -> None:
        self._dirty = anyio.Event()
        self._somebody_waits = anyio.Event()
        self._settled = anyio.Event()
        self._settled.set()

    def notice(self) -> None:
        """Something changed. Called as each notice arrives, so it is quick and may be called often."""
        if not self._dirty.is_set():
            self._dirty.set()
            self._settled = anyio.Event()

    async def settled(self) -> None:
        """Wait until what was noticed so far has been listed; at once where nothing was."""
        self._somebody_waits.set()
        await self._settled.wait()

    async def listen(
        self, client: Client, on_lost: Callable[[], None], *, task_status: TaskStatus[None]
    ) -> None:
        """Keep a listen stream open where the era has one; `on_lost` is told when it breaks.

        Started when the first stream is open, or when it is known that there will be none.
        """
        goes_on = await self._one_stream(client, on_lost, task_status.started)
        while goes_on:
            await anyio.sleep(_REOPEN_SECONDS)
            # What happened while nobody listened is not replayed.
            goes_on = await self._one_stream(client, on_lost, self.notice)

    async def relist(self, refresh: Callable[[], Awaitable[Any]]) -> None:
        """Call `refresh` after each burst of notices, for ever."""
        while True:
            self._somebody_waits = anyio.Event()
            await self._dirty.wait()
            with anyio.move_on_after(_BURST_SECONDS):
                await self._somebody_waits.wait()
            # Clear before listing: a notice that arrives meanwhile asks for one more.
            self._dirty, listed = anyio.Event(), self._settled
            try:
                await refresh()
            except SourceError as cause:
                logger.warning("Listing again after a change notice failed: %s", cause)
            listed.set()

    async def _one_stream(
        self, client: Client, on_lost: Callable[[], None], opened: Callable[[], None]
    ) -> bool:
        """One listen stream from start to end; whether another one makes sense."""
        from mcp import MCPError
        from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost

        is_open = False
        try:
            with anyio.move_on_after(_LISTEN_ACK_SECONDS) as patience:
                async with client.listen(tools_list_changed=True) as notices:
                    patience.deadline, is_open = float("inf"), True
                    opened()
                    async for _ in notices:
                        pass  # each was noticed when it arrived
        except (ListenNotSupportedError, MCPError) as cause:
            logger.debug("no listen stream: %s", cause)
        except SubscriptionLost:
            on_lost()
        if not is_open:
            opened()
        return is_open
