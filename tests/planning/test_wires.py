"""Connected calls are checked against their tools before any call is made."""

from __future__ import annotations

import pytest

from xai_mcp_agent.planning import Planner
from xai_mcp_agent.planning.plan import FromResult, Parts, Value
from xai_mcp_agent.planning.wires import WiredCall

from .shop import ORDERS, TOOLS, tool

LIST, CANCEL, RATE = "shop/list_orders", "shop/cancel_order", "bank/get_exchange_rate"


@pytest.fixture
def planner() -> Planner:
    return Planner(TOOLS)


def listing() -> WiredCall:
    return WiredCall(LIST, {"user_id": Value("7")})


def cancelling(field: str | None, call: int = 0) -> WiredCall:
    return WiredCall(CANCEL, {"order_id": FromResult(call, field)})


def test_a_path_that_is_not_in_the_output_is_reported_with_one_that_fits(planner: Planner):
    text_that_may_be_json = "orders[].order_id.x.y"
    for field in ("orders[].order_id", "orders[0].order_id", "orders", "orders[]", None,
                  text_that_may_be_json):  # fmt: skip
        assert planner.wire_problems([listing(), cancelling(field)]) == []
    for field in ("order_id", "orders[].id", "x"):
        (one,) = planner.wire_problems([listing(), cancelling(field)])
        assert one.problem == f"the output of list_orders has no {field!r}"
        assert one.remedies == ("'orders[].order_id' of call 1, list_orders, fits",)


def test_only_a_later_call_can_use_a_result(planner: Planner):
    for call in (1, -1):
        (one,) = planner.wire_problems([cancelling("orders", call), listing()])
        assert "which does not come before it" in one.problem


def test_the_type_must_fit_if_an_argument_has_a_single_source(planner: Planner):
    switch = tool("switch", "Switch a lamp.", {"on": {"type": "boolean"}}, {"lamps": ORDERS})
    planner.update(switch)
    call = WiredCall("shop/switch", {"on": FromResult(0, "orders")})
    (one,) = planner.wire_problems([listing(), call])
    assert "is a list, and 'on' takes true or false" in one.problem
    parts = WiredCall("shop/switch", {"on": Parts((FromResult(0, "orders"),))})
    assert planner.wire_problems([listing(), parts]) == []


def test_an_open_call_lacks_nothing_and_a_call_of_an_unknown_tool_is_not_checked(planner: Planner):
    assert planner.wire_problems([WiredCall(RATE, {}, is_open=True)]) == []
    assert planner.wire_problems([WiredCall(None, {}), WiredCall("no/such", {"x": None})]) == []
    assert [x.parameter for x in planner.wire_problems([WiredCall(RATE, {})])] == ["from", "to"]
