"""Notices that what a server lists has changed, in both protocol eras.

The handshake era sends them by itself; on 2026-07-28 nothing arrives unless a
`subscriptions/listen` stream is open. Either way a notice is only a cue to list again; it is
seen where messages come in (`wire/streams.py`), before the SDK gets them.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import anyio

from ....core.errors import SourceError
from .listening import keep_listening

if TYPE_CHECKING:
    from anyio.abc import TaskStatus
    from mcp import Client

logger = logging.getLogger(__name__)

# A server that rebuilds its tools sends one notice for each; they come within milliseconds.
_BURST_SECONDS = 0.05
# Some servers send a notice because they were asked to list: a notice this soon after a listing
# may be its echo, and the pause before the next one grows to this.
_ECHO_SECONDS = 0.2
_LONGEST_BURST_SECONDS = 5.0


class ChangeWatch:
    """One server's change notices, turned into at most one listing per burst."""

    def __init__(self) -> None:
        self._dirty = anyio.Event()
        self._somebody_waits = anyio.Event()
        self._settled = anyio.Event()
        self._settled.set()

    def notice(self) -> None:
        """Something changed. Called for each notice, so it is quick and may be called often."""
        if not self._dirty.is_set():
            self._dirty.set()
            self._settled = anyio.Event()

    async def settled(self) -> None:
        """Wait until what was noticed so far has been listed; at once where nothing was."""
        if not self._settled.is_set():
            self._somebody_waits.set()
            await self._settled.wait()

    async def listen(
        self,
        client: Client,
        missed: Callable[[], None],
        on_lost: Callable[[], None],
        *,
        task_status: TaskStatus[None],
    ) -> None:
        """Keep a listen stream open where the server has one; see `keep_listening`.

        Started when the first stream is open, or when it is known that there will be none.
        """
        has = client.server_capabilities
        lists = {
            "tools_list_changed": True,
            "prompts_list_changed": has.prompts is not None,
            "resources_list_changed": has.resources is not None,
        }
        await keep_listening(
            client, lists, opened=lambda _: task_status.started(), missed=missed, on_lost=on_lost
        )
        task_status.started()  # it returned, so there is no such stream

    async def relist(self, refresh: Callable[[], Awaitable[Any]]) -> None:
        """Call `refresh` after each burst of notices, for ever."""
        pause = _BURST_SECONDS
        try:
            while True:
                await self._dirty.wait()
                with anyio.move_on_after(pause):
                    await self._somebody_waits.wait()
                await self._list_once(refresh)
                with anyio.move_on_after(_ECHO_SECONDS) as quiet:
                    await self._dirty.wait()
                is_quiet = quiet.cancelled_caught
                pause = _BURST_SECONDS if is_quiet else min(pause * 2, _LONGEST_BURST_SECONDS)
        finally:
            self._settled.set()  # nobody is left to list for those who wait

    async def _list_once(self, refresh: Callable[[], Awaitable[Any]]) -> None:
        # Clear before listing: a notice that arrives meanwhile asks for one more.
        self._dirty, self._somebody_waits, listed = anyio.Event(), anyio.Event(), self._settled
        try:
            await refresh()
        except SourceError as cause:
            logger.warning("Listing again after a change notice failed: %s", cause)
        finally:
            listed.set()
