"""The event graph as one self-contained HTML file."""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path

from ..console.text import count, counts, template
from ..history.graph import RESTING, Graph, Node
from ..history.records import ToolState, Usage
from ..history.wording import plain
from .flows import flow_drawing
from .times import seconds_text

_FOLDER = Path(__file__).parent
_NAME_CHARS, _REASON_CHARS = 200, 400
_GROUP = 100  # tools; more in one list are too many to look through
_OPEN_TOOLS = 120  # of all sources together, before the others are folded: some screens
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


@dataclass(frozen=True)
class _Leaf:
    """A tool as it is shown. `is_told` when its reason can be seen, and not only be hovered."""

    name: str
    item: str
    state: ToolState
    why: str
    is_told: bool
    is_enabled: bool
    remark: str
    has_failed: bool
    usage: Usage

    @property
    def speed(self) -> str:
        """How long its recent calls took."""
        took = (self.usage.median_seconds or 0, self.usage.p95_seconds or 0)
        half, most = map(seconds_text, took)
        return f"half within {half}, 95 of 100 within {most}"


@dataclass(frozen=True)
class _Leaves:
    """A list of tools."""

    tools: list[_Leaf]

    @property
    def title(self) -> str:
        """The names between which its names are."""
        return f"{self.tools[0].name} … {self.tools[-1].name}"

    @cached_property
    def count(self) -> str:
        """How many, how many of them are gone or switched off, and how often they were called."""
        if not self.tools:
            return count(0, "tool")
        states = Counter(x.state for x in self.tools)
        off = sum(not x.is_enabled for x in self.tools)
        parts = [counts(Counter(x.item for x in self.tools))]
        parts += [f"{states['gone']:,} gone"] if states["gone"] else []
        parts += [f"{off:,} switched off"] if off else []
        calls, failed = (sum(x) for x in zip(*map(_calls_of, self.tools), strict=True))
        parts += [count(calls, "call")] if calls else []
        parts += [f"{failed:,} failed"] if failed else []
        return ", ".join(parts)


@dataclass(frozen=True)
class _Branch(_Leaves):
    """A source, or tools that are there from the start."""

    name: str
    kind: str
    context_id: str
    state: ToolState | None
    why: str
    remark: str
    is_open: bool
    has_failed: bool

    @property
    def shown_state(self) -> str:
        """Whether it can be used now, or what it waits for."""
        if self.state == "available":
            return "connected"
        return "not connected" if self.has_failed else RESTING

    @property
    def groups(self) -> list[_Leaves]:
        """Its tools in lists that can be looked through."""
        starts = range(0, len(self.tools), _GROUP)
        return [_Leaves(self.tools[first : first + _GROUP]) for first in starts]


def graph_page(graph: Graph, as_of: datetime | None = None) -> str:
    """The page. `as_of` is the time that the graph is of, if it is not as things are now."""
    branches = _branches(graph)
    states = Counter(tool.state for branch in branches for tool in branch.tools)
    style, script = ((_FOLDER / x).read_text(encoding="utf-8") for x in ("graph.css", "graph.js"))
    return template(_FOLDER / "graph.html").render(
        project=plain(graph.project.name, _NAME_CHARS),
        knowledge_id=plain(graph.project.knowledge_id, _NAME_CHARS),
        tools_id=plain(graph.project.tools_id, _NAME_CHARS),
        branches=branches,
        flows=flow_drawing(graph),
        states=[(state, word, states[state]) for state, word in _WORDS.items() if states[state]],
        words=_WORDS,
        as_of=as_of and as_of.astimezone().strftime("%Y-%m-%d %H:%M:%S %Z"),
        style=style,
        script=script,
        policy=f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; "
        "img-src data:; base-uri 'none'; form-action 'none'",
    )


def _branches(graph: Graph) -> list[_Branch]:
    remarks, children = _remarks(graph), graph.children()
    hub = children[graph.project.tools_id]
    found: list[_Branch] = []
    room = _OPEN_TOOLS
    for name, node, tools in _grouped(hub, children):
        leaves = [_leaf(x, node, remarks) for x in tools]
        room -= len(leaves)
        found.append(_branch(name, node, leaves, remarks, is_open=room >= 0))
    return found


def _grouped(
    hub: Iterable[Node], children: Mapping[str, list[Node]]
) -> list[tuple[str, Node | None, list[Node]]]:
    """What hangs on the project: sources, and tools that are there from the start by their kind."""
    from_the_start: dict[str, list[Node]] = {}
    sources: list[tuple[str, Node | None, list[Node]]] = []
    for node in hub:
        if node.kind == "source":
            sources.append((node.label, node, children[node.id]))
        elif node.subject is not None:
            from_the_start.setdefault(node.subject.kind.name, []).append(node)
    return [(_TITLES.get(kind, kind), None, x) for kind, x in from_the_start.items()] + sources


def _branch(
    name: str, node: Node | None, leaves: list[_Leaf], remarks: Mapping[str, str], *, is_open: bool
) -> _Branch:
    kind = node.subject.kind.name if node and node.subject else ""
    return _Branch(
        tools=leaves,
        name=plain(name, _NAME_CHARS),
        kind=_KINDS.get(kind, kind),
        context_id=plain(node.context_id, _NAME_CHARS) if node else "",
        state=node.state if node else None,
        why=plain(node.told, _REASON_CHARS) if node and node.has_failed else "",
        remark=remarks.get(node.id, "") if node else "",
        is_open=is_open,
        has_failed=bool(node and node.has_failed),
    )


def _leaf(node: Node, source: Node | None, remarks: Mapping[str, str]) -> _Leaf:
    return _Leaf(
        name=plain(node.label, _NAME_CHARS) or "(no name)",
        item=node.kind,
        state=node.state,
        why=plain(node.why, _REASON_CHARS),
        # What went with its source has its reason, which is told there.
        is_told=bool(node.told) and (source is None or node.state == "gone"),
        is_enabled=node.is_enabled,
        remark=" · ".join(x for x in (plain(node.context_id, 99), remarks.get(node.id)) if x),
        has_failed=bool(source and source.has_failed) and node.state == "at rest",
        usage=node.usage,
    )


def _calls_of(tool: _Leaf) -> tuple[int, int]:
    return tool.usage.calls, tool.usage.errors


def _remarks(graph: Graph) -> dict[str, str]:
    """How often each node was confirmed and contradicted."""
    found: dict[str, list[str]] = {}
    verbs = {"reinforces": "confirmed", "contradicts": "contradicted"}
    for edge in graph.edges:
        if edge.kind in verbs:
            times = "once" if edge.count == 1 else f"{edge.count:,} times"
            found.setdefault(edge.source, []).append(f"{verbs[edge.kind]} {times}")
    return {name: ", ".join(sorted(parts, reverse=True)) for name, parts in found.items()}


def _hash(text: str) -> str:
    """By which a browser knows that this, and nothing that was slipped in, is ours."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
