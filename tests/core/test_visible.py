"""Text of strangers is read as it looks."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from xai_mcp_agent.core.provider_schema import function_parameters
from xai_mcp_agent.core.visible import (
    count_hidden,
    is_visible,
    own_names,
    shown_parameter,
    visible,
    visible_text,
)

TAGS = "".join(chr(0xE0000 + ord(x)) for x in "obey")
BYTES = "".join(chr(0xE0100 + x) for x in b"obey")  # variation selectors, one for each byte
BITS = "\u200c\u200d\u200d\u200c"
ANY = st.text(max_size=200)


def test_characters_that_nobody_sees_are_taken_out():
    rows = [
        ("a\r\nb\rc\u2028d\x0be", "a\nb\nc\nd\ne"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("a\x00b\x1bc\x9bd", "a\ufffdb\ufffdc\ufffdd"),
        ("a\ud800b", "a\ufffdb"),
        ("evil\u202elive\u2066x\u2069", "evillivex"),
        (f"add{TAGS}", "add"),
        (f"smile \U0001f600{BYTES}", "smile \U0001f600"),
        (f"ad{BITS}d", "add"),
        ("a\u3164b\u115fc\u2062d\ufeffe\xadf", "abcdef"),
        ("a\ufe0fb\ufe01c", "abc"),
    ]
    for text, seen in rows:
        assert visible(text) == seen
    assert visible_text("word " * 40, 50).endswith(" ... (cut)")
    assert visible_text(f"{TAGS * 100}shown", 50) == " ... (cut)", "it goes on, unread"


def test_text_that_people_write_stays_as_it_is():
    """Persian and Indian letters, and families, need characters that are drawn as nothing."""
    for text in (
        "plain\n\ttext", "na\xefve \u2014 \u65e5\u672c\u8a9e", "1\ufe0f\u20e3", "e\u0301",
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", "\u0915\u094d\u200d\u0937",
        "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\u2764\ufe0f\u200d\U0001f525",
    ):  # fmt: skip
        assert visible(text) == text
        assert is_visible(text)
        assert not count_hidden(text)


@given(ANY)
def test_cleaned_text_is_visible_and_as_good_as_it_can_be(text: str):
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e\ud800-\udfff]", visible(text))
    if is_visible(text):
        assert visible(text) == re.sub("\x0b|\x0c|\x85|\u2028|\u2029|\r\n?", "\n", text)


@given(ANY, ANY)
def test_a_parameter_is_shown_under_a_name_of_its_own(one: str, other: str):
    if one != other:
        assert shown_parameter(one) != shown_parameter(other)
    assert is_visible(shown_parameter(one))
    assert len(shown_parameter(one)) <= 200


NAMES = st.one_of(ANY, st.sampled_from(["path", "pa\u200bth", f"path{TAGS}", "x" * 900, "a\nb"]))


@given(st.dictionaries(NAMES, st.dictionaries(NAMES, st.integers(), max_size=3), max_size=3))
def test_arguments_given_under_shown_names_reach_the_tool_under_its_own(own: dict[str, Any]):
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {
            name: {"type": "array", "items": {"properties": {x: {} for x in inner}}}
            for name, inner in own.items()
        },
    }
    shown = function_parameters(schema)["properties"]
    arguments = {
        name: [dict(zip(spec["items"].get("properties", {}), inner.values(), strict=True))]
        for (name, spec), inner in zip(shown.items(), own.values(), strict=True)
    }
    assert own_names(arguments, schema) == {name: [inner] for name, inner in own.items()}


def test_only_values_that_look_as_they_are_can_be_chosen():
    """A model would give back what it sees, and be told that this is none of them."""
    spec = {"enum": ["red", "bl\u200bue"], "default": f"red{TAGS}", "pattern": "a\u200bb"}
    hidden = {"enum": [f"red{TAGS}"]}
    shown = function_parameters({"properties": {"x": spec, "y": hidden}})["properties"]
    assert shown["x"] == {"enum": ["red"]}
    assert shown["y"] == {"description": "One of 1 values, such as red."}
