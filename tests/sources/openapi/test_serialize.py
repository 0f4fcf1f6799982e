"""Values of parameters on the wire, as OpenAPI 3.2 has it (Style Values), and RFC 6570."""

from __future__ import annotations

import json
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import parse_qsl, unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xai_mcp_agent.sources.openapi.plan import Location, Placement, Style
from xai_mcp_agent.sources.openapi.serialize import (
    Unwritable,
    cookie_pairs,
    header_text,
    path_text,
    query_pairs,
    querystring,
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
    ("explode", "value", "text"),
    [
        (False, ARRAY, "blue,black,brown"),
        (True, OBJECT, "R=100,G=200,B=150"),
        (False, OBJECT, "R,100,G,200,B,150"),
        (False, " a b % é ", "a b % é"),
        (False, True, "true"),
    ],
)
def test_a_header_is_not_percent_encoded(explode: bool, value: Any, text: str):
    assert header_text(place("header", "simple", explode), value) == text


@pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", ["a", "b\nc"], {"a": "\r"}, "a\0b", "\ud800"])
def test_a_header_with_a_line_break_is_refused(value: Any):
    with pytest.raises(Unwritable, match="line break"):
        header_text(place("header", "simple", False), value)


@pytest.mark.parametrize("value", ["a;b", " a", "a ", "a\nb", "é", ["a;b"], {"a;b": 1}])
def test_a_cookie_that_is_not_encoded_cannot_become_another(value: Any):
    with pytest.raises(Unwritable, match="cookie"):
        cookie("cookie", True, value)


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


@pytest.mark.parametrize("value", ["...", "a..b", "v1.2", "%", "a%zz"])
def test_dots_within_a_name_are_no_harm(value: str):
    assert unquote(path_text(place("path", "simple", False), value)) == value


def test_reserved_characters_stay_where_they_are_allowed_and_end_nothing():
    text = query("form", True, "a/b?c=d&e#f%20g+h[", allow_reserved=True)
    assert text == "color=a/b?c%3Dd%26e%23f%20g%2Bh%5B"
    assert path_text(place("path", "simple", False, allow_reserved=True), "a/b:c?") == "a%2Fb:c%3F"


def test_content_is_written_as_its_media_type():
    """OpenAPI 3.2, Parameter Object, `content`."""
    value = {"a": [1, "é &"]}
    text = query("form", True, value, media_type="application/json")
    assert json.loads(dict(parse_qsl(text))["color"]) == value
    header = header_text(place("header", "simple", False, media_type="application/json"), value)
    assert header.isascii()
    assert json.loads(header) == value


@pytest.mark.parametrize(
    ("media_type", "value", "text"),
    [
        ("application/x-www-form-urlencoded", {"q": "a b&c", "n": [1, 2]}, "q=a%20b%26c&n=1&n=2"),
        ("application/json", {"a": 1}, "%7B%22a%22%3A1%7D"),
        ("text/plain", "a=1&b=x y#z", "a=1&b=x%20y%23z"),
    ],
)
def test_a_parameter_can_be_the_whole_query(media_type: str, value: Any, text: str):
    there = Placement("q", "querystring", "q", media_type=media_type)
    assert querystring(there, value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(3.0, "3"), (1e300, "1e+300"), (True, "true"), (0.5, "0.5"), (10**30, "1" + "0" * 30)],
)
def test_numbers_are_those_of_json(value: Any, text: str):
    assert query("form", True, value) == f"color={text}".replace("+", "%2B")


def test_null_is_not_written():
    """RFC 6570, 2.3: it is undefined."""
    assert query("form", True, None) == ""
    assert query("form", True, ["a", None]) == "color=a"
    assert query("deepObject", True, {"a": None, "b": 1}) == "color%5Bb%5D=1"


TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=20)
KEYS = TEXTS.filter(lambda x: x != "" and "[" not in x and "]" not in x)
NESTED = st.recursive(TEXTS, lambda inner: st.dictionaries(KEYS, inner, min_size=1, max_size=3))


def nested_of(parsed: list[tuple[str, str]], name: str) -> Any:
    """What a parser of bracketed names makes of a query."""
    root: dict[str, Any] = {}
    for key, text in parsed:
        assert key.startswith(name)
        at, keys = root, [name, *key[len(name) + 1 : -1].split("][")]
        for step in keys[:-1]:
            at = at.setdefault(step, {})
        at[keys[-1]] = text
    return root.get(name)


@given(st.lists(TEXTS, min_size=1, max_size=5))
def test_any_list_comes_back_from_an_exploded_form(value: list[str]):
    parsed = parse_qsl(query("form", True, value), keep_blank_values=True, strict_parsing=True)
    assert parsed == [("color", x) for x in value]


@given(st.lists(TEXTS, min_size=1, max_size=5))
def test_any_list_comes_back_from_a_form_in_one(value: list[str]):
    _, _, text = query("form", False, value).partition("=")
    assert [unquote(x) for x in text.split(",")] == value


@given(st.dictionaries(KEYS, TEXTS, min_size=1, max_size=5))
def test_any_object_comes_back_from_an_exploded_form(value: dict[str, str]):
    parsed = parse_qsl(query("form", True, value), keep_blank_values=True, strict_parsing=True)
    assert dict(parsed) == value


@given(st.dictionaries(KEYS, NESTED, min_size=1, max_size=4))
def test_any_nested_object_comes_back_from_deep_object(value: dict[str, Any]):
    parsed = parse_qsl(query("deepObject", True, value), keep_blank_values=True)
    assert nested_of(parsed, "color") == value


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
