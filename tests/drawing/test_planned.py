"""Plans of five public sets are drawn, compiled by Xircuits, and make exactly their calls.

Who decided it: issue 16, how drawing is proved. With `XAI_PLANNING_DATA` all plans of a folder are
taken; `make bench-drawing` prints the figures.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from benchmarks.drawing import Figures, expected, measure, read

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


def test_an_answer_has_every_part_that_is_used_of_it() -> None:
    """The proof's own: a list for `[]`, an object for `{key}`, and what both share."""
    parts = ["items[].id", "items[].by.{key}.name", None]
    args = {str(n): {"call": 0, "field": x} for n, x in enumerate(parts)}
    planned = expected({"calls": [{"tool": "a", "args": {}}, {"tool": "b", "args": args}]})
    by = {"any": {"name": "part .items[].by.{key}.name of answer 0"}}
    item = {"id": "part .items[].id of answer 0", "by": by}
    answer = {"said": "answer 0", "items": [item]}
    assert planned.answers[0] == answer
    assert planned.wanted[1]["args"] == {"0": item["id"], "1": by["any"]["name"], "2": answer}
