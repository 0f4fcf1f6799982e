"""The parts of `make bench-planning`, on a few tools in a folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.planning import quality
from benchmarks.planning.sets import as_prediction, read_sets
from tests.planning.shop import TOOLS
from xai_mcp_agent.planning import Planner

REQUEST = "Cancel my order. My email is ada@example.org."
FIND, LIST, CANCEL = (f"shop/{x}" for x in ("find_user_id_by_email", "list_orders", "cancel_order"))
GOLD: dict[str, Any] = {
    "request": REQUEST,
    "calls": [
        {"tool": FIND, "args": {"email": {"value": "ada@example.org"}}},
        {"tool": LIST, "args": {"user_id": {"call": 0, "field": None}}},
        {"tool": CANCEL, "args": {"order_id": {"call": 1, "field": "orders[].order_id"}}},
    ],
    "edges": [[0, 1], [1, 2]],
    "edge_kind": "data",
}
# Scores the share of right tools in each plan, as every figure.
SCORER = """
import json, sys
gold, predictions = ([json.loads(x) for x in open(y)] for y in sys.argv[1:3])
by_plan = {x["plan_index"]: x for x in predictions}
tools = lambda x: {y["tool"] for y in x["calls"]}
hits = [len(tools(x) & tools(by_plan[n])) / len(tools(x)) for n, x in enumerate(gold)]
names = "node_f1 edge_f1 ned exact bind_f1 field_acc".split()
print(json.dumps({"all": dict.fromkeys(names, sum(hits) / len(hits))}))
"""


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "sets" / "shop"
    folder.mkdir(parents=True)
    plans = [GOLD, GOLD | {"request": f"Please {REQUEST}"}, GOLD, GOLD]
    for name, rows in (("tools", TOOLS), ("plans", plans)):
        text = "".join(f"{json.dumps(x)}\n" for x in rows)
        (folder / f"{name}.jsonl").write_text(text)
    return folder.parent


@pytest.fixture
def scorer(tmp_path: Path) -> Path:
    file = tmp_path / "scorer.py"
    file.write_text(SCORER)
    return file


def test_sets_are_measured_and_reported_in_tables(data: Path, scorer: Path) -> None:
    assert as_prediction(Planner(TOOLS).plan(REQUEST))["calls"] == GOLD["calls"]
    scores = quality.measure(read_sets(data), scorer)
    (one,) = scores
    assert one.figure(quality.PLAN, "node_f1") == 1.0
    assert one.figure(quality.WIRING, "edge_f1") == 1.0
    assert one.next_with_request == 1.0
    text = quality.markdown(scores)
    assert "| node F1, plan | 1.000 | 0.59 |" in text
    assert "| next tool, request known | 1.000 | 0.75 |" in text
