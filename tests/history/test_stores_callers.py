"""Who made a call stands in its event, and takes little room, on each kind of store."""

from __future__ import annotations

from tests.support.recorded import NOON
from xai_mcp_agent import Event, Subject
from xai_mcp_agent.core.calls import Caller
from xai_mcp_agent.core.tools import MCP
from xai_mcp_agent.history.recording.report_writer import ReportWriter
from xai_mcp_agent.history.recording.reports import (
    Use,
    call_event,
    kept_use,
    refusal_event,
    used_by,
)

LOG = Subject(MCP, "git", "log")
HELPER = Caller("agent", "helper", "default", "b1946ac92492", workflow="my_agent", node="AgentRun")


def events(writer: ReportWriter) -> list[Event]:
    return writer.history.events()


def by(caller: Caller = HELPER, call_id: str = "call_1") -> Use:
    return kept_use(used_by(caller, call_id), str)


def test_an_event_tells_agent_workflow_node_toolbelt_run_and_call(writer: ReportWriter) -> None:
    writer.record([call_event(LOG, NOON, 0.5, "There is no shelf 9.", by=by())])
    writer.record([refusal_event(LOG, NOON, "It was not approved.", by=by())])
    called, refused = events(writer)
    who = {
        "caller": "agent", "agent": "helper", "workflow": "my_agent", "node": "AgentRun",
        "toolbelt": "default", "run_id": "b1946ac92492", "call_id": "call_1",
    }  # fmt: skip
    assert called.payload == {
        "status": "error", "seconds": 0.5, "error": "There is no shelf 9.", **who,
    }  # fmt: skip
    assert refused.payload == {"status": "refused", **who}
