"""Too much of something in a document: it costs what has it, and is told."""

from __future__ import annotations

import pytest

from tests.sources.openapi.documents import body, document, only, query
from xai_mcp_agent.sources.openapi.document import Document, NotReadable, parse
from xai_mcp_agent.sources.openapi.operations import convert

MANY = 100_000


def test_when_a_document_is_large_enough_no_more_of_it_is_read(monkeypatch: pytest.MonkeyPatch):
    """Its host may offer any number of files, each of them as large as one may be."""
    monkeypatch.setattr("xai_mcp_agent.sources.openapi.document._BUDGET", 10_000)
    asked: list[str] = []

    def fetch(url: str) -> bytes:
        asked.append(url)
        return b'{"type": "string", "description": "%s"}' % (b"x" * 600)

    paths = {f"/{n}": {"post": body({"$ref": f"s{n}.json"})} for n in range(50)}
    found = convert(Document(document(paths), "https://h.example/x.json", fetch))
    assert len(asked) == 2
    assert len(found.operations) == 1
    assert all("too large" in x.reason for x in found.problems)


def test_a_default_that_is_too_much_to_show_is_not_even_written():
    schema = {"type": "array", "default": [1] * MANY, "items": {"default": {"a": "x" * MANY}}}
    tool = only({"parameters": [query("x", schema)]})
    assert tool.input_schema["properties"]["x"] == {"type": "array", "items": {}}


@pytest.mark.parametrize("mark", ['"', "'", ""])
def test_a_text_of_yaml_that_is_longer_than_a_piece_of_it_is_whole(mark: str):
    """It is read in pieces, in which no character is cut, however many bytes it has."""
    text = "a\u00e4\u4e00\U0001f600 b" * 20_000
    assert parse(f"x: {mark}{text}{mark}\ny: 1") == {"x": text, "y": 1}


def test_where_a_long_text_is_no_yaml_is_told():
    with pytest.raises(NotReadable, match="line 50001"):
        parse("- \u00e4\n" * 50_000 + "- }")
