"""The listing of a server's tools, made again after change notices.

The handshake era sends notices by itself; on 2026-07-28 nothing arrives unless a
`subscriptions/listen` stream is open. Either way a notice is only a cue to list again.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Collection, Iterator
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any

import anyio

from ...core.errors import SourceError
from ...core.events import Inventory
from ...core.json import JsonObject
from ...core.patterns import guard
from ...core.schema_check import SchemaCheck
from ...core.tools import Tool
from .connection import Connection
from .convert import tool_of
from .feature_lists import in_turns
from .requests import Pages, all_pages

if TYPE_CHECKING:
    from mcp import Client

logger = logging.getLogger(__name__)

_SHOWN_REASON = 200  # characters
# When a stale listing cannot be renewed, it is not asked for at every step.
_RETRY_SECONDS = 5.0
# A server that rebuilds its tools sends one notice for each; they come within milliseconds.
_BURST_SECONDS = 0.05
# Some servers send a notice because they were asked to list: a notice this soon after a listing
# may be its echo, and the pause before the next one grows to this.
_ECHO_SECONDS = 0.2
_LONGEST_BURST_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class _Converted:
    """A tool, what it was made of, and notes on what of it goes unchecked, and why."""

    raw: JsonObject
    tool: Tool
    notes: tuple[str, ...]


class Listing:
    """The last listing of one server's tools, and when it expires."""

    def __init__(self, connection: Connection) -> None:
        self.tools: dict[str, Tool] = {}
        self._connection = connection
        self._converted: dict[str, _Converted] = {}
        self._notes: tuple[str, ...] = ()
        self._stale_at = inf

    def is_stale(self) -> bool:
        """Whether its time-to-live is over."""
        return anyio.current_time() >= self._stale_at

    def is_repeatable(self, tool: str) -> bool:
        """Whether the server says that calling this tool twice does no more than once."""
        listed = self.tools.get(tool)
        return listed is not None and bool(
            listed.annotations.read_only or listed.annotations.idempotent
        )

    def use_longer(self) -> None:
        """Keep it a little longer, after a failed renewal."""
        self._stale_at = anyio.current_time() + _RETRY_SECONDS

    def inventory(self, instructions: str) -> Inventory:
        """The listing as an `Inventory`."""
        name = self._connection.settings.name
        disabled = tuple(x for x in self._converted if x not in self.tools)
        return Inventory(name, tuple(self.tools.values()), instructions, self._notes, disabled)

    async def fetch(self, client: Client) -> None:
        """List all tools; the last listing is replaced when that is done."""
        await self._replace(await all_pages(client.list_tools, "tools"))

    async def clear(self) -> None:
        """Have no tools: the server does not support them."""
        await self._replace(Pages())

    async def _replace(self, pages: Pages) -> None:
        converted: dict[str, _Converted] = {}
        notes = [pages.note] if pages.note else []
        async for raw in in_turns(pages.items):
            name = raw["name"]
            if name in pages.dropped:
                notes.append(
                    f"Tool {name!r} was left out: an x-mcp-header in its inputSchema is not valid."
                )
            elif name in converted:
                notes.append(f"Tool {name!r} is listed twice; the first one is used.")
            else:
                converted[name] = tool = self._convert(raw)
                notes += tool.notes
        is_off = guard(*self._connection.settings.disabled_tools)
        self._stale_at = anyio.current_time() + pages.seconds_good
        self._converted = converted
        self.tools = {n: x.tool for n, x in converted.items() if not is_off(n)}
        noticed = self._connection.traffic.notes(of_tools=True)
        self._notes = tuple(dict.fromkeys((*noticed, *notes)))

    def _convert(self, raw: JsonObject) -> _Converted:
        """The tool as a value of ours; the same object as last time if it is listed as it was."""
        before = self._converted.get(raw["name"])
        if before is not None and before.raw == raw:
            return before
        tool = tool_of(self._connection.settings.name, raw)
        return _Converted(raw, tool, tuple(_unchecked(tool)))


def _unchecked(tool: Tool) -> Iterator[str]:
    for what, name, schema in (
        ("Arguments", "inputSchema", tool.input_schema),
        ("Results", "outputSchema", tool.output_schema),
    ):
        if schema is not None and (reason := SchemaCheck(schema).broken):
            yield (
                f"{what} of tool {tool.name!r} are not checked: its {name} is unusable "
                f"({reason[:_SHOWN_REASON]})."
            )


class ChangeWatch:
    """One server's change notices, turned into at most one listing per burst."""

    def __init__(self) -> None:
        self._changed = set[str]()  # of `LISTS`
        self._dirty = anyio.Event()
        self._somebody_waits = anyio.Event()
        self._settled = anyio.Event()
        self._settled.set()

    def notice(self, name: str) -> None:
        """Note a change of one of `LISTS`. Called for each notice: quick, and perhaps often."""
        self._changed.add(name)
        if not self._dirty.is_set():
            self._dirty.set()
            self._settled = anyio.Event()

    async def settled(self) -> None:
        """Wait until what was noticed so far has been listed; at once where nothing was."""
        if not self._settled.is_set():
            self._somebody_waits.set()
            await self._settled.wait()

    async def relist(self, refresh: Callable[[Collection[str]], Awaitable[Any]]) -> None:
        """Call `refresh` for what changed, after each burst of notices, for ever."""
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
            self._settled.set()  # release the waiters: nothing lists any more

    async def _list_once(self, refresh: Callable[[Collection[str]], Awaitable[Any]]) -> None:
        # Clear before listing: a notice that arrives meanwhile asks for one more.
        self._dirty, self._somebody_waits, listed = anyio.Event(), anyio.Event(), self._settled
        changed, self._changed = self._changed, set[str]()
        try:
            await refresh(changed)
        except SourceError as cause:
            logger.warning("Listing again after a change notice failed: %s", cause)
        finally:
            listed.set()
