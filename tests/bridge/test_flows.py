"""The graph around a server or a tool: its neighbours, and the flows in and out (spec 5)."""

from __future__ import annotations

import json
from collections.abc import Generator
from typing import Any

import pytest

from tests.support.fitting import POST, SHOP
from tests.support.recorded import History, a_history
from xai_mcp_agent import Graph
from xai_mcp_agent.bridge.flows import flows_around


@pytest.fixture
def shop() -> Generator[History]:
    """A history of two servers whose tools fit together."""
    with a_history() as history:
        history.connected("shop", *SHOP)
        history.connected("post", *POST)
        yield history


def around(history: History, server: str, tool: str | None = None, **options: Any) -> Graph:
    graph = history.store.tool_graph(None, server, tool)
    return flows_around(graph, **options)


def flows(graph: Graph) -> set[tuple[str, str, str, str]]:
    return {(x.source, x.flow.field, x.target, x.flow.parameter) for x in graph.flows if x.flow}


PARCELS = (
    "mcp_tool:shop_list_parcels", "parcels[].parcel_id",
    "mcp_tool:post_trace_parcel", "parcel_id",
)  # fmt: skip
CUSTOMER = (
    "mcp_tool:shop_find_customer", "customer_id",
    "mcp_tool:shop_list_parcels", "customer_id",
)  # fmt: skip


def test_the_graph_around_a_tool_has_the_flows_into_it_and_out_of_it(shop: History):
    graph = around(shop, "shop", "list_parcels")
    assert {PARCELS, CUSTOMER} <= flows(graph)
    labels = {x.label for x in graph.nodes if x.kind in ("source", "tool")}
    assert labels == {"shop", "list_parcels", "find_customer", "post", "trace_parcel"}
    assert graph.focus == ("mcp_tool:shop_list_parcels",)
    (flow,) = [x.flow for x in graph.flows if x.target == PARCELS[2]]
    assert flow
    assert (flow.score > 0.5, flow.why) == (True, "both are called parcel_id")
    json_ = json.loads(json.dumps(graph.as_json()))
    assert set(json_["edges"][0]) == {"source", "target", "kind", "count"}
    assert (json_["focus"], json_["flows_left_out"]) == (["mcp_tool:shop_list_parcels"], 0)
    (edge,) = [x for x in json_["edges"] if x.get("field") == PARCELS[1]]
    assert (edge["source"], edge["target"], edge["kind"]) == (PARCELS[0], PARCELS[2], "data_flow")
    assert (edge["parameter"], edge["reasons"]) == ("parcel_id", ["both are called parcel_id"])


def test_nothing_flows_to_a_tool_that_is_gone_or_switched_off(shop: History):
    shop.listed("post")
    assert PARCELS not in flows(around(shop, "shop"))
    shop.listed("post", *POST)
    assert PARCELS in flows(around(shop, "shop"))
    off = around(shop, "shop", is_off=lambda key: key.name == "trace_parcel")
    assert PARCELS not in flows(off)
    shop.disabled("post", "trace_parcel")
    assert PARCELS not in flows(around(shop, "shop"))
