"""Swagger 2.0: the same tools and plans as of a document of OpenAPI 3 that says the same."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sources.openapi.documents import OK
from xai_mcp_agent.sources.openapi import Operation, load_service
from xai_mcp_agent.sources.openapi.plan import Part

THING = {"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}}


def only(operation: dict[str, Any], path: str = "/things", **more: Any) -> Operation:
    root = {"swagger": "2.0", "info": {"title": "Things", "version": "1"}, **more}
    found = load_service({**root, "paths": {path: {"post": {"responses": OK, **operation}}}})
    assert found.problems == ()
    (tool,) = found.tools
    return tool


@pytest.mark.parametrize(
    ("given", "style", "explode"),
    [
        ({"in": "query"}, "form", False),
        ({"in": "query", "collectionFormat": "multi"}, "form", True),
        ({"in": "query", "collectionFormat": "ssv"}, "spaceDelimited", False),
        ({"in": "query", "collectionFormat": "tsv"}, "tabDelimited", False),
        ({"in": "query", "collectionFormat": "pipes"}, "pipeDelimited", False),
        ({"in": "header"}, "simple", False),
        ({"in": "header", "collectionFormat": "pipes"}, "pipeDelimited", False),
        ({"in": "query", "collectionFormat": "odd"}, "form", False),
    ],
)
def test_lists_are_written_in_the_format_it_names(given: dict[str, Any], style: str, explode: bool):
    parameter = {"name": "x", "type": "array", "items": {"type": "integer"}, "maxItems": 3, **given}
    tool = only({"parameters": [parameter]})
    (place,) = tool.plan.placements
    assert (place.style, place.explode) == (style, explode)
    assert tool.input_schema["properties"]["x"] == {
        "type": "array", "items": {"type": "integer"}, "maxItems": 3,
    }  # fmt: skip


def test_a_body_is_flat_and_of_the_media_type_it_consumes():
    parameter = {
        "in": "body",
        "name": "thing",
        "required": True,
        "schema": {"$ref": "#/definitions/T"},
    }
    more = {"definitions": {"T": THING}, "consumes": ["application/xml", "application/vnd.x+json"]}
    tool = only({"parameters": [parameter]}, **more)
    assert tool.input_schema["properties"] == THING["properties"]
    assert tool.plan.body is not None
    assert (tool.plan.body.media_type, tool.plan.body.is_required) == (
        "application/vnd.x+json",
        True,
    )
    assert only({"parameters": [parameter], "consumes": ["text/json"]}, **more).plan.body


def test_fields_of_forms_are_a_body():
    fields = [
        {"in": "formData", "name": "a", "type": "string", "required": True, "description": "An a."},
        {"in": "formData", "name": "b", "type": "array", "items": {}, "collectionFormat": "multi"},
        {"in": "query", "name": "a", "type": "boolean"},
    ]
    tool = only({"parameters": fields})
    assert tool.plan.body is not None
    assert tool.plan.body.media_type == "application/x-www-form-urlencoded"
    assert tool.plan.body.parts == {
        "a": Part(style="form"), "b": Part(style="form", is_list=True),
    }  # fmt: skip
    assert tool.input_schema["required"] == ["a__body"]
    assert tool.input_schema["properties"]["a__body"]["description"] == "An a."


def test_a_field_that_is_a_file_makes_the_form_one_of_parts():
    fields = [
        {"in": "formData", "name": "f", "type": "file"},
        {"in": "formData", "name": "n", "type": "string"},
    ]
    tool = only({"parameters": fields, "consumes": ["application/x-www-form-urlencoded"]})
    assert tool.plan.body is not None
    assert tool.plan.body.media_type == "multipart/form-data"
    assert tool.plan.body.parts["f"].is_file


def test_security_is_in_the_words_of_3():
    schemes = {
        "basic": {"type": "basic"},
        "key": {"type": "apiKey", "in": "header", "name": "X-Key"},
        "client": {
            "type": "oauth2",
            "flow": "application",
            "tokenUrl": "https://t.b",
            "scopes": {},
        },
        "person": {"type": "oauth2", "flow": "implicit", "authorizationUrl": "https://t.b"},
    }
    security = [{"basic": []}, {"key": []}, {"client": ["x"]}, {"person": []}]
    needs = [x[0] for x in only({"security": security}, securityDefinitions=schemes).plan.security]
    assert [(x.kind, x.method, x.place, x.name, x.token_url, x.scopes) for x in needs] == [
        ("http", "basic", "", "", "", ()),
        ("apiKey", "", "header", "X-Key", "", ()),
        ("oauth2", "", "", "", "https://t.b", ("x",)),
        ("oauth2", "", "", "", "", ()),
    ]


def test_answers_are_in_what_it_produces():
    responses = {"200": {"description": "", "schema": {"$ref": "#/definitions/T"}}, "404": 5}
    tool = only(
        {"responses": responses},
        produces=["text/xml", "application/json"],
        definitions={"T": THING},
    )
    assert tool.plan.accept == "application/json, text/xml"
    assert tool.tool.output_schema == THING


def test_parameters_that_all_share_are_followed():
    shared = {"limit": {"name": "limit", "in": "query", "type": "integer"},
              "thing": {"name": "t", "in": "body", "schema": THING}}  # fmt: skip
    given = [{"$ref": "#/parameters/limit"}, {"$ref": "#/parameters/thing"}]
    tool = only({"parameters": given}, parameters=shared)
    assert tool.input_schema["properties"]["limit"] == {"type": "integer"}
    assert list(tool.input_schema["properties"]) == ["limit", "body"]
