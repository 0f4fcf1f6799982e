"""Plans as JSON: nothing is lost, and what is no plan is told, however it was made.

Who decided it: issue 16.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.planning.shop import TOOLS
from xai_mcp_agent.core.tools import ToolKey
from xai_mcp_agent.planning import (
    BadPlan,
    FromResult,
    Given,
    Missing,
    Parts,
    Plan,
    PlannedCall,
    Planner,
    plan_as_json,
    plan_from_json,
    read_plan,
)

NOTHING: dict[str, Any] = {"tool": "it/x", "args": {}}
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(max_size=5)
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda x: st.lists(x, max_size=3) | st.dictionaries(st.text(max_size=5), x, max_size=3),
    max_leaves=6,
)  # fmt: skip
WORDS = st.lists(st.text(max_size=5), max_size=2).map(tuple)


def sources(number: int) -> st.SearchStrategy[Any]:
    """Those that the call at this place may have."""
    simple = st.builds(Given, VALUES, WORDS) | st.builds(Missing, st.text(max_size=5))
    if number:
        field = st.none() | st.sampled_from(["", "a.b", "orders[].id", "{key}", "odd name"])
        how = st.sampled_from(["", "written as text", "put in a list"])
        score = st.floats(0, 1)
        simple |= st.builds(FromResult, st.integers(0, number - 1), field, how, score, WORDS)
    return simple | st.builds(Parts, st.lists(simple, max_size=3).map(tuple))


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    calls: list[PlannedCall] = []
    for number in range(draw(st.integers(0, 3))):
        text = st.text(min_size=1, max_size=5).filter(str.strip)
        tool = draw(text | st.builds(ToolKey, text, st.text(max_size=5), text))
        arguments = draw(st.dictionaries(st.text(max_size=5), sources(number), max_size=3))
        name, share = draw(text), draw(st.floats(0, 1))
        calls.append(PlannedCall(tool, name, arguments, draw(WORDS), share))
    words = draw(WORDS), draw(WORDS)
    return Plan(draw(st.text(max_size=9)), tuple(calls), *words, draw(st.booleans()))


@given(plans())
def test_a_plan_is_read_back_as_it_was_written(plan: Plan) -> None:
    assert plan_from_json(json.loads(json.dumps(plan_as_json(plan)))) == plan


def test_a_planned_plan_is_read_back_from_its_file(tmp_path: Path) -> None:
    plan = Planner(TOOLS).plan("Cancel my order. My email is ada@example.org.")
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(plan_as_json(plan)), encoding="utf-8")
    assert read_plan(file) == plan
    assert plan.edges


def test_a_plan_that_a_person_writes_needs_only_tools_and_arguments() -> None:
    plan = plan_from_json({"calls": [{"tool": "it/x", "args": {"a": 5}}]})
    assert plan == Plan("", (PlannedCall("it/x", "it/x", {"a": Given(5)}),), is_rough=False)


def nested(depth: int) -> str:
    return "[" * depth + "]" * depth


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "This is empty"),
        ("[]", "it has no `calls`"),
        ("5", "it has no `calls`"),
        ('{"calls": {}}', "it has no `calls`"),
        ('{"calls": [5]}', "Call 1 of the plan has no `tool`"),
        ('{"calls": [{"tool": 5, "args": {}}]}', "has no `tool`"),
        ('{"calls": [{"tool": "x"}]}', "has no arguments"),
        ('{"calls": [{"tool": "x", "args": []}]}', "has no arguments"),
        ('{"calls": [{"tool": "x", "args": {}, "reasons": [5]}]}', "no list of texts"),
        ('{"calls": [{"tool": "x", "args": {}, "confidence": "much"}]}', "no number"),
        ('{"calls": [{"tool": "x", "args": {}, "kind": {}}]}', "`kind` that is no text"),
        ('{"calls": [], "request": []}', "`request` that is no text"),
        ('{"calls": [{"tool": "x", "args": {"a": {"cal": 0}}}]}', "is no source of an argument"),
        ('{"calls": [{"tool": "x", "args": {"a": {"call": true}}}]}', "is no source"),
        ('{"calls": [{"tool": "x", "args": {"a": {"call": 0}}}]}', "does not come before it"),
        ('{"calls": [{"tool": "x", "args": {"a": {"call": -1}}}]}', "does not come before it"),
        (
            '{"calls": [{"tool": "x", "args": {"a": {"parts": [{"call": 1}]}}}, '
            '{"tool": "y", "args": {"a": {"call": 0}}}]}',
            "`a` uses call 1, counted from 0, which does not come before it",
        ),
        ('{"calls": [{"tool": "x", "args": {"a": NaN}}]}', "JSON cannot hold"),
        ('{"calls": [{"tool": "x", "args": {"a": -1e999}}]}', "JSON cannot hold"),
        ('{"calls": [{"tool": "x", "args": {"a": "\\ud800"}}]}', "JSON cannot hold"),
        (json.dumps({"calls": [NOTHING] * 201}), "201 calls"),
        (f'{{"calls": [{{"tool": "x", "args": {{"a": {nested(100)}}}}}]}}', "more than 60 deep"),
        (f'{{"calls": {nested(10_000)}}}', "more than 60 deep"),
        (nested(1_000_000), "more than 60 deep"),
        ('{"calls": [], "request": "' + "x" * 10_000_000 + '"}', "more than 4 MB"),
        ('{"calls": [], "request": ' + "9" * 5_000 + "}", "no JSON"),
        (" ", "This is empty. A plan is an object with `calls`"),
    ],
    ids=lambda x: x[:40],
)
def test_what_is_no_plan_is_told(text: str, says: str, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(BadPlan) as told:
        read_plan(file)
    assert says in str(told.value)
    assert str(told.value).startswith(str(file))
    assert len(str(told.value)) < 1_000


def test_what_python_cannot_write_as_json_is_no_plan() -> None:
    endless: dict[str, Any] = {}
    endless["calls"] = [endless]
    many: list[Any] = ["x"]
    for _ in range(40):
        many = [many] * 10
    for bad in (endless, {"calls": [], "x": many}, {"calls": [], "x": {1, 2}}, None, b"{}"):
        with pytest.raises(BadPlan):
            plan_from_json(bad)
    with pytest.raises(BadPlan, match="Give it an `id`"):
        plan_as_json(Plan("", (PlannedCall(5, "five", {}),)))


def test_a_file_that_is_none_is_told(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "gone.json"):
        with pytest.raises(BadPlan, match="cannot be read"):
            read_plan(path)
