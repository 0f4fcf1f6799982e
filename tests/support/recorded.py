"""Histories written without servers: each report comes an hour after the last."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeAlias

from xai_mcp_agent import Prompt, Resource, Subject, Tool, ToolKey
from xai_mcp_agent.core.tools import MCP, STATIC, SourceKind
from xai_mcp_agent.history.history import History as StoredHistory
from xai_mcp_agent.history.history import open_history
from xai_mcp_agent.history.place import Place
from xai_mcp_agent.history.recording.call_journal import call_event
from xai_mcp_agent.history.recording.report_writer import ReportWriter
from xai_mcp_agent.history.recording.reports import (
    Listed,
    Lost,
    Report,
    Seeded,
    decision_event,
    failure_event,
)

NOON = datetime(2026, 7, 28, 12, tzinfo=UTC)
IN_MEMORY = Place("sqlite://", "memory", Path("/projects/shop"))


def a_tool(name: str, description: str = "", **parameters: Any) -> Tool:
    """Return a tool with these parameters; its source does not matter."""
    schema = {"type": "object", "properties": parameters} if parameters else {"type": "object"}
    return Tool(ToolKey("tools", "", name), description, schema)


def tool_of(source: str, name: str, description: str = "") -> Tool:
    """Return a tool of an MCP server, without parameters."""
    return Tool(ToolKey("mcp", source, name), description, {"type": "object"})


Features: TypeAlias = Sequence[Prompt | Resource]


class History:
    """A history that grows by an hour with each report. `now` is when the last one was."""

    def __init__(self, place: Place) -> None:
        self.now = NOON
        self._recorder = ReportWriter(open_history(place), str)

    @property
    def store(self) -> StoredHistory:
        """The stored history."""
        return self._recorder.history

    def connected(
        self, source: str, *tools: Tool, kind: SourceKind = MCP, features: Features = ()
    ) -> None:
        """Report that a source connected and listed these tools."""
        subject, now = Subject(kind, source), self._next()
        self._record(Listed(subject, now, tools, "stdio", features=tuple(features)))

    def listed(self, source: str, *tools: Tool, features: Features = ()) -> None:
        """Report that it listed its tools again."""
        report = Listed(Subject(MCP, source), self._next(), tools, features=tuple(features))
        self._record(report)

    def lost(self, source: str, reason: str = "It was closed.") -> None:
        """Report that it is not connected any more."""
        self._record(Lost(Subject(MCP, source), self._next(), reason))

    def failed(self, source: str, problem: str) -> None:
        """Report that it could not be reached."""
        self._record(failure_event(Subject(MCP, source), self._next(), problem))

    def seeded(self, *tools: Tool, kind: SourceKind = STATIC) -> None:
        """Report tools that exist from the start."""
        self._record(Seeded(kind, self._next(), tools))

    def called(self, source: str, tool: str, seconds: float, error: str = "") -> None:
        """Report a call of a tool."""
        self._record(call_event(Subject(MCP, source, tool), self._next(), seconds, error))

    def disabled(self, source: str, tool: str) -> None:
        """Report that a person switched a tool off."""
        self._record(decision_event(Subject(MCP, source, tool), self._next(), "disabled"))

    def close(self) -> None:
        """Close the store."""
        self._recorder.close()

    def _next(self) -> datetime:
        self.now += timedelta(hours=1)
        return self.now

    def _record(self, report: Report) -> None:
        self._recorder.record([report])


@contextmanager
def a_history(place: Place = IN_MEMORY) -> Generator[History]:
    """Yield an empty history, in memory by default."""
    history = History(place)
    try:
        yield history
    finally:
        history.close()


def place_of_file(file: Path) -> Place:
    """Return the place of a history in this file."""
    return Place(f"sqlite:///{file}", str(file), file.parent, file, is_own=True)


def write_history(file: Path, *reports: Report) -> None:
    """Add reports to the history in this file, as one process."""
    writer = ReportWriter(open_history(place_of_file(file)), str)
    for report in reports:
        writer.record([report])
    writer.close()
