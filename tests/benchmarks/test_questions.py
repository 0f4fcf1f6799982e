"""`python -m benchmarks.questions`: what newcomers ask, and whether they are helped."""

from __future__ import annotations

import re

import pytest

from benchmarks.questions import QUESTIONS, SOURCES, answered, belt, questions
from tests.support.warm_python import warm_python


@pytest.fixture(autouse=True)
def _start_quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.questions.PYTHON", warm_python())


@pytest.mark.parametrize("source", SOURCES)
def test_each_source_has_twenty_questions_and_ten_that_are_kept_apart(source: str) -> None:
    tuned, apart = questions(source), questions(source, apart=True)
    assert (len({x.ask for x in tuned}), len({x.ask for x in apart})) == (20, 10)
    assert not {x.ask for x in tuned} & {x.ask for x in apart}


@pytest.mark.parametrize("source", SOURCES)
def test_the_calls_that_questions_expect_are_of_tools_that_there_are(source: str) -> None:
    asked = [*questions(source), *questions(source, apart=True)]
    with belt([source]) as bridge:
        there = {x.key.name for x in bridge.list_tools(source)}
    calls = (call for x in asked for call in (*x.calls, *x.before))
    assert {name for x in calls for name in x.split(" ")[0].split("|")} <= there


def test_an_answer_is_useful_when_it_holds_what_was_asked_and_the_right_tool_was_called() -> None:
    asked = {x.ask: x for x in questions("library")}
    lent = asked["Please borrow Dracula for Ada"]
    assert lent.says == ("{today+21}",)
    assert [useful for _, useful in answered([lent], ["library"])] == [True]
    unasked = asked["Who has Moby-Dick?"]
    wrong = type(lent)("library", lent.ask, ("list_loans",), unasked.says)
    assert [useful for _, useful in answered([wrong], ["library"])] == [False]


def test_what_a_question_changes_is_made_anew_before_the_next_one() -> None:
    lent = next(x for x in questions("library") if x.ask == "Please borrow Dracula for Ada")
    assert [useful for _, useful in answered([lent, lent], ["library"])] == [True, True]


@pytest.mark.parametrize("source", SOURCES)
def test_what_is_answered_by_its_source_alone_is_so_still(source: str) -> None:
    """The table of tests/data/questions/README.md says what is: none of it goes unseen."""
    page = (QUESTIONS / "README.md").read_text(encoding="utf-8")
    useful = {x[1] for x in re.finditer(r"^\| (.+) \| yes \| (?:yes|no) \|$", page, re.MULTILINE)}
    missed = [x.ask for x, is_useful in answered(questions(source), [source]) if not is_useful]
    assert [x for x in missed if x in useful] == []
