"""One page of the tools that `xai-mcp-agent tools` lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import anyio.to_thread

from ..bridge.engine import Engine
from ..bridge.planning import usable_tools
from ..bridge.selecting import keys_like
from ..catalog.entry import CatalogEntry
from ..core.tools import ToolKey

Listed = Mapping[str, Sequence[CatalogEntry]]
"""Tools by the servers that have them."""


@dataclass(frozen=True, slots=True)
class ToolsPage:
    """Which of the listed tools are told: as `named`, `usable`, `limit` and `offset` of Python."""

    named: str = ""
    usable: bool = False
    limit: int | None = None
    offset: int = 0

    async def of(self, engine: Engine, listed: Listed) -> tuple[Listed, int]:
        """The tools of this page, and how many there are on all pages.

        Raises:
            BadSetting: `named` is no pattern.
        """
        if self == ToolsPage():
            return listed, sum(map(len, listed.values()))
        found = {x.key: x for entries in listed.values() for x in entries}
        # In a thread: it is a pattern of somebody, for thousands of names.
        keys = await anyio.to_thread.run_sync(keys_like, found, self.named)
        if self.usable:
            keys = await _usable(engine, keys)
        end = None if self.limit is None else self.offset + self.limit
        page = (found[x] for x in keys[self.offset : end])
        return {name: list(x) for name, x in groupby(page, lambda x: x.key.source)}, len(keys)

    def left_text(self, shown: Listed, total: int) -> str:
        """What a person does to see the other tools; nothing where these are all."""
        if self == ToolsPage():
            return ""
        here = sum(map(len, shown.values()))
        left = total - self.offset - here
        if left > 0:
            return f"{left:,} more of {total:,}: go on with --offset {self.offset + here}."
        if total and not here:
            return f"There are only {total:,}: no tool comes after {self.offset:,} others."
        return "" if total or not (self.named or self.usable) else "No tool is chosen by this."


def names_to_paste(shown: Listed, *, of_one: bool) -> list[str]:
    """What filters call these tools: by their names alone if all are `of_one` source."""
    keys = [x.key for entries in shown.values() for x in entries]
    return [x.name if of_one else f"{x.source}/{x.name}" for x in keys]


async def _usable(engine: Engine, keys: Sequence[ToolKey]) -> list[ToolKey]:
    """Those that agents may use now."""
    sources = dict.fromkeys(x.source for x in keys)
    usable = (await usable_tools(engine, engine.choice(sources))).tools
    return [x for x in keys if x in usable]
