"""The event graph of some records: its nodes in the order of a tree, and the links of events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias, cast

from ..core.tools import MCP, META, STATIC
from .event import Links, Project, Subject
from .graph import Edge, EdgeKind, Graph, LinkKind, Node, NodeKind
from .records import Records, SourceRecord, is_usual_end, state_of

LinkCounts: TypeAlias = Iterable[tuple[Subject, Links, int]]
"""Number of events about a subject with these links."""
_LINK_KINDS: tuple[LinkKind, ...] = ("extends", "related_to", "reinforces", "contradicts")
_ORDER = {kind.name: i for i, kind in enumerate((STATIC, META, MCP))}
_NOT_CONNECTED = "It is not connected."


def graph_of(project: Project, records: Records, links: LinkCounts) -> Graph:
    """Return the graph of these records; `links` come from the events that made them."""
    subjects = _subjects(records)
    ids = _unique_ids(project, subjects)
    nodes = [
        Node(project.knowledge_id, "project", project.name, project.knowledge_id),
        Node(project.tools_id, "tools", "tools", project.tools_id),
        *(_node(x, ids[x], records) for x in subjects),
    ]
    edges = [Edge(project.tools_id, project.knowledge_id, "extends")]
    edges += _edges(project, ids, links)
    return Graph(project, tuple(nodes), tuple(edges))


def _subjects(records: Records) -> list[Subject]:
    """Return what sources reported, in the order of the tree, not what was only decided about."""
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


def _node(subject: Subject, name: str, records: Records) -> Node:
    if subject.tool is None:
        return _source_node(subject, name, records.sources.get(subject))
    tools = records.tools if subject.is_tool else records.features
    record, source = tools[subject], records.sources.get(subject.anchor)
    item, label = subject.item
    label = label if subject.is_tool else f"{label} ({item})"
    return Node(
        name, cast("NodeKind", item), label, subject.context_id, subject, state_of(record, source),
        record.reason, record.is_enabled, usage=record.usage,
    )  # fmt: skip


def _source_node(subject: Subject, name: str, record: SourceRecord | None) -> Node:
    node = Node(name, "source", subject.source, subject.context_id, subject)
    if record is None:
        return replace(node, state="at rest", why=_NOT_CONNECTED)
    if record.is_connected:
        return node
    why = record.last_error or record.reason
    has_failed = bool(record.last_error) or not is_usual_end(record.reason)
    return replace(node, state="at rest", why=why or _NOT_CONNECTED, has_failed=has_failed)


def _edges(project: Project, ids: Mapping[Subject, str], links: LinkCounts) -> Iterator[Edge]:
    """Yield the links of events, and what each node extends, even if the events are lost."""
    counts: Counter[tuple[str, str, EdgeKind]] = Counter()
    for subject, of_event, times in links:
        if subject in ids:
            # Ids are ambiguous, so only those that a link can mean are tried.
            near = {x.context_id: ids[x] for x in (subject.anchor, subject) if x in ids}
            near |= {x: x for x in (project.knowledge_id, project.tools_id)}
            for kind in _LINK_KINDS:
                for target in cast("tuple[str, ...]", getattr(of_event, kind)):
                    if target in near:
                        counts[ids[subject], near[target], kind] += times
    for subject, name in ids.items():
        is_inner = subject.tool is not None and subject.kind.connects
        parent = ids[subject.anchor] if is_inner else project.tools_id
        yield Edge(name, parent, "extends", counts.pop((name, parent, "extends"), 0) or 1)
    yield from (Edge(*link, times) for link, times in sorted(counts.items()))
