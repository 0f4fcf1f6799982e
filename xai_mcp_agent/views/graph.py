"""The event graph as one self-contained HTML file."""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from ..console.text import count, counts, template
from ..core.json import JsonObject
from ..history.graph import RESTING, Graph, GraphNode
from ..history.records import ToolState
from ..history.usage import Usage
from ..history.wording import plain
from .flows import flow_lines, flow_notes, flow_title
from .times import seconds_text

_FOLDER = Path(__file__).parent
_NAME_CHARS, _REASON_CHARS = 200, 400
_GROUP = 100  # tools; nobody reads a longer list
_OPEN_TOOLS = 120  # lines of all sources together, before the others are folded
_TITLES = {"tools": "Drawn on the canvas", "meta": "Always there"}
_KINDS = {
    "mcp": "MCP server",
    "functions": "file of functions",
    "builtin": "built-in tools",
}
_WORDS: Mapping[ToolState, str] = {
    "available": "connected now",
    "at rest": "start when needed",
    "gone": "gone",
}


def graph_page(graph: Graph, as_of: datetime | None = None) -> str:
    """Return the page. `as_of` is the time of the graph, unless it is the present."""
    branches = _branches(graph)
    states = Counter(tool["state"] for branch in branches for tool in branch["tools"])
    style, script = ((_FOLDER / x).read_text(encoding="utf-8") for x in ("graph.css", "graph.js"))
    return template(_FOLDER / "graph.html").render(
        project=plain(graph.project.name, _NAME_CHARS),
        knowledge_id=plain(graph.project.knowledge_id, _NAME_CHARS),
        tools_id=plain(graph.project.tools_id, _NAME_CHARS),
        branches=branches,
        focus=flow_title(graph),
        flows=flow_lines(graph),
        notes=flow_notes(graph),
        states=[(state, word, states[state]) for state, word in _WORDS.items() if states[state]],
        words=_WORDS,
        as_of=as_of and as_of.astimezone().strftime("%Y-%m-%d %H:%M:%S %Z"),
        style=style,
        script=script,
        policy=f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; "
        "img-src data:; base-uri 'none'; form-action 'none'",
    )


def _branches(graph: Graph) -> list[JsonObject]:
    remarks = _remarks(graph)
    branches: list[JsonObject] = []
    room = _OPEN_TOOLS
    for name, node, tools in _group(graph):
        room -= len(tools)
        leaves = [_leaf(x, node, remarks) for x in tools]
        branches.append({**_branch(name, node, leaves, remarks), "is_open": room >= 0})
    return branches


def _group(graph: Graph) -> Iterator[tuple[str, GraphNode | None, list[GraphNode]]]:
    """Yield the branches of the project: seeded tools by kind, and sources with their tools."""
    children = graph.children()
    hub = children[graph.project.tools_id]
    seeded: dict[str, list[GraphNode]] = {}
    for node in hub:
        if node.kind != "source" and node.subject is not None:
            seeded.setdefault(node.subject.kind.name, []).append(node)
    for kind, tools in seeded.items():
        yield _TITLES.get(kind, kind), None, tools
    for node in hub:
        if node.kind == "source":
            yield node.label, node, children[node.id]


def _branch(
    name: str, node: GraphNode | None, tools: Sequence[JsonObject], remarks: Mapping[str, str]
) -> JsonObject:
    """Return a source, or the seeded tools of a kind, in lists short enough to read."""
    kind = node.subject.kind.name if node and node.subject else ""
    has_failed = bool(node and node.has_failed)
    is_connected = bool(node and node.state == "available")
    return {
        **_tools(tools),
        "groups": [_tools(tools[n : n + _GROUP]) for n in range(0, len(tools), _GROUP)],
        "name": plain(name, _NAME_CHARS),
        "kind": _KINDS.get(kind, kind),
        "context_id": plain(node.context_id, _NAME_CHARS) if node else "",
        "state": node.state if node else None,
        "state_text": "connected" if is_connected else "not connected" if has_failed else RESTING,
        "why": plain(node.problem, _REASON_CHARS) if node and has_failed else "",
        "remark": remarks.get(node.id, "") if node else "",
        "has_failed": has_failed,
    }


def _tools(tools: Sequence[JsonObject]) -> JsonObject:
    """Return a list of tools with its first and last name and its counts."""
    names = [x["name"] for x in tools]
    return {"tools": tools, "count": _counts(tools), "title": " … ".join([*names[:1], *names[-1:]])}


def _counts(tools: Sequence[JsonObject]) -> str:
    """Return counts of these tools: all, gone, switched off, calls, failed calls."""
    if not tools:
        return count(0, "tool")
    usages: list[Usage] = [x["usage"] for x in tools]
    calls, failed = sum(x.calls for x in usages), sum(x.errors for x in usages)
    parts = {
        "gone": sum(x["state"] == "gone" for x in tools),
        "switched off": sum(not x["is_enabled"] for x in tools),
        f"call{'' if calls == 1 else 's'}": calls,
        "failed": failed,
    }
    numbers = [f"{number:,} {what}" for what, number in parts.items() if number]
    return ", ".join([counts(Counter(x["item"] for x in tools)), *numbers])


def _leaf(node: GraphNode, source: GraphNode | None, remarks: Mapping[str, str]) -> JsonObject:
    """Return a tool for display. With `shows_why` its reason is visible without hovering."""
    usage = node.usage
    median, p95 = (seconds_text(x or 0) for x in (usage.median_seconds, usage.p95_seconds))
    return {
        "name": plain(node.label, _NAME_CHARS) or "(no name)",
        "item": node.kind,
        "state": node.state,
        "why": plain(node.why, _REASON_CHARS),
        # A tool that was lost with its source has the same reason, which the source shows.
        "shows_why": bool(node.problem) and (source is None or node.state == "gone"),
        "is_enabled": node.is_enabled,
        "remark": " · ".join(x for x in (plain(node.context_id, 99), remarks.get(node.id)) if x),
        "has_failed": bool(source and source.has_failed) and node.state == "at rest",
        "usage": usage,
        "speed": f"median {median}, p95 {p95}",
    }


def _remarks(graph: Graph) -> dict[str, str]:
    """Return the remarks of nodes: how often each was confirmed and contradicted."""
    remarks: dict[str, list[str]] = {}
    verbs = {"reinforces": "confirmed", "contradicts": "contradicted"}
    for edge in graph.edges:
        if edge.kind in verbs:
            times = "once" if edge.count == 1 else f"{edge.count:,} times"
            remarks.setdefault(edge.source, []).append(f"{verbs[edge.kind]} {times}")
    return {name: ", ".join(sorted(parts, reverse=True)) for name, parts in remarks.items()}


def _hash(text: str) -> str:
    """Return the hash by which a browser accepts our style or script."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
