"""Flow of data between tools of a history: which results fit which parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ..core.tools import META, ToolKey

if TYPE_CHECKING:
    from ..history.event import Subject
    from ..history.graph import Graph, ToolFlow
    from ..history.history import ToolGraph
    from ..planning.flows import Flow, Flows

MOST_FLOWS = 30
"""Default number of flows in a graph."""
_MOST_TOOLS = 300  # tools of a source; their flows take some seconds


def flows_around(
    tool_graph: ToolGraph,
    is_off: Callable[[ToolKey], bool] | None = None,
    most: int = MOST_FLOWS,
) -> Graph:
    """Return the graph around a source or tool, with the best flows to and from it.

    Tools that are gone, switched off or built in have none. Without `is_off` the history says
    which are off.
    """
    # Imported here: most graphs have no flows.
    from ..planning.flows import Flows

    graph = tool_graph.graph.marked(is_off) if is_off else tool_graph.graph
    off = {x.subject for x in graph.nodes if not x.is_enabled}
    usable = {x.digest: x for x in tool_graph.tools if x.kind != META and x not in off}
    own = [key for key, x in usable.items() if _is_requested(x, tool_graph.requested)]
    flows = Flows()
    for key, subject in usable.items():
        identity = {"id": key, "server": subject.source, "name": subject.tool}
        flows.put({**tool_graph.tools[subject][1], **identity})
    keys = sorted(own, key=lambda x: usable[x].context_id)[:_MOST_TOOLS]
    best = _best_flows(flows, keys)
    visible = [_tool_flow(x, usable) for x in best[:most]]
    omitted, skipped_tools = max(len(best) - most, 0), max(len(own) - _MOST_TOOLS, 0)
    return graph.around(tool_graph.requested, visible, omitted, skipped_tools)


def _best_flows(flows: Flows, keys: list[str]) -> list[Flow]:
    """Return the best flow into each parameter from each tool, and from it into others."""
    best: dict[tuple[str, str, str], Flow] = {}
    for key in keys:
        ports = flows.ports(key)
        for flow in (*flows.into(ports), *flows.consumers(ports)):
            ends = (flow.producer, flow.consumer, flow.parameter)
            if ends not in best or best[ends].score < flow.score:
                best[ends] = flow
    return sorted(best.values(), key=lambda x: (-x.score, x.producer, x.consumer, x.parameter))


def _is_requested(subject: Subject, requested: list[Subject]) -> bool:
    return subject in requested or subject.anchor in requested


def _tool_flow(flow: Flow, subjects: Mapping[str, Subject]) -> ToolFlow:
    from ..history.graph import DataFlow

    data_flow = DataFlow(
        flow.field, flow.parameter, round(min(flow.score, 1.0), 3), round(flow.fit, 3),
        flow.conversion, flow.reasons,
    )  # fmt: skip
    return subjects[flow.producer], subjects[flow.consumer], data_flow
