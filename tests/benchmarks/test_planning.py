"""The parts of `make bench-planning`, on a few tools in a folder."""

from __future__ import annotations

from benchmarks.planning import quality
from benchmarks.planning.sets import as_prediction, read_sets
from tests.benchmarks.test_search import SCORER, SETS
from xai_mcp_agent.planning import Planner


def test_sets_are_measured_and_reported_in_tables() -> None:
    (one,) = read_sets(SETS)
    planner = Planner(one.tools)
    predictions = [as_prediction(planner.plan(x["request"]))["calls"] for x in one.plans]
    assert predictions == [x["calls"] for x in one.plans]
    scores = quality.measure([one], SCORER)
    assert scores[0].figure(quality.PLAN, "node_f1") == 1.0
    assert scores[0].figure(quality.WIRING, "edge_f1") == 1.0
    assert scores[0].next_with_request == 1.0
    text = quality.markdown(scores)
    assert "| node F1, plan | 1.000 | 0.59 |" in text
    assert "| next tool, request known | 1.000 | 0.75 |" in text
