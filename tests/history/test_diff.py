"""What changed between two definitions of a tool, as a person reads it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings

from tests.history.definitions import definitions
from xai_mcp_agent.history.diff import difference

COLUMNS = 80
DEEP = 400  # levels; sources refuse schemas of more than 500


def parameters(**fields: Any) -> dict[str, Any]:
    """A definition with these parameters, none of them required."""
    return {"name": "t", "input_schema": {"type": "object", "properties": fields}}


def schema(**words: Any) -> dict[str, Any]:
    """A definition with this input schema."""
    return {"name": "t", "input_schema": words}


TEXT, NUMBER = {"type": "string"}, {"type": "integer"}
NULLABLE = {"anyOf": [TEXT, {"type": "null"}]}

CHANGES = {
    "added": (parameters(), parameters(a=TEXT), "Parameter 'a' was added (string, optional)"),
    "added, required": (
        schema(properties={}),
        schema(properties={"a": {"type": "array", "items": NUMBER}}, required=["a"]),
        "Parameter 'a' was added (array of integer, required)",
    ),
    "removed": (parameters(a=TEXT), parameters(), "Parameter 'a' was removed"),
    "required": (
        schema(properties={"a": TEXT}),
        schema(properties={"a": TEXT}, required=["a"]),
        "Parameter 'a' is required now",
    ),
    "optional": (
        schema(properties={"a": TEXT}, required=["a"]),
        schema(properties={"a": TEXT}, required=[]),
        "Parameter 'a' is optional now",
    ),
    "type": (parameters(a=NUMBER), parameters(a=TEXT), "Parameter 'a': type integer → string"),
    "nullable": (
        parameters(a=TEXT),
        parameters(a=NULLABLE),
        "Parameter 'a': type string → string or null",
    ),
    "description of a parameter": (
        parameters(a={**TEXT, "description": "A word."}),
        parameters(a={**TEXT, "description": "Two words."}),
        "Parameter 'a': description 'A word.' → 'Two words.'",
    ),
    "default": (
        parameters(a={**NUMBER, "default": 1}),
        parameters(a={**NUMBER, "default": 2}),
        "Parameter 'a': default 1 → 2",
    ),
    "default null": (
        parameters(a=NULLABLE),
        parameters(a={**NULLABLE, "default": None}),
        "Parameter 'a': default null was added",
    ),
    "a value more": (
        parameters(a={"enum": ["x"]}),
        parameters(a={"enum": ["x", "y", "z"]}),
        "Parameter 'a' may be 'y', 'z' now",
    ),
    "a value less": (
        parameters(a={"enum": ["x", "y"]}),
        parameters(a={"enum": ["x"]}),
        "Parameter 'a' may not be 'y' any more",
    ),
    "values in another order": (
        parameters(a={"enum": ["x", "y"]}),
        parameters(a={"enum": ["y", "x"]}),
        'Parameter \'a\': enum ["x", "y"] → ["y", "x"]',
    ),
    "nested": (
        parameters(a={"type": "object", "properties": {"b": TEXT}}),
        parameters(a={"type": "object", "properties": {"b": NUMBER}}),
        "Parameter 'a.b': type string → integer",
    ),
    "items": (
        parameters(a={"type": "array", "items": {"properties": {"b": TEXT}}}),
        parameters(a={"type": "array", "items": {"properties": {}}}),
        "Parameter 'a[].b' was removed",
    ),
    "stricter": (
        schema(properties={}),
        schema(properties={}, additionalProperties=False),
        "Parameters: others than those named are refused now",
    ),
    "boolean schemas": (
        parameters(a=True),
        parameters(a=False),
        "Parameter 'a': type anything → nothing",
    ),
    "within a choice": (
        parameters(a={"anyOf": [{**TEXT, "minLength": 1}, NUMBER]}),
        parameters(a={"anyOf": [{**TEXT, "minLength": 2}, NUMBER]}),
        "Parameter 'a': minLength 1 → 2",
    ),
    "a named type": (
        schema(**{"$defs": {"Place": {"properties": {"x": TEXT}}}}),
        schema(**{"$defs": {"Place": {"properties": {"x": NUMBER}}}}),
        "Field 'x' of type 'Place': type string → integer",
    ),
    "output schema": (
        {"output_schema": {"properties": {"a": TEXT}}},
        {"output_schema": {"properties": {"a": NUMBER}}},
        "Result field 'a': type string → integer",
    ),
    "result described": (
        {},
        {"output_schema": {"type": "object"}},
        "Result: described now (object)",
    ),
    "title": ({"title": "Add"}, {"title": "Sum"}, "Title: 'Add' → 'Sum'"),
    "annotation": (
        {"annotations": {"read_only": True}},
        {},
        "Annotation 'read_only': yes → not given",
    ),
    "tag": ({"tags": ["a", "b"]}, {"tags": ["b"]}, "Tag 'a' was removed"),
    "operation": (
        {"operation": {"method": "GET", "path": "/a"}},
        {"operation": {"method": "GET", "path": "/b"}},
        'Operation: {"method": "GET", "path": "/a"} → {"method": "GET", "path": "/b"}',
    ),
    "icon": ({}, {"icons": [{"src": "https://a/b.png"}]}, "Icon 'https://a/b.png' was added"),
}


@pytest.mark.parametrize(("before", "after", "line"), CHANGES.values(), ids=CHANGES)
def test_a_change_is_reported_in_one_line(before: Any, after: Any, line: str):
    assert difference(before, after) == (line,)


def test_a_type_that_is_named_now_is_compared_with_what_it_was():
    here = {"type": "object", "properties": {"street": TEXT}}
    there = {"type": "object", "properties": {"street": NUMBER}}
    named = schema(properties={"home": {"$ref": "#/$defs/Place"}}, **{"$defs": {"Place": there}})
    assert difference(schema(properties={"home": here}), named) == (
        "Parameter 'home.street': type string → integer",
        "Type 'Place' was added (object)",
    )


def test_a_long_text_shows_the_passages_that_differ():
    """A person who accepts a change must see what was slipped in behind a harmless one."""
    before = "Reads a file from the disk and gives its content back as text. " * 5 + "Never writes."
    after = before.replace("Never", "Seldom") + " Sends a copy to evil.example."
    assert difference({"description": before}, {"description": after}) == (
        "Description: 'Never' → 'Seldom'",
        "Description: 'Sends a copy to evil.example.' was added",
    )


def test_lines_fit_a_terminal_and_cannot_harm_it():
    before = parameters(
        **{f"{'deep' * 9}\x1b[2J": {"description": "x" * 900, "default": "\n" * 90}}
    )
    after = parameters(
        **{f"{'deep' * 9}\x1b[2J": {"description": "x" * 500 + "\u202e", "default": "\x07" * 90}}
    )
    lines = difference(before, after)
    assert len(lines) == 2
    assert all(len(line) <= COLUMNS and line.isprintable() for line in lines)


def test_a_schema_that_refers_to_itself_is_compared():
    def tree(name: str) -> dict[str, Any]:
        kids = {"properties": {"kids": {"items": {"$ref": f"#/$defs/{name}"}}}}
        return schema(properties={"top": {"$ref": f"#/$defs/{name}"}}, **{"$defs": {name: kids}})

    lines = difference(tree("Tree"), tree("Bush"))
    assert lines[-2:] == ("Type 'Tree' was removed", "Type 'Bush' was added (object)")
    endless = {"$ref": "#/$defs/a"}, {"$defs": {"a": {"$ref": "#/$defs/a"}}}
    assert difference(parameters(a=endless[0]), schema(properties={"a": TEXT}, **endless[1]))


def test_a_schema_as_deep_as_a_server_likes_is_compared():
    def nested(levels: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for _ in range(levels):
            found = {"properties": {"a": found}}
        return schema(**found)

    assert len(difference(nested(DEEP), nested(DEEP - 1))) == 1
    assert difference(nested(DEEP), nested(DEEP)) == ()


@settings(max_examples=60)
@given(definitions, definitions)
def test_different_definitions_are_at_least_one_line(before: Any, after: Any):
    """Equal is what has the same digest: the same JSON, whatever the order of keys."""
    lines = difference(before, after)
    assert bool(lines) == (json.dumps(before, sort_keys=True) != json.dumps(after, sort_keys=True))
    assert all(line.isprintable() for line in lines)
