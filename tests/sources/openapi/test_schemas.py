"""Schemas of documents as JSON Schema that checks the same rules."""

from __future__ import annotations

from itertools import product
from typing import Any

from tests.sources.openapi.documents import body, only, query, schemas, service
from xai_mcp_agent.core.json import JsonObject
from xai_mcp_agent.core.schema_check import SchemaCheck
from xai_mcp_agent.sources.openapi import Operation

COMPONENTS = "#/components/schemas"


def schema_of(schema: Any, version: str = "3.0.3", **others: Any) -> JsonObject:
    """Return the tool's schema for a parameter with this schema, beside other schemas."""
    tool = only({"parameters": [query("x", schema)]}, version=version, components=schemas(**others))
    return tool.input_schema["properties"]["x"]


def fits(tool: Operation, **arguments: Any) -> bool:
    check = SchemaCheck(tool.input_schema)
    problems = check.problems(arguments)
    assert not check.broken
    return not problems


TRANSLATIONS: tuple[tuple[JsonObject, JsonObject], ...] = (
    ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
    ({"type": "string", "enum": ["a"], "nullable": True},
     {"type": ["string", "null"], "enum": ["a", None]}),
    ({"nullable": True, "allOf": [{"type": "string"}]},
     {"anyOf": [{"allOf": [{"type": "string"}]}, {"type": "null"}]}),
    ({"minimum": 1, "exclusiveMinimum": True}, {"exclusiveMinimum": 1}),
    ({"maximum": 1, "exclusiveMaximum": False}, {"maximum": 1}),
    ({"exclusiveMinimum": True}, {}),
    ({"type": "string", "example": "a"}, {"type": "string", "examples": ["a"]}),
    ({"type": "file"}, {"type": "string"}),
    ({"items": [{"type": "string"}, {}]}, {"prefixItems": [{"type": "string"}, {}]}),
    ({"type": "string", "x-nullable": True}, {"type": ["string", "null"]}),
    # Values that are not of their type: YAML reads `- 1.0` as a number.
    ({"type": "string", "enum": ["a", 1, 1.0, True]},
     {"enum": ["a", "1", "1.0", "true"], "type": "string"}),
    ({"type": "integer", "enum": ["1", "2"]}, {"enum": ["1", "2"]}),
    ({"type": "integer", "enum": [1, "x"]}, {"type": "integer", "enum": [1]}),
    ({"type": "string", "default": None}, {"type": "string"}),
    # Numbers that JSON does not have.
    ({"type": "number", "maximum": float("inf"), "default": float("nan"),
      "enum": [float("inf"), 1]}, {"type": "number", "enum": [1]}),
    # A pattern as JavaScript writes it: with the slashes nothing would ever fit.
    ({"pattern": "/^[a-z]+$/"}, {"pattern": "^[a-z]+$"}),
    ({"pattern": "/^a/u"}, {"pattern": "^a"}),
    ({"pattern": "/^a$/i"}, {}),
    ({"pattern": "/a/"}, {"pattern": "/a/"}),
)  # fmt: skip


def test_keywords_of_openapi_are_translated_into_json_schema():
    for schema, translation in TRANSLATIONS:
        assert schema_of(schema) == translation


def test_nullable_is_understood_in_later_versions_too():
    assert schema_of({"type": "string", "nullable": True}, "3.1.0") == {"type": ["string", "null"]}
    tool = only(body({"type": "object", "properties": {"v": {"$ref": f"{COMPONENTS}/N"}}}),
                components=schemas(N=None))  # fmt: skip
    assert tool.input_schema["$defs"] == {"N": {}}, "`Thing:` without anything behind it is null"


def test_a_reference_may_be_null_in_3_0_and_has_its_own_description():
    """Version 3.0 ignores keywords beside a reference, but documents rely on them."""
    reference = {"$ref": f"{COMPONENTS}/A", "nullable": True, "description": "Mine"}
    assert schema_of(reference, A={"type": "string"}) == {
        "anyOf": [{"$ref": "#/$defs/A"}, {"type": "null"}], "description": "Mine",
    }  # fmt: skip
    reference = {"$ref": f"{COMPONENTS}/A", "maxLength": 3}
    assert schema_of(reference, A={}) == {"$ref": "#/$defs/A"}
    assert schema_of(reference, "3.1.0", A={}) == {"$ref": "#/$defs/A", "maxLength": 3}


WARTS: list[JsonObject] = [
    {"enum": []}, {"enum": "a"}, {"required": True}, {"type": []}, {"type": 5},
    {"xml": {"name": "a"}}, {"$recursiveAnchor": True}, {"x-mine": 1}, {"$schema": "http://x"},
    {"$id": "y"}, {"$comment": True}, {"minLength": -1}, {"minimum": "1"}, {"multipleOf": 0},
    {"maxItems": 1.5}, {"pattern": "("}, {"pattern": 5}, {"properties": []}, {"items": 5},
    {"allOf": []}, {"allOf": {}}, {"anyOf": [5]}, {"description": 5}, {"format": []},
    {"default": "x" * 999}, {"example": {"a": 1}}, {"uniqueItems": "yes"},
    {"additionalProperties": "no"}, {"$recursiveRef": "#"}, {"$ref": 5}, {"definitions": {"a": 5}},
    {"minimum": float("inf")}, {"nullable": 1}, {"pattern": "a{1,100000}{1,100000}"},
    {"dependentRequired": {"a": 5}},
]  # fmt: skip


def test_an_invalid_keyword_is_ignored_and_the_others_are_checked():
    """Published documents contain them, and each would make the whole schema invalid."""
    for version, wart in product(("3.0.3", "3.1.0"), WARTS):
        inner = {"type": "object", "properties": {"inner": {"type": "integer"}}, **wart}
        tool = only(body({"type": "array", "items": inner}), version=version)
        assert fits(tool, body=[])
        if "properties" not in wart and "type" not in wart:
            assert not fits(tool, body=[{"inner": "x"}])


def test_an_unknown_type_allows_any_value_and_is_reported():
    tool = only({"parameters": [query("x", {"type": "strnig", "required": True})]})
    assert tool.input_schema["properties"]["x"] == {}
    assert "'strnig'" in (tool.tool.note or "")


def test_read_only_properties_are_no_arguments():
    thing = {
        "type": "object",
        "required": ["id", "name", "stamp"],
        "properties": {
            "id": {"type": "string", "readOnly": True},
            "stamp": {"$ref": f"{COMPONENTS}/Stamp"},
            "name": {"type": "string"},
            "secret": {"type": "string", "writeOnly": True},
        },
    }
    stamp = {"type": "string", "readOnly": True}
    whole = {"allOf": [{"$ref": f"{COMPONENTS}/Thing"}], "required": ["id", "secret"]}
    tool = only(body(whole), components=schemas(Thing=thing, Stamp=stamp))
    assert list(tool.input_schema["properties"]) == ["name", "secret"]
    assert sorted(tool.input_schema["required"]) == ["name", "secret"]


def test_each_tool_has_the_definitions_it_needs_once_and_no_others():
    """Inlined definitions would be thousands here."""
    levels = {
        f"L{n}": {"properties": {x: {"$ref": f"{COMPONENTS}/L{n + 1}"} for x in "abc"}}
        for n in range(12)
    }  # fmt: skip
    bodies = ({"type": "array", "items": {"$ref": f"{COMPONENTS}/{x}"}} for x in ("L0", "L11"))
    paths = {f"/{n}": {"post": body(x)} for n, x in enumerate(bodies)}
    definitions = schemas(**levels, L12={"type": "integer"})
    deep, shallow = (x.input_schema["$defs"] for x in service(paths, components=definitions).tools)
    assert len(deep) == 13
    assert sorted(shallow) == ["L11", "L12"]
    assert deep["L12"] is shallow["L12"]


def test_a_schema_that_refers_to_itself_is_checked_to_any_depth():
    node = {
        "type": "object",
        "properties": {"n": {"type": "integer"}, "next": {"$ref": f"{COMPONENTS}/Node"}},
    }
    tool = only(body({"$ref": f"{COMPONENTS}/Node"}), components=schemas(Node=node))
    assert list(tool.input_schema["properties"]) == ["n", "next"]
    assert fits(tool, n=1, next={"n": 2, "next": {"n": 3}})
    assert not fits(tool, n=1, next={"n": 2, "next": {"n": "x"}})


def test_references_that_lead_to_each_other_alone_allow_anything():
    """There is nothing to check, and a check would never end."""
    loops = {"A": {"$ref": f"{COMPONENTS}/B"}, "B": {"$ref": f"{COMPONENTS}/A"}}
    parameters = [query("x", {"$ref": f"{COMPONENTS}/A"})]
    tool = only({"parameters": parameters}, components=schemas(**loops))
    assert fits(tool, x=1)
    assert "leads to itself" in (tool.tool.note or "")


def kind_of_pet(**own: Any) -> JsonObject:
    more = {"type": "object", "required": list(own), "properties": own}
    return {"allOf": [{"$ref": f"{COMPONENTS}/Pet"}, more]}


PETS = {
    "Pet": {
        "type": "object",
        "required": ["kind"],
        "properties": {"kind": {"type": "string"}},
        "oneOf": [{"$ref": f"{COMPONENTS}/Cat"}, {"$ref": f"{COMPONENTS}/Dog"}],
        "discriminator": {"propertyName": "kind"},
    },
    "Cat": kind_of_pet(meows={"type": "integer"}),
    "Dog": kind_of_pet(barks={"type": "integer"}),
}


def test_a_schema_that_inherits_from_its_own_one_of_is_checked():
    """That is inheritance in OpenAPI 3.0; as JSON Schema it is an endless recursion."""
    paths = {
        f"/{x}": {"post": body({"type": "array", "items": {"$ref": f"{COMPONENTS}/{x}"}})}
        for x in ("Cat", "Pet")
    }
    tools = {x.path: x for x in service(paths, "3.0.3", components=schemas(**PETS)).tools}
    pet, cat = tools["/Pet"], tools["/Cat"]
    assert fits(pet, body=[{"kind": "cat", "meows": 1}, {"kind": "dog", "barks": 1}])
    assert not fits(pet, body=[{"kind": "cat", "meows": "x"}])
    assert not fits(pet, body=[{"meows": 1}])
    assert fits(cat, body=[{"kind": "cat", "meows": 1}])
    assert not fits(cat, body=[{"kind": "dog", "barks": 1}])
    assert not fits(cat, body=[{"meows": 1}])


def test_definitions_of_one_name_from_several_places_are_several():
    other = {
        "schemas": {"A": {"type": "integer"}},
        "parameters": {"A": {"schema": {"type": "boolean"}}},
    }
    parameters = [query("x", {"$ref": f"{COMPONENTS}/A"}),
                  query("y", {"$ref": "#/components/parameters/A/schema"}),
                  query("z", {"$ref": "#/x-a/A"})]  # fmt: skip
    tool = only({"parameters": parameters}, components=other, **{"x-a": {"A": {"type": "null"}}})
    assert fits(tool, x=1, y=True, z=None)
    assert not fits(tool, y=1)
    assert not fits(tool, z=1)
