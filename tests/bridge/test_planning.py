"""Plans over the tools of a bridge's servers: of what may be used now, and of nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.planning.shop import TOOLS
from tests.support import catalog_server
from tests.support.bridges import accept_now
from tests.support.processes import wait_until
from tests.support.warm_python import warm_python
from xai_mcp_agent import Bridge, JsonObject
from xai_mcp_agent.bridge.engine import Engine
from xai_mcp_agent.bridge.planning import plan_tools, with_planner
from xai_mcp_agent.core.invocation import Caller
from xai_mcp_agent.planning import Plan

ORDERS = "List my orders and cancel the first one. My email is ada@example.org."
Settings = Callable[..., JsonObject]


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Settings with the servers of a shop; what is given are further sections."""
    monkeypatch.chdir(tmp_path)
    servers: dict[str, Any] = {}
    for name in dict.fromkeys(x["server"] for x in TOOLS):
        file = tmp_path / f"{name}.jsonl"
        mine = [x for x in TOOLS if x["server"] == name]
        file.write_text("\n".join(map(json.dumps, mine)), encoding="utf-8")
        servers[name] = {
            "command": warm_python(), "args": [catalog_server.__file__, str(file)]
        }  # fmt: skip

    def make(**sections: Any) -> JsonObject:
        return {"mcpServers": servers, **sections}

    return make


def called(plan: Plan) -> list[str]:
    return [str(x.tool) for x in plan.calls]


def planned(bridge: Bridge, request: str = ORDERS, *servers: str) -> list[str]:
    async def plan(engine: Engine) -> Plan:
        return await plan_tools(engine, request, engine.choice(servers) if servers else None)

    return called(bridge.run(plan))


def test_a_plan_is_made_of_the_tools_of_all_servers_or_of_some(settings: Settings):
    with Bridge(settings()) as bridge:
        assert planned(bridge) == [
            "shop/find_user_id_by_email", "shop/list_orders", "shop/cancel_order"
        ]  # fmt: skip
        assert planned(bridge, "Translate 'good day' to French.") == ["words/translate_text"]
        assert planned(bridge, "Translate 'good day' to French.", "shop") == []


def test_what_is_blocked_switched_off_or_held_back_is_not_planned(settings: Settings):
    with Bridge(settings(toolSearch={"blocked": ["shop/cancel_order"]})) as bridge:
        assert "shop/cancel_order" not in planned(bridge)
        bridge.disable("shop", "list_orders")
        assert "shop/list_orders" not in planned(bridge)
        bridge.enable("shop", "list_orders")
        assert "shop/list_orders" in planned(bridge)
    pinned: Any = settings()
    pinned["mcpServers"]["shop"]["pin"] = True
    with Bridge(pinned) as bridge:
        assert not any(x.startswith("shop/") for x in planned(bridge))
        accept_now(bridge, "shop")
        assert "shop/cancel_order" in planned(bridge)


def test_what_a_rule_denies_is_not_planned_for_whoever_it_denies_it_to(settings: Settings):
    rules = [
        {"name": "no", "when": {"tool": "shop/cancel_order"}, "then": "deny"},
        {"name": "ada", "when": {"tool": "shop/list_orders", "agent": "ada"}, "then": "deny"},
    ]
    with Bridge(settings(rules=rules)) as bridge:
        assert "shop/cancel_order" not in planned(bridge)
        assert "shop/list_orders" in planned(bridge)

        async def plan(engine: Engine) -> Plan:
            return await plan_tools(engine.for_caller(Caller("agent", "ada")), ORDERS)

        assert "shop/list_orders" not in called(bridge.run(plan))


def test_of_tools_that_fit_alike_a_rule_decides_which_is_planned(settings: Settings):
    twice: Any = settings()
    twice["mcpServers"]["yours"] = twice["mcpServers"]["words"]
    request = "Translate 'good day' to French."
    for preferred in ("words", "yours"):
        rule = {"name": "first", "when": {"server": preferred}, "then": {"prefer": 0.2}}
        with Bridge({**twice, "rules": [rule]}) as bridge:
            assert planned(bridge, request) == [f"{preferred}/translate_text"]
    with Bridge({**twice, "toolSearch": {"trusted": ["yours"]}}) as bridge:
        assert planned(bridge, request) == ["yours/translate_text"]


def test_a_server_that_cannot_be_used_is_told_of_and_the_others_are_planned_with(
    settings: Settings,
):
    broken: Any = settings()
    broken["mcpServers"]["gone"] = {"command": "no-such-program-anywhere"}
    with Bridge(broken) as bridge:
        plan = bridge.run(plan_tools, ORDERS)
    assert "shop/list_orders" in called(plan)
    assert any("gone" in x for x in plan.reasons)


def test_a_tool_that_a_server_adds_is_planned_with_and_nothing_is_made_anew(settings: Settings):
    with Bridge(settings()) as bridge:
        planned(bridge)
        first = bridge.run(with_planner, id)
        bridge.call_tool(
            "words", "add_tool", {"name": "water", "description": "Waters the plants."}
        )
        wait_until(lambda: planned(bridge, "Water the plants.") == ["words/water"], "it is there")
        assert bridge.run(with_planner, id) == first
