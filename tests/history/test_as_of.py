"""What was, and what is different since: the versions of a tool, and two points compared."""

from __future__ import annotations

from tests.support.recorded import History, a_tool
from xai_mcp_agent import Subject, ToolChanged
from xai_mcp_agent.core.tools import MCP
from xai_mcp_agent.history.history import When

GIT = Subject(MCP, "git")
LOG = Subject(MCP, "git", "log")
TEXT, NUMBER = {"type": "string"}, {"type": "integer"}
ONE, TWO = a_tool("log", "Looks."), a_tool("log", "Looks.", count=NUMBER)
THREE = a_tool("log", "Looks back.", count=NUMBER)
ADD, PLUS = a_tool("add", a=NUMBER, b=NUMBER), a_tool("plus", a=NUMBER, b=NUMBER)
COUNT_ADDED = "Parameter 'count' was added (integer, optional)"


def test_the_versions_of_a_tool_say_since_when_and_what_changed(history: History):
    history.connected("git", ONE)
    began = history.now
    history.lost("git")
    history.connected("git", ONE)
    history.listed("git", TWO)
    changed = history.now
    history.listed("git")
    history.listed("git", ONE)
    versions = history.store.versions("git", "log")
    assert [(x.time, x.lines) for x in versions] == [
        (began, ()), (changed, (COUNT_ADDED,)), (history.now, ("Parameter 'count' was removed",)),
    ]  # fmt: skip
    assert versions[0].digest == versions[2].digest
    assert versions[1].definition
    assert versions[1].definition["name"] == "log"


def test_two_points_are_compared_tool_by_tool(history: History):
    history.connected("git", ONE, ADD, a_tool("old", "An old one."))
    history.connected("other", ONE)
    before = When(history.now)
    history.listed("git", THREE, PLUS, a_tool("new", "Brand new.", x=TEXT))
    changes = history.store.tools_changed(before, When(), GIT)
    assert changes == [
        ToolChanged(LOG, "changed", ("Description: 'Looks.' → 'Looks back.'", COUNT_ADDED)),
        ToolChanged(Subject(MCP, "git", "new"), "added"),
        ToolChanged(Subject(MCP, "git", "old"), "removed"),
        ToolChanged(Subject(MCP, "git", "plus"), "renamed", (), Subject(MCP, "git", "add")),
    ]
    assert history.store.tools_changed(before, When()) == changes, "the other is as it was"
    assert [x.how for x in history.store.tools_changed(before, When(), LOG)] == ["changed"]
    backwards = history.store.tools_changed(When(), before, LOG)
    assert backwards[0].lines[1] == "Parameter 'count' was removed"


def test_a_tool_that_changed_before_it_was_renamed_is_recognised(history: History):
    history.connected("git", ONE)
    before = When(history.now)
    history.listed("git", TWO)
    history.listed("git", a_tool("history", "Looks.", count=NUMBER))
    changed = history.store.tools_changed(before, When())
    assert changed == [ToolChanged(Subject(MCP, "git", "history"), "renamed", (COUNT_ADDED,), LOG)]
    for name in ("log", "history"):
        assert history.store.tools_changed(before, When(), Subject(MCP, "git", name)) == changed


def test_a_source_that_is_not_connected_has_not_lost_its_tools(history: History):
    """Between two runs nothing is connected, and still nothing was removed."""
    history.connected("git", ONE, ADD)
    before = When(history.now)
    history.lost("git")
    assert history.store.tools_changed(before, When()) == []
    history.connected("git", ONE)
    changes = history.store.tools_changed(before, When(), GIT)
    assert [(x.tool.tool, x.how) for x in changes] == [("add", "removed")]
