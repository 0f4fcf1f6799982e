"""What is learned from plans that worked, and that one coincidence never outranks names."""

from __future__ import annotations

from typing import Any

import pytest

from tests.planning.shop import NUMBER, TEXT, TOOLS, tool
from xai_mcp_agent.planning import Edge, FromResult, Planner
from xai_mcp_agent.planning.memory import MAX_PLANS, Memory, plan_from

GREETINGS = tool("get_weather", "Weather of a place.", {"place": TEXT}, {"sky": TEXT}, server="sky")
EXTRA = [GREETINGS, tool("count_stock", "Counts what is in stock.", {}, {"stock": NUMBER})]


def run(request: str, *calls: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    return {"request": request, "calls": [{"tool": x, "args": y} for x, y in calls]}


def telling_the_weather(place: str) -> dict[str, Any]:
    return run(
        f"Tell Ada what it is like in {place}",
        ("sky/get_weather", {"place": {"value": place}}),
        (
            "mail/send_message",
            {"receiver": {"value": "Ada"}, "message": {"call": 0, "field": "sky"}},
        ),
    )


def test_what_was_done_before_is_done_again() -> None:
    request = "Tell Ada what it is like in Oslo"
    assert [x.tool for x in Planner([*TOOLS, *EXTRA]).plan(request).calls] != [
        "sky/get_weather", "mail/send_message",
    ]  # fmt: skip
    planner = Planner([*TOOLS, *EXTRA], map(telling_the_weather, ("Rome", "Bonn", "Kiel", "Bern")))
    plan = planner.plan(request)
    assert [x.tool for x in plan.calls] == ["sky/get_weather", "mail/send_message"]
    assert plan.edges == (Edge(0, 1, "message"),)


def test_where_a_value_came_from_is_learned_with_its_field() -> None:
    tools = ["sky/get_weather", "mail/send_message"]
    planner = Planner([*TOOLS, *EXTRA], map(telling_the_weather, ("Rome", "Bonn", "Kiel", "Bern")))
    message = planner.wire("Do as always", tools).calls[1].arguments["message"]
    assert isinstance(message, FromResult)
    assert message.field == "sky"
    assert message.reasons == ("so 4 of 4 times before",)


def test_the_shape_of_a_result_is_learned_from_one_and_no_value_of_it() -> None:
    planner = Planner([*TOOLS, tool("get_basket", "Get what is in the basket.")])
    tools = ["shop/get_basket", "shop/cancel_order"]
    result = {"lines": [{"order_id": "#W7654321", "price": 3}], "87654321": {"x": 1}}
    planner.observe("shop/get_basket", result)
    order = planner.wire("Cancel what is in the basket", tools).calls[1].arguments["order_id"]
    assert isinstance(order, FromResult)
    assert order.field is None  # a key looked like data, so all of them may be
    planner = Planner([*TOOLS, tool("get_basket", "Get what is in the basket.")])
    planner.observe("shop/get_basket", {"lines": result["lines"]})
    order = planner.wire("Cancel what is in the basket", tools).calls[1].arguments["order_id"]
    assert isinstance(order, FromResult)
    assert order.field == "lines[].order_id"
    assert "7654321" not in str(vars(planner._memory))


LOOKED_UP = tool("look_up_order", "Look up an order.", {"order_id": TEXT}, {"address": TEXT})
PRINTED = ["shop/look_up_order", "shop/print_label"]


def printing(order: str) -> dict[str, Any]:
    address = {"call": 0, "field": "address"}
    calls = (PRINTED[0], {"order_id": {"value": order}}), (PRINTED[1], {"address": address})
    return run(f"Print the label of order {order}", *calls)


def printed(learned: int, **schema: Any) -> dict[str, Any]:
    """What a tool is given that declares no parameter, after so many runs."""
    label = tool("print_label", "Print a label.") | {"input_schema": {"type": "object", **schema}}
    runs = [printing(f"#W{x}") for x in range(learned)]
    planner = Planner([*TOOLS, LOOKED_UP, label], runs)
    return dict(planner.wire("Look up order #W7654321, then print it", PRINTED).calls[1].arguments)


def test_what_a_tool_takes_that_declares_nothing_is_learned_from_calls() -> None:
    assert not printed(0)
    assert not printed(1)
    address = printed(2)["address"]
    assert isinstance(address, FromResult)
    assert (address.call, address.field) == (0, "address")


def test_a_tool_that_forbids_what_it_does_not_declare_is_given_nothing() -> None:
    assert not printed(4, additionalProperties=False)


def test_one_coincidence_does_not_outrank_names() -> None:
    odd = run("Odd", ("shop/list_orders", {}), ("shop/count_stock", {}),
              ("shop/cancel_order", {"order_id": {"call": 1, "field": "stock"}}))  # fmt: skip
    planner = Planner([*TOOLS, *EXTRA], [odd])
    tools = ["shop/list_orders", "shop/count_stock", "shop/cancel_order"]
    assert planner.wire("Cancel an order", tools).edges == (Edge(0, 2, "order_id"),)


@pytest.mark.parametrize("times", [1, 2, 20])
def test_what_was_done_with_tools_that_are_gone_keeps_none_away(times: int) -> None:
    asked = "How many orders are there"
    told = Planner(TOOLS).plan(asked)
    planner = Planner(TOOLS, [run(asked, ("gone/order_statistics", {}))] * times)
    assert [x.tool for x in planner.plan(asked).calls] == [x.tool for x in told.calls] != []


def test_a_request_made_twice_with_an_odd_tool_does_not_outrank_names() -> None:
    asked = "List the orders of the user"
    planner = Planner([*TOOLS, *EXTRA], [run(asked, ("shop/count_stock", {}))] * 2)
    tools = [x.tool for x in planner.plan(asked).calls]
    assert "shop/list_orders" in tools
    assert "shop/count_stock" not in tools


def test_a_tool_that_is_gone_is_not_planned_again() -> None:
    planner = Planner(TOOLS, map(telling_the_weather, ("Rome", "Bonn", "Kiel", "Bern")))
    plan = planner.plan("Tell Ada what it is like in Oslo")
    assert "sky/get_weather" not in [x.tool for x in plan.calls]
    found = planner.next_tools([], "Tell Ada what it is like in Oslo")
    assert "sky/get_weather" not in [x.tool for x in found]


def test_what_came_next_is_suggested_next_with_how_often() -> None:
    planner = Planner([*TOOLS, *EXTRA], map(telling_the_weather, ("Rome", "Bonn", "Kiel", "Bern")))
    best = planner.next_tools(["sky/get_weather"])[0]
    assert best.tool == "mail/send_message"
    assert best.score == 1.0
    assert "followed it 4 of 4 times" in best.reasons


def test_the_next_tool_without_a_memory_is_one_that_takes_what_there_is() -> None:
    best = Planner(TOOLS).next_tools(["shop/list_orders"])[0]
    assert best.tool == "shop/cancel_order"
    assert best.reasons == ("takes the 'orders[].order_id' of list_orders as 'order_id'",)


def test_a_request_tells_the_next_tool() -> None:
    request = "List the orders of the user with the user id u_12, then translate the text 'gone'."
    found = [x.tool for x in Planner(TOOLS).next_tools(["shop/list_orders"], request)]
    assert found[0] == "words/translate_text"


def test_values_are_not_kept() -> None:
    """Paths, types and counts, never values. Issue: Learning."""
    memory = Memory()
    memory.learn(plan_from(telling_the_weather("Reykjavik") | {"request": "weather"}))
    assert "Reykjavik" not in str({x: getattr(memory, x) for x in vars(memory)})


def test_the_oldest_request_goes_first() -> None:
    memory = Memory()
    for number in range(MAX_PLANS + 3):
        memory.learn(plan_from(run(f"word{number}", ("shop/list_orders", {}))))
    assert len(memory) == MAX_PLANS
    assert memory.nearest("word0") == []
    assert memory.nearest(f"word{MAX_PLANS}")[0][0] > 0.9


def test_what_is_no_plan_teaches_nothing() -> None:
    planner = Planner(TOOLS)
    before = planner.plan("Cancel my order")
    planner.learn(
        [{}, {"calls": None}, {"calls": [3, {"args": {}}]}, {"request": "x", "calls": []}]
    )
    planner.learn([{"calls": [{"tool": "shop/list_orders", "args": {"user_id": {"call": 7}}}]}])
    assert planner.plan("Cancel my order") == before
