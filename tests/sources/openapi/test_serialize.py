"""Values of parameters on the wire, as OpenAPI 3.2 has it (Style Values), and RFC 6570."""

from __future__ import annotations

from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xai_mcp_agent.sources.openapi.plan import (
    Location,
    Placement,
    Style,
    Unwritable,
    cookie_pairs,
    path_text,
    query_pairs,
)

ARRAY = ["blue", "black", "brown"]
OBJECT = {"R": 100, "G": 200, "B": 150}


def place(location: Location, style: Style, explode: bool, **more: Any) -> Placement:
    return Placement("color", location, "color", style, explode, **more)


def query(style: Style, explode: bool, value: Any, **more: Any) -> str:
    found = query_pairs(place("query", style, explode, **more), value)
    return "&".join(f"{name}={text}" for name, text in found)


def cookie(style: Style, explode: bool, value: Any) -> str:
    found = cookie_pairs(place("cookie", style, explode), value)
    return "; ".join(f"{name}={text}" for name, text in found)


# The values of the specification's own table: of a text, a list and an object.
PATHS: list[tuple[Style, bool, str, str, str]] = [
    ("matrix", False, ";color=blue", ";color=blue,black,brown", ";color=R,100,G,200,B,150"),
    ("matrix", True, ";color=blue", ";color=blue;color=black;color=brown", ";R=100;G=200;B=150"),
    ("label", False, ".blue", ".blue,black,brown", ".R,100,G,200,B,150"),
    ("label", True, ".blue", ".blue.black.brown", ".R=100.G=200.B=150"),
    ("simple", False, "blue", "blue,black,brown", "R,100,G,200,B,150"),
    ("simple", True, "blue", "blue,black,brown", "R=100,G=200,B=150"),
]
QUERIES: list[tuple[Style, bool, Any, str]] = [
    ("form", False, "", "color="),
    ("form", False, "blue", "color=blue"),
    ("form", False, ARRAY, "color=blue,black,brown"),
    ("form", False, OBJECT, "color=R,100,G,200,B,150"),
    ("form", True, "", "color="),
    ("form", True, "blue", "color=blue"),
    ("form", True, ARRAY, "color=blue&color=black&color=brown"),
    ("form", True, OBJECT, "R=100&G=200&B=150"),
    ("spaceDelimited", False, ARRAY, "color=blue%20black%20brown"),
    ("spaceDelimited", False, OBJECT, "color=R%20100%20G%20200%20B%20150"),
    ("pipeDelimited", False, ARRAY, "color=blue%7Cblack%7Cbrown"),
    ("pipeDelimited", False, OBJECT, "color=R%7C100%7CG%7C200%7CB%7C150"),
    ("tabDelimited", False, ARRAY, "color=blue%09black%09brown"),
    ("deepObject", True, OBJECT, "color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150"),
    ("deepObject", True, {"a": {"b": "x"}, "c": [1, {"d": 2}]},
     "color%5Ba%5D%5Bb%5D=x&color%5Bc%5D%5B0%5D=1&color%5Bc%5D%5B1%5D%5Bd%5D=2"),
]  # fmt: skip
COOKIES: list[tuple[Style, bool, Any, str]] = [
    ("cookie", False, "blue", "color=blue"),
    ("cookie", False, "a b&c", "color=a b&c"),
    ("cookie", False, ARRAY, "color=blue,black,brown"),
    ("cookie", False, OBJECT, "color=R,100,G,200,B,150"),
    ("cookie", True, ARRAY, "color=blue; color=black; color=brown"),
    ("cookie", True, OBJECT, "R=100; G=200; B=150"),
    ("form", False, OBJECT, "color=R,100,G,200,B,150"),
    ("form", True, "a b", "color=a%20b"),
    ("form", True, OBJECT, "R=100; G=200; B=150"),
]


@pytest.mark.parametrize(("style", "explode", "text", "array", "members"), PATHS)
def test_a_path_is_as_in_the_table(
    style: Style, explode: bool, text: str, array: str, members: str
):
    there = place("path", style, explode)
    assert path_text(there, "blue") == text
    assert path_text(there, ARRAY) == array
    assert path_text(there, OBJECT) == members


@pytest.mark.parametrize(("style", "explode", "value", "text"), QUERIES)
def test_a_query_is_as_in_the_table(style: Style, explode: bool, value: Any, text: str):
    assert query(style, explode, value) == text


@pytest.mark.parametrize(("style", "explode", "value", "text"), COOKIES)
def test_cookies_are_as_in_the_table(style: Style, explode: bool, value: Any, text: str):
    assert cookie(style, explode, value) == text


@pytest.mark.parametrize(
    "value",
    ["..", ".", "../x", "a/../b", "a\\..\\b", "%2e%2e", "%252e%252e", "%2E", "x%2f..%2Fy", "",
     [".."], ["a", "/../b"], None],
)  # fmt: skip
@pytest.mark.parametrize("reserved", [False, True])
def test_a_path_that_leads_elsewhere_is_refused(value: Any, reserved: bool):
    with pytest.raises(Unwritable):
        path_text(place("path", "simple", False, allow_reserved=reserved), value)


def test_text_that_is_encoded_without_end_is_refused():
    with pytest.raises(Unwritable, match="too many times"):
        path_text(place("path", "simple", False), "%" + "25" * 30 + "2e")


@pytest.mark.parametrize("value", ["", [], {}, "."])
def test_a_label_that_would_be_a_lone_dot_is_refused(value: Any):
    """HTTP clients remove such a segment, and another address is asked."""
    with pytest.raises(Unwritable):
        path_text(place("path", "label", False), value)


def test_reserved_characters_stay_where_they_are_allowed_and_end_nothing():
    text = query("form", True, "a/b?c=d&e#f%20g+h[", allow_reserved=True)
    assert text == "color=a/b?c%3Dd%26e%23f%20g%2Bh%5B"
    assert path_text(place("path", "simple", False, allow_reserved=True), "a/b:c?") == "a%2Fb:c%3F"


TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=20)


@given(st.dictionaries(st.from_regex(r"[a-z]{1,8}", fullmatch=True), TEXTS, min_size=1, max_size=4))
def test_any_object_comes_back_from_cookies(value: dict[str, str]):
    parsed = SimpleCookie(cookie("form", True, value))
    assert {name: unquote(x.value) for name, x in parsed.items()} == value


@given(TEXTS, st.sampled_from(["simple", "label", "matrix"]), st.booleans())
def test_any_text_stays_in_its_segment(value: str, style: Style, reserved: bool):
    there = place("path", style, False, allow_reserved=reserved)
    try:
        text = path_text(there, value)
    except Unwritable:
        return
    assert not set(text) & set("/?#\\ ")
    assert text not in ("", ".", "..")
    before = {"simple": "", "label": ".", "matrix": ";color=" if value else ";color"}[style]
    assert text.startswith(before)
    assert reserved or unquote(text[len(before) :]) == value
