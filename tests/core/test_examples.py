"""Example arguments: what the schema shows, in no time, whatever the schema is."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.support.watchdog import done_within
from xai_mcp_agent.core.json import JsonObject
from xai_mcp_agent.core.schema_check import SchemaCheck
from xai_mcp_agent.core.schemas import example_arguments

words = st.text(alphabet="abc$/", max_size=4)
types = st.sampled_from(("string", "integer", "number", "boolean", "array", "object", "null"))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | words | types,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ("type", "properties", "items", "anyOf", "allOf", "oneOf", "enum", "default", "if",
                 "then", "const", "examples", "required", "pattern", "minLength", "maxLength",
                 "minimum", "exclusiveMinimum", "maximum", "multipleOf", "minItems", "uniqueItems",
                 "maxItems", "prefixItems", "$ref", "$defs", "format", "dependentRequired", "a"),
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=15,
)  # fmt: skip


def object_with(**specs: Any) -> JsonObject:
    return {"type": "object", "properties": specs, "required": list(specs)}


def example_of(spec: Any, **more: Any) -> Any:
    schema = {**object_with(x=spec), **more}
    found = example_arguments(schema)
    assert SchemaCheck(schema).problems(found) == []
    return found["x"]


def test_what_the_schema_shows_is_taken_where_it_fits():
    cases: list[tuple[JsonObject, Any]] = [
        ({"type": "string", "examples": ["Paris", "Rome"]}, "Paris"),
        ({"type": "string", "default": "Paris"}, "Paris"),
        ({"type": "string", "enum": ["asc", "desc"]}, "asc"),
        ({"const": 7}, 7),
        ({"type": "string", "format": "date"}, "2026-03-12"),
        ({"type": ["null", "integer"]}, 1),
        ({"anyOf": [{"type": "null"}, {"type": "boolean"}]}, True),
        ({"type": "array", "items": {"type": "string", "enum": ["a"]}}, ["a"]),
        ({"type": "string", "default": None}, "text"),
    ]
    for spec, value in cases:
        assert example_of(spec) == value


def test_what_is_defined_elsewhere_is_found():
    point = {"type": "object", "properties": {"y": {"$ref": "#/$defs/n"}}, "required": ["y"]}
    schema = {"$defs": {"n": {"type": "integer", "minimum": 5}, "point": point}}
    assert example_of({"$ref": "#/$defs/point"}, **schema) == {"y": 5}
    assert example_of({"$ref": "#/properties/x/anyOf/1", "anyOf": [{}, {}]}) == "text"


def test_one_of_several_ways_to_call_it_is_shown():
    """Many tools take one of two parameters, and say so at the top."""
    schema = {"properties": {"id": {"type": "integer"}, "name": {"type": "string"}}, "anyOf": [
        {"required": ["id"]}, {"required": ["name"]}]}  # fmt: skip
    assert example_arguments(schema) == {"id": 1}


def test_a_tree_of_itself_ends():
    tree = {"type": "object", "required": ["left"], "properties": {"left": {"$ref": "#/$defs/t"}}}
    example_arguments({"$defs": {"t": tree}, **object_with(x={"$ref": "#/$defs/t"})})
    example_arguments({"$ref": "#"})
    example_arguments({"anyOf": [{"$ref": "#"}]})


def _doubling(depth: int) -> JsonObject:
    defs: JsonObject = {"d0": {"type": "string"}}
    for i in range(depth):
        inner = {"$ref": f"#/$defs/d{i}"}
        defs[f"d{i + 1}"] = object_with(a=inner, b=inner)
        defs[f"d{i + 1}"]["anyOf"] = [inner, inner]
    return {"$defs": defs, **object_with(x={"$ref": f"#/$defs/d{depth}"})}


def _of_itself(times: int, *words: str) -> JsonObject:
    it = {"$ref": "#/$defs/it"}
    return {"$defs": {"it": {x: [it] * times for x in words}}, **object_with(x=it)}


def _in_a_row(length: int, times: int, word: str) -> JsonObject:
    defs: JsonObject = {
        f"d{n}": {word: [{"$ref": f"#/$defs/d{n + 1}"}] * times} for n in range(length)
    }
    return {"$defs": defs, **object_with(x={"$ref": "#/$defs/d0"})}


def test_a_schema_made_to_take_long_takes_little():
    cases: list[JsonObject] = [
        _doubling(40),
        object_with(**{f"p{i}": {"type": "string", "pattern": "a+"} for i in range(2_000)}),
        object_with(x={"enum": list(range(9_000))}, y={"type": "string", "pattern": "(" * 2_000}),
        object_with(x={"type": "string", "pattern": "((((a{999}){999}){999}){999})"}),
        object_with(x={"type": "array", "minItems": 10**9, "items": {"type": "string"}}),
        object_with(x={"type": "string", "minLength": 10**12}),
        object_with(x={"type": "number", "minimum": 1e300, "multipleOf": 1e-300}),
        object_with(x={"allOf": [{"anyOf": [{}, {}] * 50}] * 50}),
        {"required": ["x"] * 100_000},
        *(
            _of_itself(10, *words)
            for words in (["allOf"], ["anyOf"], ["anyOf", "allOf"], ["oneOf"])
        ),
        *(_in_a_row(7, 10, word) for word in ("allOf", "anyOf")),
    ]
    for schema in cases:
        done_within(0.3, lambda schema=schema: example_arguments(schema))


@given(
    st.dictionaries(
        st.sampled_from(("properties", "required", "anyOf", "$ref", "type")), json_values
    )
)
def test_nothing_that_is_no_schema_breaks_it(schema: JsonObject):
    assert isinstance(example_arguments(schema), dict)
    assert isinstance(example_arguments(object_with(x=schema)), dict)
