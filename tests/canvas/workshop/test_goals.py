"""The goals of a lesson, judged by the events of a run."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from xai_mcp_agent import JsonObject
from xai_mcp_agent.canvas.workshop.goals import GoalResult, Hint, Like, Other, event, goal, judge
from xai_mcp_agent.canvas.workshop.lessons import LESSONS
from xai_mcp_agent.canvas.workshop.run import LessonRun, goal_lines


def test_an_interrupted_run_of_a_circle_is_not_taken_for_one_that_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    node = SimpleNamespace()
    node.next = node
    run = LessonRun(LESSONS[0], node)
    for _ in range(10_000):
        run.note({"event": "NodeStarted"})
    assert [x.is_met for x in run.judge()] == [True, False, False, False]
    monkeypatch.setattr(sys, "last_value", KeyboardInterrupt(), raising=False)
    first, *others = run.judge()
    assert "stopped before its end" in first.missing
    assert not any(x.missing for x in others), "first things first"


def test_control_characters_are_removed_from_a_hint() -> None:
    flow = LessonRun(LESSONS[1], None)
    flow.note({"event": "RunStarted", "tool_names": ["library_x"], "asked": "x"})
    flow.note({"event": "RunFinished", "tool_calls": 0, "answer": "\x1b[2J<b>all</b>\u202e done"})
    lines = "\n".join(goal_lines(LESSONS[1], flow.judge()))
    assert "The agent answered without a tool: ?[2J<b>all</b>? done" in lines


def call_event(tool: str, **fields: Any) -> JsonObject:
    return {"event": "Used", "tool": tool, **fields}


def test_a_field_is_the_expected_one_or_not() -> None:
    for value, expected, fits in (
        (26.2, 26.2, True),
        ("26.2", 26.2, False),
        ("Kilometre", Like("^k"), True),
        (["library_get_book", "units_list"], Like("^units_"), True),
        ({"a": "sea"}, Like("sea"), True),
        (None, Like("."), False),
        ("Mary", Other(("Ada",)), True),
        ("Ada", Other(("Ada",)), False),
        (" ", Other(("Ada",)), False),
    ):
        assert event("Used", tool=expected).fits(call_event(value)) is fits, value
    need = event("Used", arguments__value=5)
    assert need.fits(call_event("x", arguments={"value": 5}))
    assert not need.fits(call_event("x", arguments=None))


def test_the_first_hint_that_fits_quotes_the_event() -> None:
    hint = Hint("It used {tool}: {result__text}", event("Used"))
    adds = goal("add was used.", event("Used", tool="add"), hint, "It used nothing.")
    result = judge(adds, [call_event("sub", result={"text": "a\n  b"})])
    assert result.missing == "It used sub: a b"
    assert judge(adds, []) == GoalResult("add was used.", False, "It used nothing.")
    result = judge(adds, [call_event("{tool}", result={"text": "{x} " * 100})])
    assert result.missing.startswith("It used {tool}: {x} {x}")
    assert result.missing.endswith("...")
    assert len(result.missing) < 200
