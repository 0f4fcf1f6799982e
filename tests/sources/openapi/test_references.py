"""References: followed wherever one may stand, and from wherever it is meant."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.sources.openapi.documents import OK, body, document, only, query, schemas, service
from xai_mcp_agent.sources.openapi.conversion.operations import Conversion, convert
from xai_mcp_agent.sources.openapi.document.document import Document, Site

URL = "https://api.example.com/v1/openapi.json"
COUNT = {"type": "integer", "maximum": 9}


def of_site(root: dict[str, Any], **files: Any) -> Conversion:
    """What a document on a host comes to, with these files beside it."""

    def fetch(url: str) -> bytes:
        name = url.rpartition("/")[2].removesuffix(".json")
        if name not in files:
            raise OSError("the answer is 404")
        return json.dumps(files[name]).encode()

    return convert(Document(root, Site(URL, fetch)))


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
def test_a_reference_to_what_is_no_object_is_told(item: Any, method: str):
    found = service({"/a": item, "/b": {"get": {"responses": OK}}})
    assert [x.path for x in found.tools] == ["/b"]
    (problem,) = found.problems
    assert (problem.path, problem.method) == ("/a", method)
    assert "leads to what is no object" in problem.reason


def test_references_that_only_lead_to_each_other_are_told():
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
    assert any(x in problem.reason for x in ("no address", "longer than", "leads to nothing"))


def test_a_bad_reference_in_a_file_costs_nothing_else_in_it():
    found = of_site(
        document({"/a": {"post": body({"$ref": "x.json#/Good"})}}),
        x={"Good": {"type": "object", "properties": {"n": COUNT}}, "Bad": {"$ref": "http://[bad"}},
    )
    assert found.problems == ()
    assert list(found.operations[0].input_schema["properties"]) == ["n"]


def test_a_schema_with_an_identifier_is_a_document_by_itself():
    """JSON Schema 2020-12, 8.2: references inside are meant from it, and others may name it."""
    named = {
        "P": {
            "$id": "https://schemas.example/p",
            "type": "object",
            "properties": {
                "count": {"$ref": "#/$defs/Count"}, "again": {"$ref": "#"}, "other": {"$ref": "q"},
                "flag": {"$ref": "#flag"},
            },
            "$defs": {"Count": COUNT, "Flag": {"$anchor": "flag", "type": "boolean"}},
        },
        "Q": {"$id": "https://schemas.example/q", "type": "string"},
    }  # fmt: skip
    found = shape({"$ref": "#/components/schemas/P"}, **named)
    assert found["P"]["properties"] == {
        "count": {"$ref": "#/$defs/Count"}, "again": {"$ref": "#/$defs/P"},
        "other": {"$ref": "#/$defs/q"}, "flag": {"$ref": "#/$defs/flag"},
    }  # fmt: skip
    assert (found["Count"], found["q"]) == (COUNT, {"type": "string"})
    assert found["flag"] == {"type": "boolean"}
    for reference in ("https://schemas.example/p#/$defs/Count", "https://schemas.example/p#flag"):
        assert len(shape({"$ref": reference}, **named)) == 1


def test_definitions_inside_a_schema_are_found_where_generators_put_it_as_it_is():
    """Pydantic writes `#/$defs/...`; many paste that into a document, which has none there."""
    pasted = {
        "type": "object",
        "properties": {"n": {"$ref": "#/$defs/Outer"}},
        "$defs": {"Outer": {"properties": {"m": {"$ref": "#/$defs/Inner"}}}, "Inner": COUNT},
    }
    wanted = {"Outer": {"properties": {"m": {"$ref": "#/$defs/Inner"}}}, "Inner": COUNT}
    assert only(body(pasted)).input_schema["$defs"] == wanted
    found = shape({"$ref": "#/components/schemas/Pasted"}, Pasted=pasted)
    assert {x: found[x] for x in wanted} == wanted


def test_two_schemas_may_have_definitions_of_the_same_name():
    one, two = ({"$defs": {"N": x}, "properties": {"n": {"$ref": "#/$defs/N"}}}
                for x in (COUNT, {"type": "boolean"}))  # fmt: skip
    found = shape(
        {"properties": {"a": {"$ref": "#/components/schemas/A"},
                        "b": {"$ref": "#/components/schemas/B"}}}, A=one, B=two,
    )  # fmt: skip
    kinds = {x: found[found[x]["properties"]["n"]["$ref"].rpartition("/")[2]] for x in ("A", "B")}
    assert kinds == {"A": COUNT, "B": {"type": "boolean"}}


def test_dynamic_references_in_other_files_lead_into_those():
    node = {"$dynamicAnchor": "node", "properties": {"next": {"$dynamicRef": "#node"}}}
    paths = {"/a": {"post": body({"type": "array", "items": {"$ref": "x.json"}})}}
    found = of_site(document(paths), x=node)
    assert found.problems == ()
    definitions = found.operations[0].input_schema["$defs"]
    assert {"properties": {"next": {"$ref": "#/$defs/node"}}} in definitions.values()


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
