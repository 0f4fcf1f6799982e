"""The part of the graph around one source or tool: what belongs to it, what flows in and out."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from .event import Subject
from .graph import DataFlow, Edge, Graph, Node


@dataclass(frozen=True, slots=True)
class ToolFlow:
    """What one tool gives and another one may take."""

    producer: Subject
    consumer: Subject
    flow: DataFlow


def focused(
    graph: Graph,
    chosen: Collection[Subject],
    flows: Sequence[ToolFlow],
    left_out: int = 0,
    unseen: int = 0,
) -> Graph:
    """The chosen sources with all their tools, or the chosen tools; and what flows to and from it.

    With what these hang on. The tools that have to do with it by a flow are there with their
    sources, and the flows in their order. `left_out` and `unseen` are told as they are.
    """
    ids = {x.subject: x.id for x in graph.nodes if x.subject is not None}
    wanted = _wanted(graph, chosen, flows)
    nodes = tuple(x for x in graph.nodes if x.subject is None or x.subject in wanted)
    kept = {x.id for x in nodes}
    edges = [x for x in graph.edges if x.source in kept and x.target in kept]
    edges += _belongings(nodes, ids)
    edges += [
        Edge(ids[x.producer], ids[x.consumer], "data_flow", flow=x.flow)
        for x in flows
        if x.producer in ids and x.consumer in ids
    ]
    focus = tuple(ids[x] for x in chosen if x in ids)
    return replace(
        graph, nodes=nodes, edges=tuple(edges), focus=focus, flows_left_out=left_out,
        tools_unseen=unseen,
    )  # fmt: skip


def _wanted(
    graph: Graph, chosen: Collection[Subject], flows: Iterable[ToolFlow]
) -> set[Subject | None]:
    tools = {y for x in flows for y in (x.producer, x.consumer)} | {*chosen}
    tools |= {x.subject for x in graph.nodes if x.subject and x.subject.anchor in chosen}
    return {*tools, *(x.anchor for x in tools)}


def _belongings(nodes: Iterable[Node], ids: dict[Subject, str]) -> Iterator[Edge]:
    """That tools belong to their sources (spec 5); those that are drawn have none."""
    for node in nodes:
        if node.subject and node.subject.tool is not None and node.subject.anchor in ids:
            yield Edge(node.id, ids[node.subject.anchor], "belongs_to")
