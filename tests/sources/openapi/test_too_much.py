"""Too much of something in a document: it costs what has it, and is told."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sources.openapi.documents import OK, body, document, only, query, schemas, service
from xai_mcp_agent.sources.openapi.conversion.operations import convert
from xai_mcp_agent.sources.openapi.document.document import Document, Site
from xai_mcp_agent.sources.openapi.document.parsing import NotReadable, parsed

MANY = 100_000


def test_when_a_document_is_large_enough_no_more_of_it_is_read(monkeypatch: pytest.MonkeyPatch):
    """Its host may offer any number of files, each of them as large as one may be."""
    monkeypatch.setattr("xai_mcp_agent.sources.openapi.document.document.MAX_BYTES", 1_000)
    asked: list[str] = []

    def fetch(url: str) -> bytes:
        asked.append(url)
        return b'{"type": "string", "description": "%s"}' % (b"x" * 600)

    paths = {f"/{n}": {"post": body({"$ref": f"s{n}.json"})} for n in range(50)}
    found = convert(Document(document(paths), Site("https://h.example/x.json", fetch)))
    assert len(asked) == 2
    assert len(found.operations) == 1
    assert all("more than" in x.reason and "in all" in x.reason for x in found.problems)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "enum": [f"v{n}" for n in range(MANY)]},
        {"const": {f"k{n}": n for n in range(MANY)}},
        {"type": "object", "required": [f"k{n}" for n in range(MANY)]},
        {"type": "object", "properties": {f"k{n}": {} for n in range(MANY)}},
        {"anyOf": [{}] * MANY},
        {"dependentRequired": {"a": [f"k{n}" for n in range(MANY)]}},
    ],
    ids=["enum", "const", "required", "properties", "anyOf", "dependentRequired"],
)
@pytest.mark.parametrize("is_named", [True, False], ids=["named", "in place"])
def test_a_schema_with_more_values_than_anybody_reads_costs_its_operation(
    schema: Any, is_named: bool
):
    """To write so many holds up everybody else."""
    used = {"$ref": "#/components/schemas/A"} if is_named else schema
    parameters = [query("x", used)]
    found = service(
        {"/a": {"get": {"parameters": parameters}}, "/b": {"get": {"responses": OK}}},
        components=schemas(A=schema),
    )
    assert [x.path for x in found.tools] == ["/b"]
    (problem,) = found.problems
    assert problem.path == "/a"
    assert "more than 50,000 values in one schema" in problem.reason


def test_arguments_that_take_too_much_to_say_cost_their_operation():
    large = {"type": "string", "enum": [f"{n:050}" for n in range(20_000)]}
    parameters = [query(f"x{n}", large) for n in range(3)]
    found = service({"/a": {"get": {"parameters": parameters}}, "/b": {"get": {"responses": OK}}})
    assert [x.path for x in found.tools] == ["/b"]
    assert "more than 2,000,000 characters to say" in found.problems[0].reason


def test_a_default_that_is_too_much_to_show_is_not_even_written():
    schema = {"type": "array", "default": [1] * MANY, "items": {"default": {"a": "x" * MANY}}}
    tool = only({"parameters": [query("x", schema)]})
    assert tool.input_schema["properties"]["x"] == {"type": "array", "items": {}}


@pytest.mark.parametrize("mark", ['"', "'", ""])
def test_a_text_of_yaml_that_is_longer_than_a_piece_of_it_is_whole(mark: str):
    """It is read in pieces, in which no character is cut, however many bytes it has."""
    text = "a\u00e4\u4e00\U0001f600 b" * 20_000
    assert parsed(f"x: {mark}{text}{mark}\ny: 1") == {"x": text, "y": 1}


def test_where_a_long_text_is_no_yaml_is_told():
    with pytest.raises(NotReadable, match="line 50001"):
        parsed("- \u00e4\n" * 50_000 + "- }")
