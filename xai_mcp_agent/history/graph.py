"""The event graph (spec 2): the project, its sources and tools, and the links between them.

knowledge:<project>_<hash>
  <hash>:tools
    tools:<name>, meta:<name>       there from the start
    mcp:<server>                    a source that connects
      mcp_tool:<server>_<name>, mcp_prompt:..., mcp_resource:..., mcp_template:...
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Literal, TypeAlias, cast

from ..core.json import JsonObject
from ..core.tools import MCP, META, STATIC, ToolKey
from .event import Links, Project, Subject
from .flowchart import Flowchart
from .records import Records, SourceRecord, ToolState, is_usual_end
from .usage import NO_USAGE, Usage

NodeKind: TypeAlias = Literal[
    "project", "tools", "source", "tool", "prompt", "resource", "template"
]
LinkKind: TypeAlias = Literal["extends", "related_to", "reinforces", "contradicts"]
EdgeKind: TypeAlias = LinkKind | Literal["belongs_to", "data_flow"]

ToolFlow: TypeAlias = "tuple[Subject, Subject, DataFlow]"
"""Flow from one tool's result to another's parameter."""

LinkCounts: TypeAlias = Iterable[tuple[Subject, Links, int]]
"""Subjects, links of their events, and the number of events with these links."""
_LINK_KINDS: tuple[LinkKind, ...] = ("extends", "related_to", "reinforces", "contradicts")
_ORDER = {kind.name: i for i, kind in enumerate((STATIC, META, MCP))}
_NOT_CONNECTED = "It is not connected."

RESTING = "starts when needed"
"""Remark on a source that is in order and not connected."""
# Limits of Mermaid, and of what a person can read.
_MOST_TOOLS, _MOST_SOURCES, _MOST_FLOWS = 300, 50, 40
_LEAST_TOOLS_OF_SOURCE = 5


@dataclass(frozen=True, slots=True)
class GraphNode:
    """Node of the graph. `why` says why it is not `available`.

    `id` is its `context_id`, with a suffix if others have the same one: names may contain the
    underscores that join them. A source is available while it is connected, and otherwise at rest:
    it starts when it is needed, unless it `has_failed`. A tool is `at rest` if its source would
    offer it, and `gone` if its source no longer does. `usage` is a tool's.
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
    def problem(self) -> str:
        """Return why it is not available, for a person; "" if it just waits for its source."""
        waits = self.is_leaf and self.state == "at rest" and is_usual_end(self.why)
        return "" if waits else self.why

    @property
    def is_leaf(self) -> bool:
        """Return whether it is a tool, a prompt or a resource."""
        return self.subject is not None and self.subject.tool is not None

    @property
    def is_alive(self) -> bool:
        """Return whether it can be used now."""
        return self.state == "available"

    def as_json(self) -> JsonObject:
        """Return every field, and its subject as names."""
        subject, usage = self.subject, self.usage
        return {
            "id": self.id, "context_id": self.context_id, "kind": self.kind, "label": self.label,
            "is_alive": self.is_alive, "state": self.state, "why": self.why,
            "is_enabled": self.is_enabled, "has_failed": self.has_failed,
            "calls": usage.calls, "errors": usage.errors,
            "median_seconds": usage.median_seconds, "p95_seconds": usage.p95_seconds,
            "source_kind": subject and subject.kind.name,
            "source": subject and subject.source, "tool": subject and subject.tool,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class DataFlow:
    """Flow from one tool to another: a path in the result, as a parameter.

    `field` is "" for the whole result. `score` is 0 to 1, `fit` the part of the shapes alone, and
    `conversion` the conversion that the value needs, "" for none.
    """

    field: str
    parameter: str
    score: float
    fit: float
    conversion: str = ""
    reasons: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """Return the field, the parameter and the score, as a label."""
        return f"{self.field or 'result'} as {self.parameter}, {self.score:.2f}"

    @property
    def why(self) -> str:
        """Return the reasons and the conversion, as text."""
        reasons = [*self.reasons, *([self.conversion] if self.conversion else [])]
        return "; ".join(reasons) or "the types fit"


@dataclass(frozen=True, slots=True)
class GraphEdge:
    """Link between nodes, by their ids, and the number of events with this link.

    An event that confirms its subject `reinforces` it; otherwise it `contradicts` it. The links
    `belongs_to`, from a tool to its source, and `data_flow`, with its `flow`, come from no event:
    they are computed for a request about one source or tool.
    """

    source: str
    target: str
    kind: EdgeKind
    count: int = 1
    flow: DataFlow | None = None

    def as_json(self) -> JsonObject:
        """Return all fields of the link, and of its flow."""
        flow = {} if self.flow is None else asdict(self.flow)
        ends = {"source": self.source, "target": self.target}
        return {**ends, "kind": self.kind, "count": self.count, **flow}


@dataclass(frozen=True)
class Graph:
    """All sources and tools that ever existed, in the order of a tree: children after parents.

    Or the neighbourhood of one source or tool (`focus`, ids of nodes), with its flows, the best
    first. `flows_left_out` counts the omitted flows, and `tools_unseen` the tools of the source
    whose flows were not computed.
    """

    project: Project
    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]
    focus: tuple[str, ...] = ()
    flows_left_out: int = 0
    tools_unseen: int = 0

    @property
    def flows(self) -> list[GraphEdge]:
        """Return the flows between its tools, the best first; none without a `focus`."""
        return [x for x in self.edges if x.flow]

    def children(self) -> dict[str, list[GraphNode]]:
        """Return the children of each node, by its id."""
        nodes = {x.id: x for x in self.nodes}
        children: dict[str, list[GraphNode]] = {x.id: [] for x in self.nodes}
        for edge in self.edges:
            if edge.kind == "extends" and edge.source != edge.target:
                children[edge.target].append(nodes[edge.source])
        return children

    def marked(self, is_off: Callable[[ToolKey], bool]) -> Graph:
        """Return the graph with the decisions about disabled tools."""

        def mark(node: GraphNode) -> GraphNode:
            if node.subject is None or not node.subject.is_tool:
                return node
            return replace(node, is_enabled=not is_off(node.subject.key))

        return replace(self, nodes=tuple(map(mark, self.nodes)))

    def as_json(self) -> JsonObject:
        """Return the project, the nodes, the edges, and the focus."""
        omitted = {"flows_left_out": self.flows_left_out, "tools_unseen": self.tools_unseen}
        return {
            "project": asdict(self.project),
            "nodes": [x.as_json() for x in self.nodes],
            "edges": [x.as_json() for x in self.edges],
            **({"focus": [*self.focus], **omitted} if self.focus else {}),
        }

    def around(
        self,
        focus: Collection[Subject],
        flows: Sequence[ToolFlow],
        flows_omitted: int = 0,
        tools_unseen: int = 0,
    ) -> Graph:
        """Return these sources with all their tools, or these tools, and the flows.

        It includes their parents, and the tools and sources at the other ends of the flows. The
        flows keep their order.
        """
        ids = {x.subject: x.id for x in self.nodes if x.subject is not None}
        tools = {*focus, *(x for producer, consumer, _ in flows for x in (producer, consumer))}
        tools |= {x for x in ids if x.anchor in focus}
        subjects = {*tools, *(x.anchor for x in tools)}
        nodes = tuple(x for x in self.nodes if x.subject is None or x.subject in subjects)
        visible = {x.id for x in nodes}
        edges = [x for x in self.edges if x.source in visible and x.target in visible]
        edges += [  # tools belong to their sources (spec 5); drawn tools have none
            GraphEdge(ids[x], ids[x.anchor], "belongs_to")
            for x in (node.subject for node in nodes)
            if x and x.tool is not None and x.anchor in ids
        ]
        edges += [
            GraphEdge(ids[producer], ids[consumer], "data_flow", flow=flow)
            for producer, consumer, flow in flows
            if producer in ids and consumer in ids
        ]
        return replace(
            self, nodes=nodes, edges=tuple(edges), focus=tuple(ids[x] for x in focus if x in ids),
            flows_left_out=flows_omitted, tools_unseen=tools_unseen,
        )  # fmt: skip

    def as_mermaid(self) -> str:
        """Return the tree as a Mermaid flowchart, without some tools of large sources.

        Flows are dotted arrows.
        """
        return _Drawing(self).text()


def graph_of(project: Project, records: Records, links: LinkCounts) -> Graph:
    """Return the graph of these records; `links` come from the events that made them."""
    subjects = _subjects(records)
    ids = _unique_ids(project, subjects)
    nodes = [
        GraphNode(project.knowledge_id, "project", project.name, project.knowledge_id),
        GraphNode(project.tools_id, "tools", "tools", project.tools_id),
        *(_node(x, ids[x], records) for x in subjects),
    ]
    edges = [GraphEdge(project.tools_id, project.knowledge_id, "extends")]
    edges += _edges(project, ids, links)
    return Graph(project, tuple(nodes), tuple(edges))


def _subjects(records: Records) -> list[Subject]:
    """Return the subjects of the tree in order, without tools that only have decisions."""
    tools = [x.subject for x in records.items.values() if x.definition]
    anchors = {x.anchor for x in tools if x.kind.connects}
    return sorted({*records.sources, *anchors, *tools}, key=_place)


def _place(subject: Subject) -> tuple[object, ...]:
    kind, (item, name) = subject.anchor.kind, subject.item
    order = _ORDER.get(kind.name, len(_ORDER))
    place = kind.connects, order, kind.name, subject.source, subject.tool is not None
    return *place, item != "tool", item, name


def _unique_ids(project: Project, subjects: Sequence[Subject]) -> dict[Subject, str]:
    """Return ids of nodes: the context ids, with digests if several have the same one."""
    counts = Counter([project.knowledge_id, project.tools_id, *(x.context_id for x in subjects)])
    return {
        x: x.context_id if counts[x.context_id] == 1 else f"{x.context_id}#{x.digest}"
        for x in subjects
    }


def _node(subject: Subject, name: str, records: Records) -> GraphNode:
    if subject.tool is None:
        return _source_node(subject, name, records.sources.get(subject))
    tools = records.tools if subject.is_tool else records.features
    record = tools[subject]
    item, label = subject.item
    label = label if subject.is_tool else f"{label} ({item})"
    return GraphNode(
        name, cast("NodeKind", item), label, subject.context_id, subject, record.state,
        record.reason, record.is_enabled, usage=record.usage,
    )  # fmt: skip


def _source_node(subject: Subject, name: str, record: SourceRecord | None) -> GraphNode:
    node = GraphNode(name, "source", subject.source, subject.context_id, subject)
    if record is None:
        return replace(node, state="at rest", why=_NOT_CONNECTED)
    if record.is_connected:
        return node
    why = record.last_error or record.reason
    has_failed = bool(record.last_error) or not is_usual_end(record.reason)
    return replace(node, state="at rest", why=why or _NOT_CONNECTED, has_failed=has_failed)


def _edges(project: Project, ids: Mapping[Subject, str], links: LinkCounts) -> Iterator[GraphEdge]:
    """Yield the links of events, and the parent of each node, even if its events are lost."""
    counts: Counter[tuple[str, str, EdgeKind]] = Counter()
    for subject, of_event, times in links:
        if subject in ids:
            # Ids are ambiguous, so only the possible targets of a link count.
            near = {x.context_id: ids[x] for x in (subject.anchor, subject) if x in ids}
            near |= {x: x for x in (project.knowledge_id, project.tools_id)}
            for kind in _LINK_KINDS:
                for target in cast("tuple[str, ...]", getattr(of_event, kind)):
                    if target in near:
                        counts[ids[subject], near[target], kind] += times
    for subject, name in ids.items():
        is_inner = subject.tool is not None and subject.kind.connects
        parent = ids[subject.anchor] if is_inner else project.tools_id
        yield GraphEdge(name, parent, "extends", counts.pop((name, parent, "extends"), 0) or 1)
    yield from (GraphEdge(*link, times) for link, times in sorted(counts.items()))


# Mermaid


class _Drawing:
    """Draws a graph: its tree, perhaps without some tools, and then the flows."""

    def __init__(self, graph: Graph) -> None:
        self._graph, self._chart, self._children = graph, Flowchart(), graph.children()
        sources = sum(x.kind == "source" for x in graph.nodes)
        self._most = max(_LEAST_TOOLS_OF_SOURCE, _MOST_TOOLS // (min(sources, _MOST_SOURCES) + 1))
        self._boxes: dict[str, str] = {}
        self._flowing = {x for edge in graph.flows for x in (edge.source, edge.target)}

    def text(self) -> str:
        """Return the whole flowchart."""
        root = self._graph.nodes[0]
        self._tree(root, self._chart.node(root.label, "project"))
        self._flows()
        return str(self._chart)

    def _tree(self, node: GraphNode, box: str) -> None:
        """Add the nodes that extend a drawn node."""
        chart, below = self._chart, self._children[node.id]
        tools = [x for x in below if x.is_leaf]
        others = [x for x in below if not x.is_leaf]
        for some, limit in ((tools, self._most), (others, _MOST_SOURCES)):
            for child in self._select(some, limit):
                here = self._node(child)
                chart.edge(box, here)
                self._tree(child, here)
            if len(some) > limit:
                chart.edge(box, chart.node(f"and {len(some) - limit} more", "more"))

    def _flows(self) -> None:
        """Add the flows between drawn tools, and count the others."""
        flows, count = self._graph.flows, 0
        for edge in flows:
            source, target = self._boxes.get(edge.source), self._boxes.get(edge.target)
            if edge.flow and source and target and count < _MOST_FLOWS:
                self._chart.flow(source, target, edge.flow.label)
                count += 1
        if omitted := self._graph.flows_left_out + len(flows) - count:
            self._chart.node(f"and {omitted} more flows", "more")

    def _node(self, node: GraphNode) -> str:
        label = node.context_id if node.kind == "tools" else node.label
        style = node.kind if node.is_alive else node.state.replace(" ", "_")
        style = "chosen" if node.id in self._graph.focus and node.is_alive else style
        is_resting = node.kind == "source" and not node.is_alive and not node.has_failed
        box = self._chart.node(label, style, RESTING if is_resting else node.problem)
        self._boxes[node.id] = box
        return box

    def _select(self, nodes: list[GraphNode], most: int) -> list[GraphNode]:
        """Return at most so many nodes in order, first those with flows and gone ones."""
        if len(nodes) <= most:
            return nodes
        first = sorted(nodes, key=lambda x: (x.id not in self._flowing, x.state != "gone"))
        visible = {x.id for x in first[:most]}
        return [x for x in nodes if x.id in visible]
