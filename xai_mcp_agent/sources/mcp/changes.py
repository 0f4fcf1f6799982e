"""Notices that a server's tools changed, in both protocol eras.

The handshake era sends them by itself; on 2026-07-28 nothing arrives unless a
`subscriptions/listen` stream is open. Either way a notice is only a cue to list again.
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

    async def on_message(self, message: Any) -> None:
        """For the client's `message_handler`: takes every notification, keeps the one kind."""
        # Here, because the SDK is only imported once a server is started.
        from mcp_types import ToolListChangedNotification

        if isinstance(message, ToolListChangedNotification):
            self._dirty.set()

    async def listen(
        self, client: Client, on_lost: Callable[[], None], *, task_status: TaskStatus[None]
    ) -> None:
        """Keep a listen stream open where the era has one; `on_lost` is told when it breaks."""
        from mcp import MCPError
        from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost

        told_started = False
        while True:
            try:
                with anyio.move_on_after(_LISTEN_ACK_SECONDS) as patience:
                    async with client.listen(tools_list_changed=True) as notices:
                        patience.deadline = float("inf")
                        if told_started:
                            self._dirty.set()  # what happened while nobody listened is not replayed
                        else:
                            told_started = True
                            task_status.started()
                        async for _ in notices:
                            self._dirty.set()
            except (ListenNotSupportedError, MCPError) as cause:
                logger.debug("no listen stream: %s", cause)
                if not told_started:
                    task_status.started()
                return
            except SubscriptionLost:
                on_lost()
            if not told_started:
                task_status.started()
                return
            await anyio.sleep(_REOPEN_SECONDS)

    async def relist(self, refresh: Callable[[], Awaitable[Any]]) -> None:
        """Call `refresh` after each burst of notices, for ever."""
        while True:
            await self._dirty.wait()
            await anyio.sleep(_BURST_SECONDS)
            # Clear before listing: a notice that arrives meanwhile asks for one more.
            self._dirty = anyio.Event()
            try:
                await refresh()
            except SourceError as cause:
                logger.warning("Listing again after a change notice failed: %s", cause)
