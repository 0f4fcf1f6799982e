"""Plans over the tools of a bridge's servers that agents may use now."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.planning.shop import TOOLS
from tests.support.bridges import accept_now
from tests.support.fault_server import catalog_entry
from tests.support.model_endpoint import Step, drips, fails, model_endpoint, says
from xai_mcp_agent import Bridge, JsonObject, ToolKey, UnknownTool
from xai_mcp_agent.agent.models.chat import ChatModel
from xai_mcp_agent.agent.models.choice import UnknownProvider
from xai_mcp_agent.bridge.operations import Operations
from xai_mcp_agent.core.calls import Caller
from xai_mcp_agent.planning import Plan, plan_from_json

ORDERS = "List my orders and cancel the first one. My email is ada@example.org."
SECRET = "hunter2-zebra-crossing"
ROUGH = ["shop/find_user_id_by_email", "shop/list_orders", "shop/cancel_order"]
Settings = Callable[..., JsonObject]


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> JsonObject:
    """Entries for the servers of a shop."""
    folder, entries = tmp_path_factory.mktemp("shop"), dict[str, Any]()
    for name in dict.fromkeys(x["server"] for x in TOOLS):
        mine = [x for x in TOOLS if x["server"] == name]
        entries[name] = catalog_entry(folder / name, mine)
    return entries


@pytest.fixture
def settings(servers: JsonObject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Settings with these servers and further sections."""
    monkeypatch.chdir(tmp_path)
    return lambda **sections: {"mcpServers": copy.deepcopy(servers), **sections}


@pytest.fixture(scope="module")
def bridge(servers: JsonObject) -> Iterator[Bridge]:
    """A bridge that the tests share, with a secret in its environment."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ACME_API_KEY", SECRET)
        with Bridge({"mcpServers": servers}, store="memory") as bridge:
            yield bridge


def ask(bridge: Bridge, step: Step | str, limit_seconds: float = 60.0) -> tuple[Plan, list[str]]:
    """Plan `ORDERS` with a model that answers with this step; return the plan and the questions."""
    script = [says(step) if isinstance(step, str) else step] * 3
    with model_endpoint(script) as endpoint:
        model = ChatModel("scripted", base_url=endpoint.base_url)

        async def plan(operations: Operations) -> Plan:
            try:
                return await operations.plan_tools(ORDERS, model=model, limit_seconds=limit_seconds)
            finally:
                await model.aclose()

        answer = bridge.run(plan)
        return answer, [x.body["messages"][-1]["content"] for x in endpoint.requests]


def tools_of(plan: Plan) -> list[str]:
    return [str(x.tool) for x in plan.calls]


def tools_for(bridge: Bridge, request: str = ORDERS, *servers: str) -> list[str]:
    return tools_of(bridge.plan_tools(request, *servers))


def test_a_plan_is_made_of_the_tools_of_all_servers_or_of_some(bridge: Bridge):
    assert tools_for(bridge) == ROUGH
    assert tools_for(bridge, "Translate 'good day' to French.") == ["words/translate_text"]
    assert tools_for(bridge, "Translate 'good day' to French.", "shop") == []


def test_a_blocked_disabled_unaccepted_or_denied_tool_is_not_planned(settings: Settings):
    cancel, list_ = "shop/cancel_order", "shop/list_orders"
    with Bridge(settings(toolSearch={"blocked": [cancel]})) as bridge:
        assert cancel not in tools_for(bridge)
        bridge.disable("shop", "list_orders")
        assert list_ not in tools_for(bridge)
        bridge.enable("shop", "list_orders")
        assert list_ in tools_for(bridge)
    rules = [
        {"name": "no", "when": {"tool": cancel}, "then": "deny"},
        {"name": "ada", "when": {"tool": list_, "agent": "ada"}, "then": "deny"},
    ]
    settings_with_lock: Any = settings(rules=rules)
    settings_with_lock["mcpServers"]["shop"]["lock"] = True
    answer = {"calls": [{"tool": cancel, "args": {"order_id": "o1"}}]}

    async def plan_of_ada(operations: Operations) -> Plan:
        return await operations.for_caller(Caller("agent", "ada")).plan_tools(ORDERS)

    with Bridge(settings_with_lock) as bridge:
        assert not any(x.startswith("shop/") for x in tools_for(bridge))
        accept_now(bridge, "shop")
        assert cancel not in tools_for(bridge)
        assert list_ in tools_for(bridge)
        assert list_ not in tools_of(bridge.run(plan_of_ada))
        # Nor does a model plan with it.
        plan, questions = ask(bridge, json.dumps(answer))
    assert cancel not in tools_of(plan)
    assert f"there is no tool '{cancel}'" in plan.reasons[-1]
    assert "cancel_order" not in questions[0]
    assert f"there is no tool '{cancel}'" in questions[1]


def test_a_model_is_asked_once_and_its_plan_is_checked(bridge: Bridge):
    answer = {"calls": [
        {"tool": ROUGH[0], "args": {"email": "ada@example.org"}},
        {"tool": "list_orders", "args": {"user_id": {"call": 0, "field": ""}}},
    ]}  # fmt: skip
    plan, questions = ask(bridge, f"<think>{{so}}</think>```json\n{json.dumps(answer)}\n```")
    assert tools_of(plan) == ["shop/find_user_id_by_email", "shop/list_orders"]
    assert (plan.is_rough, plan.problems) == (False, ())
    assert plan.reasons[0] == "planned by openai scripted"
    (question,) = questions
    assert ORDERS in question
    assert "shop/cancel_order(order_id: string)" in question


@pytest.mark.parametrize(
    ("step", "why"),
    [
        (says("I would rather not."), "not JSON"),
        (says('{"calls": [{"tool": "shop/list_or', finish="length"), "cut off"),
        (says('{"calls": [{"tool": "rm -rf", "args": {}}]}'), "there is no tool 'rm -rf'"),
        (says("", refusal="I may not."), "I may not."),
        (says('{"a":' * 19_000), "not JSON"),
        (fails(401, {"message": f"wrong key {SECRET}"}), "wrong key ***"),
        (drips('{"calls": [' + '{"tool": "shop/list_orders"},' * 3_000, 0.05), "within 0.3 s"),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_the_rough_plan_stands_where_a_model_fails_and_says_why(
    bridge: Bridge, step: Step, why: str
):
    plan, _ = ask(bridge, step, 0.3 if "within" in why else 60.0)
    assert tools_of(plan) == ROUGH
    assert plan.is_rough
    assert "openai scripted could not make a plan, so this is a draft" in plan.reasons[-1]
    assert why in plan.reasons[-1]


def test_a_program_names_servers_and_a_model(bridge: Bridge):
    answer = json.dumps({"calls": [{"tool": "translate_text", "args": {"text": "good day"}}]})
    with model_endpoint([says(answer)]) as endpoint:
        plan = bridge.plan_tools(
            "Say 'good day' in French.", "words", model="scripted", base_url=endpoint.base_url
        )
    assert (tools_of(plan), plan.is_rough) == (["words/translate_text"], False)
    plan = bridge.plan_tools(ORDERS, model="offline")
    assert (tools_of(plan), plan.is_rough) == (ROUGH, True)
    assert "offline" in plan.reasons[-1]
    with pytest.raises(UnknownProvider, match="needs the name of a model"):
        bridge.plan_tools(ORDERS, model="openai")


def test_a_plan_and_a_selection_name_the_rules_that_ask_or_may_deny(settings: Settings):
    rules = [
        {"name": "careful", "when": {"tool": "shop/cancel_order"}, "then": "ask"},
        {"name": "big", "when": {"tool": "shop/list_orders", "args.user_id": "x*"}, "then": "deny"},
    ]
    with Bridge(settings(rules=rules)) as bridge:
        calls = {x.name: " ".join(x.reasons) for x in bridge.plan_tools(ORDERS).calls}
        best = bridge.select_tool("cancel the order")
        assert bridge.select_tool("cancel the order", "words") is None
        assert bridge.select_tool("zzz") is None
    assert "asked for" in calls["cancel_order"]
    assert "'careful'" in calls["cancel_order"]
    assert "the rule 'big' may deny it" in calls["list_orders"]
    assert "rule" not in calls["find_user_id_by_email"]
    assert best is not None
    assert best.tool.name == "cancel_order"
    assert 0 < best.confidence <= 1
    assert "name matches" in best.reasons[0]
    assert any("'careful'" in x for x in best.reasons)


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


CANCEL = ("cancel an order", "shop", "cancel_order")


def test_a_rule_that_denies_asks_or_prefers_is_named_in_the_explanation(settings: Settings):
    cancels = {"tool.name": "cancel_*"}
    with Bridge(settings(rules=[{"name": "no", "when": cancels, "then": "deny"}])) as bridge:
        choice = bridge.explain_choice(*CANCEL)
    assert choice.is_chosen is False
    assert any("no" in x.split("'") for x in choice.barred)
    assert choice.ruling.rule == "no"
    assert (choice.step, "cancel_order" in choice.steps) == (0, False)
    rules = [
        {"name": "careful", "when": cancels, "then": "ask"},
        {"name": "first", "when": {"server": "shop"}, "then": {"prefer": 0.2}},
    ]
    with Bridge(settings(rules=rules)) as bridge:
        choice = bridge.explain_choice(*CANCEL)
    assert (choice.is_chosen, choice.barred) == (True, [])
    assert (choice.ruling.word, choice.ruling.rule) == ("ask", "careful")
    assert choice.ruling.preferred_by == ("first",)


def test_a_call_that_an_approval_word_denies_cannot_be_chosen(settings: Settings):
    with Bridge(settings(approval={"shop/cancel_order": "deny"})) as bridge:
        choice = bridge.explain_choice(*CANCEL)
    assert (choice.is_chosen, choice.barred) == (False, ["it is denied by `approval`"])


def test_no_tool_counts_as_usable_while_decisions_cannot_be_read(settings: Settings):
    """Every tool may be switched off then: an agent gets none either."""
    lock = Path("lock.json")
    lock.write_text("{")
    with Bridge(settings(), lock=lock) as bridge:
        assert [*bridge.list_tools(usable=True)] == []
        assert tools_for(bridge) == []
        (reason,) = bridge.explain_choice(*CANCEL).barred
    assert reason.startswith("it is perhaps switched off")


def test_suggestions_and_wire_problems_are_values_and_an_earlier_successor_comes_first(
    settings: Settings,
):
    with Bridge(settings()) as bridge:
        (best, *_) = bridge.suggest_tools(["list_orders"]).tools
        assert str(best.tool) == "shop/cancel_order"
        plan = {"calls": [{"tool": "shop/cancel_order", "args": {"order": {"value": 7}}}]}
        wires = bridge.check_wires(plan_from_json(plan))
        for tool in ("list_orders", "find_user_id_by_email"):
            bridge.call_tool("shop", tool, {"user_id": "u1", "email": "a@b.org"})
        (best, *_) = bridge.suggest_tools(["list_orders"]).tools
    assert {x.parameter: x.problem for x in wires.problems} == {
        "order": "cancel_order takes no 'order'",
        "order_id": "cancel_order needs 'order_id', which has no value",
    }
    assert {str(y) for x in wires.problems for y in x.suppliers} == {"shop/list_orders"}
    assert (best.name, best.reasons[0]) == ("find_user_id_by_email", "followed it 1 of 1 times")
