"""References: followed wherever one may stand, and from wherever it is meant."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.sources.openapi.documents import OK, body, document, only, query, schemas, service
from xai_mcp_agent.sources.openapi.document import Document
from xai_mcp_agent.sources.openapi.operations import Conversion, convert

URL = "https://api.example.com/v1/openapi.json"
COUNT = {"type": "integer", "maximum": 9}


def of_site(root: dict[str, Any], **files: Any) -> Conversion:
    """What a document on a host comes to, with these files beside it."""

    def fetch(url: str) -> bytes:
        name = url.rpartition("/")[2].removesuffix(".json")
        if name not in files:
            raise OSError("the answer is 404")
        return json.dumps(files[name]).encode()

    return convert(Document(root, URL, fetch))


def shape(schema: Any, **named: Any) -> dict[str, Any]:
    """The definitions of an operation with this in its body, beside these schemas."""
    wanted = {"type": "object", "properties": {"v": schema}}
    return only(body(wanted), components=schemas(**named)).input_schema.get("$defs", {})


def test_a_reference_to_a_reference_with_words_beside_it_is_followed_to_its_end():
    """OpenAPI 3.1, Reference Object: it may have a summary and a description of its own."""
    parts = {
        "parameters": {"A": {"$ref": "#/components/parameters/B", "description": "How many"},
                       "B": query("limit", COUNT)},
        "requestBodies": {"A": {"$ref": "#/components/requestBodies/B", "description": "It"},
                          "B": body({"type": "object", "properties": {"x": COUNT}})["requestBody"]},
        "pathItems": {"A": {"$ref": "#/components/pathItems/B", "summary": "Things"},
                      "B": {"post": {"parameters": [{"$ref": "#/components/parameters/A"}],
                                     "requestBody": {"$ref": "#/components/requestBodies/A"}}}},
    }  # fmt: skip
    found = service({"/a": {"$ref": "#/components/pathItems/A"}}, components=parts)
    assert found.problems == ()
    (tool,) = found.tools
    assert tool.input_schema["properties"] == {
        "limit": {**COUNT, "description": "How many"},
        "x": COUNT,
    }


@pytest.mark.parametrize(
    ("item", "method"),
    [
        ({"$ref": "#/info/title"}, ""),
        ({"get": {"$ref": "#/info/title"}}, "GET"),
        ({"get": {"parameters": [{"$ref": "#/info/title"}]}}, "GET"),
        ({"post": {"requestBody": {"$ref": "#/servers"}}}, "POST"),
    ],
)
def test_a_reference_to_what_is_no_object_is_reported(item: Any, method: str):
    found = service({"/a": item, "/b": {"get": {"responses": OK}}})
    assert [x.path for x in found.tools] == ["/b"]
    (problem,) = found.problems
    assert (problem.path, problem.method) == ("/a", method)
    assert "does not lead to an object" in problem.reason


def test_references_that_only_lead_to_each_other_are_reported():
    """Also where each has words beside it."""
    found = service(
        {
            "/a": {"$ref": "#/paths/~1b", "summary": "A"},
            "/b": {"$ref": "#/paths/~1a", "summary": "B"},
        }
    )
    assert [x.path for x in found.problems] == ["/a", "/b"]
    assert all("leads to itself" in x.reason for x in found.problems)


@pytest.mark.parametrize(
    "reference",
    ["http://[bad", "#/components/schemas/" + "x" * 5_000, "#/components/schemas/Nothing"],
)
def test_a_reference_that_leads_nowhere_costs_its_operation_and_says_why(reference: str):
    found = of_site(
        document({"/a": {"post": body({"$ref": reference})}, "/b": {"get": {"responses": OK}}})
    )
    assert [x.path for x in found.operations] == ["/b"]
    (problem,) = found.problems
    assert problem.path == "/a"
    assert any(x in problem.reason for x in ("invalid address", "leads to nothing"))


def test_a_definition_with_a_bad_reference_costs_each_operation_that_needs_it():
    """The second one is not made of what was left over from the first."""
    named = schemas(A={"properties": {"x": {"$ref": "#/components/schemas/Nothing"}}})
    paths = {x: {"post": body({"$ref": "#/components/schemas/A"})} for x in ("/a", "/b")}
    found = service(paths, components=named)
    assert [x.path for x in found.problems] == ["/a", "/b"]


def test_a_bad_reference_in_a_file_costs_nothing_else_in_it():
    found = of_site(
        document({"/a": {"post": body({"$ref": "x.json#/Good"})}}),
        x={"Good": {"type": "object", "properties": {"n": COUNT}}, "Bad": {"$ref": "http://[bad"}},
    )
    assert found.problems == ()
    assert list(found.operations[0].input_schema["properties"]) == ["n"]


def test_a_document_is_known_by_the_address_that_it_gives_itself_in_short():
    """OpenAPI 3.2, `$self` may be relative to where the document is."""
    root = document(
        {"/a": {"post": body({"$ref": "things#/components/schemas/A"})}}, "3.2.0",
        components=schemas(A={"type": "object", "properties": {"x": {}}}),
    )  # fmt: skip
    found = of_site({**root, "$self": "/v1/things"})
    assert list(found.operations[0].input_schema["properties"]) == ["x"]


@pytest.mark.parametrize(
    ("name", "reference"),
    [
        ("My Pet", "My%20Pet"), ("My Pet", "My Pet"), ("My%20Pet", "My%20Pet"),
        ("My%20Pet", "My%2520Pet"), ("a/b~c", "a~1b~0c"), ("List«Pet»", "List«Pet»"),
    ],
)  # fmt: skip
def test_names_are_found_however_they_are_encoded(name: str, reference: str):
    found = shape({"$ref": f"#/components/schemas/{reference}"}, **{name: COUNT})
    assert list(found.values()) == [COUNT]


def test_a_schema_that_is_empty_in_yaml_allows_anything():
    """`Thing:` without anything behind it is null."""
    assert list(shape({"$ref": "#/components/schemas/N"}, N=None).values()) == [{}]
