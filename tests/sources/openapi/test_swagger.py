"""Swagger 2.0: the same tools and plans as of a document of OpenAPI 3 that says the same."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sources.openapi.documents import OK, body, only
from xai_mcp_agent.sources.openapi import Operation, load_service

NUMBERS: dict[str, Any] = {"type": "array", "items": {"type": "integer"}, "maxItems": 3}
THING = {"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}}
SHARED = {"limit": {"name": "limit", "in": "query", "type": "integer"},
          "thing": {"name": "t", "in": "body", "schema": THING}}  # fmt: skip
FORM, MULTIPART = "application/x-www-form-urlencoded", "multipart/form-data"
URL = "https://api.example.com/v1"


def of_swagger(operation: dict[str, Any], path: str, **more: Any) -> Operation:
    root = {"swagger": "2.0", "host": "api.example.com", "basePath": "/v1", "schemes": ["https"]}
    item = {"post": {"responses": OK, **operation}}
    loaded = load_service({**root, **more, "paths": {path: item}})
    assert loaded.problems == ()
    return loaded.tools[0]


def list_parameter(place: str, style: str, explode: bool, **old: Any) -> tuple[Any, Any]:
    """A list as a parameter, in the words of 2.0 and of 3."""
    head = {"name": "x", "in": place, "required": True}
    new = {**head, "schema": NUMBERS, "style": style, "explode": explode}
    return {"parameters": [{**head, **NUMBERS, **old}]}, {"parameters": [new]}


def fields(*several: dict[str, Any]) -> dict[str, Any]:
    return {"parameters": [{"in": "formData", **x} for x in several]}


@pytest.mark.parametrize(
    ("old", "new", "more"),
    [
        (*list_parameter("query", "form", False), {}),
        (*list_parameter("query", "form", True, collectionFormat="multi"), {}),
        (*list_parameter("query", "spaceDelimited", False, collectionFormat="ssv"), {}),
        (*list_parameter("query", "tabDelimited", False, collectionFormat="tsv"), {}),
        (*list_parameter("query", "pipeDelimited", False, collectionFormat="pipes"), {}),
        (*list_parameter("query", "form", False, collectionFormat="odd"), {}),
        (*list_parameter("header", "simple", False), {}),
        (*list_parameter("path", "pipeDelimited", False, collectionFormat="pipes"), {}),
        ({"parameters": [{"in": "body", "name": "b", "required": True,
                          "schema": {"$ref": "#/definitions/T"}}]},
         body(THING, "application/vnd.x+json"),
         {"definitions": {"T": THING}, "consumes": ["application/xml", "application/vnd.x+json"]}),
        ({"parameters": [{"$ref": "#/parameters/limit"}, {"$ref": "#/parameters/thing"}]},
         {"parameters": [{"name": "limit", "in": "query", "schema": {"type": "integer"}}],
          **body(THING, "application/json", required=False)}, {"parameters": SHARED}),
        (fields({"name": "a", "type": "string", "required": True, "description": "An a."},
                {"name": "b", "type": "array", "items": {}, "collectionFormat": "multi"}),
         body({"type": "object", "required": ["a"], "properties": {
             "a": {"type": "string", "description": "An a."}, "b": {"type": "array", "items": {}}}},
             FORM, encoding={"b": {"style": "form", "explode": True}}), {}),
        ({**fields({"name": "f", "type": "file"}, {"name": "n", "type": "string"}),
          "consumes": [FORM]},
         body({"type": "object", "properties": {
             "f": {"type": "string", "format": "binary"}, "n": {"type": "string"}}},
             MULTIPART, required=False), {}),
        ({"responses": {"200": {"description": "", "schema": THING}, "404": 5}},
         {"responses": {"200": {"description": "", "content": {
             "text/xml": {"schema": THING}, "application/json": {"schema": THING}}}}},
         {"produces": ["text/xml", "application/json"]}),
    ],
)  # fmt: skip
def test_a_swagger_operation_is_translated(
    old: dict[str, Any], new: dict[str, Any], more: dict[str, Any]
):
    path = "/things/{x}" if "'in': 'path'" in str(new) else "/things"
    one = of_swagger(old, path, **more)
    other = only(new, path, version="3.0.3", servers=[{"url": URL}])
    assert one.plan.as_json() == other.plan.as_json()
    assert one.input_schema == other.input_schema
    assert one.tool.output_schema == other.tool.output_schema


def test_security_schemes_are_translated_to_openapi_3():
    client: dict[str, Any] = {"type": "oauth2", "flow": "application", "scopes": {}}
    schemes = {
        "basic": {"type": "basic"},
        "key": {"type": "apiKey", "in": "header", "name": "X-Key"},
        "client": {**client, "tokenUrl": "https://t.b"},
        "person": {"type": "oauth2", "flow": "implicit", "authorizationUrl": "https://t.b"},
    }
    security = [{"basic": []}, {"key": []}, {"client": ["x"]}, {"person": []}]
    tool = of_swagger({"security": security}, "/a", securityDefinitions=schemes)
    needs = [x[0] for x in tool.plan.security]
    assert [(x.kind, x.method, x.place, x.name, x.token_url, x.scopes) for x in needs] == [
        ("http", "basic", "", "", "", ()),
        ("apiKey", "", "header", "X-Key", "", ()),
        ("oauth2", "", "", "", "https://t.b", ("x",)),
        ("oauth2", "", "", "", "", ()),
    ]
