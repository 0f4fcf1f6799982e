"""Operations as tools: named, described, with one schema for all arguments, and a plan."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pytest

from tests.sources.openapi.documents import OK, body, document, only, query, schemas, service
from xai_mcp_agent import BadSetting, InvalidArguments, UnknownTool
from xai_mcp_agent.core.schema_check import SchemaCheck
from xai_mcp_agent.sources.openapi import Operation, load_service
from xai_mcp_agent.sources.openapi.document import Document
from xai_mcp_agent.sources.openapi.operations import convert
from xai_mcp_agent.sources.openapi.plan import Body, Part
from xai_mcp_agent.sources.openapi.request import build_request

FORM = "application/x-www-form-urlencoded"
OBJECT = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}}


def arguments_of(tool: Operation) -> dict[str, Any]:
    return tool.input_schema["properties"]


def sent(tool: Operation) -> Body:
    assert tool.plan.body is not None
    return tool.plan.body


def path(name: str, schema: Any, **more: Any) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": schema, **more}


# Names and descriptions


@pytest.mark.parametrize(
    ("operation", "name", "description"),
    [
        ({"operationId": "addThing", "summary": "Add", "description": "More"}, "addThing", "Add"),
        ({"operationId": "things/add it!", "description": "More"}, "things_add_it", "More"),
        ({}, "post_things_id_parts", "POST /things/{id}/parts"),
        ({"operationId": "{{ 7 * 7 }}", "summary": "\x1b[2J\u202ea\x00"}, "7_7", "a\ufffd"),
        ({"operationId": 5, "summary": ["x"]}, "post_things_id_parts", "POST /things/{id}/parts"),
        ({"operationId": "  "}, "post_things_id_parts", "POST /things/{id}/parts"),
    ],
)
def test_a_tool_is_named_and_described_as_its_operation_or_by_its_path(
    operation: dict[str, Any], name: str, description: str
):
    """spec 4: the operationId, or method and path; the summary, or the description."""
    tool = only(operation, "/things/{id}/parts")
    assert (tool.name, tool.description) == (name, description)
    assert (tool.method, tool.path) == ("POST", "/things/{id}/parts")
    assert (tool.tool.key.kind, tool.tool.input_schema) == ("openapi", tool.input_schema)


def test_names_do_not_depend_on_the_order_of_the_document():
    paths = {
        "/b": {"get": {"operationId": "same"}, "post": {"operationId": "same"}},
        "/a": {"post": {"operationId": "same"}, "get": {"operationId": "same_post"}},
        "/same": {"post": {}},
    }
    turned = {x: dict(reversed(paths[x].items())) for x in reversed(paths)}
    found = {(x.method, x.path): x.name for x in service(paths).tools}
    assert found == {(x.method, x.path): x.name for x in service(turned).tools}
    assert len(set(found.values())) == len(found) == 5
    assert found["POST", "/a"] == "same"
    assert found["GET", "/a"] == "same_post"


def test_what_a_document_says_is_never_endless():
    long = "x" * 100_000
    tool = only(
        {"operationId": long, "summary": long, "tags": [long, *map(str, range(99))],
         "parameters": [query("q", {"type": "string", "description": long, "default": long})]}
    )  # fmt: skip
    assert len(tool.name) == 128
    assert len(tool.description) < 5_000
    assert len(tool.tags) == 20
    assert len(str(arguments_of(tool))) < 2_000


def test_what_a_method_does_is_claimed_of_the_tool():
    for method in ("get", "put", "post", "delete", "patch", "query"):
        claims = only({}, method=method, version="3.2.0").tool.annotations
        assert claims.read_only == (method in ("get", "query"))
        assert claims.destructive == {"get": False, "query": False, "delete": True}.get(method)
        assert claims.idempotent == (True if method not in ("post", "patch") else None)


def test_what_is_about_operations_is_no_tool():
    """Nor what the service calls: callbacks and webhooks."""
    item: dict[str, Any] = {x: {"operationId": x} for x in ("get", "head", "options", "trace")}
    item["get"]["callbacks"] = {"x": {"{$request.body#/url}": {"post": {"operationId": "back"}}}}
    item |= {"query": {}, "additionalOperations": {"COPY": {}, "TRACE": {}, "QUERY": {}}}
    found = service({"/a": item, "x-b": {"get": {}}}, "3.2.0", webhooks={"w": {"post": {}}})
    assert [x.method for x in found.tools] == ["GET", "QUERY", "COPY"]


# Mistakes


LOST = {"$ref": "#/nothing"}
TEXT = {"$ref": "#/info/title"}
IN_HEADER: dict[str, Any] = {"name": "a b", "in": "header", "required": True, "schema": {}}
GOOD = {"get": {"responses": OK}}


@pytest.mark.parametrize(
    ("where", "item", "method", "says"),
    [
        ("/a", {"get": {"parameters": [LOST]}}, "GET", "#/nothing leads to nothing"),
        ("/a", {"put": LOST}, "PUT", "leads to nothing"),
        ("/a", {"post": 5}, "POST", "not an object"),
        ("/a", LOST, "", "leads to nothing"),
        ("/a", 7, "", "not an object"),
        ("/a", TEXT, "", "does not lead to an object"),
        ("/a", {"get": TEXT}, "GET", "does not lead to an object"),
        ("/a", {"get": {"parameters": [TEXT]}}, "GET", "does not lead to an object"),
        ("/a", {"post": {"requestBody": {"$ref": "#/servers"}}}, "POST", "not lead to an object"),
        ("/a", {"$ref": "#/paths/~1a", "summary": "A"}, "", "leads to itself"),
        ("/a", {"post": body({"properties": {"x": LOST}})}, "POST", "#/nothing leads to nothing"),
        ("/a", {"post": body({"$ref": "x.json"})}, "POST", "load the document by its path"),
        ("/a", {"get": {"parameters": {"x": query("x", {})}}}, "GET", "parameters"),
        ("/a", {"get": {"parameters": [IN_HEADER]}}, "GET", "'a b'"),
        ("/a", {"additionalOperations": {"BAD METHOD": {}}}, "BAD METHOD", "not a valid method"),
        ("/a", {"additionalOperations": [1]}, "", "not a valid method"),
        ("/" + "{a}" * 5_000, {"get": {}, "post": {}}, "", "too long"),
        ("/a\u202eb", {"get": {}}, "", "invisible characters"),
    ],
)  # fmt: skip
def test_a_mistake_costs_its_operation_alone_and_is_reported(
    where: str, item: Any, method: str, says: str
):
    found = service({where: item, "/good": {"GET": {"responses": OK}}}, "3.2.0")
    assert [(x.method, x.path) for x in found.tools] == [("GET", "/good")]
    (problem,) = found.problems
    assert problem.method == method
    assert says in problem.reason


# Parameters


def test_parameters_of_a_path_hold_for_all_its_operations_and_can_be_said_anew():
    found = service(
        {
            "/a/{id}": {
                "parameters": [path("id", {"type": "integer"}), query("q", {"type": "string"})],
                "get": {"parameters": [query("q", {"type": "boolean"})]},
                "delete": {},
            }
        }
    )
    one, other = map(arguments_of, found.tools)
    assert one == {"id": {"type": "integer"}, "q": {"type": "boolean"}}
    assert other["q"] == {"type": "string"}


def test_the_same_name_in_several_places_is_several_arguments_that_lead_back():
    header = {"name": "id", "in": "header", "schema": {"type": "number"}}
    cookie = {"name": "id", "in": "cookie", "schema": {"type": "number"}}
    parameters = [
        cookie,
        header,
        query("id", {}),
        query("body", {}),
        path("id", {"type": "string"}),
    ]
    inner = {"type": "object", "properties": {"id": {"type": "boolean"}}}
    tool = only({"parameters": parameters, **body(inner)}, "/a/{id}")
    places = {x.argument: (x.location, x.name) for x in tool.plan.placements}
    assert places == {
        "id": ("path", "id"), "id__query": ("query", "id"), "body": ("query", "body"),
        "id__header": ("header", "id"), "id__cookie": ("cookie", "id"), "id__body": ("body", "id"),
    }  # fmt: skip
    assert set(arguments_of(tool)) == set(places)


def test_headers_that_other_parts_decide_are_no_arguments():
    """OpenAPI 3.2, Parameter Object: these are ignored."""
    names = ("Accept", "content-type", "AUTHORIZATION", "X-Trace")
    parameters = [{"name": x, "in": "header", "required": True, "schema": {}} for x in names]
    assert list(arguments_of(only({"parameters": parameters}))) == ["X-Trace"]


def test_what_is_in_the_path_and_nowhere_described_is_an_argument_all_the_same():
    tool = only({}, "/a/{id}/{b-c}#part")
    assert tool.path == "/a/{id}/{b-c}"
    assert tool.input_schema["required"] == ["id", "b-c"]
    assert "does not describe the path parameter 'id'" in (tool.tool.note or "")


def test_a_value_in_the_path_is_never_empty():
    """`/things/` is another address than `/things/{id}`."""
    parameters = [path("a", {"type": "string"}), path("b", {"type": "array", "items": {}})]
    tool = only({"parameters": [*parameters, path("c", {"$ref": "#/components/schemas/C"})]},
                "/{a}/{b}/{c}", components=schemas(C=OBJECT))  # fmt: skip
    check = SchemaCheck(tool.input_schema)
    assert not check.problems({"a": "x", "b": [1], "c": {"a": "x"}})
    assert len(check.problems({"a": "", "b": [], "c": {}})) == 3


def test_one_odd_parameter_is_left_out_and_told():
    odd: list[Any] = [
        5, None, "x", {}, {"name": "x"}, {"in": "query"}, {"name": "x", "in": "nowhere"},
        {"name": "a b", "in": "header"}, {"name": "x\r\nY", "in": "query"},
        {"name": "z", "in": "path", "required": True},
    ]  # fmt: skip
    for parameter in odd:
        tool = only({"parameters": [parameter, query("good", {})]})
        assert list(arguments_of(tool)) == ["good"]
        assert tool.tool.note


@pytest.mark.parametrize("part", ["{id:[0-9]+}", "{id:[0-9]{3}}", "{id+}", "{+id}", "{id*}"])
def test_a_parameter_of_a_gateways_path_keeps_its_schema(part: str):
    """Gateways write a pattern, or that it takes the rest, beside the name."""
    tool = only({"parameters": [path("id", {"type": "integer", "minimum": 1})]}, f"/pets/{part}/")
    assert arguments_of(tool) == {"id": {"type": "integer", "minimum": 1}}
    assert tool.tool.operation is not None
    assert (tool.tool.operation.path, tool.path) == (f"/pets/{part}/", "/pets/{id}/")


@pytest.mark.parametrize(
    "name", ["user id", "имя", "filter[name]", "id:[0-9]+", "id*", "a,b", "x@y", "$id", "user-id"]
)
def test_a_part_of_the_path_may_be_called_anything(name: str):
    """Otherwise its braces would be sent as they are."""
    found = service({f"/a/{{{name}}}/z": {"get": {"parameters": [path(name, {"type": "string"})]}}})
    (tool,) = found.tools
    assert tool.input_schema["required"] == [name]
    assert found.request(tool.name, {name: "1/2"}).url.raw_path == b"/v1/a/1%2F2/z"


# Bodies


def test_the_properties_of_a_body_are_arguments():
    tool = only(body({**OBJECT, "required": ["a"]}))
    assert tool.input_schema == {
        "type": "object",
        "properties": OBJECT["properties"],
        "required": ["a"],
        "additionalProperties": False,
    }
    assert [(x.location, x.name, x.is_required) for x in tool.plan.placements] == [
        ("body", "a", True), ("body", "b", False),
    ]  # fmt: skip
    assert not sent(tool).argument


def test_a_body_put_together_from_parts_is_flat_too():
    parts = {
        "allOf": [{"$ref": "#/components/schemas/A"}, {"properties": {"c": {}}, "required": ["b"]}]
    }
    tool = only(body(parts), components=schemas(A=OBJECT))
    assert list(arguments_of(tool)) == ["a", "b", "c"]
    assert tool.input_schema["required"] == ["b"]
    assert "$defs" not in tool.input_schema


def test_a_body_that_is_more_than_its_properties_is_one_argument():
    schemas: list[Any] = [
        {"type": "array", "items": {}}, {"type": "string"}, {}, True, {"type": "object"},
        {**OBJECT, "additionalProperties": True}, {**OBJECT, "minProperties": 1},
        {**OBJECT, "patternProperties": {"^x": {}}}, {**OBJECT, "type": ["object", "null"]},
        {"oneOf": [OBJECT, OBJECT]}, {**OBJECT, "dependentRequired": {"a": ["b"]}},
    ]  # fmt: skip
    for schema in schemas:
        tool = only(body(schema))
        assert (list(arguments_of(tool)), tool.input_schema["required"]) == (["body"], ["body"])
        assert (sent(tool).argument, tool.plan.placements) == ("body", ())


def test_an_optional_body_with_something_required_in_it_is_one_argument():
    """Without any of its properties there is none, with one there must be all of these."""
    tool = only(body({**OBJECT, "required": ["a"]}, required=False))
    assert list(arguments_of(tool)) == ["body"]
    assert "required" not in tool.input_schema


def test_of_several_media_types_the_best_understood_is_sent():
    rows = [
        (("text/plain", "application/xml", "application/json"), "application/json"),
        (("multipart/form-data", "application/vnd.x+json"), "application/vnd.x+json"),
        (("application/a+json", "application/merge-patch+json"), "application/merge-patch+json"),
        (("multipart/form-data", FORM), FORM), (("*/*",), "application/json"),
        (("application/octet-stream", "text/csv"), "text/csv"),
        (("image/*",), "application/octet-stream"),
    ]  # fmt: skip
    for kinds, chosen in rows:
        content = {kind: {"schema": OBJECT} for kind in kinds}
        assert sent(only({"requestBody": {"content": content}})).media_type == chosen


MULTIPART = {
    "file": {"type": "string", "format": "binary"},
    "files": {"type": "array", "items": {"$ref": "#/components/schemas/File"}},
    "picture": {"type": "string"},
    "meta": OBJECT,
    "name": {"type": "string"},
    "list": {"type": "array", "items": {"type": "string"}},
}
ENCODING = {
    "picture": {"contentType": "image/png, image/jpeg"},
    "list": {"style": "form", "explode": False},
}


@pytest.mark.parametrize("version", ["3.0.3", "3.1.0"])
def test_files_of_a_form_are_distinguished_from_texts(version: str):
    form = body(
        {"type": "object", "properties": MULTIPART}, "multipart/form-data", encoding=ENCODING
    )
    file = {"type": "string", "format": "binary"}
    tool = only(form, version=version, components=schemas(File=file))
    written = Part("text/plain", is_list=True) if version == "3.0.3" else None
    assert sent(tool).parts == {
        "file": Part("application/octet-stream", is_file=True),
        "files": Part("application/octet-stream", is_file=True, is_list=True),
        "picture": Part("image/png", is_file=True),
        "meta": Part("application/json"),
        "name": Part("text/plain"),
        "list": written or Part(style="form", explode=False, is_list=True),
    }
    assert arguments_of(tool)["file"]["type"] == "string"
    assert "data:" in arguments_of(tool)["file"]["description"]


def test_a_body_that_can_only_be_xml_is_one_text():
    """The document itself; JSON beside it is taken instead."""
    pet = {"type": "object", "description": "A pet", "properties": {"id": {"type": "integer"}}}
    tool = only(body(pet, "application/xml"))
    assert arguments_of(tool)["body"] == {"type": "string", "description": "A pet"}
    request = build_request(tool.plan, {"body": "<pet/>"})
    assert (request.headers["content-type"], request.read()) == ("application/xml", b"<pet/>")


# Servers, security, answers


FILLED = {"url": "https://{where}.example.com:{port}/{base}/?x#y", "variables": {
    "where": {"default": "eu", "enum": ["eu", "us"]}, "port": {"default": 8443},
    "base": {"enum": ["v1"]},
}}  # fmt: skip
HERE = "https://d.example/spec/openapi.json"


@pytest.mark.parametrize(
    ("root", "document_url", "url"),
    [
        ({"servers": [{"url": "wss://x.example"}, FILLED]}, "", "https://eu.example.com:8443/v1"),
        ({"servers": [{"url": " https://h.example/v1\n"}]}, "", "https://h.example/v1"),
        ({"servers": [{"url": "../v1"}]}, HERE, "https://d.example/v1"),
        ({"servers": [{"url": "/v1"}]}, "", ""),
        ({"servers": [{"url": "file:///etc"}]}, HERE, ""),
        ({"servers": [{"url": "https://{tenant}.h.example/v1"}]}, HERE, ""),
        ({"servers": [{"url": "https://h.example%2eother/"}]}, "", ""),
        ({"servers": [{"url": "https://a:b/"}]}, "", ""),
        ({"servers": [{"url": "http://["}, {"url": 5}]}, "", ""),
        ({"swagger": "2.0", "host": "a.b:8", "basePath": "/v1/", "schemes": ["http", "https"]}, "",
         "https://a.b:8/v1"),
        ({"swagger": "2.0", "host": "a.b", "schemes": ["ws", "http"]}, "", "http://a.b"),
        ({"swagger": "2.0", "basePath": "/v1"}, HERE, "https://d.example/v1"),
        ({"swagger": "2.0", "basePath": "/v1"}, "", ""),
        ({"swagger": "2.0", "host": "[bad"}, "", ""),
    ],
)  # fmt: skip
def test_a_service_is_called_where_its_document_says(
    root: dict[str, Any], document_url: str, url: str
):
    version = {} if "swagger" in root else {"openapi": "3.1.0"}
    found = convert(Document({**version, "paths": {"/a": GOOD}, **root}, document_url))
    assert found.problems == ()
    assert found.operations[0].plan.base_url == url


def test_the_nearest_servers_count_and_a_persons_in_place_of_all():
    here, there = ([{"url": f"https://{x}.example"}] for x in ("here", "there"))
    paths = {"/a": {"get": {}, "servers": here}, "/b": {"get": {"servers": there}, "servers": here}}
    root = document(paths)
    urls = [x.plan.base_url for x in load_service(root).tools]
    assert urls == ["https://here.example", "https://there.example"]
    tools = load_service(root, base_url="http://127.0.0.1:1/x/").tools
    assert {x.plan.base_url for x in tools} == {"http://127.0.0.1:1/x"}
    with pytest.raises(BadSetting, match="absolute URL"):
        load_service(root, base_url="/v1")


@pytest.mark.parametrize(
    "host",
    ["169.254.169.254", "[fe80::1]", "METADATA.google.internal.", "2852039166", "0xA9FEA9FE",
     "0251.0376.0251.0376", "169.254.43518", "[::ffff:169.254.169.254]", "[64:ff9b::a9fe:a9fe]"],
)  # fmt: skip
def test_a_server_that_gives_out_credentials_is_not_called_for_a_document(host: str):
    """Only for a person who says so."""
    url = f"http://{host}/latest"
    root = document({"/a": {"get": {}}}, servers=[{"url": url}])
    (tool,) = load_service(root).tools
    assert tool.plan.base_url == ""
    assert "may give out credentials" in (tool.tool.note or "")
    assert load_service(root, base_url=url).tools[0].plan.base_url == url


SCHEMES = {
    "key": {"type": "apiKey", "in": "query", "name": "k"},
    "basic": {"type": "http", "scheme": "Basic"},
    "client": {
        "type": "oauth2",
        "flows": {"clientCredentials": {"tokenUrl": "https://t.example", "scopes": {}}},
    },
    "again": {"$ref": "#/components/securitySchemes/key"},
}


def test_what_an_operation_wants_to_know_of_who_calls_it_is_in_the_plan():
    said = [{"key": [], "basic": []}, {"client": ["read"]}, {}, {"again": []}, {"unknown": []}]
    components = {"securitySchemes": SCHEMES}
    tool = only({"security": said}, components=components, security=[{"key": []}])
    shown = [[(x.scheme, x.kind, x.place, x.name, x.method) for x in y] for y in tool.plan.security]
    assert shown == [
        [("key", "apiKey", "query", "k", ""), ("basic", "http", "", "", "basic")],
        [("client", "oauth2", "", "", "")],
        [],
        [("again", "apiKey", "query", "k", "")],
    ]
    assert tool.plan.security[1][0].token_url == "https://t.example"
    assert tool.plan.security[1][0].scopes == ("read",)
    public = only({"security": []}, components=components, security=[{"key": []}])
    assert public.plan.security == ((),)
    assert len(only({}, components=components, security=[{"key": []}]).plan.security) == 1


def answer(code: str, schema: Any, kind: str = "application/json", **more: Any) -> dict[str, Any]:
    return {"responses": {code: {"description": "", "content": {kind: {"schema": schema}}, **more}}}


def test_a_result_that_is_an_object_is_described():
    secret = {"type": "string", "writeOnly": True}
    following = {"$ref": "#/components/schemas/Node"}
    node = {"type": "object", "properties": {"next": following, "secret": secret}}
    tool = only(answer("201", {"$ref": "#/components/schemas/Node"}), components=schemas(Node=node))
    inner = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}
    assert tool.tool.output_schema == {**inner, "$defs": {"Node": inner}}


def test_a_result_that_is_no_object_or_too_long_is_not_described():
    long = {"type": "object", "properties": {str(x): {"description": "x" * 99} for x in range(999)}}
    undescribed: list[dict[str, Any]] = [
        answer("200", {"type": "array"}), answer("200", OBJECT, "text/csv"), answer("404", OBJECT),
        answer("200", LOST), answer("200", long), {"responses": {"200": LOST}}, {"responses": 5},
    ]  # fmt: skip
    for operation in undescribed:
        assert only(operation).tool.output_schema is None


# The whole


def test_a_call_is_shown_as_the_request_it_would_be_and_checked():
    operation = {"operationId": "add", **body({**OBJECT, "required": ["b"]})}
    found = load_service(document({"/a/{id}": {"post": operation}}))
    request = found.request("add", {"id": "x/y", "b": 3})
    assert (request.method, str(request.url)) == ("POST", "https://api.example.com/v1/a/x%2Fy")
    assert request.content == b'{"b":3}'
    for wrong in ({"id": "x", "b": "3"}, {"id": "x"}, {"id": "x", "b": 1, "c": 2}):
        with pytest.raises(InvalidArguments):
            found.request("add", wrong)
    with pytest.raises(UnknownTool, match=r"has no tool 'ad'\. Did you mean 'add'"):
        found.request("ad", {})


def test_credentials_that_are_invalid_are_refused_without_being_shown():
    for auth in ({"key": {"apiKey": 5}}, {"key": ["s3cret"]}, {"clientId": "s3cret"}):
        with pytest.raises(BadSetting, match="`auth`") as error:
            load_service(document({}), auth=auth)
        assert "s3cret" not in str(error.value)


def test_a_document_that_yaml_readers_of_python_read_is_as_good_as_a_file():
    """They give `200:` as a number, `2024-01-01` as a date, `on:` as true."""
    shared = {200: {"description": "Fine", "content": {"application/json": {"schema": {}}}}}
    day = date(2024, 1, 1)
    parameters = (query("since", {"type": "string", "default": day, "enum": [day]}),)
    paths = {
        "/a": {"get": {"responses": shared, "parameters": parameters}},
        "/b": {"get": {"responses": shared}},
    }
    given: dict[Any, Any] = document(paths)
    given |= {True: 1, None: 2, 1.5: datetime(2024, 1, 1, tzinfo=UTC)}
    found = load_service(given)
    assert found.problems == ()
    assert found.tools[0].input_schema["properties"]["since"] == {
        "type": "string", "enum": ["2024-01-01"], "default": "2024-01-01",
    }  # fmt: skip
    assert found.tools[0].plan.accept == "application/json"
    assert given["paths"]["/a"]["get"]["responses"] is shared, "what was given stays as it was"
    assert 200 in shared


def test_the_hash_of_what_is_offered_changes_with_it_and_not_with_the_order():
    paths = {"/a": {"get": {"summary": "x", "tags": ["t"]}}, "/b": {"get": {}}}
    found = service(paths).inventory_hash
    assert service({x: paths[x] for x in reversed(paths)}).inventory_hash == found
    assert service(paths, info={"title": "Another"}).inventory_hash == found
    for changed in (
        {**paths, "/b": {"post": {}}},
        {**paths, "/a": {"get": {"summary": "y", "tags": ["t"]}}},
        {**paths, "/a": {"get": {"summary": "x", "tags": ["u"]}}},
        {
            **paths,
            "/a": {"get": {"summary": "x", "tags": ["t"], "servers": [{"url": "https://b.c"}]}},
        },
    ):
        assert service(changed).inventory_hash != found


@pytest.mark.parametrize(
    ("auth", "sent"),
    [
        ({"key": {"apiKey": "s3cret"}}, "?k=s3cret"),
        ({"key": "s3cret"}, "?k=s3cret"),
        ({"apiKey": "${A_KEY}"}, "?k=from+outside"),
        ("s3cret", "?k=s3cret"),
        (None, ""),
    ],
)
def test_credentials_are_in_the_request_and_nowhere_else(
    auth: Any, sent: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("A_KEY", "from outside")
    paths = {"/a": {"get": {"operationId": "look", "security": [{"key": []}]}}}
    root = document(paths, components={"securitySchemes": SCHEMES})
    found = load_service(root, auth=auth)
    url = str(found.request("look", {}).url)
    assert url.replace("%20", "+") == f"https://api.example.com/v1/a{sent}"
    assert "s3cret" not in str(found.tools)
    assert found.inventory_hash == load_service(root).inventory_hash
