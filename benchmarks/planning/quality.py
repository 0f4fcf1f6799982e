"""Quality of plans: tools, edges and bindings against gold, by sets; and the next tool."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from xai_mcp_agent.planning import Planner
from xai_mcp_agent.search import ToolIndex
from xai_mcp_agent.search.terms import clauses

from .. import page
from ..search.sets import Json, run_scorer
from .sets import PlanSet, as_prediction, prediction_of_tools

SUGGESTIONS = 5
CLAUSES, PLAN, WIRING = "clause search", "plan", "tools given"
# What the mean over the sets should reach; an upper limit of the edit distance.
_GOALS = {
    (PLAN, "node_f1"): 0.59, (PLAN, "edge_f1"): 0.26, (PLAN, "ned"): 0.47,
    (WIRING, "edge_f1"): 0.72, (WIRING, "bind_f1"): 0.60,
}  # fmt: skip
_NEXT_GOAL = 0.75
_ROWS = (
    (CLAUSES, "node_f1"), (PLAN, "node_f1"), (PLAN, "edge_f1"), (PLAN, "ned"), (PLAN, "exact"),
    (WIRING, "edge_f1"), (WIRING, "bind_f1"), (WIRING, "field_acc"),
)  # fmt: skip
_NAMES = {
    "node_f1": "node F1", "edge_f1": "edge F1", "ned": "edit distance", "exact": "whole plans",
    "bind_f1": "binding F1", "field_acc": "field",
}  # fmt: skip


@dataclass(frozen=True)
class Scores:
    """The scores of one set by way, and how often the next tool is among five suggestions."""

    name: str
    figures: dict[str, Json]
    next_with_request: float | None
    next_without_request: float | None

    def figure(self, way: str, key: str) -> float | None:
        """Return one of the figures; None where the set does not have it."""
        return self.figures.get(way, {}).get(key)


def measure(sets: Sequence[PlanSet], scorer: Path) -> list[Scores]:
    """Return all sets, one after the other."""
    scores: list[Scores] = []
    for one in sets:
        scores.append(_measure(one, scorer))
        print(f"{one.name}: nodes {scores[-1].figure(PLAN, 'node_f1'):.3f}", flush=True)
    return scores


def _measure(of: PlanSet, scorer: Path) -> Scores:
    planner = Planner(of.tools)
    ways: dict[str, Callable[[Json], Json]] = {
        CLAUSES: _clause_search(of),
        PLAN: lambda x: as_prediction(planner.plan(x["request"])),
    }
    if of.has_data_edges:
        ways[WIRING] = lambda x: as_prediction(planner.wire(x["request"], _tools(x)))
    figures: dict[str, Json] = {}
    for way, predict in ways.items():
        predictions = (predict(x) | {"plan_index": n} for n, x in enumerate(of.plans))
        figures[way] = run_scorer(scorer, of.labels, predictions)["all"]
    with_request = _next_hits(of, planner, with_request=True) if of.has_order else None
    without_request = _next_hits(of, planner, with_request=False) if of.has_order else None
    return Scores(of.name, figures, with_request, without_request)


def _clause_search(of: PlanSet) -> Callable[[Json], Json]:
    """Return the best tool for each clause of a request."""
    index = ToolIndex[Json](of.tools)

    def search(plan: Json) -> Json:
        hits = (index.search(x, 1) for x in clauses(plan["request"]))
        return prediction_of_tools([x.tool["id"] for hit in hits for x in hit])

    return search


def _next_hits(of: PlanSet, planner: Planner, *, with_request: bool) -> float | None:
    """Return how often the next tool is among the suggestions.

    For plans at odd places the planner knows what followed a tool in those at even places, and the
    reverse.
    """
    followers = [_count_followers(of.plans[1::2]), _count_followers(of.plans[::2])]
    hits: list[bool] = []
    for number, plan in enumerate(of.plans):
        tools = _tools(plan)
        for place in range(1, len(tools)):
            request = plan["request"] if with_request else None
            counts = followers[number % 2].get(tools[place - 1])
            suggestions = planner.next_tools(tools[:place], request, SUGGESTIONS, counts)
            hits.append(tools[place] in [x.tool for x in suggestions])
    return _mean(hits)


def _count_followers(plans: Iterable[Json]) -> dict[str, Counter[str]]:
    """Count which tool comes after which."""
    followers: dict[str, Counter[str]] = {}
    for plan in plans:
        for one, following in pairwise(_tools(plan)):
            followers.setdefault(one, Counter())[following] += 1
    return followers


def _tools(plan: Json) -> list[str]:
    return [x["tool"] for x in plan["calls"]]


def misses(scores: Sequence[Scores]) -> list[str]:
    """Goals that are not reached, and sets in which plans name worse tools than a search."""
    missed: list[str] = []
    for (way, key), goal in _GOALS.items():
        value = _mean(x.figure(way, key) for x in scores)
        if value is not None and (value > goal if key == "ned" else value < goal):
            missed.append(f"{way}: {_NAMES[key]} is {value:.3f}, not {goal:g}")
    for one in scores:
        nodes, clause = one.figure(PLAN, "node_f1"), one.figure(CLAUSES, "node_f1")
        if nodes is not None and clause is not None and nodes < clause:
            missed.append(f"{one.name}: nodes are {nodes:.3f}, {clause:.3f} by clause search")
    value = _mean(x.next_with_request for x in scores)
    if value is not None and value < _NEXT_GOAL:
        missed.append(f"next tool: {value:.3f}, not {_NEXT_GOAL:g}")
    return missed


def markdown(scores: Sequence[Scores]) -> str:
    """Return the means over all sets, each with its goal."""
    rows: list[list[str]] = []
    for way, key in _ROWS:
        goal = f"{_GOALS[way, key]:g}" if (way, key) in _GOALS else ""
        goal = f"at most {goal}" if key == "ned" else goal
        rows.append([f"{_NAMES[key]}, {way}", _cell(x.figure(way, key) for x in scores), goal])
    with_request = _cell(x.next_with_request for x in scores)
    without_request = _cell(x.next_without_request for x in scores)
    rows.append(["next tool, request known", with_request, f"{_NEXT_GOAL:g}"])
    rows.append(["next tool, request not known", without_request, ""])
    return page.table(["mean of the sets", "measured", "goal"], rows)


def _cell(figures: Iterable[float | None]) -> str:
    value = _mean(figures)
    return "-" if value is None else f"{value:.3f}"


def _mean(figures: Iterable[float | None]) -> float | None:
    """Return the plain mean over the sets that have the figure."""
    values = [x for x in figures if x is not None]
    return statistics.fmean(values) if values else None
