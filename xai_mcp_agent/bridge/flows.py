"""Flow of data between tools of a history: which results fit which parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import Lock
from typing import TYPE_CHECKING

from ..core.json import JsonObject
from ..core.tools import META, ToolKey

if TYPE_CHECKING:
    from ..history.event import Subject
    from ..history.graph import Graph, ToolFlow
    from ..history.history import ToolGraph
    from ..planning.flows import Flow, Flows

MOST_FLOWS = 30
"""Limit of the flows shown; nobody looks through more."""
_MOST_TOOLS = 300  # tools of a source; their flows take some seconds


class FlowFinder:
    """Finds flows to and from a source or tool, for several threads.

    It caches the parameters and results of tools until a tool changes.
    """

    def __init__(self) -> None:
        self._made: Flows | None = None
        self._digests: dict[str, str] = {}
        self._lock = Lock()

    def around(
        self,
        tool_graph: ToolGraph,
        is_off: Callable[[ToolKey], bool] | None = None,
        most: int = MOST_FLOWS,
    ) -> Graph:
        """Return the graph around a source or tool, with the best flows to and from it.

        Tools that are gone, switched off or built in have none. Without `is_off` the history says
        which are off.
        """
        graph = tool_graph.graph.marked(is_off) if is_off else tool_graph.graph
        off = {x.subject for x in graph.nodes if not x.is_enabled}
        usable = {x.digest: x for x in tool_graph.tools if x.kind != META and x not in off}
        own_keys = {
            x for x, subject in usable.items() if _is_requested(subject, tool_graph.requested)
        }
        with self._lock:
            self._update(
                {key: tool_graph.tools[subject] for key, subject in usable.items()}, usable
            )
            keys = sorted(own_keys, key=lambda x: usable[x].context_id)[:_MOST_TOOLS]
            best = self._best_flows(keys)
        flows = [_tool_flow(x, usable) for x in best[:most]]
        left_out = max(len(best) - most, 0)
        unseen = max(len(own_keys) - _MOST_TOOLS, 0)
        return graph.around(tool_graph.requested, flows, left_out, unseen)

    @property
    def _flows(self) -> Flows:
        # Imported here: most graphs have no flows.
        from ..planning.flows import Flows

        self._made = self._made or Flows()
        return self._made

    def _update(
        self, tools: Mapping[str, tuple[str, JsonObject]], subjects: Mapping[str, Subject]
    ) -> None:
        for key in self._digests.keys() - tools.keys():
            self._flows.remove(key)
            del self._digests[key]
        for key, (digest, definition) in tools.items():
            if self._digests.get(key) != digest:
                named = {"id": key, "server": subjects[key].source, "name": subjects[key].tool}
                self._flows.put({**definition, **named})
                self._digests[key] = digest

    def _best_flows(self, keys: list[str]) -> list[Flow]:
        """Return the best flow into each parameter from each tool, and from it into others."""
        best: dict[tuple[str, str, str], Flow] = {}
        for key in keys:
            ports = self._flows.ports(key)
            for flow in (*self._flows.into(ports), *self._flows.consumers(ports)):
                ends = (flow.producer, flow.consumer, flow.parameter)
                if ends not in best or best[ends].score < flow.score:
                    best[ends] = flow
        return sorted(best.values(), key=lambda x: (-x.score, x.producer, x.consumer, x.parameter))


def _is_requested(subject: Subject, requested: list[Subject]) -> bool:
    return subject in requested or subject.anchor in requested


def _tool_flow(flow: Flow, subjects: Mapping[str, Subject]) -> ToolFlow:
    from ..history.graph import DataFlow

    made = DataFlow(
        flow.field, flow.parameter, round(min(flow.score, 1.0), 3), round(flow.fit, 3),
        flow.conversion, flow.reasons,
    )  # fmt: skip
    return subjects[flow.producer], subjects[flow.consumer], made
