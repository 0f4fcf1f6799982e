"""Every schema becomes one hashable value, whatever a server sends. Reference section 5; us."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.watchdog import done_within
from xai_mcp_agent.planning.shapes import (
    ANY,
    KINDS,
    MAX_DEPTH,
    NEVER,
    Field,
    Shape,
    shape_of,
    shape_of_value,
)

TEXT, WHOLE = Shape("string"), Shape("integer")
_STEP_SECONDS = 0.1

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=12),
    lambda x: st.lists(x, max_size=4) | st.dictionaries(st.text(max_size=8), x, max_size=4),
    max_leaves=12,
)
SAID = """
    type properties items required enum const anyOf oneOf allOf $ref $defs format nullable title
    additionalProperties prefixItems description $id x-type
"""
WORDS = st.sampled_from(SAID.split())
KINDS_SAID = st.sampled_from(["object", "array", "string", "integer", "number", "boolean", "null"])
REFERENCES = st.sampled_from(
    ["#", "#/$defs/a", "#/properties/a", "http://x/y", "#/%", "##", "#/a~2"]
)
SCHEMAS = st.recursive(
    st.booleans() | KINDS_SAID | VALUES,
    lambda x: (
        st.dictionaries(WORDS, x | REFERENCES | st.lists(x, max_size=3), max_size=5)
        | st.dictionaries(st.sampled_from(["a", "b", "$ref"]), x | REFERENCES, max_size=3)
    ),
    max_leaves=25,
)


def fields(**shapes: Shape) -> Shape:
    return Shape("object", fields=tuple(Field(x, shapes[x]) for x in sorted(shapes)))


@settings(max_examples=300, deadline=None)
@given(schema=SCHEMAS)
def test_any_schema_gives_a_shape_that_can_be_hashed(schema: Any) -> None:
    shape = shape_of(schema)
    assert hash(shape) == hash(shape_of(json.loads(json.dumps(schema))))
    assert shape.kind in KINDS
    assert depth_of(shape) <= 2 * MAX_DEPTH


@settings(max_examples=100, deadline=None)
@given(schema=SCHEMAS, seed=st.integers(0, 99))
def test_the_order_of_keys_makes_no_difference(schema: Any, seed: int) -> None:
    assert shape_of(schema) == shape_of(shuffled(schema, random.Random(seed)))


@settings(max_examples=100, deadline=None)
@given(value=VALUES)
def test_any_value_shows_a_shape_without_what_it_holds(value: Any) -> None:
    shape = shape_of_value(value)
    assert hash(shape) == hash(shape_of_value(value))
    assert not shape.choices


HOSTILE = {
    "a reference to itself": {"$ref": "#"},
    "references in a ring": {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}},
                             "$ref": "#/$defs/a"},
    "a tree that refers to itself twice": {"properties": {x: {"$ref": "#"} for x in "abcdefgh"}},
    "all of itself": {"allOf": [{"$ref": "#"}] * 50, "anyOf": [{"$ref": "#"}] * 50},
    "thousands of properties": {"properties": {f"p{n}": {"type": "string"} for n in range(50_000)}},
    "thousands of choices": {"enum": list(range(100_000))},
    "thousands of variants": {"anyOf": [{"const": n} for n in range(50_000)]},
    "a long reference": {"$ref": "#" + "/a" * 100_000},
    "wide and deep": {"properties": {x: {"properties": {y: {"items": [{"$ref": "#"}] * 40}
                                                        for y in "abcdefghij"}}
                                     for x in "abcdefghij"}},
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_schema_takes_no_longer_than_one_step_may(name: str) -> None:
    """An event loop stands still meanwhile."""
    shape = done_within(_STEP_SECONDS, lambda: shape_of(HOSTILE[name]))
    assert shape.kind in KINDS


def test_a_schema_as_deep_as_a_parser_allows_is_cut() -> None:
    schema: dict[str, Any] = {}
    for _ in range(5_000):
        schema = {"type": "array", "items": schema}
    assert depth_of(shape_of(schema)) <= 2 * MAX_DEPTH


@pytest.mark.parametrize(
    ("schema", "shape"),
    [
        ({"type": "integer"}, WHOLE),
        ({"type": ["string", "null"]}, Shape("string", is_nullable=True)),
        ({"type": "string", "nullable": True}, Shape("string", is_nullable=True)),
        ({"type": ["string", "integer"]}, Shape("union", variants=(WHOLE, TEXT))),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, Shape("string", is_nullable=True)),
        ({"oneOf": [{"type": "integer"}, {"type": "number"}]}, Shape("number")),
        ({"enum": ["b", "a"]}, Shape("string", choices=("a", "b"))),
        ({"const": 3}, Shape("integer", choices=("3",))),
        ({"properties": {"a": {"type": "string"}}}, fields(a=TEXT)),
        ({"items": {"type": "integer"}}, Shape("array", item=WHOLE)),
        ({"type": "string", "format": "date"}, Shape("string", format="date")),
        ({"allOf": [{"properties": {"a": {"type": "string"}}},
                    {"properties": {"b": {"type": "integer"}}}]}, fields(a=TEXT, b=WHOLE)),
        ({"$defs": {"x": {"type": "integer"}}, "$ref": "#/$defs/x"}, WHOLE),
        ({"$ref": "https://example.org/x"}, ANY),
        ({"type": "object", "additionalProperties": {"type": "integer"}},
         Shape("object", extra=WHOLE)),
        ({"type": "string", "x-type": "shop:order"}, Shape("string", type_uri="shop:order")),
        ({"type": "string", "$id": "github://issues/list"},
         Shape("string", type_uri="github://issues/list")),
        ({"type": "List", "items": {"type": "str"}}, Shape("array", item=TEXT)),
        ({}, ANY), (True, ANY), (False, NEVER), (None, ANY), ("string", ANY), ([], ANY),
    ],
    ids=str,
)  # fmt: skip
def test_a_schema_has_this_shape(schema: Any, shape: Shape) -> None:
    assert shape_of(schema) == shape


def test_what_must_be_given_is_kept() -> None:
    shape = shape_of({"properties": {"a": {}, "b": {}}, "required": ["b", 3]})
    assert [x.name for x in shape.fields if x.is_required] == ["b"]


def test_a_huge_result_is_looked_at_within_one_step() -> None:
    wide: Any = "x"
    for _ in range(4):
        wide = [{f"field_{chr(97 + n)}": wide for n in range(20)}] * 40
    assert done_within(_STEP_SECONDS, lambda: shape_of_value(wide)).kind == "array"


def test_keys_that_are_data_are_not_names() -> None:
    """Learned shapes keep no values: an id as a key would be one."""
    shape = shape_of_value({"12345678": {"total": 3}, "87654321": {"total": 4}})
    assert shape == Shape("object", extra=fields(total=WHOLE))


def depth_of(shape: Shape) -> int:
    inner = [shape.item, shape.extra, *shape.variants, *(x.shape for x in shape.fields)]
    return 1 + max((depth_of(x) for x in inner if x), default=0)


def shuffled(value: Any, chooses: random.Random) -> Any:
    if isinstance(value, list):
        return [shuffled(x, chooses) for x in value]
    if not isinstance(value, dict):
        return value
    items = list(value.items())
    chooses.shuffle(items)
    return {x: shuffled(y, chooses) for x, y in items}
