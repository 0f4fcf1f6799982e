"""Types that schemas declare by a URI (spec 5): the same on both sides, whatever the names are."""

from __future__ import annotations

import json
from collections.abc import Generator
from typing import Any

import pytest

from tests.support import catalog_server
from tests.support.warm_python import warm_python
from xai_mcp_agent import Bridge
from xai_mcp_agent.planning import plan_from_json

TEXT: dict[str, Any] = {"type": "string"}
PURCHASE = {**TEXT, "x-type": "shop:order"}
ROCK = {**TEXT, "@type": "geo:rock"}


def tool(name: str, takes: dict[str, Any], gives: dict[str, Any] | None = None) -> dict[str, Any]:
    """A tool that requires all that it takes; names share no word with those of any other."""
    schema = {"type": "object", "properties": takes, "required": [*takes]}
    gives = gives and {"type": "object", **gives}
    return {"name": name, "description": "", "input_schema": schema, "declares": gives}


# A tool, what it gives, a tool that takes it, as what; and which part of the result that is.
PAIRS = {
    "a property": (
        tool("browse_basket", {}, {"properties": {"purchase": PURCHASE, "note": TEXT}}),
        tool("dispatch_courier", {"cargo": PURCHASE}),
        "purchase",
    ),
    "an $id": (
        tool("measure_sky", {}, {"properties": {"cloud": {**TEXT, "$id": "weather://cover"}}}),
        tool("water_garden", {"gloom": {**TEXT, "$id": "weather://cover"}}),
        "cloud",
    ),
    "one of several, or none": (
        tool(
            "dig_quarry", {},
            {"properties": {"stones": {"type": "array", "items": ROCK}}},
        ),
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
}  # fmt: skip
PAIRS["the whole result"][1]["input_schema"]["$defs"] = {
    "Meal": {"$id": "food:loaf", "type": "object", "properties": {"crust": {"type": "boolean"}}}
}


@pytest.fixture(scope="module")
def bridge(tmp_path_factory: pytest.TempPathFactory) -> Generator[Bridge]:
    file = tmp_path_factory.mktemp("types") / "tools.jsonl"
    lines = [json.dumps(x) for pair in PAIRS.values() for x in pair[:2]]
    file.write_text("\n".join(lines), encoding="utf-8")
    entry = {"command": warm_python(), "args": [catalog_server.__file__, str(file)]}
    with Bridge({"mcpServers": {"it": {**entry, "startTimeout": 90}}}) as made:
        yield made


def test_what_is_declared_as_the_same_type_on_both_sides_flows(bridge: Bridge) -> None:
    for giver, taker, field in PAIRS.values():
        (best, *_) = bridge.suggest_tools([giver["name"]]).tools
        assert best.name == taker["name"]
        (parameter,) = taker["input_schema"]["properties"]
        assert best.reasons == (f"takes the {field!r} of {giver['name']} as {parameter!r}",)


def test_the_graph_has_such_a_flow_and_says_why(bridge: Bridge) -> None:
    bridge.list_tools("it")
    graph = bridge.graph(server="it", tool="dispatch_courier")
    (flow,) = [x for x in graph.flows if x.flow]
    assert flow.source.endswith("browse_basket")
    assert flow.flow is not None
    assert flow.flow.why == "both are declared as shop:order"


def test_a_plan_that_lacks_such_a_value_is_told_which_tool_gives_it(bridge: Bridge) -> None:
    plan: Any = {"calls": [{"tool": "it/dispatch_courier", "args": {}}]}
    (problem,) = bridge.check_wires(plan_from_json(plan)).problems
    assert [str(x) for x in problem.givers] == ["it/browse_basket"]
