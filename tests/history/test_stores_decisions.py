"""What is noted of decisions is found again in every kind of store."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from xai_mcp_agent import Subject, Tool, ToolKey
from xai_mcp_agent.core.tools import MCP, STATIC
from xai_mcp_agent.history.recording.report_writer import ReportWriter
from xai_mcp_agent.history.recording.reports import Listed, decision_event, refusal_event

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
ODD = 'o"dd\\ "is_disabled":true \u20ac_%'
DIGEST = "1" * 32


def tool(source: str, name: str, description: str = "") -> Tool:
    """A tool without parameters."""
    return Tool(ToolKey("mcp", source, name), description, {"type": "object"})


def lists(writer: ReportWriter, source: str, *tools: Tool) -> None:
    """A source lists these tools."""
    writer.record([Listed(Subject(MCP, source), NOON, tools)])


def decide(
    writer: ReportWriter, key: ToolKey, what: Any, definition: str = "", **more: Any
) -> None:
    """Something is decided about a tool."""
    writer.record([decision_event(subject_of(key), NOON, what, definition, **more)])


def subject_of(key: ToolKey) -> Subject:
    """What a report about this tool is about."""
    return Subject(MCP if key.source else STATIC, key.source, key.name)


def noted(writer: ReportWriter) -> dict[ToolKey, tuple[bool, str]]:
    """What is noted of each tool about which something was decided."""
    found = writer.history.records().tools.values()
    decided = [x for x in found if x.accepted or not x.is_enabled]
    return {x.subject.key: (x.is_enabled, x.accepted) for x in decided}


def test_all_that_was_decided_is_reported_and_nothing_else(writer: ReportWriter):
    lists(writer, "a", tool("a", "one"), tool("a", ODD, ODD))
    decide(writer, ToolKey("mcp", "a", "one"), "disabled")
    decide(writer, ToolKey("mcp", "b", ODD), "disabled")
    decide(writer, ToolKey("mcp", "b", ODD), "accepted", DIGEST)
    decide(writer, ToolKey("tools", "", "drawn"), "disabled")
    assert noted(writer) == {
        ToolKey("mcp", "a", "one"): (False, ""),
        ToolKey("mcp", "b", ODD): (False, DIGEST),
        ToolKey("tools", "", "drawn"): (False, ""),
    }
    for key in (ToolKey("mcp", "a", "one"), ToolKey("tools", "", "drawn")):
        decide(writer, key, "enabled")
    assert list(noted(writer)) == [ToolKey("mcp", "b", ODD)]


def test_a_refusal_is_an_event_and_changes_nothing(writer: ReportWriter):
    lists(writer, "a", tool("a", "one"))
    writer.record([refusal_event(Subject(MCP, "a", "one"), NOON, "It is switched off.", DIGEST)])
    last = writer.history.events()[-1]
    assert (last.context_id, last.change, last.reason) == (
        "mcp_tool:a_one", "refused", "It is switched off.",
    )  # fmt: skip
    assert (last.event_kind, last.source, last.definition) == ("action", "executor", DIGEST)
    assert last.links.extends == ("mcp_tool:a_one",)
    assert noted(writer) == {}
