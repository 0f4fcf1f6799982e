"""What documents of this world have in them: it costs no tool, or says why it does."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pytest

from tests.sources.openapi.documents import OK, document, only, query, service
from xai_mcp_agent.sources.openapi import BadDocument, load_service
from xai_mcp_agent.sources.openapi.document import Document
from xai_mcp_agent.sources.openapi.operations import convert

GOOD = {"get": {"responses": OK}}


def in_path(name: str) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}


# What a program read by itself


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


def test_what_a_program_gives_may_not_hold_itself():
    given: dict[str, Any] = document({"/a": GOOD})
    given["x-itself"] = [given]
    with pytest.raises(BadDocument, match="Circular"):
        load_service(given)


# Paths and methods


def test_methods_in_capitals_are_methods():
    found = service({"/a": {"GET": {"responses": OK}, "Post": {"responses": OK}}})
    assert [(x.method, x.name) for x in found.tools] == [("GET", "get_a"), ("POST", "post_a")]


def test_further_operations_that_cannot_be_called_are_reported():
    """OpenAPI 3.2, `additionalOperations`."""
    found = service(
        {"/a": {"additionalOperations": {"BAD METHOD": {}, "COPY": {"responses": OK}}},
         "/b": {"additionalOperations": [1]}}, "3.2.0",
    )  # fmt: skip
    assert [x.method for x in found.tools] == ["COPY"]
    assert [(x.path, x.method) for x in found.problems] == [("/a", "BAD METHOD"), ("/b", "")]


@pytest.mark.parametrize(
    "name", ["user id", "имя", "filter[name]", "id:[0-9]+", "id*", "a,b", "x@y", "$id", "user-id"]
)
def test_a_part_of_the_path_may_be_called_anything(name: str):
    """Otherwise its braces would be sent as they are."""
    found = service({f"/a/{{{name}}}/z": {"get": {"parameters": [in_path(name)]}}})
    (tool,) = found.tools
    assert tool.input_schema["required"] == [name]
    assert found.request(tool.name, {name: "1/2"}).url.raw_path == b"/v1/a/1%2F2/z"


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("/" + "{a}" * 50_000, "too long"),
        ("/a\u202eb", "invisible characters"),
        ("/a\x00", "invisible characters"),
    ],
    ids=["long", "turned", "control"],
)
def test_a_path_that_cannot_be_shown_is_one_problem(path: str, says: str):
    found = service({path: {"get": {}, "post": {}}, "/good": GOOD})
    assert [x.path for x in found.tools] == ["/good"]
    (problem,) = found.problems
    assert says in problem.reason
    assert problem.method == ""
    assert len(problem.path) <= 2_000


def test_blanks_around_a_path_are_a_slip():
    assert [x.path for x in service({" /a ": GOOD}).tools] == ["/a"]


# Names


def test_a_name_that_is_endless_is_cut_and_still_one_of_its_own():
    paths = {f"/{x}": {"get": {"operationId": "é" * 100_000 + "y" * 3_000 + x}} for x in "ab"}
    assert len({x.name for x in service(paths).tools}) == 2


# Parameters and bodies


def test_a_name_that_yaml_reads_as_a_number_is_a_name():
    parameters = [{**query("", {}, required=True), "name": x} for x in (1, 2.5)]
    tool = only({"parameters": parameters})
    assert tool.input_schema["required"] == ["1", "2.5"]


@pytest.mark.parametrize(
    "wrong",
    [{"x": query("x", {})}, "x", 5],
    ids=["object", "text", "number"],
)
def test_parameters_that_are_no_list_of_them_cost_the_operation_and_are_reported(wrong: Any):
    """Without them it would be another call."""
    found = service({"/a": {"get": {"parameters": wrong}}, "/b": GOOD})
    assert [x.path for x in found.tools] == ["/b"]
    assert "parameters" in found.problems[0].reason


def test_the_body_of_an_operation_counts_in_place_of_that_of_its_path():
    """Swagger 2.0 gives a body a name, and there is only one."""

    def named(name: str) -> dict[str, Any]:
        schema = {"type": "object", "properties": {name: {"type": "string"}}}
        return {"name": name, "in": "body", "required": True, "schema": schema}

    found = load_service(
        {"swagger": "2.0", "paths": {"/a": {"parameters": [named("outer")],
                                            "post": {"parameters": [named("inner")]}}}}
    )  # fmt: skip
    assert list(found.tools[0].input_schema["properties"]) == ["inner"]


# Servers


def called_at(url: Any, document_url: str = "", **server: Any) -> str:
    root = document({"/a": GOOD}, servers=[{"url": url, **server}])
    (tool,) = convert(Document(root, document_url)).operations
    return tool.plan.base_url


@pytest.mark.parametrize("url", ["https://h.example/v1\n", " https://h.example/v1 "])
def test_blanks_around_the_address_of_a_server_are_a_slip(url: str):
    """A folded text of YAML ends with a line break."""
    assert called_at(url) == "https://h.example/v1"


@pytest.mark.parametrize(
    "url",
    ["https://{tenant}.h.example/v1", "https://h.example/{version}", "https://[bad/v1",
     "https://h.example%2eother/", "https://h ost/"],
)  # fmt: skip
@pytest.mark.parametrize("document_url", ["", "https://d.example/openapi.json"])
def test_an_address_with_a_hole_in_it_is_none(url: str, document_url: str):
    assert called_at(url, document_url) == ""


def test_a_variable_that_is_a_number_is_filled_in():
    assert called_at("https://h.example:{port}", variables={"port": {"default": 8443}}) == (
        "https://h.example:8443"
    )


@pytest.mark.parametrize(
    "host", ["2852039166", "0xA9FEA9FE", "0251.0376.0251.0376", "169.254.43518",
             "[::ffff:169.254.169.254]", "[64:ff9b::a9fe:a9fe]"],
)  # fmt: skip
def test_where_credentials_are_given_out_is_known_however_it_is_written(host: str):
    root = document({"/a": GOOD}, servers=[{"url": f"http://{host}/latest"}])
    (tool,) = load_service(root).tools
    assert tool.plan.base_url == ""
    assert "may give out credentials" in str(tool.tool.note)


def test_a_wrong_address_in_one_place_costs_no_operation():
    """Of a host in Swagger 2.0, and of tokens."""
    assert load_service({"swagger": "2.0", "host": "[bad", "paths": {"/a": GOOD}}).problems == ()
    flow = {"clientCredentials": {"tokenUrl": "http://[bad"}}
    root = document(
        {"/a": {"get": {"security": [{"o": []}]}}},
        components={"securitySchemes": {"o": {"type": "oauth2", "flows": flow}}},
    )
    found = convert(Document(root, "https://d.example/openapi.json"))
    assert found.problems == ()


def test_a_media_type_with_nothing_behind_it_takes_any_value():
    tool = only({"requestBody": {"required": True, "content": {"application/json": None}}})
    assert tool.input_schema["required"] == ["body"]
