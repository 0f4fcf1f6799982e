"""Quality of plans: tools, edges and bindings against gold, by sets; and the next tool."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from xai_mcp_agent.planning import Planner
from xai_mcp_agent.search import ToolIndex
from xai_mcp_agent.search.terms import clauses

from ..search.quality import table_of
from ..search.sets import Json
from .sets import PlanSet, as_prediction, of_tools, score

SUGGESTED = 5
CLAUSES, PLAN, GIVEN = "clause search", "plan", "tools given"
# What the mean over the sets should reach; of the edit distance, at most.
_GOALS = {
    (PLAN, "node_f1"): 0.59, (PLAN, "edge_f1"): 0.26, (PLAN, "ned"): 0.47,
    (GIVEN, "edge_f1"): 0.72, (GIVEN, "bind_f1"): 0.60,
}  # fmt: skip
_NEXT_GOAL = 0.75
_SHOWN = (
    (CLAUSES, "node_f1"), (PLAN, "node_f1"), (PLAN, "edge_f1"), (PLAN, "ned"), (PLAN, "exact"),
    (GIVEN, "edge_f1"), (GIVEN, "bind_f1"), (GIVEN, "field_acc"),
)  # fmt: skip
_NAMES = {
    "node_f1": "node F1", "edge_f1": "edge F1", "ned": "edit distance", "exact": "whole plans",
    "bind_f1": "binding F1", "field_acc": "field",
}  # fmt: skip


@dataclass(frozen=True)
class Scored:
    """The figures of one set by way, and how often the next tool is among five."""

    name: str
    tools: int
    plans: int
    figures: dict[str, dict[str, Any]]
    next_known: float | None
    next_unknown: float | None

    def figure(self, way: str, key: str) -> float | None:
        """One of the figures; None where the set does not have it."""
        return self.figures.get(way, {}).get(key)


def measure(sets: Sequence[PlanSet], scorer: Path) -> list[Scored]:
    """All sets, one after the other."""
    found: list[Scored] = []
    for one in sets:
        found.append(_measured(one, scorer))
        nodes = found[-1].figure(PLAN, "node_f1")
        print(f"{one.name}: nodes {nodes:.3f}", flush=True)
    return found


def _measured(of: PlanSet, scorer: Path) -> Scored:
    planner = Planner(of.tools)
    ways: dict[str, Callable[[Json], Json]] = {
        CLAUSES: _clause_search(of),
        PLAN: lambda x: as_prediction(planner.plan(x["request"])),
    }
    if of.has_data_edges:
        ways[GIVEN] = lambda x: as_prediction(planner.wire(x["request"], _tools(x)))
    figures = {way: score(scorer, of.plans, [do(x) for x in of.plans]) for way, do in ways.items()}
    known = _next_hits(of, planner, with_request=True) if of.has_order else None
    unknown = _next_hits(of, planner, with_request=False) if of.has_order else None
    return Scored(of.name, len(of.tools), len(of.plans), figures, known, unknown)


def _clause_search(of: PlanSet) -> Callable[[Json], Json]:
    """The best tool for each clause of a request."""
    index = ToolIndex[Json](of.tools)

    def search(plan: Json) -> Json:
        hits = (index.search(x, 1) for x in clauses(plan["request"]))
        return of_tools([x.tool["id"] for hit in hits for x in hit])

    return search


def _next_hits(of: PlanSet, planner: Planner, *, with_request: bool) -> float | None:
    """Return how often the next tool is among the suggestions.

    What followed a tool in the plans at even places is known at the odd ones, and the reverse.
    """
    followed = [_followers(of.plans[1::2]), _followers(of.plans[::2])]
    hits = count = 0
    for number, plan in enumerate(of.plans):
        tools = _tools(plan)
        for place in range(1, len(tools)):
            request = plan["request"] if with_request else None
            before = followed[number % 2].get(tools[place - 1])
            found = planner.next_tools(tools[:place], request, SUGGESTED, before)
            hits += tools[place] in [x.tool for x in found]
            count += 1
    return hits / count if count else None


def _followers(plans: Iterable[Json]) -> dict[str, Counter[str]]:
    """Count which tool comes after which."""
    found: dict[str, Counter[str]] = {}
    for plan in plans:
        for one, following in pairwise(_tools(plan)):
            found.setdefault(one, Counter())[following] += 1
    return found


def _tools(plan: Json) -> list[str]:
    return [x["tool"] for x in plan["calls"]]


def macro(scored: Iterable[Scored], way: str, key: str) -> float | None:
    """The plain mean over the sets that have the figure."""
    return _mean([x for one in scored if (x := one.figure(way, key)) is not None])


def misses(scored: Sequence[Scored]) -> list[str]:
    """Goals that are not reached."""
    said: list[str] = []
    for (way, key), goal in _GOALS.items():
        value = macro(scored, way, key)
        if value is not None and (value > goal if key == "ned" else value < goal):
            said.append(f"{way}: {_NAMES[key]} is {value:.3f}, not {goal:g}")
    for one in scored:
        said += _misses_of(one)
    known = [x.next_known for x in scored if x.next_known is not None]
    if known and sum(known) / len(known) < _NEXT_GOAL:
        said.append(f"next tool: {sum(known) / len(known):.3f}, not {_NEXT_GOAL:g}")
    return said


def _misses_of(one: Scored) -> list[str]:
    said: list[str] = []
    nodes, clause = one.figure(PLAN, "node_f1"), one.figure(CLAUSES, "node_f1")
    if nodes is not None and clause is not None and nodes < clause:
        said.append(f"{one.name}: nodes are {nodes:.3f}, {clause:.3f} by clause search")
    return said


def markdown(scored: Sequence[Scored]) -> str:
    """The means over all sets, each with its goal."""
    lines = [["mean of the sets", "measured", "goal"]]
    for way, key in _SHOWN:
        lines.append([f"{_NAMES[key]}, {way}", _cell(macro(scored, way, key)), _goal(way, key)])
    known = [x.next_known for x in scored if x.next_known is not None]
    unknown = [x.next_unknown for x in scored if x.next_unknown is not None]
    lines.append(["next tool, request known", _cell(_mean(known)), f"{_NEXT_GOAL:g}"])
    lines.append(["next tool, request not known", _cell(_mean(unknown)), ""])
    return table_of(lines)


def _mean(figures: Sequence[float]) -> float | None:
    return sum(figures) / len(figures) if figures else None


def _goal(way: str, key: str) -> str:
    goal = _GOALS.get((way, key))
    if goal is None:
        return ""
    return f"at most {goal:g}" if key == "ned" else f"{goal:g}"


def _cell(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
