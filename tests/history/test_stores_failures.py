"""A failure is recorded once by each process, and again after something else happened."""

from __future__ import annotations

from tests.support.recorded import a_history, a_tool
from xai_mcp_agent import Subject
from xai_mcp_agent.core.tools import MCP
from xai_mcp_agent.history.place import Place

GIT = Subject(MCP, "git")


def test_each_process_records_a_failure_once_until_something_else_happens(
    lasting_place: Place,
) -> None:
    with a_history(lasting_place) as history:
        for problem in ("no such program", "no such program", "out of memory", "no such program"):
            history.failed("git", problem)
        history.connected("git", a_tool("log", "Looks."))
        history.failed("git", "no such program")
    with a_history(lasting_place) as history:
        history.failed("git", "no such program")
        changes = [x.change for x in history.store.events() if x.subject == GIT]
    assert changes.count("failed") == 5
