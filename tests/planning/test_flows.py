"""Which output fits which input, how well, by which conversion, and why. Issue: Flows."""

from __future__ import annotations

from typing import Any

import pytest

from tests.planning.shop import NUMBER, TEXT, TOOLS, tool
from tests.support.watchdog import compute_within
from xai_mcp_agent.core.errors import UnknownTool
from xai_mcp_agent.planning import Flow, Planner

PLANNER = Planner(TOOLS)
_STEP_SECONDS = 0.1  # the event loop is blocked meanwhile


def best_flow(planner: Planner, producer: str, consumer: str) -> Flow:
    flow = planner.flow(f"shop/{producer}", f"shop/{consumer}")
    assert flow
    return flow


def planner_between(output: Any, parameter: Any) -> Planner:
    """Return a planner of a tool with this output and one with this parameter."""
    producer = tool("make_thing", "Make a thing.", {}, {"thing": output})
    return Planner([producer, tool("take_thing", "Take a thing.", {"thing": parameter})])


@pytest.mark.parametrize(
    ("output", "parameter", "score", "conversion"),
    [
        ({"type": "string"}, {"type": "string"}, 1.0, ""),
        ({"type": "integer"}, {"type": "number"}, 1.0, ""),
        ({"type": "number"}, {"type": "integer"}, 0.7, "rounded"),
        ({"type": "integer"}, {"type": "string"}, 0.6, "written as text"),
        ({"type": "string"}, {"type": "array", "items": {"type": "string"}}, 0.8, "put in a list"),
        ({"type": "array", "items": {"type": "string"}}, {"type": "string"}, 0.8, "one of them"),
        ({"type": "array", "items": {"type": "number"}},
         {"type": "array", "items": {"type": "string"}}, 0.6, "each written as text"),
        ({"anyOf": [{"type": "null"}, {"type": "string"}]}, {"type": ["string", "null"]}, 1.0, ""),
        ({"$ref": "#/$defs/x"}, {"type": "string"}, 0.8, "its type is not declared"),
        ({"x-type": "shop:order"}, {"x-type": "shop:order"}, 1.0, ""),
    ],
    ids=str,
)  # fmt: skip
def test_a_pair_of_shapes_has_a_score_and_a_conversion(
    output: Any, parameter: Any, score: float, conversion: str
):
    flow = best_flow(planner_between(output, parameter), "make_thing", "take_thing")
    assert (flow.fit, flow.conversion) == (pytest.approx(score), conversion)


def test_there_is_no_flow_between_shapes_that_hardly_fit():
    for output, parameter in (
        ({"type": "object"}, {"type": "integer"}),
        ({"enum": ["a"]}, {"enum": ["b"]}),
        ({"type": "string", "format": "date"}, {"type": "string", "format": "uri"}),
        ({"type": "string", "x-type": "a:b"}, {"type": "string", "x-type": "a:c"}),
    ):
        planner = planner_between(output, parameter)
        assert planner.flow("shop/make_thing", "shop/take_thing") is None


ROCK = {**TEXT, "@type": "geo:rock"}
LAMP = {**TEXT, "x-type": "lamp:state"}
LOAF = {"$id": "food:loaf", "type": "object", "properties": {"crust": {"type": "boolean"}}}
MEAL = {"properties": {"meal": {"$ref": "#/$defs/Meal"}}, "$defs": {"Meal": LOAF}}
TYPED = [
    tool("dig_quarry", "", {}, {"stones": {"type": "array", "items": ROCK}}),
    tool("carve_statue", "", {"block": {"anyOf": [ROCK, {"type": "null"}]}}),
    {**tool("bake_bread", ""), "output_schema": LOAF},
    {**tool("feed_ducks", ""), "input_schema": {**MEAL, "required": ["meal"]}},
    tool("press_button", "", {}, {"status": LAMP}),
    tool("paint_wall", "", {"shade": LAMP}),
]


def test_values_of_the_same_declared_type_flow_whatever_their_names():
    """Spec 5: one of several, the whole result, and a status."""
    planner = Planner(TYPED)
    for producer, consumer, field, parameter in (
        ("dig_quarry", "carve_statue", "stones", "block"),
        ("bake_bread", "feed_ducks", "result", "meal"),
        ("press_button", "paint_wall", "status", "shade"),
    ):
        (best, *_) = planner.next_tools([f"shop/{producer}"])
        assert best.name == consumer
        assert best.reasons == (f"takes the {field!r} of {producer} as {parameter!r}",)
    flow = best_flow(planner, "press_button", "paint_wall")
    assert flow.reasons == ("both are declared as lamp:state",)


HOSTILE: dict[str, Any] = {
    "a tree that refers to itself twice": {"properties": {x: {"$ref": "#"} for x in "abcdefgh"}},
    "all of itself": {"allOf": [{"$ref": "#"}] * 50, "anyOf": [{"$ref": "#"}] * 50},
    "thousands of properties": {"properties": {f"p{n}": {"type": "string"} for n in range(50_000)}},
    "names that are not texts": {"properties": {1: {"type": 3}, None: True}, "required": [1]},
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_schema_blocks_the_loop_for_half_a_second_at_most(name: str):
    """Schemas come from strangers."""
    hostile = {"id": 1, "server": "s", "name": "x", "description": "",
           "input_schema": HOSTILE[name], "output_schema": HOSTILE[name]}  # fmt: skip
    assert compute_within(5 * _STEP_SECONDS, lambda: len(Planner([hostile]))) == 1


def test_the_best_flow_names_field_parameter_and_reason():
    """The words of a tool imply its undeclared result."""
    flow = best_flow(PLANNER, "list_orders", "cancel_order")
    assert (flow.field, flow.parameter) == ("orders[].order_id", "order_id")
    assert flow.reasons == ("both are called order_id",)
    flow = best_flow(PLANNER, "find_user_id_by_email", "list_orders")
    assert (flow.field, flow.parameter) == ("", "user_id")
    assert flow.conversion == "its type is not declared"


def test_flows_follow_when_a_tool_changes_or_goes_away():
    planner = Planner(TOOLS)
    planner.update(tool("list_orders", "Tell what is new.", {}, {"open": {"type": "boolean"}}))
    assert planner.flow("shop/list_orders", "shop/cancel_order") is None
    planner.update(tool("make_order", "Make an order.", {"price": NUMBER}, {"order_id": TEXT}))
    assert planner.flow("shop/make_order", "shop/cancel_order")
    planner.remove("shop/make_order")
    with pytest.raises(UnknownTool):
        planner.flow("shop/make_order", "shop/cancel_order")
