"""The event graph of spec 2: built from events, with states and reasons, as JSON and Mermaid."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from tests.support.fitting import POST, SHOP
from tests.support.recorded import History, a_tool
from xai_mcp_agent import Graph
from xai_mcp_agent.bridge.flows import flows_around
from xai_mcp_agent.core.tools import META, SourceKind
from xai_mcp_agent.history.flowchart import Flowchart
from xai_mcp_agent.history.graph import GraphEdge

ACP = SourceKind("acp", "agent")
# Beyond these Mermaid shows an error in place of a drawing.
MOST_CHARS, MOST_EDGES = 50_000, 500
MANY = [a_tool(f"t{i:04}") for i in range(3000)]

# Spec 2, "Event Graph (Combined)", without the remarks after the arrows.
SPEC = """\
knowledge:{project_name}_{repo_hash}
  └── {repo_hash}:tools
        ├── tools:bash
        ├── tools:edit_file
        ├── meta:tool_search
        ├── meta:tool_explain
        ├── meta:task
        ├── mcp:filesystem-server
        │     ├── mcp_tool:filesystem-server_read
        │     └── mcp_tool:filesystem-server_write
        ├── mcp:github-server
        │     ├── mcp_tool:github-server_search
        │     └── mcp_tool:github-server_pr_create
        └── acp:code-review-agent
              └── acp_tool:code-review-agent_review
"""


def tree(graph: Graph) -> set[tuple[str, str]]:
    """Return the pairs of a node and its parent."""
    return {(x.source, x.target) for x in graph.edges if x.kind == "extends"}


def tree_of_text(text: str) -> set[tuple[str, str]]:
    """Return the same pairs from a text that indents each node below its parent."""
    pairs: set[tuple[str, str]] = set()
    above: list[tuple[int, str]] = []
    for line in text.splitlines():
        name = line.lstrip(" │├└─")
        indent = len(line) - len(name)
        above = [x for x in above if x[0] < indent]
        pairs |= {(name, above[-1][1])} if above else set()
        above.append((indent, name))
    return pairs


def test_events_give_the_graph_of_the_spec(history: History):
    """Spec 2, Event Graph (Combined): the same nodes with the same parents."""
    history.seeded(a_tool("bash"), a_tool("edit_file"))
    history.seeded(a_tool("tool_search"), a_tool("tool_explain"), a_tool("task"), kind=META)
    history.connected("filesystem-server", a_tool("read"), a_tool("write"))
    history.connected("github-server", a_tool("search"), a_tool("pr_create"))
    history.connected("code-review-agent", a_tool("review"), kind=ACP)
    graph = history.store.graph()
    names = {"project_name": graph.project.name, "repo_hash": graph.project.repo_hash}
    assert tree(graph) == tree_of_text(SPEC.format(**names))
    assert all(x.is_alive and x.id == x.context_id for x in graph.nodes)
    kinds = [(x.kind, x.subject and x.subject.kind.name) for x in graph.nodes]
    assert kinds[:4] == [("project", None), ("tools", None), ("tool", "tools"), ("tool", "tools")]
    assert kinds[-2:] == [("source", "acp"), ("tool", "acp")]


def test_unavailable_nodes_have_a_reason(history: History):
    history.connected("git", a_tool("log"), a_tool("blame"))
    history.listed("git", a_tool("log"))
    history.connected("time", a_tool("now"))
    history.lost("time", "The server ended with code 3.")
    history.failed("web", "Nobody answers.")
    graph = history.store.graph()
    assert {x.id: (x.state, x.why) for x in graph.nodes if not x.is_alive} == {
        "mcp_tool:git_blame": ("gone", "It is no longer listed."),
        "mcp:time": ("at rest", "The server ended with code 3."),
        "mcp_tool:time_now": ("at rest", "The server ended with code 3."),
        "mcp:web": ("at rest", "Nobody answers."),
    }
    lines = graph.as_mermaid().splitlines()
    assert '  n2["git"]:::source' in lines
    assert '  n3["blame<br/>It is no longer listed#46;"]:::gone' in lines
    assert [x.strip() for x in lines if "-->" in x][:3] == ["n0 --> n1", "n1 --> n2", "n2 --> n3"]


def test_tools_with_equal_context_ids_stay_separate(history: History):
    """Names may contain the underscores with which spec 2 joins them."""
    history.connected("a", a_tool("b_c"))
    history.connected("a_b", a_tool("c"), a_tool("d"))
    history.lost("a", "Closed.")
    graph = history.store.graph()
    alike = [x for x in graph.nodes if x.context_id == "mcp_tool:a_b_c"]
    assert len({x.id for x in alike}) == 2
    sources = {x.subject and x.subject.source: x.is_alive for x in alike}
    assert sources == {"a": False, "a_b": True}
    parents = dict(tree(graph))
    assert sorted(parents[x.id] for x in alike) == ["mcp:a", "mcp:a_b"]
    dead = next(x for x in alike if not x.is_alive)
    assert GraphEdge(dead.id, dead.id, "contradicts", 1) in graph.edges
    assert "mcp_tool:a_b_d" in parents, "no other id is touched"


# Mermaid

LINE = re.compile(
    r'flowchart LR|  n\d+\["(?:[A-Za-z0-9_ ]|#\d+;|<br/>)+"\]:::\w+|  n\d+ --> n\d+'
    r'|  n\d+ -\.->\|"(?:[A-Za-z0-9_ ]|#\d+;)+"\| n\d+'
    r"|  classDef \w+ [-\w:#. ,]+"
)


@given(st.text(), st.text())
def test_any_name_is_one_node_of_the_flowchart(name: str, reason: str):
    chart = Flowchart()
    one, other = chart.node(name, "tool"), chart.node("x", "gone", reason)
    chart.edge(one, other)
    chart.flow(one, other, name)
    lines = str(chart).splitlines()
    assert [x for x in lines if not LINE.fullmatch(x)] == []
    assert sum("[" in x for x in lines) == 2
    assert sum("-.->" in x for x in lines) == 1


def test_flows_are_drawn_even_if_a_server_has_too_many_tools(history: History):
    history.connected("shop", *MANY[:400], *SHOP)
    history.connected("post", *POST)
    graph = history.store.tool_graph(None, "shop", None)
    text = flows_around(graph).as_mermaid()
    assert len(text) < MOST_CHARS
    assert "parcels#91;#93;#46;parcel_id as parcel_id" in text
    assert re.search(r'\["and \d+ more"\]:::more', text), "of the tools"
    assert text.count("-->") + text.count("-.->") < MOST_EDGES
    few = flows_around(graph, most=1).as_mermaid()
    assert re.search(r'"and \d+ more flows"\]:::more', few)


def test_only_some_of_thousands_of_tools_are_drawn(history: History):
    history.connected("many", *MANY)
    history.listed("many", *MANY[:-1])
    for i in range(60):
        history.connected(f"s{i}", *MANY[:7])
    text = history.store.graph().as_mermaid()
    assert len(text) < MOST_CHARS
    assert text.count("-->") < MOST_EDGES
    assert '["and 2995 more"]:::more' in text
    assert '["and 11 more"]:::more' in text, "of the sources"
    assert '["t2999<br/>It is no longer listed#46;"]:::gone' in text, "people look for these"
