"""What was called next after a tool, as suggestions of tools ask the history."""

from __future__ import annotations

from tests.support.recorded import NOON
from xai_mcp_agent import ToolKey
from xai_mcp_agent.core.calls import Caller
from xai_mcp_agent.core.tools import META
from xai_mcp_agent.history.event import Event, subject_of
from xai_mcp_agent.history.followers import followers
from xai_mcp_agent.history.recording.report_writer import ReportWriter
from xai_mcp_agent.history.recording.reports import call_event, used_by

STEP, OTHER_STEP = Caller("person", run="s1"), Caller("person", run="s2")


def agent(run: str) -> Caller:
    return Caller("agent", "helper", run=run)


def called(tool: str, caller: Caller, error: str = "", kind: str = "mcp") -> Event:
    return call_event(subject_of(kind, "shop", tool), NOON, 0.1, error, by=used_by(caller))


def after(writer: ReportWriter, *calls: Event) -> dict[str, int]:
    writer.record(list(calls))
    found = followers(writer.history, ToolKey("mcp", "shop", "find"))
    return {key.name: times for key, times in found.items()}


def test_calls_of_agents_that_run_at_once_are_distinguished(writer: ReportWriter) -> None:
    a, b = agent("a"), agent("b")
    assert after(
        writer, called("find", a), called("find", b), called("pay", b), called("list", a),
        called("find", a), called("list", a),
    ) == {"list": 2, "pay": 1}  # fmt: skip


def test_drawn_steps_follow_each_other_though_each_has_an_id_of_its_own(
    writer: ReportWriter,
) -> None:
    assert after(writer, called("find", STEP), called("list", OTHER_STEP)) == {"list": 1}


def test_calls_that_failed_and_our_own_tools_do_not_count(writer: ReportWriter) -> None:
    a = agent("a")
    assert after(
        writer, called("find", a), called("pay", a, "no money"),
        called("tool_search", a, kind=META.name), called("list", a),
    ) == {"list": 1}  # fmt: skip
