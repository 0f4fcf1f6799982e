"""The event graph (spec 2): what there is, what hangs on what, and what is gone and why.

knowledge:<project>_<hash>
  <hash>:tools
    tools:<name>, meta:<name>       there from the start
    mcp:<server>                    a source that connects
      mcp_tool:<server>_<name>
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Literal, TypeAlias, cast

from ..core.json import JsonObject
from ..core.tools import MCP, META, STATIC, ToolKey
from .event import Links, Project, Subject
from .flowchart import Flowchart
from .records import (
    NO_USAGE,
    Records,
    SourceRecord,
    ToolRecord,
    ToolState,
    Usage,
    is_usual_end,
    state_of,
)

NodeKind: TypeAlias = Literal["project", "tools", "source", "tool"]
LinkKind: TypeAlias = Literal["extends", "related_to", "reinforces", "contradicts"]
EdgeKind: TypeAlias = LinkKind | Literal["belongs_to", "data_flow"]
LinkCounts: TypeAlias = Iterable[tuple[Subject, Links, int]]
"""How often the events about a subject had these links."""

_LINK_KINDS: tuple[LinkKind, ...] = ("extends", "related_to", "reinforces", "contradicts")
_ORDER = {kind.name: i for i, kind in enumerate((STATIC, META, MCP))}
_NOT_CONNECTED = "It is not connected."
RESTING = "starts when needed"
"""What is said of a source that is not connected, and with which nothing is wrong."""
# What Mermaid draws at all, and what a person can still look at.
_MOST_DRAWN, _MOST_SOURCES = 300, 50
_LEAST_DRAWN_OF_A_SOURCE = 5
_MOST_FLOWS_DRAWN = 40


@dataclass(frozen=True, slots=True)
class Node:
    """Something in the graph. `why` says what happened to what is not `available`.

    `id` is its `context_id`, with something behind it where others have the same one: names may
    hold the underscores that join them. A source is available while it is connected; `at rest` is
    what its source would bring along, if that were connected, and `gone` what it went on without.
    A source that is at rest starts when it is needed, unless it `has_failed`. `usage` is that of a
    tool.
    """

    id: str
    kind: NodeKind
    label: str
    context_id: str
    subject: Subject | None = None
    state: ToolState = "available"
    why: str = ""
    is_enabled: bool = True
    has_failed: bool = False
    usage: Usage = NO_USAGE

    @property
    def told(self) -> str:
        """Why it is not available, for a person; nothing where it just waits for its source."""
        waits = self.kind == "tool" and self.state == "at rest" and is_usual_end(self.why)
        return "" if waits else self.why

    @property
    def is_alive(self) -> bool:
        """Whether it can be used now."""
        return self.state == "available"

    def as_json(self) -> JsonObject:
        """Every field, and what it is as names."""
        subject = self.subject
        return {
            "id": self.id,
            "context_id": self.context_id,
            "kind": self.kind,
            "label": self.label,
            "is_alive": self.is_alive,
            "state": self.state,
            "why": self.why,
            "is_enabled": self.is_enabled,
            "has_failed": self.has_failed,
            "calls": self.usage.calls,
            "errors": self.usage.errors,
            "median_seconds": self.usage.median_seconds,
            "p95_seconds": self.usage.p95_seconds,
            "source_kind": subject and subject.kind.name,
            "source": subject and subject.source,
            "tool": subject and subject.tool,
        }


@dataclass(frozen=True, slots=True)
class DataFlow:
    """What one tool gives may be taken by another: a path in the result, as a parameter.

    `field` is "" for all of the result. `score` is 0 to 1, `fit` what the shapes alone say, and
    `conversion` what has to be done to the value, "" for nothing.
    """

    field: str
    parameter: str
    score: float
    fit: float
    conversion: str = ""
    reasons: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """What flows, and how well it fits."""
        return f"{self.field or 'result'} as {self.parameter}, {self.score:.2f}"

    @property
    def why(self) -> str:
        """The reasons and the conversion, in words."""
        said = [*self.reasons, *([self.conversion] if self.conversion else [])]
        return "; ".join(said) or "the types fit"


@dataclass(frozen=True, slots=True)
class Edge:
    """A link between nodes, by their ids, and how many events said so.

    An event that confirms what was known `reinforces` its own subject, or `contradicts` it. That a
    tool `belongs_to` its source, and what may flow between tools (`data_flow`, with its `flow`), no
    event says: it is worked out where somebody asks for one source or tool.
    """

    source: str
    target: str
    kind: EdgeKind
    count: int = 1
    flow: DataFlow | None = None

    def as_json(self) -> JsonObject:
        """The link; of a flow also what flows, and why."""
        link: JsonObject = {
            "source": self.source,
            "target": self.target,
            "kind": self.kind,
            "count": self.count,
        }
        return link if self.flow is None else link | asdict(self.flow)


@dataclass(frozen=True)
class Graph:
    """All there ever was. The nodes are in the order of a tree: each behind what it extends.

    Or what is around one source or tool (`focus`, ids of nodes), with what flows into it and out
    of it, the best first: of further flows `flows_left_out` tells how many, and `tools_unseen` of
    how many tools of the source nobody looked for any.
    """

    project: Project
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    focus: tuple[str, ...] = ()
    flows_left_out: int = 0
    tools_unseen: int = 0

    @property
    def flows(self) -> list[Edge]:
        """What may flow between its tools, the best first; none without a `focus`."""
        return [x for x in self.edges if x.flow]

    def children(self) -> dict[str, list[Node]]:
        """The nodes that extend a node, by its id."""
        nodes = {x.id: x for x in self.nodes}
        found: dict[str, list[Node]] = {x.id: [] for x in self.nodes}
        for edge in self.edges:
            if edge.kind == "extends" and edge.source != edge.target:
                found[edge.target].append(nodes[edge.source])
        return found

    def marked(self, is_off: Callable[[ToolKey], bool]) -> Graph:
        """The same with this word about which tools are switched off."""

        def mark(node: Node) -> Node:
            if node.subject is None or node.subject.tool is None:
                return node
            return replace(node, is_enabled=not is_off(node.subject.key))

        return replace(self, nodes=tuple(map(mark, self.nodes)))

    def as_json(self) -> JsonObject:
        """The project, the nodes and the edges, and what they are around."""
        told: JsonObject = {
            "project": {"name": self.project.name, "repo_hash": self.project.repo_hash},
            "nodes": [x.as_json() for x in self.nodes],
            "edges": [x.as_json() for x in self.edges],
        }
        if self.focus:
            told |= {
                "focus": [*self.focus],
                "flows_left_out": self.flows_left_out,
                "tools_unseen": self.tools_unseen,
            }
        return told

    def as_mermaid(self) -> str:
        """The tree as a Mermaid flowchart. Of very many tools of a source, some stand for all.

        What may flow is a dotted arrow.
        """
        chart, children = Flowchart(), self.children()
        sources = sum(x.kind == "source" for x in self.nodes)
        most = max(_LEAST_DRAWN_OF_A_SOURCE, _MOST_DRAWN // (min(sources, _MOST_SOURCES) + 1))
        drawing = _Drawing(self, chart, children, most)
        drawing.tree(self.nodes[0], chart.node(self.nodes[0].label, "project"))
        drawing.flows()
        return str(chart)


def graph_of(project: Project, records: Records, links: LinkCounts) -> Graph:
    """The graph of these records; `links` are those of the events that made them."""
    subjects = _subjects(records)
    ids = _unique(project, subjects)
    nodes = [
        Node(project.knowledge_id, "project", project.name, project.knowledge_id),
        Node(project.tools_id, "tools", "tools", project.tools_id),
        *(_node(x, ids[x], records) for x in subjects),
    ]
    edges = [Edge(project.tools_id, project.knowledge_id, "extends")]
    edges += _edges(project, ids, links)
    return Graph(project, tuple(nodes), tuple(edges))


def _subjects(records: Records) -> list[Subject]:
    """What sources told of, in the order of the tree. Not what was only decided about."""
    tools = [x.subject for x in records.tools.values() if x.definition]
    anchors = {x.anchor for x in tools if x.kind.connects}
    return sorted({*records.sources, *anchors, *tools}, key=_place)


def _place(subject: Subject) -> tuple[object, ...]:
    kind, tool = subject.kind, subject.tool
    order = _ORDER.get(kind.name, len(_ORDER))
    return kind.connects, order, kind.name, subject.source, tool is not None, tool or ""


def _unique(project: Project, subjects: Iterable[Subject]) -> dict[Subject, str]:
    """Ids of nodes: the context ids, and where several have the same one, more behind it."""
    subjects = list(subjects)
    count = Counter((project.knowledge_id, project.tools_id, *(x.context_id for x in subjects)))
    taken = {name for name, times in count.items() if times == 1}
    taken |= {project.knowledge_id, project.tools_id}
    ids: dict[Subject, str] = {}
    for subject in subjects:
        name = subject.context_id
        is_shared = count[name] > 1
        while is_shared and (name == subject.context_id or name in taken):
            name = f"{name}#{subject.digest}"
        taken.add(name)
        ids[subject] = name
    return ids


def _node(subject: Subject, name: str, records: Records) -> Node:
    if subject.tool is None:
        return _source_node(subject, name, records.sources.get(subject))
    return _tool_node(name, records.tools[subject], records.sources.get(subject.anchor))


def _source_node(subject: Subject, name: str, record: SourceRecord | None) -> Node:
    is_connected = record is not None and record.is_connected
    why = "" if is_connected else _why_not(record)
    state: ToolState = "available" if is_connected else "at rest"
    has_failed = not is_connected and not _is_resting(record)
    return Node(
        name, "source", subject.source, subject.context_id, subject, state, why,
        has_failed=has_failed,
    )  # fmt: skip


def _is_resting(record: SourceRecord | None) -> bool:
    """Whether nothing is wrong with it: nobody needs it now."""
    return record is None or (not record.last_error and is_usual_end(record.reason))


def _why_not(record: SourceRecord | None) -> str:
    return (record and (record.last_error or record.reason)) or _NOT_CONNECTED


def _tool_node(name: str, record: ToolRecord, source: SourceRecord | None) -> Node:
    return Node(
        name,
        "tool",
        record.name,
        record.subject.context_id,
        record.subject,
        state_of(record, source),
        record.reason,
        record.is_enabled,
        usage=record.usage,
    )


def _edges(project: Project, ids: Mapping[Subject, str], links: LinkCounts) -> Iterator[Edge]:
    """What events linked, and what each thing hangs on, even if the events are lost."""
    counts: Counter[tuple[str, str, EdgeKind]] = Counter()
    for subject, of_event, times in links:
        for kind in _LINK_KINDS if subject in ids else ():
            for target in cast("tuple[str, ...]", getattr(of_event, kind)):
                if found := _target(project, ids, subject, target):
                    counts[ids[subject], found, kind] += times
    for subject, name in ids.items():
        hangs_on = _hangs_on(project, ids, subject)
        yield Edge(name, hangs_on, "extends", counts.pop((name, hangs_on, "extends"), 0) or 1)
    yield from (Edge(*link, times) for link, times in sorted(counts.items()))


def _hangs_on(project: Project, ids: Mapping[Subject, str], subject: Subject) -> str:
    if subject.tool is None or not subject.kind.connects:
        return project.tools_id
    return ids[subject.anchor]


def _target(
    project: Project, ids: Mapping[Subject, str], subject: Subject, target: str
) -> str | None:
    """The node that a link leads to. Ids look alike, so only those that it can mean are tried."""
    if target in (project.knowledge_id, project.tools_id):
        return target
    near = (subject, subject.anchor)
    return next((ids[x] for x in near if x in ids and x.context_id == target), None)


class _Drawing:
    """Draws a graph: its tree, of which not all may be shown, and then what flows."""

    def __init__(
        self, graph: Graph, chart: Flowchart, children: Mapping[str, list[Node]], most: int
    ) -> None:
        self._graph, self._chart, self._children, self._most = graph, chart, children, most
        self._drawn: dict[str, str] = {}
        self._flowing = {x for edge in graph.flows for x in (edge.source, edge.target)}

    def tree(self, node: Node, drawn: str) -> None:
        """What hangs on a node that was drawn."""
        chart, below = self._chart, self._children[node.id]
        tools = [x for x in below if x.kind == "tool"]
        others = [x for x in below if x.kind != "tool"]
        for some, limit in ((tools, self._most), (others, _MOST_SOURCES)):
            for child in self._shown(some, limit):
                here = self._node(child)
                chart.edge(drawn, here)
                self.tree(child, here)
            if len(some) > limit:
                chart.edge(drawn, chart.node(f"and {len(some) - limit} more", "more"))

    def flows(self) -> None:
        """What may flow between tools that were drawn, and how much more there is."""
        flows, count = self._graph.flows, 0
        for edge in flows:
            source, target = self._drawn.get(edge.source), self._drawn.get(edge.target)
            if edge.flow and source and target and count < _MOST_FLOWS_DRAWN:
                self._chart.flow(source, target, edge.flow.label)
                count += 1
        if left_out := self._graph.flows_left_out + len(flows) - count:
            self._chart.node(f"and {left_out} more flows", "more")

    def _node(self, node: Node) -> str:
        label = node.context_id if node.kind == "tools" else node.label
        style = node.kind if node.is_alive else node.state.replace(" ", "_")
        style = "chosen" if node.id in self._graph.focus and node.is_alive else style
        is_resting = node.kind == "source" and not node.is_alive and not node.has_failed
        drawn = self._chart.node(label, style, RESTING if is_resting else node.told)
        self._drawn[node.id] = drawn
        return drawn

    def _shown(self, nodes: list[Node], most: int) -> list[Node]:
        """As many as can be shown; before others what flows, and is gone: people look for it."""
        if len(nodes) <= most:
            return nodes
        chosen = sorted(range(len(nodes)), key=lambda i: self._comes_last(nodes[i]))[:most]
        return [nodes[i] for i in sorted(chosen)]

    def _comes_last(self, node: Node) -> tuple[bool, bool]:
        return node.id not in self._flowing, node.state != "gone"
