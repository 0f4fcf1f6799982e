"""Texts are found by what they are about, and among thousands in milliseconds."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xai_mcp_agent.search.index import LexicalIndex
from xai_mcp_agent.search.terms import spelled_terms, weighted

NOTES = [
    "My dog is called Rex and likes bones.",
    "The invoice of March was paid by card.",
    "Ada is allergic to peanuts.",
    "The train to Paris leaves at nine.",
]


def index_of(texts: Iterable[str]) -> LexicalIndex[int]:
    index = LexicalIndex[int]()
    for number, text in enumerate(texts):
        index.put(number, weighted(spelled_terms(text), 30))
    return index


def similar(index: LexicalIndex[int], query: str) -> list[tuple[int, float]]:
    return index.search(spelled_terms(query), 5)


def best(query: str, texts: Iterable[str]) -> int | None:
    """The number of the text that is most like the query, if any is."""
    found = similar(index_of(texts), query)
    return found[0][0] if found else None


@pytest.mark.parametrize(
    ("query", "number"),
    [
        ("What is the name of my dog?", 0),
        ("invoices", 1),
        ("peanut allergy", 2),
        ("when does the train go", 3),
        ("REX", 0),
    ],
)
def test_a_text_is_found_by_what_it_is_about(query: str, number: int):
    assert best(query, NOTES) == number


def test_what_has_nothing_in_common_is_not_found():
    assert best("bananas", NOTES) is None
    assert best("", NOTES) is None
    assert best("dog", []) is None


@given(st.text(), st.lists(st.text(), max_size=5))
def test_no_text_is_less_like_than_not_at_all(query: str, texts: list[str]):
    assert all(x > 0 for _, x in similar(index_of(texts), query))


@given(st.text(min_size=1, max_size=20).filter(lambda x: any(c.isalnum() for c in x)))
def test_a_text_is_most_like_itself(text: str):
    assert best(text, [text, "zzz qqq"]) == (0 if spelled_terms(text) else None)


def test_rare_words_say_more_than_frequent_ones():
    texts = ["the meeting is on Monday"] * 20 + ["the meeting with Ada"]
    assert best("meeting with Ada", texts) == 20


def test_three_thousand_texts_are_searched_in_milliseconds():
    """Reading them all for each search, which takes as long as making the index, took 0.3 s."""
    words = random.Random(1)
    usual = [f"{words.choice('bcdfgklmnprst')}{n:x}" for n in range(2_000)]
    texts = [" ".join(words.choices(usual, k=14)) for _ in range(3_000)]
    made = cpu_seconds(lambda: index_of(texts))
    index = index_of(texts)
    asked = cpu_seconds(lambda: [similar(index, x) for x in texts[::300]]) / 10
    assert asked < made / 10
    assert asked < 0.05


def cpu_seconds(do: Callable[[], object]) -> float:
    """The processor time of this thread."""
    started = time.thread_time()
    do()
    return time.thread_time() - started
