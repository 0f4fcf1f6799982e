"""Plans with a model that is broken, endless or hostile: the rough one stands, and says why.

What a model is usually told and answers is in `test_planning.py`. Who decided it: issue 16.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.bridge.test_planning import ROUGH, Asked, ask, called, settings
from tests.support.model_endpoint import Step, drips, fails, says
from xai_mcp_agent.planning import FromResult

__all__ = ["ask", "settings"]
SECRET = "hunter2-zebra-crossing"


@pytest.mark.parametrize("status", [401, 403, 404, 429, 500, 503])
def test_a_service_that_refuses_leaves_the_rough_plan(status: int, ask: Callable[..., Asked]):
    plan, _ = ask(fails(status, {"message": "try later"}), limit_seconds=5.0)
    assert called(plan) == ROUGH
    assert "this rough one stands" in plan.reasons[-1]


def test_an_answer_that_never_ends_is_not_waited_for(ask: Callable[..., Asked]):
    plan, _ = ask(drips('{"calls": [' + '{"tool": "shop/list_orders"},' * 3_000, 0.05), 1.0)
    assert called(plan) == ROUGH
    assert "did not answer within 1 s" in plan.reasons[-1]


@pytest.mark.parametrize("how", ["blocked", "rule", "off"])
def test_a_model_never_plans_with_a_tool_that_may_not_be_used(how: str, ask: Callable[..., Asked]):
    sections: dict[str, dict[str, Any]] = {
        "blocked": {"toolSearch": {"blocked": ["shop/cancel_order"]}},
        "rule": {"rules": [{"name": "no", "when": {"tool": "cancel_order"}, "then": "deny"}]},
        "off": {"rules": [{"name": "no", "when": {"server": "shop"}, "then": "deny"}]},
    }
    names = [
        "shop/cancel_order", "cancel_order", "SHOP/CANCEL_ORDER", "shop_cancel_order",
        "mcp:shop/cancel_order", "functions.cancel_order", "cancel order", "shop/cancel_orders",
        "shop/cancel_order\n", "shop/cancel\u200b_order", "shop//cancel_order",
    ]  # fmt: skip
    answer = {"calls": [{"tool": x, "arguments": {"order_id": "W1"}} for x in names]}
    plan, questions = ask(json.dumps(answer), **sections[how])
    assert "shop/cancel_order" not in called(plan)
    assert not any("cancel_order" in x for x in questions)


REFERENCES = [
    {"from": 1}, {"from": 2}, {"from": 99}, {"from": 0}, {"from": -1}, {"from": "x"},
    {"from": None}, {"from": True}, {"from": 1.5}, {"from": 10**30}, {"from": {"from": 1}},
    {"from": 1, "field": "a" * 9_000}, {"from": 1, "field": [1]}, {"from": 1, "field": "..[[]]{}"},
    {"from": [1]}, {"value": {"from": 1}}, [{"from": 1}, {"from": 2}], {"__proto__": {"from": 1}},
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(REFERENCES)))
def test_references_of_any_kind_lead_backwards_or_nowhere(number: int, ask: Callable[..., Asked]):
    reference = REFERENCES[number]
    answer = {"calls": [
        {"call": 1, "tool": "shop/list_orders", "arguments": {"user_id": reference}},
        {"call": 2, "tool": "shop/cancel_order", "arguments": {"order_id": [reference]}},
    ]}  # fmt: skip
    plan, _ = ask(json.dumps(answer))
    assert plan.calls
    for place, call in enumerate(plan.calls):
        for source in call.arguments.values():
            assert not isinstance(source, FromResult) or 0 <= source.call < place


ODD: list[Any] = [
    5, "x", None, True, [], [[]], [None], {"calls": 5}, {"calls": [5, None, "shop/list_orders"]},
    {"calls": {"tool": "shop/list_orders"}}, {"calls": [{"tool": {}}]},
    {"calls": [{"tool": ["a"]}]},
    {"calls": [{"tool": "shop/list_orders", "arguments": "user_id=5"}]},
    {"calls": [{"tool": "shop/list_orders", "arguments": {"user_id": {"deep": [[[[[[1]]]]]]}}}]},
    {"calls": [{"tool": "shop/list_orders", "arguments": {"": 1, " ": 2, "\u202e": 3}}]},
    {"calls": [{"tool": "shop/list_orders", "arguments": {"user_id": float("1e308")}}] * 500},
    {"error": "x", "calls": None}, {"plan": {"steps": []}}, {"tool": "shop/list_orders"},
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(ODD)))
def test_any_json_gives_a_plan_of_tools_that_are_there(number: int, ask: Callable[..., Asked]):
    plan, _ = ask(json.dumps(ODD[number]))
    assert plan.calls
    assert len(plan.calls) <= 60
    assert {x.partition("/")[0] for x in called(plan)} <= {
        "shop",
        "mail",
        "calendar",
        "files",
        "weather",
    }


@pytest.mark.parametrize(
    "step",
    [
        fails(401, {"message": f"key {SECRET} is wrong"}),
        says(f"Your key is {SECRET}."),
        says("", refusal=f"{'x' * 45} {SECRET}"),
    ],
    ids=["error", "prose", "refusal"],
)
def test_a_secret_that_comes_back_is_not_told(
    step: Step, ask: Callable[..., Asked], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("ACME_API_KEY", SECRET)
    plan, _ = ask(step)
    assert SECRET[:6] not in repr(plan)
    assert "this rough one stands" in plan.reasons[-1]
