"""Schemas that would take for ever are seen before anything is checked against them."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests.support.watchdog import done_within
from xai_mcp_agent.core.provider_schema import function_parameters
from xai_mcp_agent.core.schema_cost import SchemaCost, TooCostly
from xai_mcp_agent.core.schemas import ArgumentChecks, SchemaCheck, signature

# Processor time; what is refused takes milliseconds, and what was once done took minutes.
QUICK_SECONDS = 1.0


def doubled(levels: int, word: str = "allOf", **more: Any) -> dict[str, Any]:
    """Each definition asks twice for the next one."""
    parts = {f"d{n}": {word: [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(levels)}
    return {"$ref": "#/$defs/d0", "$defs": {**parts, f"d{levels}": {}}, **more}


def by_anchor(levels: int) -> dict[str, Any]:
    parts = [
        {"$anchor": f"a{n}", "anyOf": [{"$ref": f"#a{n + 1}"}, {"$ref": f"#%61{n + 1}"}]}
        for n in range(levels)
    ]
    return {"$defs": {str(n): part for n, part in enumerate(parts)}, "$ref": "#a0"}


def by_identifier(levels: int) -> dict[str, Any]:
    parts = [
        {"$id": f"http://x/a{n}", "oneOf": [{"$ref": f"a{n + 1}"}, {"$ref": f"./a{n + 1}#"}]}
        for n in range(levels)
    ]
    return {"$defs": {str(n): part for n, part in enumerate(parts)}, "$ref": "http://x/a0"}


def unevaluated(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(levels):
        schema = {"allOf": [schema], "unevaluatedProperties": {}}
    return schema


HOSTILE: dict[str, dict[str, Any]] = {
    "doubled": doubled(60),
    "choices": doubled(60, "anyOf"),
    "inside": {"properties": {"a": doubled(60)["$ref"]}, **doubled(60)},
    "anchors": by_anchor(60),
    "identifiers": by_identifier(60),
    "unevaluated": unevaluated(40),
    "itself": {"$ref": "#"},
    "wide": {"properties": {f"p{n}": {} for n in range(100_000)}, "required": ["p1"]},
    "deep": {"items": unevaluated(600)},
    "values": {"enum": [[n] for n in range(20_000)]},
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_schema_that_would_take_for_ever_checks_nothing_and_says_why(kind: str):
    began = time.process_time()
    check = SchemaCheck(HOSTILE[kind])
    assert check.problems({"a": 1}) == []
    assert check.why_unusable().startswith(("it ", "its "))
    assert function_parameters(HOSTILE[kind])["type"] == "object"
    assert signature(HOSTILE[kind])
    assert time.process_time() - began < QUICK_SECONDS


PATTERNS: dict[str, dict[str, Any]] = {
    "patterns": {"properties": {f"p{n}": {"pattern": r"(\p{L}{1,40})"} for n in range(10)}},
    "many patterns": {"properties": {f"p{n}": {"pattern": f"{n}"} for n in range(600)}},
    "long pattern": {"pattern": "a" * 3_000},
    "pattern for names": {"patternProperties": {"((a{1,100}){1,100}){1,100}": {}}},
    "many that are large": {
        "properties": {f"p{n}": {"pattern": rf"\\p{{L}}{{1,200}}{n}"} for n in range(500)}
    },
}


@pytest.mark.parametrize("kind", PATTERNS)
def test_patterns_hold_up_nobody_however_large_they_are(kind: str):
    """The library refuses to compile large ones."""
    began = time.process_time()
    check = SchemaCheck(PATTERNS[kind])
    assert check.problems({"a": 1}) == []
    assert check.broken == "" or 'is not a "regex"' in check.broken
    assert function_parameters(PATTERNS[kind])["type"] == "object"
    assert time.process_time() - began < QUICK_SECONDS


def union(kinds: int) -> dict[str, Any]:
    """As pydantic writes a tree of many kinds of nodes."""
    nodes = {
        f"Node{n}": {
            "type": "object",
            "properties": {
                "kind": {"const": n},
                "children": {"type": "array", "items": {"$ref": "#/$defs/Any"}},
            },
            "required": ["kind"],
        }
        for n in range(kinds)
    }
    any_of = [{"$ref": f"#/$defs/{name}"} for name in nodes]
    return {
        "properties": {"root": {"$ref": "#/$defs/Any"}},
        "$defs": {**nodes, "Any": {"anyOf": any_of}},
    }


ORDINARY: dict[str, tuple[dict[str, Any], Any, Any]] = {
    "recursive": (union(30), {"root": {"kind": 3, "children": [{"kind": 4}]}}, {"root": {}}),
    "some doubling": (doubled(5, type="object"), {}, 1),
    "a long list of values": ({"enum": [f"v{n}" for n in range(20_000)]}, "v7", "w"),
    "many properties": (
        {"properties": {f"p{n}": {"type": "string"} for n in range(2_000)}}, {"p7": ""}, {"p7": 1},
    ),
    "patterns": (
        {"items": {"pattern": r"^(?!.*\.\.)[a-z0-9.]{1,64}$"}}, ["a.b"] * 20, ["a..b"],
    ),
    "a pattern costly to compile": ({"pattern": r"^\p{L}[\p{L}\p{N}_-]{0,63}$"}, "\u00e9", "1"),
    "an identifier": (
        {"$id": "https://x/y", "$defs": {"a": {"type": "null"}}, "$ref": "#/$defs/a"}, None, 1,
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", ORDINARY)
def test_what_people_write_is_checked(kind: str):
    schema, good, bad = ORDINARY[kind]
    check = SchemaCheck(schema)
    assert check.why_unusable() == ""
    assert check.problems(good) == []
    assert check.problems(bad)


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"items": {"allOf": [{"$ref": "#"}, {"anyOf": [{"$ref": "#"}]}]}}, nested(60)),
        ({"items": {"pattern": "(?=a)(a+)+$"}}, ["a" * 100_000 + "!"]),
        ({"items": {"pattern": "[ab]*a[ab]{900}x"}}, ["ab" * 1_000_000]),
        ({"patternProperties": {"[ab]*a[ab]{900}x": {}}}, {"ab" * 1_000_000: 1}),
        ({"items": doubled(12)}, [1] * 10_000),
        ({"anyOf": [{"required": [f"x{n}"]} for n in range(500)]}, {"a": [1] * 19_000}),
        ({"items": doubled(8, "anyOf") | {"$defs": doubled(8)["$defs"]}}, [1] * 1_000),
        ({"items": {}}, [[1] * 10] * 100_000),
    ],
    ids=["depth", "looking around", "repeats", "names", "steps", "quoted", "explained", "parts"],
)
def test_a_value_that_would_take_for_ever_is_not_checked(schema: Any, value: Any):
    began = time.process_time()
    assert len(ArgumentChecks().problems("t", schema, value)) <= 1
    assert time.process_time() - began < QUICK_SECONDS


def test_of_a_text_too_long_for_a_pattern_all_else_is_checked():
    schema = {"properties": {"text": {"pattern": "^[ab]*a[ab]{900}$"}}, "required": ["name"]}
    text = "c" * 1_000_000
    assert SchemaCheck(schema).problems({"text": text, "name": ""}) == []
    (problem,) = SchemaCheck(schema).problems({"text": text})
    assert problem == '"name" is a required property'


def test_a_doubling_is_told_as_such():
    with pytest.raises(TooCostly, match="multiply"):
        SchemaCost(doubled(60))
    assert SchemaCost({}).steps_at(0) == 1


def test_a_tool_with_very_many_references_is_offered_within_bounds():
    """Each is put in its place where it leads into the middle of the schema."""
    many = {"properties": {f"p{n}": {"enum": [f"{n}"] * 50} for n in range(150)}}
    schema = {
        "properties": {"a": many, "b": {"anyOf": [{"$ref": "#/properties/a"}] * 1_000}},
        "required": ["a"],
    }
    parameters = done_within(QUICK_SECONDS, lambda: function_parameters(schema))
    assert parameters["required"] == ["a"]


def test_very_many_choices_at_the_top_are_put_together_in_no_time():
    choices: list[dict[str, Any]] = [
        {"properties": {f"p{n}_{m}": {} for m in range(2)}, "required": [f"p{n}_0"]}
        for n in range(1_000)
    ]
    parameters = done_within(QUICK_SECONDS, lambda: function_parameters({"anyOf": choices}))
    assert len(parameters["properties"]) == 2_000
