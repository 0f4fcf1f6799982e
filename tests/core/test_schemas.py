"""Schemas of tools: checks of values, values from text, examples and signatures."""

from __future__ import annotations

import time
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.support.any_json import JSON, SCHEMA_PARTS, SCHEMAS
from tests.support.watchdog import compute_within
from xai_mcp_agent.core.json import JsonObject
from xai_mcp_agent.core.provider_schema import function_parameters
from xai_mcp_agent.core.schema_check import ArgumentChecks, SchemaCheck, is_pattern
from xai_mcp_agent.core.schemas import (
    example_arguments,
    properties,
    required,
    signature,
    types_of,
    value_from_text,
    without_idle_nulls,
)

TEXT, INTEGER = {"type": "string"}, {"type": "integer"}
# How pydantic, and so most Python servers, write `list[str] | None`.
OPTIONAL_TEXTS = {"anyOf": [{"type": "array", "items": TEXT}, {"type": "null"}]}
ADD = {
    "type": "object",
    "properties": {"a": INTEGER, "b": {"type": "integer", "default": 1}},
    "required": ["a"],
    "additionalProperties": False,
}


@settings(max_examples=50)
@given(SCHEMAS, SCHEMA_PARTS, st.text(max_size=5))
def test_any_json_object_is_accepted_as_a_schema(schema: Any, part: Any, text: str):
    """Schemas come from servers, and a bad one must not break anything else."""
    assert all(isinstance(x, str) for x in required(schema))
    assert signature(schema)
    assert all(isinstance(x, str) for x in types_of(schema))
    value_from_text(text, schema)
    for name, spec in properties(schema).items():
        value_from_text(name, spec)
    assert isinstance(SchemaCheck(schema).problems({"a": text}), list)
    assert isinstance(example_arguments(schema), dict)
    assert isinstance(example_arguments(object_with(x=part)), dict)


def test_the_parameters_are_shown_in_one_line():
    schema = {
        "properties": {
            "text": TEXT, "count": {"type": "integer", "default": 1},
            "mode": {"enum": ["fast", "slow"]}, "either": {"anyOf": [TEXT, {"type": "null"}]},
            "any": {}, "odd": "not a schema",
        },
        "required": ["text"],
    }  # fmt: skip
    assert signature(schema) == (
        'text: string, count?: integer = 1, mode?: "fast"|"slow", either?: string|null, '
        "any?: any, odd?: any"
    )
    assert signature({}) == "no parameters"


def test_text_is_read_as_the_value_its_schema_asks_for():
    rows: list[tuple[str, Any, Any]] = [
        ("3", INTEGER, 3), ("3", TEXT, "3"), ("3", {"type": "number"}, 3),
        ("2.5", {"type": "number"}, 2.5), ("2.5", INTEGER, "2.5"), ("three", INTEGER, "three"),
        (" TRUE ", {"type": "boolean"}, True), ("no", {"type": "boolean"}, "no"),
        ("null", {"type": ["string", "null"]}, None), ("null", TEXT, "null"),
        ("a, b,c", {"type": "array", "items": TEXT}, ["a", "b", "c"]),
        ("1, 2", {"type": "array", "items": INTEGER}, [1, 2]), ("[1]", {"type": "array"}, [1]),
        ('{"a": 1}', {"type": "object"}, {"a": 1}), ("not json", {"type": "object"}, "not json"),
        ("3", {}, 3), ("hello", {}, "hello"), ("5", {"anyOf": [INTEGER, {"type": "null"}]}, 5),
        ("2024, 7", OPTIONAL_TEXTS, ["2024", "7"]), ("null", OPTIONAL_TEXTS, None),
        ('{"A": 1, "B": 2}', {"type": ["boolean", "object", "array"]}, {"A": 1, "B": 2}),
    ]  # fmt: skip
    for text, spec, value in rows:
        read = value_from_text(text, spec)
        assert (read, type(read)) == (value, type(value))


@given(st.text(), st.sampled_from(["string", "integer", "number", "boolean", "array", "object"]))
@example("NaN", "number")
@example("-Infinity", "number")
@example("1e999", "number")
def test_any_text_can_be_read(text: str, kind: str):
    value = value_from_text(text, {"type": kind})
    assert value == text or not SchemaCheck({"type": kind}).problems(value)


def test_a_null_is_omitted_only_if_the_schema_allows_none():
    nullable = {"type": ["integer", "null"]}
    specs = {"count": INTEGER, "limit": nullable, "anything": {}, "needed": TEXT}
    schema = {"properties": specs, "required": ["needed"]}
    arguments = dict.fromkeys(["count", "limit", "anything", "needed", "unknown"])
    rest = dict.fromkeys(["limit", "anything", "needed", "unknown"])
    assert without_idle_nulls(arguments, schema) == rest
    assert without_idle_nulls({"count": 0}, schema) == {"count": 0}


# Checks


def test_a_value_that_does_not_fit_is_reported_in_one_line():
    rows: list[tuple[Any, str]] = [
        ({}, '"a" is a required property'),
        ({"a": "x"}, 'a: "x" is not of type "integer"'),
        ({"a": 1, "zz": 2}, "Additional properties are not allowed ('zz' was unexpected)"),
        ([], '[] is not of type "object"'),
    ]
    for value, problem in rows:
        assert SchemaCheck(ADD).problems(value) == [problem]
    deep = SchemaCheck({"properties": {"rows": {"items": {"properties": {"n": INTEGER}}}}})
    problems = deep.problems({"rows": [{"n": 1}, {"n": "x"}]})
    assert problems == ['rows[1].n: "x" is not of type "integer"']
    for value in (object(), {1, 2}, b"bytes", {1: 2}):
        (problem,) = SchemaCheck({"properties": {"a": TEXT}}).problems({"a": value})
        assert problem.startswith("not JSON")


def test_a_value_that_fits_no_branch_is_explained_by_the_one_it_means():
    """FastAPI, hono and tsoa describe unions so; without this a model cannot mend its call."""

    def shape(kind: JsonObject, size: str) -> JsonObject:
        return {"properties": {"kind": kind, size: INTEGER}, "required": ["kind", size]}

    either = [shape({"const": "circle"}, "r"), shape({"enum": ["square"]}, "side")]
    schema = {"properties": {"shape": {"anyOf": [{"oneOf": either}, {"type": "null"}]}}}
    for value, problem in (
        ({"kind": "square"}, 'shape: "side" is a required property'),
        ({"kind": "circle", "r": "x"}, 'shape.r: "x" is not of type "integer"'),
        (
            {"kind": "cow", "r": 1},
            'shape.kind: "circle" was expected or shape.kind: "cow" is not one of "square"',
        ),
    ):
        assert SchemaCheck(schema).problems({"shape": value}) == [problem]


@settings(max_examples=40)
@given(JSON)
def test_any_json_can_be_checked(value: Any):
    assert isinstance(SchemaCheck(ADD).problems(value), list)


def test_a_large_value_or_text_is_checked_only_within_a_time_limit():
    """Finding the place of a problem in 100,000 rows would block the interpreter for a second."""
    schema = SchemaCheck({"items": {"required": ["a"]}})
    rows: list[dict[str, int]] = [{"a": 1}] * 100_000
    assert schema.problems(rows) == []
    assert schema.problems([*rows, {}]) == ["it does not match, and is too large to say where"]
    wide = {"properties": {"text": {"pattern": "^[ab]*a[ab]{900}$"}}, "required": ["name"]}
    text = "c" * 1_000_000
    assert SchemaCheck(wide).problems({"text": text, "name": ""}) == []
    assert SchemaCheck(wide).problems({"text": text}) == ['"name" is a required property']


def test_an_invalid_pattern_disables_no_other_check():
    check = SchemaCheck({"properties": {"a": {"pattern": "("}, "b": INTEGER}})
    assert check.problems({"a": "x", "b": "no"}) == ['b: "no" is not of type "integer"']
    assert not check.broken
    assert not is_pattern("(")


# Processor time: a refusal takes milliseconds, and the check itself would take minutes.
QUICK_SECONDS = 1.0


def doubling(levels: int, word: str = "allOf", **more: Any) -> dict[str, Any]:
    """Return definitions that each refer twice to the next one."""
    parts = {f"d{n}": {word: [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(levels)}
    return {"$ref": "#/$defs/d0", "$defs": {**parts, f"d{levels}": {}}, **more}


def by_name(levels: int, word: str, begin: str) -> dict[str, Any]:
    """Return the same with `$anchor` or `$id`, each written in two ways."""
    parts = [
        {word: f"{begin}a{n}", "anyOf": [{"$ref": f"#a{n + 1}"}, {"$ref": f"#%61{n + 1}"}]}
        if word == "$anchor"
        else {word: f"{begin}a{n}", "oneOf": [{"$ref": f"a{n + 1}"}, {"$ref": f"./a{n + 1}#"}]}
        for n in range(levels)
    ]
    first = "#a0" if word == "$anchor" else f"{begin}a0"
    return {"$defs": {str(n): part for n, part in enumerate(parts)}, "$ref": first}


def unevaluated_schema(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(levels):
        schema = {"allOf": [schema], "unevaluatedProperties": {}}
    return schema


def test_an_unusable_or_endless_schema_checks_nothing_and_says_why():
    """References are not fetched, and the tool stays usable."""
    unusable: list[dict[str, Any]] = [
        {"$ref": "https://example.invalid/schema.json"}, {"$ref": "#/definitions/nowhere"},
        {"$ref": "file:///etc/passwd"}, {"type": "no-such-type"}, {"properties": 5},
        {"$schema": "https://example.invalid/meta"},
    ]  # fmt: skip
    hostile: list[dict[str, Any]] = [
        doubling(60), by_name(60, "$anchor", ""), by_name(60, "$id", "http://x/"), {"$ref": "#"},
        {"properties": {f"p{n}": {} for n in range(100_000)}, "required": ["p1"]},
        {"items": unevaluated_schema(600)}, {"enum": [[n] for n in range(50_000)]},
    ]  # fmt: skip
    for schema in (*unusable, *hostile):
        began = time.process_time()
        check = SchemaCheck(schema)
        assert check.problems({"a": 1}) == []
        assert check.broken
        assert schema in unusable or check.broken.startswith(("it ", "its "))
        assert function_parameters(schema)["type"] == "object"
        assert signature(schema)
        assert time.process_time() - began < QUICK_SECONDS


def union(kinds: int) -> dict[str, Any]:
    """Return the schema that pydantic writes for a tree of many kinds of nodes."""
    children = {"type": "array", "items": {"$ref": "#/$defs/Any"}}
    nodes = {
        f"Node{n}": {
            "properties": {"kind": {"const": n}, "children": children}, "required": ["kind"],
        }
        for n in range(kinds)
    }  # fmt: skip
    any_of = {"anyOf": [{"$ref": f"#/$defs/{name}"} for name in nodes]}
    return {"properties": {"root": {"$ref": "#/$defs/Any"}}, "$defs": {**nodes, "Any": any_of}}


def test_ordinary_schemas_of_any_size_are_checked():
    many = {"properties": {f"p{n}": TEXT for n in range(2_000)}}
    identified = {"$id": "https://x/y", "$defs": {"a": {"type": "null"}}, "$ref": "#/$defs/a"}
    rows: list[tuple[dict[str, Any], Any, Any]] = [
        (union(30), {"root": {"kind": 3, "children": [{"kind": 4}]}}, {"root": {}}),
        (doubling(5, type="object"), {}, 1),
        ({"enum": [f"v{n}" for n in range(20_000)]}, "v7", "w"),
        (many, {"p7": ""}, {"p7": 1}),
        ({"items": {"pattern": r"^(?!.*\.\.)[a-z0-9.]{1,64}$"}}, ["a.b"] * 20, ["a..b"]),
        ({"pattern": r"^\p{L}[\p{L}\p{N}_-]{0,63}$"}, "\u00e9", "1"),
        (identified, None, 1),
    ]
    for schema, good, bad in rows:
        check = SchemaCheck(schema)
        assert check.broken == ""
        assert check.problems(good) == []
        assert check.problems(bad)


def nested_list(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def test_a_value_that_would_take_too_long_is_not_checked():
    slow, wide = "(?=a)(a+)+$", "[ab]*a[ab]{900}x"
    rows: list[tuple[Any, Any]] = [
        ({"items": {"allOf": [{"$ref": "#"}, {"anyOf": [{"$ref": "#"}]}]}}, nested_list(60)),
        ({"items": {"pattern": slow}}, ["a" * 100_000 + "!"]),
        ({"items": {"pattern": slow}}, ["a" * 9_000 + "!"] * 50),
        ({"items": {"pattern": wide}}, ["ab" * 1_000_000]),
        ({"patternProperties": {wide: {}}}, {"ab" * 1_000_000: 1}),
        ({"items": doubling(12)}, [1] * 10_000),
        ({"anyOf": [{"required": [f"x{n}"]} for n in range(500)]}, {"a": [1] * 19_000}),
        ({"items": doubling(8, "anyOf") | {"$defs": doubling(8)["$defs"]}}, [1] * 1_000),
        ({"items": {}}, [[1] * 10] * 100_000),
    ]
    for schema, value in rows:
        began = time.process_time()
        assert len(ArgumentChecks().problems("t", schema, value)) <= 1
        assert time.process_time() - began < QUICK_SECONDS


# Examples from any schema, quickly.


def object_with(**specs: Any) -> JsonObject:
    return {"type": "object", "properties": specs, "required": list(specs)}


def example_of(spec: Any, **more: Any) -> Any:
    schema = {**object_with(x=spec), **more}
    arguments = example_arguments(schema)
    assert SchemaCheck(schema).problems(arguments) == []
    return arguments["x"]


def test_an_example_in_the_schema_is_used_where_it_fits():
    """Many tools take one of two parameters, with an `anyOf` at the top level."""
    rows: list[tuple[JsonObject, Any]] = [
        ({**TEXT, "examples": ["Paris", "Rome"]}, "Paris"), ({**TEXT, "default": "Paris"}, "Paris"),
        ({**TEXT, "enum": ["asc", "desc"]}, "asc"), ({"const": 7}, 7),
        ({**TEXT, "format": "date"}, "2026-03-12"), ({"type": ["null", "integer"]}, 1),
        ({"anyOf": [{"type": "null"}, {"type": "boolean"}]}, True),
        ({"type": "array", "items": {**TEXT, "enum": ["a"]}}, ["a"]),
        ({**TEXT, "default": None}, "text"),
    ]  # fmt: skip
    for spec, value in rows:
        assert example_of(spec) == value
    point = object_with(y={"$ref": "#/$defs/n"})
    defs = {"n": {"type": "integer", "minimum": 5}, "point": point}
    assert example_of({"$ref": "#/$defs/point"}, **{"$defs": defs}) == {"y": 5}
    assert example_of({"$ref": "#/properties/x/anyOf/1", "anyOf": [{}, {}]}) == "text"
    choice: JsonObject = {"properties": {"id": INTEGER, "name": TEXT}}
    choice["anyOf"] = [{"required": ["id"]}, {"required": ["name"]}]
    assert example_arguments(choice) == {"id": 1}


def test_an_example_of_a_hostile_schema_takes_little_time():
    it = {"$ref": "#/$defs/it"}
    tree = {"type": "object", "required": ["left"], "properties": {"left": {"$ref": "#/$defs/t"}}}
    schemas: list[JsonObject] = [
        {"$defs": {"t": tree}, **object_with(x={"$ref": "#/$defs/t"})}, {"$ref": "#"},
        {"anyOf": [{"$ref": "#"}]}, {"required": ["x"] * 100_000},
        object_with(**{f"p{i}": {**TEXT, "pattern": "a+"} for i in range(2_000)}),
        object_with(x={"enum": list(range(9_000))}, y={**TEXT, "pattern": "(" * 2_000}),
        object_with(x={**TEXT, "pattern": "((((a{999}){999}){999}){999})"}),
        object_with(x={"type": "array", "minItems": 10**9, "items": TEXT}),
        object_with(x={**TEXT, "minLength": 10**12}),
        object_with(x={"type": "number", "minimum": 1e300, "multipleOf": 1e-300}),
        object_with(x={"allOf": [{"anyOf": [{}, {}] * 50}] * 50}),
        *(
            {"$defs": doubling(40, word)["$defs"], **object_with(x={"$ref": "#/$defs/d0"})}
            for word in ("allOf", "anyOf", "oneOf")
        ),
        {"$defs": {"it": {"allOf": [it] * 10, "anyOf": [it] * 10}}, **object_with(x=it)},
    ]  # fmt: skip
    for schema in schemas:
        compute_within(0.3, lambda schema=schema: example_arguments(schema))
