"""Goals are judged by the events of a run, and say what is missing and what to do."""

from __future__ import annotations

from typing import Any

from xai_mcp_agent import JsonObject
from xai_mcp_agent.canvas.workshop.goals import (
    Hint,
    Judged,
    Like,
    Other,
    goal,
    judge,
    judge_run,
    seen,
)

USED = seen("Used", tool="add")
GOAL = goal(
    "add was used.",
    USED,
    Hint("It used {tool}: {result__text}", seen("Used")),
    "It used nothing.",
)


def used(tool: str, **fields: Any) -> JsonObject:
    return {"event": "Used", "tool": tool, **fields}


def test_a_field_is_what_is_wanted_or_not() -> None:
    for value, wanted, fits in (
        (26.2, 26.2, True),
        ("26.2", 26.2, False),
        ([], [], True),
        ("Kilometre", Like("^k"), True),
        ("a mile", Like("^k"), False),
        (["library_get_book", "units_list"], Like("^units_"), True),
        ({"a": "sea"}, Like("sea"), True),
        (None, Like("."), False),
        ("Mary", Other(("Ada",)), True),
        ("Ada", Other(("Ada",)), False),
        (" ", Other(("Ada",)), False),
        (None, Other(("Ada",)), False),
    ):
        assert seen("Used", tool=wanted).fits({"event": "Used", "tool": value}) is fits, value
    need = seen("Used", arguments__value=5)
    assert need.fits({"event": "Used", "arguments": {"value": 5}})
    assert not need.fits({"event": "Used", "arguments": None})


def test_a_goal_is_met_when_all_that_it_needs_was_seen() -> None:
    both = goal("Both.", (USED, seen("Ended")), "Go on.")
    assert judge(both, [{"event": "Ended"}, used("add")]) == Judged("Both.", True)
    assert judge(both, [used("add")]) == Judged("Both.", False, "Go on.")


def test_the_first_hint_that_fits_quotes_what_happened() -> None:
    judged = judge(GOAL, [used("sub", result={"text": "a\n  b"})])
    assert judged.missing == "It used sub: a b"
    assert judge(GOAL, []) == Judged("add was used.", False, "It used nothing.")
    judged = judge(GOAL, [used("{tool}", result={"text": "{x} " * 100})])
    assert judged.missing.startswith("It used {tool}: {x} {x}")
    assert judged.missing.endswith("...")
    assert len(judged.missing) < 200


def test_after_a_problem_it_alone_is_the_next_step() -> None:
    ran, other = judge_run([GOAL], [used("sub")], "Save it again.")
    assert (ran.is_met, ran.missing) == (False, "Save it again.")
    assert (other.is_met, other.missing) == (False, "")
    ran, other = judge_run([GOAL], [used("add")], None)
    assert ran.is_met
    assert other.is_met
