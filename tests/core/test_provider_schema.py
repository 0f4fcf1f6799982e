"""Every provider accepts the tools that a model gets, whatever schema a server sends."""

from __future__ import annotations

import json
import warnings
from typing import Any

import jsonschema_rs
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support.any_json import SCHEMA_PARTS, SCHEMAS
from xai_mcp_agent.core.provider_schema import function_description, function_parameters
from xai_mcp_agent.core.schema_check import SchemaCheck

NOT_NUMBERS = st.sampled_from([float("nan"), float("inf")])


def check(parameters: dict[str, Any]) -> None:
    """Check the requirements that providers state in their refusals."""
    json.dumps(parameters, allow_nan=False).encode("ascii")
    json.dumps(parameters, ensure_ascii=False).encode()
    jsonschema_rs.meta.validate(parameters)
    assert parameters["type"] == "object"
    assert isinstance(parameters["properties"], dict)
    assert not parameters.keys() & {"anyOf", "oneOf", "allOf", "not", "enum", "const", "$ref"}
    # It can be compiled, so its references lead somewhere.
    jsonschema_rs.validator_for(parameters)
    for part in _parts(parameters):
        kinds = part.get("type", [])
        if "array" in ([kinds] if isinstance(kinds, str) else kinds):
            assert isinstance(part["items"], dict), "array schema missing items"
        assert set(part.get("required", ())) <= set(part.get("properties", ()))


def _parts(schema: Any) -> list[dict[str, Any]]:
    """All schemas in a schema."""
    if not isinstance(schema, dict):
        return []
    parts, inner = [schema], list[Any]()
    for word in ("properties", "$defs", "definitions"):
        inner += schema.get(word, {}).values()
    for word in ("anyOf", "oneOf", "allOf", "prefixItems"):
        inner += schema.get(word, [])
    inner += [schema.get(word) for word in ("items", "not", "additionalProperties")]
    return parts + [x for part in inner for x in _parts(part)]


@given(SCHEMAS, SCHEMA_PARTS | NOT_NUMBERS)
@example({"properties": {"a": {"default": float("nan"), "minimum": float("inf")}}}, None)
@example({"type": "\ud800"}, None)
def test_any_schema_becomes_one_that_providers_accept(schema: dict[str, Any], arguments: Any):
    before = json.dumps(schema, sort_keys=True)
    parameters = function_parameters(schema)
    check(parameters)
    assert json.dumps(schema, sort_keys=True) == before, "the server's own stays as it is"
    assert function_parameters(schema) == parameters, "always the same"
    assert isinstance(SchemaCheck(schema).problems(arguments), list), "the check never raises"


def test_choices_at_the_top_become_properties_of_one_object():
    """OpenAI: "schema must have type 'object' and not have 'oneOf' at the top level"."""
    by_id = {"properties": {"id": {"type": "integer"}, "deep": {}}, "required": ["id", "deep"]}
    by_name = {"properties": {"name": {"type": "string"}, "deep": {}}, "required": ["name", "deep"]}
    schema = {"type": "object", "oneOf": [by_id, {"$ref": "#/$defs/n"}], "$defs": {"n": by_name}}
    parameters = function_parameters(schema)
    check(parameters)
    assert set(parameters["properties"]) == {"id", "name", "deep"}
    assert parameters["required"] == ["deep"]


def test_a_schema_that_providers_refuse_is_repaired():
    cases: list[tuple[Any, Any]] = [
        ({"type": "array"}, {"type": "array", "items": {}}),
        ({"type": "strnig", "description": "a"}, {"description": "a"}),
        ({"type": ["string", "nothing"]}, {}),
        ({"$ref": "http://127.0.0.1:9/x"}, {}),
        ({"$ref": "#/$defs/none", "description": "a"}, {"description": "a"}),
        ({"pattern": "("}, {}),
        ({"minimum": 1, "exclusiveMinimum": True}, {"minimum": 1}),
        ({"items": [{"type": "string"}]}, {"items": {"anyOf": [{"type": "string"}]}}),
        ({"default": float("nan")}, {}),
        ({"enum": []}, {}),
        ({"enum": ["a", "a", 1, True]}, {"enum": ["a", 1, True]}),
        (True, {}),
    ]
    for odd, good in cases:
        parameters = function_parameters({"properties": {"x": odd}})
        check(parameters)
        assert parameters["properties"]["x"] == good
    for pattern in ("[[a-z]+", "[a--b]", "[]a&&b]", r"\d[a||b]"):  # engines differ in its meaning
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            specs = function_parameters({"properties": {"a": {"pattern": pattern}}})["properties"]
        assert specs == {"a": {}}


def test_a_schema_that_is_only_a_reference_becomes_its_target():
    """Pydantic writes recursive models like this."""
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}
    parameters = function_parameters({"$ref": "#/$defs/Node", "$defs": {"Node": node}})
    check(parameters)
    assert parameters["properties"] == {"next": {"$ref": "#/$defs/Node"}}
    for circle in ({"$ref": "#"}, {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}):
        check(function_parameters(circle))


def test_a_description_has_no_invisible_characters_and_a_limit():
    evil = "\x1b[2Jgone\u202e\u200b\U000e0041 away\n\tkept \U0001f468\u200d\U0001f469 \ud800"
    assert function_description(evil) == "gone away\n\tkept \U0001f468\u200d\U0001f469 \ufffd"
    description = function_description("word " * 40_000)
    assert len(description) == 20_000
    assert description.endswith(" ... (cut)")
