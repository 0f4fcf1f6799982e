"""Rules that are asked about thousands of tools: once for each tool as it is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from xai_mcp_agent.bridge.rules import Rulings
from xai_mcp_agent.core.calls import Caller
from xai_mcp_agent.core.tools import Tool, ToolKey
from xai_mcp_agent.policy.conditions import Facts
from xai_mcp_agent.policy.rules import RuleGate
from xai_mcp_agent.settings.load import settings_from

RULES = [{"name": "no deleting", "when": {"tool": "delete_*"}, "then": "deny"}]
NAMES = ["delete_0", "delete_1", "delete_2", "read_0", "read_1", "read_2"]
TOOLS = [Tool(ToolKey("mcp", "s", x), "", {}) for x in NAMES]
ADA, BOB = Caller("agent", "ada"), Caller("agent", "bob")


@pytest.mark.anyio
async def test_rules_are_asked_once_about_each_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    gate, asked = (
        RuleGate(settings_from({"mcpServers": {}, "rules": RULES}).rules, str),
        list[str](),
    )

    def facts(tool: Tool, caller: Caller) -> Facts:
        asked.append(tool.name)
        return Facts(tool, caller)

    monkeypatch.setattr(gate, "facts", facts)
    rulings = Rulings(gate)
    await rulings.prepare(TOOLS, ADA)
    assert [rulings.of(x, ADA).word for x in TOOLS] == ["deny"] * 3 + [""] * 3
    assert "no deleting" in rulings.why_never(TOOLS[0], ADA)
    await rulings.prepare(TOOLS, ADA)
    assert asked == NAMES

    rulings.of(replace(TOOLS[0], description="Another definition."), ADA)
    rulings.of(TOOLS[1], BOB)
    assert asked[len(NAMES) :] == ["delete_0", "delete_1"]
