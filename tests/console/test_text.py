"""Text of strangers made fit for a screen."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.watchdog import ends_within
from xai_mcp_agent.console.text import clean, columns, cut, wrap

ANY = st.text(st.characters(exclude_categories=["Cs"]), max_size=300)


@given(ANY, st.integers(10, 100))
def test_no_line_is_wider_than_it_may_be(text: str, width: int) -> None:
    lines = wrap(clean(text), width, " 1. ", "    ")
    assert max(map(columns, lines)) <= width


@given(ANY)
def test_nothing_but_spaces_is_lost_in_wrapping(text: str) -> None:
    cleaned = clean(text)
    assert "".join("".join(wrap(cleaned, 20)).split()) == "".join(cleaned.split())


@given(ANY, st.integers(4, 40))
def test_a_cut_text_is_one_line_that_fits(text: str, width: int) -> None:
    short = cut(clean(text), width)
    assert "\n" not in short
    assert columns(short) <= width


def test_wide_letters_count_twice_and_break_anywhere() -> None:
    lines = wrap("日本語" * 20, 21)
    assert {columns(x) for x in lines} == {20}


@pytest.mark.parametrize("text", ["x" * 2_000_000, "word " * 200_000, "日本" * 200_000])
def test_even_huge_texts_take_linear_time(text: str) -> None:
    with ends_within(30):  # it takes milliseconds; in quadratic time it would take hours
        cut(text, 60)
        wrap(text[:100_000], 80)


def test_each_invisible_character_becomes_a_mark() -> None:
    assert clean("pay\u200b\U000e0041 \x1b[2Jall\u202e") == "pay?? ?[2Jall?"
    assert clean("\U0001f468\u200d\U0001f469") == "\U0001f468\u200d\U0001f469"
