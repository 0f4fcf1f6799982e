"""One page of the tools that `tools list` shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..catalog.entry import CatalogEntry

Listed = Mapping[str, Sequence[CatalogEntry]]
"""Tools by their servers."""


@dataclass(frozen=True, slots=True)
class ToolsPage:
    """Choice of the listed tools: see `Bridge.list_tools`."""

    named: str = ""
    usable: bool = False
    limit: int | None = None
    offset: int = 0

    def left_text(self, shown: Listed, total: int) -> str:
        """Return how to see the other tools, or "" if these are all."""
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
    """Return the names for filters: plain names for one source, else `source/tool`."""
    keys = [x.key for entries in shown.values() for x in entries]
    return [x.name if of_one else f"{x.source}/{x.name}" for x in keys]
