"""Reading the arguments of a call as models write them."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xai_mcp_agent import InvalidArguments
from xai_mcp_agent.agent.arguments import parse_arguments


def schema(required: str = "", **types: str) -> dict[str, Any]:
    properties = {name: {"type": x} for name, x in types.items()}
    return {"type": "object", "properties": properties, "required": required.split()}


MANY = schema("count city", count="integer", city="string", days="array", exact="boolean")
ONE = schema(text="string")
REQUIRED = schema("query", limit="integer", query="string")
ROME = {"count": 3, "city": "Rome"}


@pytest.mark.parametrize(
    ("text", "of", "expected"),
    [
        # Native calls of tools without parameters come empty from some services.
        *[(x, MANY, {}) for x in ("  \n", "null", '"{}"')],
        ('```json\n{"count": 3, "city": "Rome"}\n```', MANY, ROME),
        ('"{\\"count\\": 3, \\"city\\": \\"Rome\\"}"', MANY, ROME),
        ("{'count': 3, 'city': 'Rome',}", MANY, ROME),
        ('count=3, city="Rome"', MANY, ROME),
        ("count='3', city='Rome'", MANY, ROME),
        ("<count>3</count>\n<city>\nRome\n</city>", MANY, ROME),
        ("{'exact': True, 'city': None}", MANY, {"exact": True, "city": None}),
        ('days=[1,2], city="a=b, c"', MANY, {"days": [1, 2], "city": "a=b, c"}),
        ('{"city": "two\nlines"}', MANY, {"city": "two\nlines"}),
        ("{'days': (1, 2)}", MANY, {"days": [1, 2]}),
        # A bare value goes to the only parameter that it can be for.
        ("hello, world", ONE, {"text": "hello, world"}),
        ("x = 1, y", ONE, {"text": "x = 1, y"}),
        ("[1, 2]", ONE, {"text": "[1, 2]"}),
        ("cats", REQUIRED, {"query": "cats"}),
    ],
)
def test_arguments_that_are_plainly_meant_are_read(
    text: str, of: dict[str, Any], expected: dict[str, Any]
):
    assert parse_arguments(text, of) == expected


@pytest.mark.parametrize(
    ("text", "of", "problem"),
    [
        ('{"count": 3 "city": 1}', MANY, "Expecting ',' delimiter at line 1, column 13, near "),
        ('{\n"count": 3', MANY, "at line 2, column 11, where the text ends"),
        ('{"count": 3} please', MANY, "Extra data at line 1, column 14, near 'please'"),
        ('{"count": NaN}', MANY, "NaN is not JSON"),
        ('{"a":' * 100_000, MANY, "nested too deeply"),
        ("Rome", MANY, "not a JSON object: 'Rome'. Expected: one JSON object with count: int"),
        ("now", schema(), "not a JSON object: 'now'. Expected: no parameters."),
    ],
)
def test_arguments_that_cannot_be_read_go_back_to_the_model(
    text: str, of: dict[str, Any], problem: str
):
    """A cut-off call is not completed."""
    with pytest.raises(InvalidArguments) as caught:
        parse_arguments(text, of, tool="weather")
    assert problem in str(caught.value)
    assert "weather" in str(caught.value)
    assert len(str(caught.value)) < 400


@given(st.text(alphabet="count=:,city \"'{}[]<>/1\\\n", max_size=40))
def test_any_text_gives_an_object_or_a_hint(text: str):
    with contextlib.suppress(InvalidArguments):
        assert isinstance(parse_arguments(text, MANY), dict)
