"""A step in a few lines of text is read back unchanged, and takes its arguments from results.

Who decided it: issue 16, a plan is a canvas (the call node takes `parameter = path` itself).
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.any_json import SCALARS
from xai_mcp_agent.steps.reading import BadStep, read_path, read_step
from xai_mcp_agent.steps.references import First, Joined, Number, Reference, Step, step_text
from xai_mcp_agent.steps.results import NotInResult, StepResult, fill

BOOKS = StepResult(
    {"books": [{"id": 14, "odd name": "x"}], "total": 1, "is_open": True}, "library/search_books"
)
LOAN = StepResult("Lent book 14 to Ada until 2026-12-01. Bye.", "library/lend")
WRAPPED = StepResult({"result": [{"id": 3}]}, "library/list")
RESULTS = [BOOKS, LOAN, WRAPPED]

_NAMES = st.text(min_size=1, max_size=12)
_PATHS = st.lists(_NAMES | st.integers(0, 9) | st.sampled_from(First), max_size=4).map(tuple)
_REFERENCES = st.builds(
    Reference, st.integers(0, 4), _PATHS, st.text(max_size=5), st.text(max_size=5)
)
_JOINED = st.builds(
    lambda head, more: Joined((head, *more)),
    st.text(min_size=1, max_size=9),
    st.lists(_REFERENCES, min_size=1, max_size=3),
)
_VALUES = st.recursive(
    SCALARS | _REFERENCES | _JOINED | st.builds(Number, _REFERENCES),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=50)
@given(
    st.text(min_size=1, max_size=9).filter(str.strip),
    st.text(min_size=1, max_size=9).filter(str.strip),
    st.dictionaries(_NAMES, _VALUES, max_size=4),
)
def test_a_step_survives_writing_and_reading(source: str, tool: str, arguments: dict[str, Any]):
    step = Step(source, tool, arguments)
    text = step_text(step)
    assert read_step(text) == step
    assert not {"\u2605", "\u25b6"} & set(text.partition("\n")[2]), "the compiler removes them"


def test_a_step_may_have_comments_and_line_breaks_within_brackets():
    text = "library/get\n# which one\nbook = results.id  # the first\n\nmore = [1,\n  2]\n"
    assert read_step(text).arguments == {"book": Reference(0, ("id",)), "more": [1, 2]}


def test_a_name_with_letters_of_any_language_needs_no_quotation_marks():
    text = "library/get\n\u00e4nderung = results[0].\u00fcbersicht"
    step = Step("library", "get", {"\u00e4nderung": Reference(0, ("\u00fcbersicht",))})
    assert (read_step(text), step_text(step)) == (step, text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("search_books", "`library/search_books`, not `search_books`"),
        ("library/x\nquery = sea", "Put a text in quotation marks"),
        ("library/x\na = 1\na = 2", "Line 3: `a` has two values"),
        ("library/x\na = results[0].id oops", "`oops` does not belong there"),
        ("library/x\na = " + "[" * 99, "nested more than"),
    ],
)  # fmt: skip
def test_the_error_about_a_bad_step_names_the_line(text: str, words: str):
    with pytest.raises(BadStep) as caught:
        read_step(text)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("source", "value"),
    [
        (Reference(0, ("books", 0, "id")), 14),
        (Reference(0, ("books", First.ITEM, "odd name")), "x"),
        (Reference(0, (First.VALUE, -1, "id")), 14),
        (Reference(1, after="until ", before="."), "2026-12-01"),
        (Number(Reference(1, after="book ")), 14),
        (Reference(2, (0, "id")), 3),  # inside the `result` that a server wraps around it
        (Joined(("Book ", Reference(0, ("total",)), "!")), "Book 1!"),
        ({"a": [Reference(0, ("total",)), True]}, {"a": [1, True]}),
    ],
)
def test_each_reference_becomes_its_part_of_the_results(source: Any, value: Any):
    assert fill(source, RESULTS) == value


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (
            Reference(0, ("id",)),
            "The result of library/search_books has no `id`; it has `books`, `total`, `is_open`.",
        ),
        (Reference(0, ("books", 0, "id", "x")), "`books[0].id` in the result of library/search"),
        (Reference(1, after="since "), "does not contain the words 'since '"),
        (Reference(7), "`results[7]` is not wired; 3 wires lead"),
        (Number(Reference(1, after="to ")), "is not a number: 'Ada'"),
        (Number(Reference(0, ("is_open",))), "is not a number: 'True'"),
    ],
)
def test_the_error_about_a_missing_part_lists_the_existing_ones(source: Any, words: str):
    with pytest.raises(NotInResult) as caught:
        fill(source, RESULTS)
    assert words in str(caught.value)


def test_a_path_is_read_with_or_without_its_first_dot():
    assert read_path("books[].id") == read_path(".books[].id") == ("books", First.ITEM, "id")
    with pytest.raises(BadStep, match="A path looks like"):
        read_path("books[*].id")
