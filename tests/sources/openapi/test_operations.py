"""Operations as tools: name, description, one schema for all arguments, and a plan."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.sources.openapi.documents import OK, body, document, only, query, schemas, service
from xai_mcp_agent import BadSetting
from xai_mcp_agent.core.schema_check import SchemaCheck
from xai_mcp_agent.sources.openapi import Operation, load_service
from xai_mcp_agent.sources.openapi.document import Document
from xai_mcp_agent.sources.openapi.operations import convert
from xai_mcp_agent.sources.openapi.plan import Body, FormPart

FORM = "application/x-www-form-urlencoded"
OBJECT = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}}


def arguments_of(tool: Operation) -> dict[str, Any]:
    return tool.input_schema["properties"]


def body_of(tool: Operation) -> Body:
    assert tool.plan.body is not None
    return tool.plan.body


def path(name: str, schema: Any) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": schema}


# Names and descriptions


def test_a_tool_is_named_and_described_as_its_operation_or_by_its_path():
    """spec 4: the operationId, or method and path; the summary, or the description."""
    by_path = "post_things_id_parts", "POST /things/{id}/parts"
    rows: tuple[tuple[dict[str, Any], tuple[str, str]], ...] = (
        ({"operationId": "addIt", "summary": "Add", "description": "More"}, ("addIt", "Add")),
        ({"operationId": "things/add it!", "description": "More"}, ("things_add_it", "More")),
        ({}, by_path),
        ({"operationId": "{{ 7 * 7 }}", "summary": "\x1b[2J\u202ea\x00"}, ("7_7", "a\ufffd")),
        ({"operationId": 5, "summary": ["x"]}, by_path),
        ({"operationId": "  "}, by_path),
    )
    for operation, words in rows:
        tool = only(operation, "/things/{id}/parts")
        assert (tool.name, tool.description) == words
        assert (tool.method, tool.path) == ("POST", "/things/{id}/parts")
        assert (tool.tool.key.kind, tool.tool.input_schema) == ("openapi", tool.input_schema)
    long = only({"operationId": "x" * 100_000, "summary": "x" * 100_000})
    assert (len(long.name), len(long.description) < 5_000) == (128, True)


def test_names_do_not_depend_on_the_order_of_the_document():
    paths = {
        "/b": {"get": {"operationId": "same"}, "post": {"operationId": "same"}},
        "/a": {"post": {"operationId": "same"}, "get": {"operationId": "same_post"}},
        "/same": {"post": {}},
    }
    backwards = {x: dict(reversed(paths[x].items())) for x in reversed(paths)}
    loaded = {(x.method, x.path): x.name for x in service(paths).tools}
    assert loaded == {(x.method, x.path): x.name for x in service(backwards).tools}
    assert len(set(loaded.values())) == len(loaded) == 5
    assert loaded["POST", "/a"] == "same"
    assert loaded["GET", "/a"] == "same_post"


def test_annotations_of_a_tool_follow_from_its_method():
    for method in ("get", "put", "post", "delete", "patch", "query"):
        claims = only({}, method=method, version="3.2.0").tool.annotations
        assert claims.read_only == (method in ("get", "query"))
        assert claims.destructive == {"get": False, "query": False, "delete": True}.get(method)
        assert claims.idempotent == (True if method not in ("post", "patch") else None)


def test_head_options_trace_callbacks_and_webhooks_are_no_tools():
    item: dict[str, Any] = {x: {"operationId": x} for x in ("get", "head", "options", "trace")}
    item["get"]["callbacks"] = {"x": {"{$request.body#/url}": {"post": {"operationId": "back"}}}}
    item |= {"query": {}, "additionalOperations": {"COPY": {}, "TRACE": {}, "QUERY": {}}}
    loaded = service({"/a": item, "x-b": {"get": {}}}, "3.2.0", webhooks={"w": {"post": {}}})
    assert [x.method for x in loaded.tools] == ["GET", "QUERY", "COPY"]


# Mistakes


LOST = {"$ref": "#/nothing"}
TEXT = {"$ref": "#/info/title"}
IN_HEADER: dict[str, Any] = {"name": "a b", "in": "header", "required": True, "schema": {}}
GOOD = {"get": {"responses": OK}}


@pytest.mark.parametrize(
    ("where", "item", "method", "says"),
    [
        ("/a", {"get": {"parameters": [LOST]}}, "GET", "#/nothing leads to nothing"),
        ("/a", {"post": 5}, "POST", "not an object"),
        ("/a", LOST, "", "leads to nothing"),
        ("/a", {"get": TEXT}, "GET", "does not lead to an object"),
        ("/a", {"post": {"requestBody": {"$ref": "#/servers"}}}, "POST", "not lead to an object"),
        ("/a", {"$ref": "#/paths/~1a", "summary": "A"}, "", "leads to itself"),
        ("/a", {"post": body({"properties": {"x": LOST}})}, "POST", "#/nothing leads to nothing"),
        ("/a", {"post": body({"$ref": "x.json"})}, "POST", "load the document by its path"),
        ("/a", {"get": {"parameters": [IN_HEADER]}}, "GET", "'a b'"),
        ("/a", {"additionalOperations": {"BAD METHOD": {}}}, "BAD METHOD", "not a valid method"),
        ("/" + "{a}" * 5_000, {"get": {}, "post": {}}, "", "too long"),
        ("/a\u202eb", {"get": {}}, "", "invisible characters"),
    ],
)  # fmt: skip
def test_an_invalid_operation_does_not_affect_the_others(
    where: str, item: Any, method: str, says: str
):
    loaded = service({where: item, "/good": {"GET": {"responses": OK}}}, "3.2.0")
    assert [(x.method, x.path) for x in loaded.tools] == [("GET", "/good")]
    (problem,) = loaded.problems
    assert problem.method == method
    assert says in problem.reason


# Parameters


def test_parameters_of_a_path_hold_for_its_operations_unless_they_redefine_them():
    item = {
        "parameters": [path("id", {"type": "integer"}), query("q", {"type": "string"})],
        "get": {"parameters": [query("q", {"type": "boolean"})]},
        "delete": {},
    }
    loaded = service({"/a/{id}": item})
    one, other = map(arguments_of, loaded.tools)
    assert one == {"id": {"type": "integer"}, "q": {"type": "boolean"}}
    assert other["q"] == {"type": "string"}


def test_a_header_described_twice_in_upper_and_lower_case_is_one_argument():
    """Nest describes the header of `@Headers('x-req')` and of `@ApiHeader` so."""
    header = {"in": "header", "required": True, "schema": {"type": "string"}}
    tool = only({"parameters": [{**header, "name": x} for x in ("x-req", "X-Req")]})
    assert list(arguments_of(tool)) == ["X-Req"]


def test_the_same_name_in_several_places_is_several_arguments_that_lead_back():
    number = {"name": "id", "schema": {"type": "number"}}
    parameters = [
        {**number, "in": "cookie"}, {**number, "in": "header"},
        query("id", {}), query("body", {}), path("id", {"type": "string"}),
    ]  # fmt: skip
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


def test_an_undescribed_path_parameter_is_an_argument_all_the_same():
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


def test_one_odd_parameter_is_left_out_with_a_note():
    odd: list[Any] = [
        5, {}, {"name": "x"}, {"name": "x", "in": "nowhere"}, {"name": "a b", "in": "header"},
        {"name": "x\r\nY", "in": "query"}, {"name": "z", "in": "path", "required": True},
    ]  # fmt: skip
    for parameter in odd:
        tool = only({"parameters": [parameter, query("good", {})]})
        assert list(arguments_of(tool)) == ["good"]
        assert tool.tool.note


def test_a_parameter_of_a_gateways_path_keeps_its_schema():
    """Gateways write a pattern, or that it takes the rest, beside the name."""
    schema = {"type": "integer", "minimum": 1}
    for part in ("{id:[0-9]+}", "{id:[0-9]{3}}", "{id+}", "{+id}", "{id*}"):
        tool = only({"parameters": [path("id", schema)]}, f"/pets/{part}/")
        assert arguments_of(tool) == {"id": schema}
        assert tool.tool.operation is not None
        assert (tool.tool.operation.path, tool.path) == (f"/pets/{part}/", "/pets/{id}/")


def test_a_part_of_the_path_may_be_called_anything():
    """Otherwise the request would contain its braces."""
    for name in ("user id", "имя", "filter[name]", "id:[0-9]+", "id*", "a,b", "x@y", "$id"):
        operation = {"get": {"parameters": [path(name, {"type": "string"})]}}
        loaded = service({f"/a/{{{name}}}/z": operation})
        (tool,) = loaded.tools
        assert tool.input_schema["required"] == [name]
        assert loaded.request(tool.name, {name: "1/2"}).url.raw_path == b"/v1/a/1%2F2/z"


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
    assert not body_of(tool).argument


def test_a_body_of_several_schemas_has_flat_arguments_too():
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
        assert (body_of(tool).argument, tool.plan.placements) == ("body", ())


def test_an_optional_body_with_something_required_in_it_is_one_argument():
    """A request without the body is valid, but a body needs all required properties."""
    tool = only(body({**OBJECT, "required": ["a"]}, required=False))
    assert list(arguments_of(tool)) == ["body"]
    assert "required" not in tool.input_schema


@pytest.mark.parametrize(
    ("kinds", "chosen"),
    [
        (("text/plain", "application/xml", "application/json"), "application/json"),
        (("multipart/form-data", "application/vnd.x+json"), "application/vnd.x+json"),
        (("multipart/form-data", FORM), FORM),
        (("*/*",), "application/json"),
        (("application/octet-stream", "text/csv"), "text/csv"),
        (("image/*",), "application/octet-stream"),
        (("application/xml",), "application/xml"),
    ],
)
def test_the_best_supported_media_type_is_sent(kinds: tuple[str, ...], chosen: str):
    content = {kind: {"schema": OBJECT} for kind in kinds}
    assert body_of(only({"requestBody": {"content": content}})).media_type == chosen


FILE = {"type": "string", "format": "binary"}
MULTIPART = {
    "file": FILE,
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


def test_files_of_a_form_are_distinguished_from_texts():
    form = {"type": "object", "properties": MULTIPART}
    operation = body(form, "multipart/form-data", encoding=ENCODING)
    for version, joined in (
        ("3.0.3", FormPart("text/plain", is_list=True)),
        ("3.1.0", FormPart(style="form", explode=False, is_list=True)),
    ):
        tool = only(operation, version=version, components=schemas(File=FILE))
        assert body_of(tool).parts == {
            "file": FormPart("application/octet-stream", is_file=True),
            "files": FormPart("application/octet-stream", is_file=True, is_list=True),
            "picture": FormPart("image/png", is_file=True),
            "meta": FormPart("application/json"),
            "name": FormPart("text/plain"),
            "list": joined,
        }
        assert arguments_of(tool)["file"]["type"] == "string"
        assert "data:" in arguments_of(tool)["file"]["description"]


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
        ({"servers": [{"url": "http://["}, {"url": 5}]}, "", ""),
        ({"swagger": "2.0", "host": "a.b:8", "basePath": "/v1/", "schemes": ["http", "https"]}, "",
         "https://a.b:8/v1"),
        ({"swagger": "2.0", "host": "a.b", "schemes": ["ws", "http"]}, "", "http://a.b"),
        ({"swagger": "2.0", "basePath": "/v1"}, HERE, "https://d.example/v1"),
        ({"swagger": "2.0", "host": "[bad"}, "", ""),
    ],
)  # fmt: skip
def test_a_service_is_called_at_its_server_url(root: dict[str, Any], document_url: str, url: str):
    version = {} if "swagger" in root else {"openapi": "3.1.0"}
    text = json.dumps({**version, "paths": {"/a": GOOD}, **root})
    loaded = convert(Document(text, document_url))
    assert loaded.problems == ()
    assert loaded.operations[0].plan.base_url == url


def test_the_nearest_servers_count_unless_a_person_names_one():
    here, there = ([{"url": f"https://{x}.example"}] for x in ("here", "there"))
    paths = {"/a": {"get": {}, "servers": here}, "/b": {"get": {"servers": there}, "servers": here}}
    root = document(paths)
    urls = [x.plan.base_url for x in load_service(root).tools]
    assert urls == ["https://here.example", "https://there.example"]
    tools = load_service(root, base_url="http://127.0.0.1:1/x/").tools
    assert {x.plan.base_url for x in tools} == {"http://127.0.0.1:1/x"}
    with pytest.raises(BadSetting, match="absolute URL"):
        load_service(root, base_url="/v1")


def test_a_server_that_gives_out_credentials_is_not_called_for_a_document():
    """It is called only if a person names it."""
    hosts = (
        "169.254.169.254", "[fe80::1]", "METADATA.google.internal.", "2852039166",
        "0251.0376.0251.0376", "169.254.43518", "[::ffff:169.254.169.254]", "[64:ff9b::a9fe:a9fe]",
    )  # fmt: skip
    for host in hosts:
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


def test_the_security_of_an_operation_is_in_its_plan():
    security = [{"key": [], "basic": []}, {"client": ["read"]}, {}, {"again": []}, {"unknown": []}]
    components = {"securitySchemes": SCHEMES}
    tool = only({"security": security}, components=components, security=[{"key": []}])
    needs = [[(x.scheme, x.kind, x.place, x.name, x.method) for x in y] for y in tool.plan.security]
    assert needs == [
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
    tool = only(answer("201", following), components=schemas(Node=node))
    inner = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}
    assert tool.tool.output_schema == {**inner, "$defs": {"Node": inner}}
    for other in (answer("200", {"type": "array"}), answer("404", OBJECT), answer("200", LOST)):
        assert only(other).tool.output_schema is None


def test_a_program_gives_credentials_as_the_settings_do():
    operation = {"operationId": "look", "security": [{"key": []}]}
    root = document({"/a": {"get": operation}}, components={"securitySchemes": SCHEMES})
    for auth in ({"apiKey": "s3cret"}, {"key": {"apiKey": "s3cret"}}):
        assert load_service(root, auth=auth).request("look", {}).url.query == b"k=s3cret"


def test_credentials_that_are_invalid_are_refused_without_being_shown():
    for auth in ({"key": {"apiKey": 5}}, {"key": ["s3cret"]}, {"clientId": "s3cret"}):
        with pytest.raises(BadSetting, match="`auth`") as error:
            load_service(document({}), auth=auth)
        assert "s3cret" not in str(error.value)


def test_the_inventory_hash_changes_with_the_operations_and_not_with_their_order():
    one = {"summary": "x", "tags": ["t"]}
    paths = {"/a": {"get": one}, "/b": {"get": {}}}
    usual = service(paths).inventory_hash
    assert service({x: paths[x] for x in reversed(paths)}).inventory_hash == usual
    assert service(paths, info={"title": "Another"}).inventory_hash == usual
    for changed in ({"summary": "y"}, {"tags": ["u"]}, {"servers": [{"url": "https://b.c"}]}):
        assert service({**paths, "/a": {"get": one | changed}}).inventory_hash != usual
    assert service({**paths, "/b": {"post": {}}}).inventory_hash != usual
