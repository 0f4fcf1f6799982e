"""What changed, as lines to read."""

from __future__ import annotations

from xai_mcp_agent import Subject, ToolChanged
from xai_mcp_agent.core.tools import MCP
from xai_mcp_agent.views.history import changes_text


def test_of_a_tool_with_thousands_of_changes_the_first_are_told():
    """A server may rename every parameter of a tool that has thousands."""
    lines = tuple(f"Parameter 'p{number}' was added" for number in range(5000))
    pay = ToolChanged(Subject(MCP, "shop", "pay"), "changed", lines)
    ask = ToolChanged(Subject(MCP, "shop", "ask"), "changed", ("Title 'Ask' was added",))
    told = changes_text([pay, ask], 80).splitlines()
    assert told[200:204] == [
        "    Parameter 'p199' was added",
        "    and 4,800 more changes, which JSON has",
        "shop.ask changed",
        "    Title 'Ask' was added",
    ]
