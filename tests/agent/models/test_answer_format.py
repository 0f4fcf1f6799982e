"""The form of an answer for OpenAI's services: strict if strict mode can express it."""

from __future__ import annotations

from typing import Any

import pytest

from xai_mcp_agent.agent.models.openai import answer_format

CITY = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "people": {"type": ["integer", "null"]}},
    "required": ["city", "people"],
}


def test_a_form_that_strict_mode_can_express_is_strict():
    closed = {**CITY, "additionalProperties": False}
    assert answer_format(CITY) == {"name": "answer", "schema": closed, "strict": True}


@pytest.mark.parametrize(
    "change",
    [
        {"required": ["city"]},
        {"additionalProperties": True},
        {"minProperties": 1},
        {"properties": {"city": {"type": "array", "items": {"type": "object"}}, "people": True}},
        {"$defs": {"a": {"type": "string", "default": "x"}}},
    ],
)
def test_a_form_that_allows_more_than_strict_mode_is_sent_unchanged(change: dict[str, Any]):
    schema = {**CITY, **change}
    assert answer_format({"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}) == {
        "name": "answer", "schema": schema, "strict": False,
    }  # fmt: skip


def test_all_objects_in_a_strict_form_are_closed():
    inner = {"type": "object", "properties": {"a": {"$ref": "#/$defs/x"}}, "required": ["a"]}
    schema = {
        "type": "object",
        "properties": {"list": {"type": "array", "items": {"anyOf": [inner, {"type": "null"}]}}},
        "required": ["list"],
        "$defs": {"x": inner},
    }
    form = answer_format(schema)
    assert form is not None
    assert form["strict"]
    assert str(form["schema"]).count("'additionalProperties': False") == 3
    assert "additionalProperties" not in str(schema)
