"""Plans of five public sets are drawn, compiled by Xircuits, and make exactly their calls.

Who decided it: issue 16, how drawing is proved. With `XAI_PLANNING_DATA` all plans of a folder are
taken; `make bench-drawing` prints the figures.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from benchmarks.drawing import Figures, measure, read

_DATA = os.environ.get("XAI_PLANNING_DATA") or Path(__file__).parents[1] / "data" / "planning"
SETS = ["nestful", "sealtools", "taskbench", "taubench", "tooltalk"]
_NODES_A_CALL = 2.2


@pytest.fixture(scope="module", params=SETS)
def figures(request: pytest.FixtureRequest) -> Figures:
    """What came of a set: all its plans in one process, against one server."""
    return measure(request.param, read(Path(_DATA) / request.param / "plans.jsonl"))


def test_every_plan_makes_the_same_calls(figures: Figures) -> None:
    assert figures.problems == []
    assert figures.same == figures.plans > 0


def test_a_call_takes_few_nodes(figures: Figures) -> None:
    assert figures.nodes <= _NODES_A_CALL * figures.calls
