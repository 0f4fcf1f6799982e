"""Plans of five public sets are drawn, compiled by Xircuits, and make exactly their calls.

Who decided it: issue 16, how drawing is proved. With `XAI_PLANNING_DATA` all plans of a folder are
taken; `make bench-drawing` prints the figures.
"""

from __future__ import annotations

import os
from pathlib import Path

from benchmarks.drawing import measure, read

_DATA = os.environ.get("XAI_PLANNING_DATA") or Path(__file__).parents[1] / "data" / "planning"
_NODES_A_CALL = 2.2


def test_every_plan_makes_the_same_calls_and_a_call_takes_few_nodes():
    """All plans in one process, against one server."""
    sets = sorted(Path(_DATA).glob("*/plans.jsonl"))
    assert len(sets) >= 5
    figures = measure("all", [plan for file in sets for plan in read(file)])
    assert figures.problems == []
    assert figures.same == figures.plans > 0
    assert figures.nodes <= _NODES_A_CALL * figures.calls
