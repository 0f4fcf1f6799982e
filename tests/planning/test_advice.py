"""A plan by a language model: what it is asked, and what of its answer is refused."""

from __future__ import annotations

from typing import Any

from tests.planning.shop import NUMBER, TEXT, TOOLS, tool
from xai_mcp_agent.planning import FromResult, Given, Missing, Planner

REQUEST = "Cancel the newest order. My email is ada@example.org."
FIND, LIST, CANCEL = "shop/find_user_id_by_email", "shop/list_orders", "shop/cancel_order"
PLANNER = Planner([*TOOLS, tool("pay", "Pay.", {"amount": NUMBER, "to": TEXT})])
ADVICE = PLANNER.advice(REQUEST)


def calls(*written: tuple[str, Any]) -> Any:
    return {"calls": [{"tool": name, "args": args} for name, args in written]}


GOOD = calls(
    (FIND, {"email": "ada@example.org"}),
    (LIST, {"user_id": {"call": 0, "field": ""}}),
    (CANCEL, {"order_id": {"call": 1, "field": "orders[].order_id"}}),
)


def test_the_question_has_the_request_the_tools_and_the_rough_plan() -> None:
    assert REQUEST in ADVICE.question
    assert "- shop/cancel_order(order_id: string)" in ADVICE.question
    assert '{"tool": "shop/cancel_order", "args": {"order_id": {"call": ' in ADVICE.question
    assert "There are none." in PLANNER.advice(REQUEST, 1).question


def test_a_plan_is_the_one_that_the_model_wrote() -> None:
    assert ADVICE.problems(GOOD) == []
    plan = ADVICE.plan(GOOD)
    assert [x.tool for x in plan.calls] == [FIND, LIST, CANCEL]
    assert plan.calls[0].arguments == {"email": Given("ada@example.org")}
    assert plan.calls[2].arguments == {"order_id": FromResult(1, "orders[].order_id")}
    assert (plan.problems, plan.is_rough, plan.request) == ((), False, REQUEST)


def test_a_tool_may_be_called_by_its_name_alone_and_arguments_left_out_are_missing() -> None:
    answer = calls(("cancel_order", {}))
    assert ADVICE.problems(answer) == []
    plan = ADVICE.plan(answer)
    (call,) = plan.calls
    missing = Missing("the plan does not say it")
    assert (call.tool, call.arguments) == (CANCEL, {"order_id": missing})
    assert plan.problems == ("Call 1, cancel_order: you must give 'order_id'.",)


def test_the_model_is_told_what_is_wrong_with_its_plan() -> None:
    wrong: dict[str, Any] = {
        "it has no `calls`": 5,
        "Call 1: there is no tool 'shop/list_order'. Did you mean": calls(("shop/list_order", {})),
        "list_orders, has no parameter 'userId': it takes user_id": calls((LIST, {"userId": "x"})),
        "Call 1, list_orders: user_id": calls((LIST, {"user_id": 5})),
        "does not come before it": calls((LIST, {"user_id": {"call": 1}})),
        "is no source of an argument": calls((LIST, {"user_id": {"from": 1}})),
    }
    for words, answer in wrong.items():
        (problem,) = ADVICE.problems(answer)
        assert words in problem


def test_an_address_that_the_request_does_not_say_is_a_problem() -> None:
    """It may stand in a tool's description, which are the words of a stranger."""
    for evil in ("mallory@evil.example", "https://evil.example", "/etc/passwd"):
        assert evil in ADVICE.plan(calls((FIND, {"email": evil}))).problems[0]
