"""Schemas of tools: checking values, reading typed text, and the one line a reader sees."""

from __future__ import annotations

from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from xai_mcp_agent.core.schema_check import SchemaCheck
from xai_mcp_agent.core.schemas import (
    properties,
    required,
    signature,
    types_of,
    value_from_text,
    without_idle_nulls,
)

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


def test_the_parameters_are_shown_in_one_line():
    schema = {
        "properties": {
            "text": {"type": "string"},
            "count": {"type": "integer", "default": 1},
            "mode": {"enum": ["fast", "slow"]},
            "either": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "any": {},
            "odd": "not a schema",
        },
        "required": ["text"],
    }
    assert signature(schema) == (
        'text: string, count?: integer = 1, mode?: "fast"|"slow", either?: string|null, '
        "any?: any, odd?: any"
    )
    assert signature({}) == "no parameters"


def nested(inner: Any, *, choices: bool = False, lists: bool = False) -> Any:
    """JSON nested as deep as a listing may be."""
    for _ in range(400):
        inner = [inner] if choices else inner
        inner = {"anyOf": inner} if choices else {"items": inner}
        inner |= {"type": "array"} if lists else {}
    return inner


schema_words = st.sampled_from(
    ["type", "properties", "required", "enum", "anyOf", "oneOf", "items", "default", "$ref", "a"]
)
anything_like_a_schema = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | schema_words
    | st.sampled_from(["object", "array", "string", "integer", "boolean", "null"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(schema_words, inner, max_size=4),
    max_leaves=15,
)  # fmt: skip


@given(st.dictionaries(schema_words, anything_like_a_schema, max_size=4), st.text(max_size=5))
def test_any_json_object_can_stand_where_a_schema_should(schema: Any, text: str):
    """It comes from a server: whatever it is, nothing else may suffer from it."""
    assert all(isinstance(x, str) for x in required(schema))
    assert signature(schema)
    assert all(isinstance(x, str) for x in types_of(schema))
    value_from_text(text, schema)
    for name, spec in properties(schema).items():
        value_from_text(name, spec)
    assert isinstance(SchemaCheck(schema).problems({"a": text}), list)


def test_text_is_read_as_the_value_its_schema_asks_for():
    cases: list[tuple[str, Any, Any]] = [
        ("3", {"type": "integer"}, 3),
        ("3", {"type": "string"}, "3"),
        ("3", {"type": "number"}, 3),
        ("2.5", {"type": "number"}, 2.5),
        ("2.5", {"type": "integer"}, "2.5"),
        ("three", {"type": "integer"}, "three"),
        ("true", {"type": "boolean"}, True),
        (" TRUE ", {"type": "boolean"}, True),
        ("no", {"type": "boolean"}, "no"),
        ("null", {"type": ["string", "null"]}, None),
        ("null", {"type": "string"}, "null"),
        ("a, b,c", {"type": "array", "items": {"type": "string"}}, ["a", "b", "c"]),
        ("1, 2", {"type": "array", "items": {"type": "integer"}}, [1, 2]),
        ("[1, 2]", {"type": "array"}, [1, 2]),
        ('{"a": 1}', {"type": "object"}, {"a": 1}),
        ("not json", {"type": "object"}, "not json"),
        ("3", {}, 3),
        ("hello", {}, "hello"),
        ("5", {"anyOf": [{"type": "integer"}, {"type": "null"}]}, 5),
    ]
    for text, spec, value in cases:
        found = value_from_text(text, spec)
        assert found == value
        assert type(found) is type(value)


@given(st.text(), st.sampled_from(["string", "integer", "number", "boolean", "array", "object"]))
@example("NaN", "number")
@example("-Infinity", "number")
@example("1e999", "number")
def test_any_text_can_be_read(text: str, kind: str):
    value = value_from_text(text, {"type": kind})
    assert value == text or not SchemaCheck({"type": kind}).problems(value)


def test_only_a_null_that_can_mean_nothing_else_is_left_out():
    schema = {
        "properties": {
            "count": {"type": "integer"},
            "limit": {"type": ["integer", "null"]},
            "anything": {},
            "needed": {"type": "string"},
        },
        "required": ["needed"],
    }
    given = dict.fromkeys(["count", "limit", "anything", "needed", "unknown"])
    kept = ["limit", "anything", "needed", "unknown"]
    assert without_idle_nulls(given, schema) == dict.fromkeys(kept)
    assert without_idle_nulls({"count": 0}, schema) == {"count": 0}
