"""Entries of the catalog: a tool, the decisions about it, and its usage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from ..core.errors import UnknownTool, XaiMcpError
from ..core.json import JsonObject
from ..core.tools import Tool, ToolKey
from ..history.records import ToolRecord
from ..history.usage import NO_USAGE, Usage

if TYPE_CHECKING:
    from ..history.tool_changes import ToolChanged


@dataclass(frozen=True, slots=True)
class Accepted:
    """Accepted definition of a tool: its digest, and the definition with secrets masked."""

    digest: str
    definition: JsonObject


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """Tool that exists now, or did. `tool` is None if it is gone.

    `record` is its record in the history, or None if it has not been read. Agents may use the tool
    if `is_enabled`. `accepted` is the digest of the accepted definition; the tool `is_changed` if
    it has another one now. It `is_held` if its source is locked and this definition is not
    accepted: then agents neither read nor call it. `policy.decisions` sets these.
    """

    key: ToolKey
    tool: Tool | None = None
    record: ToolRecord | None = None
    is_enabled: bool = True
    accepted: str = ""
    is_changed: bool = False
    is_held: bool = False

    @property
    def usage(self) -> Usage:
        """Return the numbers of its calls and their outcomes."""
        return NO_USAGE if self.record is None else self.record.usage

    def require(self) -> Tool:
        """Return the tool.

        Raises:
            UnknownTool: it is gone.
        """
        if self.tool is None:
            raise UnknownTool(f"{self.key.source} has no tool {self.key.name!r} any more.")
        return self.tool


class ToolListing(list[Tool]):
    """One page of tools, their `entries` in the catalog, and the `total` of all pages.

    `failed` has the reason of each source that could not be listed, `notes` the names in groups
    that match no tool, and `trouble` the reason why decisions cannot be read.
    """

    def __init__(
        self,
        entries: Sequence[CatalogEntry] = (),
        total: int = 0,
        failed: Mapping[str, str] | None = None,
        notes: Sequence[str] = (),
        trouble: str = "",
    ) -> None:
        super().__init__(x.require() for x in entries)
        self.entries = entries
        self.total = total
        self.failed = failed or {}
        self.notes = notes
        self.trouble = trouble


@dataclass(frozen=True, slots=True)
class Refreshed:
    """Outcome of listing one server again. `error` is None if it was listed.

    `before` is the time of the previous listing, or None. `changes` is None if the history cannot
    say, and `trouble` has the reason.
    """

    server: str
    tools: tuple[CatalogEntry, ...] = ()
    before: datetime | None = None
    changes: tuple[ToolChanged, ...] | None = None
    error: XaiMcpError | None = None
    trouble: str = ""

    def require(self) -> list[Tool]:
        """Return the listed tools.

        Raises:
            XaiMcpError: the `error`, if it could not be listed.
        """
        if self.error is not None:
            raise self.error
        return [x.require() for x in self.tools]
