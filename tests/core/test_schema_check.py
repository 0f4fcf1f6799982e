"""Checks of values against schemas, also against those that would take for ever."""

from __future__ import annotations

import time
from typing import Any

from hypothesis import given

from tests.core.test_schemas import json_values
from xai_mcp_agent.core.provider_schema import function_parameters
from xai_mcp_agent.core.schema_check import ArgumentChecks, SchemaCheck, is_pattern
from xai_mcp_agent.core.schemas import signature

ADD = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer", "default": 1}},
    "required": ["a"],
    "additionalProperties": False,
}


def test_what_does_not_fit_is_reported_in_one_line():
    cases: list[tuple[Any, str]] = [
        ({}, '"a" is a required property'),
        ({"a": "x"}, 'a: "x" is not of type "integer"'),
        ({"a": 1, "zz": 2}, "Additional properties are not allowed ('zz' was unexpected)"),
        ([], '[] is not of type "object"'),
    ]
    for value, problem in cases:
        assert SchemaCheck(ADD).problems(value) == [problem]


def test_a_problem_deep_inside_is_reported_with_its_path():
    schema = {"properties": {"rows": {"items": {"properties": {"n": {"type": "integer"}}}}}}
    problems = SchemaCheck(schema).problems({"rows": [{"n": 1}, {"n": "x"}]})
    assert problems == ['rows[1].n: "x" is not of type "integer"']


def test_of_a_value_with_very_many_parts_only_that_it_does_not_fit_is_reported():
    """Looking for the place takes a second for 100,000 rows, in which nothing else can be done."""
    schema = {"items": {"required": ["a"]}}
    rows: list[dict[str, int]] = [{"a": 1}] * 100_000
    assert SchemaCheck(schema).problems(rows) == []
    problems = SchemaCheck(schema).problems([*rows, {}])
    assert problems == ["it does not fit, and is too large to say where"]


def test_a_schema_that_cannot_be_used_checks_nothing_and_says_why():
    """Nothing is fetched for it, and the tool stays usable."""
    cases: list[dict[str, Any]] = [
        {"$ref": "https://example.invalid/schema.json"},
        {"$ref": "#/definitions/nowhere"},
        {"$ref": "file:///etc/passwd"},
        {"type": "no-such-type"},
        {"properties": 5},
        {"$schema": "https://example.invalid/meta"},
    ]
    for schema in cases:
        check = SchemaCheck(schema)
        assert check.problems({"anything": 1}) == []
        assert check.broken


def test_a_value_that_is_not_json_is_a_problem_not_a_crash():
    cases: list[Any] = [object(), {1, 2}, b"bytes", {1: 2}]
    for value in cases:
        schema = {"properties": {"a": {"type": "string"}}}
        (problem,) = SchemaCheck(schema).problems({"a": value})
        assert problem.startswith("not JSON")


@given(json_values)
def test_any_json_can_be_checked(value: Any):
    assert isinstance(SchemaCheck(ADD).problems(value), list)


def test_a_wrong_pattern_costs_no_other_check():
    check = SchemaCheck({"properties": {"a": {"pattern": "("}, "b": {"type": "integer"}}})
    assert check.problems({"a": "x", "b": "no"}) == ['b: "no" is not of type "integer"']
    assert not check.broken
    assert not is_pattern("(")


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
    "anchors": by_anchor(60),
    "identifiers": by_identifier(60),
    "itself": {"$ref": "#"},
    "wide": {"properties": {f"p{n}": {} for n in range(100_000)}, "required": ["p1"]},
    "deep": {"items": unevaluated(600)},
    "values": {"enum": [[n] for n in range(50_000)]},
}


def test_a_schema_that_would_take_for_ever_checks_nothing_and_says_why():
    for kind in HOSTILE:
        began = time.process_time()
        check = SchemaCheck(HOSTILE[kind])
        assert check.problems({"a": 1}) == []
        assert check.broken.startswith(("it ", "its "))
        assert function_parameters(HOSTILE[kind])["type"] == "object"
        assert signature(HOSTILE[kind])
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


def test_what_people_write_is_checked():
    for kind in ORDINARY:
        schema, good, bad = ORDINARY[kind]
        check = SchemaCheck(schema)
        assert check.broken == ""
        assert check.problems(good) == []
        assert check.problems(bad)


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def test_a_value_that_would_take_for_ever_is_not_checked():
    cases: list[tuple[Any, Any]] = [
        ({"items": {"allOf": [{"$ref": "#"}, {"anyOf": [{"$ref": "#"}]}]}}, nested(60)),
        ({"items": {"pattern": "(?=a)(a+)+$"}}, ["a" * 100_000 + "!"]),
        ({"items": {"pattern": "(?=a)(a+)+$"}}, ["a" * 9_000 + "!"] * 50),
        ({"items": {"pattern": "[ab]*a[ab]{900}x"}}, ["ab" * 1_000_000]),
        ({"patternProperties": {"[ab]*a[ab]{900}x": {}}}, {"ab" * 1_000_000: 1}),
        ({"items": doubled(12)}, [1] * 10_000),
        ({"anyOf": [{"required": [f"x{n}"]} for n in range(500)]}, {"a": [1] * 19_000}),
        ({"items": doubled(8, "anyOf") | {"$defs": doubled(8)["$defs"]}}, [1] * 1_000),
        ({"items": {}}, [[1] * 10] * 100_000),
    ]
    for schema, value in cases:
        began = time.process_time()
        assert len(ArgumentChecks().problems("t", schema, value)) <= 1
        assert time.process_time() - began < QUICK_SECONDS


def test_of_a_text_too_long_for_a_pattern_all_else_is_checked():
    schema = {"properties": {"text": {"pattern": "^[ab]*a[ab]{900}$"}}, "required": ["name"]}
    text = "c" * 1_000_000
    assert SchemaCheck(schema).problems({"text": text, "name": ""}) == []
    (problem,) = SchemaCheck(schema).problems({"text": text})
    assert problem == '"name" is a required property'
