"""Rough plans: calls, sources of their arguments, missing arguments. Issue: Planning."""

from __future__ import annotations

import random
from typing import Any

from tests.planning.shop import NUMBER, TEXT, TOOLS, tool
from tests.support.watchdog import compute_within
from xai_mcp_agent.planning import Edge, FromResult, Missing, Plan, Planner, Value
from xai_mcp_agent.planning.request import mentions_in

PLANNER = Planner(TOOLS)
_STEP_SECONDS = 0.1


def value_at(plan: Plan, call: int, parameter: str) -> Any:
    """Return the value of an argument that comes from the request."""
    argument = plan.calls[call].arguments[parameter]
    assert isinstance(argument, Value)
    return argument.value


def result_at(plan: Plan, call: int, parameter: str) -> FromResult:
    """Return the argument that comes from an earlier call."""
    argument = plan.calls[call].arguments[parameter]
    assert isinstance(argument, FromResult)
    return argument


def test_calls_of_other_tools_supply_the_arguments_that_the_request_lacks():
    plan = PLANNER.plan("Cancel my order. My email is ada@example.org.")
    assert [x.name for x in plan.calls] == ["find_user_id_by_email", "list_orders", "cancel_order"]
    assert plan.edges == (Edge(0, 1, "user_id"), Edge(1, 2, "order_id"))
    assert value_at(plan, 0, "email") == "ada@example.org"
    assert result_at(plan, 2, "order_id").field == "orders[].order_id"
    assert (plan.problems, plan.is_rough) == ((), True)
    assert "without a language model" in plan.reasons[0]
    assert plan.calls[1].reasons == ("gives 'order_id' to cancel_order",)
    assert plan.calls[2].reasons == ("asked for: Cancel my order.",)


def test_a_value_in_the_request_needs_no_other_tool_and_a_missing_one_is_reported():
    plan = PLANNER.plan("Cancel the order #W1234567")
    assert [x.name for x in plan.calls] == ["cancel_order"]
    order = Value("#W1234567", ("the request says '#W1234567'",))
    assert plan.calls[0].arguments == {"order_id": order}
    plan = PLANNER.plan("Translate a text")
    assert isinstance(plan.calls[0].arguments["language"], Missing)
    assert "Call 1, translate_text: you must give 'language', 'text'." in plan.problems


def test_words_that_point_at_an_earlier_result_connect_it():
    plan = PLANNER.plan(
        "Convert an amount of 20 to the currency 'EUR' and then send the converted amount as a"
        " message to the receiver 'Ada'."
    )
    assert [x.name for x in plan.calls] == ["convert_amount", "send_message"]
    message = result_at(plan, 1, "message")
    source = (message.call, message.field, message.conversion)
    assert source == (0, "converted_amount", "written as text")


def test_an_amount_that_the_request_lacks_is_the_computed_one():
    """Their names have nothing in common; an id is never an amount."""
    results = {"report_id": NUMBER, "turnover": NUMBER}
    planner = Planner([*TOOLS, tool("sum_sales", "Sum up sales.", {"product": TEXT}, results)])
    tools = ["shop/sum_sales", "bank/convert_amount"]
    amount = result_at(planner.wire("Sum up sales of 'lamps', to EUR", tools), 1, "amount")
    assert (amount.call, amount.field) == (0, "turnover")
    plan = planner.wire("Sum up sales of 'lamps', and convert 20 to EUR", tools)
    assert value_at(plan, 1, "amount") == 20


def test_topic_receiver_and_count_are_read_from_plain_words():
    books = {"type": "array", "items": {"type": "object", "properties": {"book_id": NUMBER}}}
    parameters = {"query": TEXT, "limit": {"type": "integer"}}
    planner = Planner([
        tool("search_books", "Search books.", parameters, {"books": books}, required=["query"]),
        tool("borrow_book", "Lend a book to a reader.", {"book_id": NUMBER, "reader": TEXT}),
    ])  # fmt: skip
    plan = planner.plan("Find books about old whales and lend one to Ada")
    assert value_at(plan, 0, "query") == "old whales"
    assert not isinstance(plan.calls[0].arguments.get("limit"), Value)
    assert value_at(plan, 1, "reader") == "Ada"
    assert value_at(planner.plan("Find one book about whales"), 0, "limit") == 1


def test_a_request_that_fits_no_tool_has_an_empty_plan_that_says_so():
    for request in ("", "xyzzy", "的" * 50):
        plan = PLANNER.plan(request)
        assert (plan.calls, bool(plan.problems)) == ((), True)


def test_a_fixed_list_of_tools_is_wired_in_its_order():
    request = "Cancel the orders of ada@example.org"
    tools = ["shop/find_user_id_by_email", "shop/list_orders", "shop/cancel_order"]
    plan = PLANNER.wire(request, tools)
    assert [x.tool for x in plan.calls] == tools
    assert plan.edges == (Edge(0, 1, "user_id"), Edge(1, 2, "order_id"))
    assert PLANNER.wire(request, [TOOLS[0], TOOLS[1], TOOLS[2]]) == plan


def test_the_order_of_the_tools_does_not_change_the_plan():
    request = "Find the orders of ada@example.org, cancel one, and translate the text 'sorry'."
    plans = [PLANNER.plan(request)]
    for seed in range(5):
        tools = list(TOOLS)
        random.Random(seed).shuffle(tools)
        planner = Planner(tools)
        planner.update(tools[0])
        plans.append(planner.plan(request))
    assert plans == [plans[0]] * 6


def test_a_plan_among_thousands_of_tools_takes_a_fifth_of_a_second():
    many = [
        tool(f"{x['name']}_{n}", x["description"], {"value": TEXT}, server=f"s{n % 50}")
        for n in range(700)
        for x in TOOLS
    ]
    planner = Planner([*TOOLS, *many])
    plan = compute_within(
        2 * _STEP_SECONDS, lambda: planner.plan("Cancel my order. My email is a@b.org")
    )
    assert plan.calls
    compute_within(_STEP_SECONDS, lambda: planner.update(many[0]))


def test_each_value_of_a_request_has_one_reading():
    """The offline model uses the same patterns and tries every reading."""
    for request, values in {
        "Count the cases of COVID-19 in New York.": ["COVID-19", "New York"],
        "I have a one on one with Ada at 14:30.": ["Ada", "14:30"],
        "Lend one to Ada tomorrow.": ["Ada", "tomorrow"],
        "Send 3 notes about the sea to ada@example.org.": [3, "sea", "ada@example.org"],
    }.items():
        assert [x.value for x in mentions_in(request)] == values


def test_a_step_never_ends_inside_a_value_or_after_a_title():
    request = "List the orders of Dr. Ada Lovelace and send her the message 'Paid. Then closed.'."
    reasons = {x.reasons[-1] for x in PLANNER.plan(request).calls}
    assert "asked for: List the orders of Dr. Ada Lovelace" in reasons
    assert "asked for: send her the message 'Paid. Then closed.'." in reasons


# A plan by a language model

REQUEST = "Cancel the newest order. My email is ada@example.org."
FIND, LIST, CANCEL = "shop/find_user_id_by_email", "shop/list_orders", "shop/cancel_order"
PAYING = Planner([*TOOLS, tool("pay", "Pay.", {"amount": NUMBER, "to": TEXT})])
ADVICE = PAYING.advice(REQUEST)


def calls(*pairs: tuple[str, Any]) -> Any:
    return {"calls": [{"tool": name, "args": args} for name, args in pairs]}


GOOD = calls(
    (FIND, {"email": "ada@example.org"}),
    (LIST, {"user_id": {"call": 0, "field": ""}}),
    (CANCEL, {"order_id": {"call": 1, "field": "orders[].order_id"}}),
)


def test_the_question_has_the_request_the_tools_and_the_rough_plan():
    assert REQUEST in ADVICE.question
    assert "- shop/cancel_order(order_id: string)" in ADVICE.question
    assert '{"tool": "shop/cancel_order", "args": {"order_id": {"call": ' in ADVICE.question
    assert "There are none." in PAYING.advice(REQUEST, 1).question


def test_the_plan_is_the_one_in_the_answer():
    assert ADVICE.problems(GOOD) == []
    plan = ADVICE.plan(GOOD)
    assert [x.tool for x in plan.calls] == [FIND, LIST, CANCEL]
    assert plan.calls[0].arguments == {"email": Value("ada@example.org")}
    assert plan.calls[2].arguments == {"order_id": FromResult(1, "orders[].order_id")}
    assert (plan.problems, plan.is_rough, plan.request) == ((), False, REQUEST)


def test_the_name_of_a_tool_is_enough_and_an_argument_without_a_value_is_missing():
    answer = calls(("cancel_order", {}))
    assert ADVICE.problems(answer) == []
    plan = ADVICE.plan(answer)
    (call,) = plan.calls
    missing = Missing("the plan does not say it")
    assert (call.tool, call.arguments) == (CANCEL, {"order_id": missing})
    assert plan.problems == ("Call 1, cancel_order: you must give 'order_id'.",)


def test_problems_of_an_answer_name_the_call_and_the_mistake():
    answers: dict[str, Any] = {
        "it has no `calls`": 5,
        "Call 1: there is no tool 'shop/list_order'. Did you mean": calls(("shop/list_order", {})),
        "list_orders, has no parameter 'userId': it takes user_id": calls((LIST, {"userId": "x"})),
        "Call 1, list_orders: user_id": calls((LIST, {"user_id": 5})),
        "does not come before it": calls((LIST, {"user_id": {"call": 1}})),
        "is not a source of an argument": calls((LIST, {"user_id": {"from": 1}})),
    }
    for words, answer in answers.items():
        (problem,) = ADVICE.problems(answer)
        assert words in problem


def test_an_address_that_is_not_in_the_request_is_a_problem():
    """A stranger may have put it into a tool's description."""
    for evil in ("mallory@evil.example", "https://evil.example", "/etc/passwd"):
        assert evil in ADVICE.plan(calls((FIND, {"email": evil}))).problems[0]
