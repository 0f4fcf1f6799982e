"""`python -m benchmarks.questions`: questions of newcomers, and whether the answers are useful."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from benchmarks.questions import QUESTIONS, SOURCES, ask_all, belt, questions
from tests.support.warm_python import warm_python


@pytest.fixture(autouse=True)
def _start_quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.questions.PYTHON", warm_python())


def test_an_answer_is_useful_when_it_holds_what_was_asked_and_the_right_tool_was_called() -> None:
    """After a question that changes something, the source is in its first state again."""
    of = {x.ask: x for x in questions("library")}
    loan = of["Please borrow Dracula for Ada"]
    assert loan.says == ("{today+21}",)
    wrong = replace(loan, calls=("list_loans",), says=of["Who has Moby-Dick?"].says)
    results = [useful for _, useful in ask_all([loan, loan, wrong], ["library"])]
    assert results == [True, True, False]


def test_each_source_has_questions_about_its_tools_and_others_that_are_kept_apart() -> None:
    with belt(SOURCES) as bridge:
        tools = {x: {y.key.name for y in bridge.list_tools(x)} for x in SOURCES}
    for source in SOURCES:
        tuned, apart = questions(source), questions(source, apart=True)
        assert (len({x.ask for x in tuned}), len({x.ask for x in apart})) == (20, 10)
        assert not {x.ask for x in tuned} & {x.ask for x in apart}
        calls = (call for x in (*tuned, *apart) for call in (*x.calls, *x.before))
        assert {name for x in calls for name in x.split(" ")[0].split("|")} <= tools[source]


@pytest.mark.parametrize("source", SOURCES)
def test_questions_that_their_source_answered_alone_are_still_ask_all(source: str) -> None:
    """As the table of tests/data/questions/README.md says."""
    page = (QUESTIONS / "README.md").read_text(encoding="utf-8")
    useful = {x[1] for x in re.finditer(r"^\| (.+) \| yes \| (?:yes|no) \|$", page, re.MULTILINE)}
    chosen = [x for x in questions(source) if x.ask in useful]
    assert [x.ask for x, is_useful in ask_all(chosen, [source]) if not is_useful] == []
