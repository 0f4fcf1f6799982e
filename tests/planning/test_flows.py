"""Which output fits which input, how well, by which conversion, and why. Issue: Flows."""

from __future__ import annotations

import pytest

from tests.planning.shop import NUMBER, TEXT, TOOLS, tool
from xai_mcp_agent.core.errors import UnknownTool
from xai_mcp_agent.planning import Planner
from xai_mcp_agent.planning.fits import fit
from xai_mcp_agent.planning.shapes import shape_of

PLANNER = Planner(TOOLS)


@pytest.mark.parametrize(
    ("given", "wanted", "score", "conversion"),
    [
        ({"type": "string"}, {"type": "string"}, 1.0, ""),
        ({"type": "integer"}, {"type": "number"}, 1.0, ""),
        ({"type": "number"}, {"type": "integer"}, 0.7, "rounded"),
        ({"type": "integer"}, {"type": "string"}, 0.6, "written as text"),
        ({"type": "string"}, {"type": "array", "items": {"type": "string"}}, 0.8, "put in a list"),
        ({"type": "array", "items": {"type": "string"}}, {"type": "string"}, 0.8, "one of them"),
        ({"type": "object"}, {"type": "integer"}, 0.0, ""),
        ({"enum": ["a"]}, {"enum": ["b"]}, 0.1,
         "none of its values is one of those that are allowed"),
        ({"format": "date"}, {"format": "uri"}, 0.25, "date in place of uri"),
        ({"x-type": "shop:order"}, {"x-type": "shop:order"}, 1.0, ""),
        (False, {"type": "string"}, 0.0, ""),
    ],
    ids=str,
)  # fmt: skip
def test_shapes_fit_so_well(given: object, wanted: object, score: float, conversion: str) -> None:
    found = fit(shape_of(given), shape_of(wanted))
    assert (found.score, found.conversion) == (pytest.approx(score), conversion)


def test_the_best_flow_names_field_parameter_and_reason() -> None:
    flow = PLANNER.flow("shop/list_orders", "shop/cancel_order")
    assert flow
    assert (flow.field, flow.parameter) == ("orders[].order_id", "order_id")
    assert flow.reasons == ("both are called order_id",)


def test_what_a_server_does_not_declare_is_read_from_what_it_says() -> None:
    flow = PLANNER.flow("shop/find_user_id_by_email", "shop/list_orders")
    assert flow
    assert (flow.field, flow.parameter, flow.conversion) == (
        "", "user_id", "its type is not declared",
    )  # fmt: skip


def test_tools_that_have_nothing_to_do_with_each_other_have_no_flow() -> None:
    assert PLANNER.flow("shop/cancel_order", "bank/get_exchange_rate") is None


def test_the_tools_that_give_a_parameter_come_best_first() -> None:
    flows = PLANNER.flows_into("shop/cancel_order", "order_id")
    assert flows[0].producer == "shop/list_orders"
    assert [x.score for x in flows] == sorted((x.score for x in flows), reverse=True)
    assert PLANNER.flows_into("shop/cancel_order", "colour") == ()


def test_the_tools_that_take_what_a_tool_gives_are_found() -> None:
    assert PLANNER.flows_from("shop/list_orders")[0].consumer == "shop/cancel_order"


def test_an_unknown_tool_is_named_with_the_nearest() -> None:
    with pytest.raises(UnknownTool, match="Did you mean 'shop/cancel_order'"):
        PLANNER.flow("shop/cancel_ordr", "shop/list_orders")


def test_a_tool_that_changes_or_goes_changes_the_flows() -> None:
    planner = Planner(TOOLS)
    planner.update(tool("list_orders", "Tell what is new.", {}, {"open": {"type": "boolean"}}))
    assert planner.flow("shop/list_orders", "shop/cancel_order") is None
    planner.update(tool("make_order", "Make an order.", {"price": NUMBER}, {"order_id": TEXT}))
    assert planner.flow("shop/make_order", "shop/cancel_order")
    planner.remove("shop/make_order")
    assert planner.flows_into("shop/cancel_order", "order_id") == ()
    with pytest.raises(UnknownTool):
        planner.flow("shop/make_order", "shop/cancel_order")
