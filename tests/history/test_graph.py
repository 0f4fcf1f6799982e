"""The event graph of spec 2: drawn from events, with what is dead and why, for people and tools."""

from __future__ import annotations

import json

from tests.support.recorded import History, a_tool
from xai_mcp_agent import Graph
from xai_mcp_agent.core.tools import META, SourceKind
from xai_mcp_agent.history.graph import Edge, Node
from xai_mcp_agent.history.history import When

ACP = SourceKind("acp", "agent")

# Spec 2, "Event Graph (Combined)", word for word but for the remarks behind the arrows.
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


def graph_of(history: History, moment: When | None = None) -> Graph:
    return history.store.graph(moment or When())


def tree(graph: Graph) -> set[tuple[str, str]]:
    """What hangs on what."""
    return {(x.source, x.target) for x in graph.edges if x.kind == "extends"}


def tree_of_text(text: str) -> set[tuple[str, str]]:
    """The same of a drawing in which what hangs on something stands further right."""
    found: set[tuple[str, str]] = set()
    above: list[tuple[int, str]] = []
    for line in text.splitlines():
        name = line.lstrip(" │├└─")
        indent = len(line) - len(name)
        above = [x for x in above if x[0] < indent]
        if above:
            found.add((name, above[-1][1]))
        above.append((indent, name))
    return found


def node(graph: Graph, name: str) -> Node:
    return next(x for x in graph.nodes if x.id == name)


def links(graph: Graph, name: str) -> dict[tuple[str, str], int]:
    """Where the links of a node lead, besides to what it hangs on."""
    found = [x for x in graph.edges if x.source == name and x.kind != "extends"]
    return {(x.kind, x.target): x.count for x in found}


def test_the_graph_of_the_spec_is_drawn_from_its_events(history: History):
    """Spec 2, Event Graph (Combined): the same nodes, each hanging on the same one."""
    history.seeded(a_tool("bash"), a_tool("edit_file"))
    history.seeded(a_tool("tool_search"), a_tool("tool_explain"), a_tool("task"), kind=META)
    history.connected("filesystem-server", a_tool("read"), a_tool("write"))
    history.connected("github-server", a_tool("search"), a_tool("pr_create"))
    history.connected("code-review-agent", a_tool("review"), kind=ACP)
    graph = graph_of(history)
    names = {"project_name": graph.project.name, "repo_hash": graph.project.repo_hash}
    assert tree(graph) == tree_of_text(SPEC.format(**names))
    assert [x.id for x in graph.nodes[:2]] == [graph.project.knowledge_id, graph.project.tools_id]
    assert all(x.is_alive and x.id == x.context_id for x in graph.nodes)
    kinds = [(x.kind, x.subject and x.subject.kind.name) for x in graph.nodes]
    assert kinds[:4] == [("project", None), ("tools", None), ("tool", "tools"), ("tool", "tools")]
    assert kinds[-2:] == [("source", "acp"), ("tool", "acp")]


def test_links_are_those_of_the_events(history: History):
    """Spec 2: related_to on connect, contradicts on disconnect and change, reinforces on return."""
    history.connected("git", a_tool("log"), a_tool("diff"))
    history.lost("git")
    history.connected("git", a_tool("log"), a_tool("diff", "Another."))
    graph = graph_of(history)
    assert links(graph, "mcp:git") == {
        ("related_to", graph.project.knowledge_id): 1,
        ("contradicts", "mcp:git"): 1,
        ("reinforces", "mcp:git"): 1,
    }
    log, diff = "mcp_tool:git_log", "mcp_tool:git_diff"
    related = ("related_to", graph.project.tools_id)
    assert links(graph, log) == {related: 1, ("contradicts", log): 1, ("reinforces", log): 1}
    assert links(graph, diff) == {related: 1, ("contradicts", diff): 2}
    assert Edge("mcp_tool:git_log", "mcp:git", "extends", 2) in graph.edges


def test_what_is_dead_says_why(history: History):
    history.connected("git", a_tool("log"), a_tool("blame"))
    history.listed("git", a_tool("log"))
    history.connected("time", a_tool("now"))
    history.lost("time", "The server ended with code 3.")
    history.failed("web", "Nobody answers.")
    graph = graph_of(history)
    told = {x.id: (x.is_alive, x.state, x.why) for x in graph.nodes if not x.is_alive}
    assert told == {
        "mcp_tool:git_blame": (False, "gone", "It is not listed any more."),
        "mcp:time": (False, "at rest", "The server ended with code 3."),
        "mcp_tool:time_now": (False, "at rest", "The server ended with code 3."),
        "mcp:web": (False, "at rest", "Nobody answers."),
    }


def test_tools_whose_ids_look_alike_stay_two(history: History):
    """Names may hold the underscores by which spec 2 joins them."""
    history.connected("a", a_tool("b_c"))
    history.connected("a_b", a_tool("c"), a_tool("d"))
    history.lost("a", "Closed.")
    graph = graph_of(history)
    alike = [x for x in graph.nodes if x.context_id == "mcp_tool:a_b_c"]
    assert len({x.id for x in alike}) == 2
    assert {(x.subject and x.subject.source, x.is_alive) for x in alike} == {
        ("a", False),
        ("a_b", True),
    }
    hangs_on = dict(tree(graph))
    assert sorted(hangs_on[x.id] for x in alike) == ["mcp:a", "mcp:a_b"]
    dead = next(x for x in alike if not x.is_alive)
    assert links(graph, dead.id)["contradicts", dead.id] == 1
    assert "mcp_tool:a_b_d" in hangs_on, "no other id is touched"


def test_as_json_it_is_all_there(history: History):
    history.connected("git", a_tool("log"))
    history.lost("git", "Closed.")
    graph = graph_of(history)
    value = json.loads(json.dumps(graph.as_json()))
    assert value["project"]["repo_hash"] == graph.project.repo_hash
    assert value["nodes"][-1] == {
        "id": "mcp_tool:git_log",
        "context_id": "mcp_tool:git_log",
        "kind": "tool",
        "label": "log",
        "is_alive": False,
        "state": "at rest",
        "why": "Closed.",
        "is_enabled": True,
        "has_failed": False,
        "calls": 0,
        "errors": 0,
        "median_seconds": None,
        "p95_seconds": None,
        "source_kind": "mcp",
        "source": "git",
        "tool": "log",
    }
    assert {"source": "mcp_tool:git_log", "target": "mcp:git", "kind": "extends", "count": 1} in (
        value["edges"]
    )
