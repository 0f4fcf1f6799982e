"""Reading the arguments of a call as models write them."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xai_mcp_agent import InvalidArguments
from xai_mcp_agent.agent.protocols.arguments import parse_arguments

MANY: dict[str, Any] = {
    "type": "object",
    "properties": {
        "count": {"type": "integer"},
        "city": {"type": "string"},
        "days": {"type": "array", "items": {"type": "integer"}},
        "more": {"type": "object"},
        "exact": {"type": "boolean"},
    },
    "required": ["count", "city"],
}
ONE: dict[str, Any] = {"type": "object", "properties": {"text": {"type": "string"}}}
NEEDED: dict[str, Any] = {
    "type": "object",
    "properties": {"limit": {"type": "integer"}, "query": {"type": "string"}},
    "required": ["query"],
}
NONE: dict[str, Any] = {"type": "object", "properties": {}}


@pytest.mark.parametrize("text", ["", "  \n", "null", "{}", '"{}"', "```json\n{}\n```"])
def test_nothing_is_no_arguments(text: str):
    """Native calls of tools without parameters come empty from some services."""
    assert parse_arguments(text, MANY) == {}


@pytest.mark.parametrize(
    "text",
    [
        '{"count": 3, "city": "Rome"}',
        '```json\n{"count": 3, "city": "Rome"}\n```',
        '"{\\"count\\": 3, \\"city\\": \\"Rome\\"}"',
        "{'count': 3, 'city': 'Rome',}",
        "{count: 3, city: 'Rome'}",
        'count=3, city="Rome"',
        "count=3 city=Rome",
        "count: 3\ncity: Rome",
        "count='3', city='Rome'",
        "<count>3</count>\n<city>\nRome\n</city>",
    ],
)
def test_what_is_plainly_meant_is_read(text: str):
    assert parse_arguments(text, MANY) == {"count": 3, "city": "Rome"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{'exact': True, 'city': None}", {"exact": True, "city": None}),
        ("{'exact': true, 'city': null,}", {"exact": True, "city": None}),
        ("city=New York, exact=false", {"city": "New York", "exact": False}),
        ("days=[1,2], count=1", {"days": [1, 2], "count": 1}),
        ("days=1,2, count=1", {"days": [1, 2], "count": 1}),
        ('more={"city": "a=b, c"}, count=1', {"more": {"city": "a=b, c"}, "count": 1}),
        ('city="7"', {"city": "7"}),
        ("city=7", {"city": "7"}),
        ("city=[draft]", {"city": "[draft]"}),
        ('{"city": "two\nlines"}', {"city": "two\nlines"}),
        ('{"city": "\\ud83d\\ude00",}', {"city": "\U0001f600"}),
        ("{'days': (1, 2)}", {"days": [1, 2]}),
    ],
)
def test_values_are_read_as_the_types_of_the_schema(text: str, expected: dict[str, Any]):
    assert parse_arguments(text, MANY) == expected


@pytest.mark.parametrize(
    ("text", "schema", "expected"),
    [
        ("hello, world", ONE, {"text": "hello, world"}),
        ('"hello"', ONE, {"text": "hello"}),
        ("'hello'", ONE, {"text": "hello"}),
        ("3", ONE, {"text": "3"}),
        ("x = 1, y", ONE, {"text": "x = 1, y"}),
        ("[1, 2]", ONE, {"text": "[1, 2]"}),
        ("cats", NEEDED, {"query": "cats"}),
    ],
)
def test_a_bare_value_goes_to_the_only_parameter_it_can_be_for(
    text: str, schema: dict[str, Any], expected: dict[str, Any]
):
    assert parse_arguments(text, schema) == expected


@pytest.mark.parametrize(
    ("text", "schema", "problem"),
    [
        ('{"count": 3 "city": 1}', MANY, "Expecting ',' delimiter at line 1, column 13, near "),
        ('{\n"count": 3', MANY, "at line 2, column 11, where the text ends"),
        ('{"count": 3} please', MANY, "Extra data at line 1, column 14, near 'please'"),
        ('{"text": "it"s"}', ONE, "Expecting ',' delimiter"),
        ('{"count": NaN}', MANY, "NaN is not JSON"),
        ('{"a":' * 100_000, MANY, "nested too deeply"),
        ("Rome", MANY, "not a JSON object: 'Rome'"),
        ("[" * 5000, MANY, "not a JSON object"),
        ("now", NONE, "it takes no arguments, not 'now'"),
    ],
)
def test_what_cannot_be_read_is_answered_with_a_hint(
    text: str, schema: dict[str, Any], problem: str
):
    """Spec 1, issue: broken JSON is answered with a clear hint."""
    with pytest.raises(InvalidArguments) as caught:
        parse_arguments(text, schema, tool="weather")
    assert problem in str(caught.value)
    assert "weather" in str(caught.value)
    assert len(str(caught.value)) < 400


def test_the_hint_shows_the_signature():
    with pytest.raises(InvalidArguments, match=r"Expected: one JSON object with count: integer, "):
        parse_arguments("{", MANY)


@given(st.dictionaries(st.text(), st.integers() | st.text() | st.booleans() | st.none()))
def test_any_json_object_is_read_as_it_is(arguments: dict[str, Any]):
    assert parse_arguments(json.dumps(arguments), MANY) == arguments


@given(st.text(alphabet="count=:,city \"'{}[]<>/1\\\n", max_size=40))
def test_any_text_gives_an_object_or_a_hint(text: str):
    with contextlib.suppress(InvalidArguments):
        assert isinstance(parse_arguments(text, MANY), dict)
