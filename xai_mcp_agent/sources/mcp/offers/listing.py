"""What a server lists: all pages, and its tools with what had to be left out and why."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel

from ....core.events import Inventory
from ....core.schemas import SchemaCheck
from ....core.tools import JsonObject, Tool
from .. import results
from ..transport import Connection

if TYPE_CHECKING:
    import mcp_types as types
    from mcp import Client

# A paginator that never ends must not hang us; 1,000 pages is more than any real server has.
_MAX_PAGES = 1000
_SHOWN_REASON = 200  # characters
# So many at a time, then others on the event loop get their turn.
_TOOLS_IN_A_ROW = 50
# When a stale listing cannot be renewed, it is not asked for at every step.
_RETRY_SECONDS = 5.0


@dataclass
class Pages:
    """All items of a listing. `seconds_good` is the shortest time-to-live that a page gave."""

    items: list[Any] = field(default_factory=list[Any])
    seconds_good: float = inf
    note: str = ""


async def all_pages(ask: Callable[..., Awaitable[Any]], name: str) -> Pages:
    """Follow a listing to its end; `name` is the field of a page that holds the items."""
    pages = Pages()
    cursor: str | None = None
    seen: set[str] = set()
    while len(seen) < _MAX_PAGES:
        page = await ask(cursor=cursor)
        pages.items += getattr(page, name)
        pages.seconds_good = min(pages.seconds_good, (page.ttl_ms or inf) / 1000)
        cursor = page.next_cursor
        if cursor is None:
            return pages
        if cursor in seen:
            break
        seen.add(cursor)
    pages.note = f"The listing of {name} never ends; the first {len(pages.items)} are used."
    return pages


@dataclass(frozen=True, slots=True)
class _Made:
    """A tool made of what was listed, and why its arguments go unchecked, if they do."""

    raw: JsonObject
    tool: Tool
    why_unchecked: str


class Listing:
    """One server's tools as it listed them last, and how long that is good for."""

    def __init__(self, link: Connection) -> None:
        self.tools: dict[str, Tool] = {}
        self._link = link
        self._made: dict[str, _Made] = {}
        self._notes: tuple[str, ...] = ()
        self._stale_at = inf

    def is_stale(self) -> bool:
        """Whether the time-to-live that the server gave is over."""
        return anyio.current_time() >= self._stale_at

    def is_repeatable(self, tool: str) -> bool:
        """Whether the server says that calling this tool twice does no more than once."""
        listed = self.tools.get(tool)
        return listed is not None and bool(
            listed.annotations.read_only or listed.annotations.idempotent
        )

    def keep_for_now(self) -> None:
        """It could not be renewed: use it a little longer."""
        self._stale_at = anyio.current_time() + _RETRY_SECONDS

    def inventory(self, instructions: str) -> Inventory:
        """What the server offers, for those who hear of it."""
        name = self._link.settings.name
        disabled = tuple(x for x in self._made if x not in self.tools)
        return Inventory(name, tuple(self.tools.values()), instructions, self._notes, disabled)

    async def fetch(self, client: Client) -> None:
        """List all tools; what was known before is replaced when that is done."""
        self._link.watch.listing_begins()
        pages = await all_pages(client.list_tools, "tools")
        self._stale_at = anyio.current_time() + pages.seconds_good
        await self._replace(pages.items, [pages.note] if pages.note else [])

    def clear(self) -> None:
        """The server has no tools at all."""
        self._stale_at = inf
        self._made = {}
        self.tools, self._notes = {}, tuple(self._link.watch.notes)

    async def _replace(self, listed: list[types.Tool], notes: list[str]) -> None:
        settings, watch = self._link.settings, self._link.watch
        found: dict[str, _Made] = {}
        for number, tool in enumerate(listed, 1):
            if number % _TOOLS_IN_A_ROW == 0:
                await anyio.lowlevel.checkpoint()
            if tool.name in found:
                notes.append(f"Tool {tool.name!r} is listed twice; the first one is used.")
                continue
            found[tool.name] = made = self._made_of(tool)
            if made.why_unchecked:
                notes.append(
                    f"Arguments of tool {tool.name!r} are passed on unchecked: its inputSchema "
                    f"cannot be used ({made.why_unchecked[:_SHOWN_REASON]})."
                )
        notes += [
            f"Tool {name!r} was left out: an x-mcp-header in its inputSchema is not valid."
            for name in sorted(watch.mended.keys() - found.keys())
        ]
        self._made = found
        self.tools = {n: x.tool for n, x in found.items() if n not in settings.disabled_tools}
        self._notes = tuple(dict.fromkeys((*watch.notes, *notes)))

    def _made_of(self, listed: types.Tool) -> _Made:
        """The tool as a value of ours; the one of the last listing where it is listed as it was."""
        made, raw = self._made.get(listed.name), results.raw_of(listed)
        if made is not None and made.raw is raw:
            return made
        tool = results.tool_of(self._link.settings.name, listed)
        return _Made(raw, tool, SchemaCheck(tool.input_schema).why_unusable())
