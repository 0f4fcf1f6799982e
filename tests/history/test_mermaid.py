"""Flowcharts for Mermaid: of any size they can be drawn, and names in them are only text."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from tests.support.fitting import POST, SHOP
from tests.support.recorded import a_history, a_tool
from xai_mcp_agent.bridge.flows import flows_around
from xai_mcp_agent.history.graph import Flowchart
from xai_mcp_agent.history.history import When

# Beyond these Mermaid shows an error in place of a drawing.
MOST_CHARS, MOST_EDGES = 50_000, 500

LINE = re.compile(
    r'flowchart LR|  n\d+\["(?:[A-Za-z0-9_ ]|#\d+;|<br/>)+"\]:::\w+|  n\d+ --> n\d+'
    r'|  n\d+ -\.->\|"(?:[A-Za-z0-9_ ]|#\d+;)+"\| n\d+'
    r"|  classDef \w+ [-\w:#. ,]+"
)


def test_the_tree_is_drawn_with_what_is_dead_and_why():
    with a_history() as history:
        history.connected("git", a_tool("log"), a_tool("blame"))
        history.listed("git", a_tool("log"))
        lines = history.store.graph().as_mermaid().splitlines()
    assert '  n2["git"]:::source' in lines
    assert '  n3["blame<br/>It is not listed any more#46;"]:::gone' in lines
    assert '  n4["log"]:::tool' in lines
    edges = [x.strip() for x in lines if "-->" in x]
    assert edges == ["n0 --> n1", "n1 --> n2", "n2 --> n3", "n2 --> n4"]


@given(st.text(), st.text())
def test_whatever_a_name_holds_a_line_stays_a_node(name: str, reason: str):
    chart = Flowchart()
    one, other = chart.node(name, "tool"), chart.node("x", "gone", reason)
    chart.edge(one, other)
    chart.flow(one, other, name)
    lines = str(chart).splitlines()
    assert [x for x in lines if not LINE.fullmatch(x)] == []
    assert sum("[" in x for x in lines) == 2
    assert sum("-.->" in x for x in lines) == 1


def test_what_flows_is_drawn_though_a_server_has_more_tools_than_fit():
    with a_history() as history:
        many = [a_tool(f"t{i:04}") for i in range(3000)]
        history.connected("shop", *many, *SHOP)
        history.connected("post", *POST)
        told = history.store.tool_graph(When(), "shop", None)
    text = flows_around(told).as_mermaid()
    assert len(text) < MOST_CHARS
    assert "parcels#91;#93;#46;parcel_id as parcel_id" in text
    assert '["and 2' in text, "of the tools"
    assert text.count("-->") + text.count("-.->") < MOST_EDGES
    few = flows_around(told, most=1).as_mermaid()
    assert re.search(r'"and \d+ more flows"\]:::more', few)


def test_of_thousands_of_tools_some_stand_for_all():
    with a_history() as history:
        many = [a_tool(f"t{i:04}") for i in range(3000)]
        history.connected("many", *many)
        history.listed("many", *many[:-1])
        for i in range(60):
            history.connected(f"s{i}", *many[:7])
        text = history.store.graph().as_mermaid()
    assert len(text) < MOST_CHARS
    assert text.count("-->") < MOST_EDGES
    assert '["and 2995 more"]:::more' in text
    assert '["and 11 more"]:::more' in text, "of the sources"
    assert '["t2999<br/>It is not listed any more#46;"]:::gone' in text, "people look for these"
