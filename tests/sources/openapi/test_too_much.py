"""Too much of something in a document: it costs what has it, and is told."""

from __future__ import annotations

import pytest

from tests.sources.openapi.documents import body, document
from xai_mcp_agent.sources.openapi.document import Document
from xai_mcp_agent.sources.openapi.operations import convert


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
