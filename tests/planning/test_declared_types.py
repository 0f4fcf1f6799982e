"""Types that schemas declare by a URI (spec 5): the same on both sides, whatever the names are."""

from __future__ import annotations

from typing import Any

from xai_mcp_agent.planning import Planner

TEXT: dict[str, Any] = {"type": "string"}
ROCK = {**TEXT, "@type": "geo:rock"}


def tool(name: str, takes: dict[str, Any], gives: dict[str, Any] | None = None) -> dict[str, Any]:
    """A tool that requires all that it takes; names share no word with those of any other."""
    schema = {"type": "object", "properties": takes, "required": [*takes]}
    gives = gives and {"type": "object", **gives}
    return {
        "id": name, "server": "s", "name": name, "description": "", "input_schema": schema,
        "output_schema": gives,
    }  # fmt: skip


# A tool, what it gives, a tool that takes it, as what; and which part of the result that is.
PAIRS = {
    "one of several, or none": (
        tool("dig_quarry", {}, {"properties": {"stones": {"type": "array", "items": ROCK}}}),
        tool("carve_statue", {"block": {"anyOf": [ROCK, {"type": "null"}]}}),
        "stones",
    ),
    "the whole result": (
        tool("bake_bread", {}, {"$id": "food:loaf", "properties": {"crust": {"type": "boolean"}}}),
        tool("feed_ducks", {"meal": {"$ref": "#/$defs/Meal"}}),
        "result",
    ),
    "one that says how it went": (
        tool("press_button", {}, {"properties": {"status": {**TEXT, "x-type": "lamp:state"}}}),
        tool("paint_wall", {"shade": {**TEXT, "x-type": "lamp:state"}}),
        "status",
    ),
}
PAIRS["the whole result"][1]["input_schema"]["$defs"] = {
    "Meal": {"$id": "food:loaf", "type": "object", "properties": {"crust": {"type": "boolean"}}}
}


def test_values_of_the_same_declared_type_flow() -> None:
    planner = Planner([x for giver, taker, _ in PAIRS.values() for x in (giver, taker)])
    for giver, taker, field in PAIRS.values():
        (best, *_) = planner.next_tools([giver["id"]])
        assert best.tool == taker["id"]
        (parameter,) = taker["input_schema"]["properties"]
        assert best.reasons == (f"takes the {field!r} of {giver['name']} as {parameter!r}",)
    flow = planner.flow("press_button", "paint_wall")
    assert flow
    assert flow.reasons == ("both are declared as lamp:state",)
