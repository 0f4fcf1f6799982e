"""What JSON calls the values that Python has."""

from __future__ import annotations

from xai_mcp_agent.core.json import json_type

TYPES = {
    "null": None, "boolean": True, "integer": 1, "number": 1.0, "string": "1", "array": (1,),
    "object": {"a": 1},
}  # fmt: skip


def test_a_value_has_the_type_that_a_schema_calls_it() -> None:
    for name in TYPES:
        assert json_type(TYPES[name]) == name


def test_what_is_no_json_has_no_type() -> None:
    assert json_type(object()) == ""
