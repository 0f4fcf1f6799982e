"""Entries of the catalog: a tool, what was decided about it, and its usage."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from ..core.errors import UnknownTool
from ..core.tools import JsonObject, Tool, ToolKey
from ..history.records import NO_USAGE, ToolRecord, Usage

if TYPE_CHECKING:
    from ..history.diff.changes import ToolChanged


@dataclass(frozen=True, slots=True)
class Accepted:
    """The definition that pinned calls of a tool are held to: its digest, and itself.

    `definition` has its secrets masked; it is None where the store has lost it.
    """

    digest: str
    definition: JsonObject | None


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """A tool that exists now, or did. `tool` is None if it is gone.

    `record` is what the history knows of it; None if that has not told yet. `is_changed`: another
    definition was `accepted` than it has now.
    """

    key: ToolKey
    tool: Tool | None = None
    record: ToolRecord | None = None
    accepted: Accepted | None = None
    is_changed: bool = False

    @property
    def is_enabled(self) -> bool:
        """Whether agents may use it."""
        return self.record is None or self.record.is_enabled

    @property
    def usage(self) -> Usage:
        """How often it was called, and how that went."""
        return NO_USAGE if self.record is None else self.record.usage

    def require(self) -> Tool:
        """The tool.

        Raises:
            UnknownTool: it is gone.
        """
        if self.tool is None:
            raise UnknownTool(f"{self.key.source} has no tool {self.key.name!r} any more.")
        return self.tool


@dataclass(frozen=True, slots=True)
class Refreshed:
    """What came of listing one server anew. `error` is empty if it was listed.

    `before` is when it was listed last; None if it never was. `changes` is None if the history
    cannot tell, and `trouble` says why.
    """

    server: str
    tools: tuple[CatalogEntry, ...] = ()
    before: datetime | None = None
    changes: tuple[ToolChanged, ...] | None = None
    error: str = ""
    trouble: str = ""
