"""`xai-mcp-agent tools list`: what a document comes to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_servers import command
from tests.support.bakery import bakery

DOCUMENT = {
    "openapi": "3.1.0",
    "info": {"title": "Shop", "version": "2"},
    "servers": [{"url": "https://shop.example.com/v2"}],
    "paths": {
        "/things/{id}": {
            "get": {
                "operationId": "get_thing",
                "summary": "One thing",
                "parameters": [
                    {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}},
                    {"name": "id", "in": "query", "schema": {"type": "array"}},
                ],
                "responses": {},
            },
            "put": {"$ref": "#/nowhere"},
        }
    },
}


@pytest.fixture
def document(tmp_path: Path) -> str:
    file = tmp_path / "shop.json"
    file.write_text(json.dumps(DOCUMENT), encoding="utf-8")
    return str(file)


def test_a_person_reads_the_tools_and_what_is_none(document: str, capsys: Any) -> None:
    status, out, _ = command(capsys, "tools", "list", document)
    assert status == 0
    lines = out.splitlines()
    assert lines[0] == "Shop 2: 1 tool."
    assert lines[1].startswith("get_thing(id: string, id__query?: ")
    assert lines[2:4] == ["    GET /things/{id}", "    One thing"]
    assert "  PUT /things/{id}: #/nowhere leads to nothing." in " ".join(lines[4:])


def test_a_person_reads_where_each_argument_goes(document: str, capsys: Any) -> None:
    _, out, _ = command(capsys, "tools", "list", document, "get_thing")
    assert "at https://shop.example.com/v2" in out
    assert "id__query: in the query, as id (form, exploded)" in out
    assert "url: " in out.partition("As templates")[2]


def test_a_program_gets_the_same(document: str, capsys: Any) -> None:
    status, out, _ = command(
        capsys, "tools", "list", document, "--base-url", "http://x.test", "--json"
    )
    found = json.loads(out)
    assert status == 0
    assert [(x["name"], x["method"], x["path"]) for x in found["tools"]] == [
        ("get_thing", "GET", "/things/{id}")
    ]
    assert found["tools"][0]["plan"]["base_url"] == "http://x.test"
    assert found["problems"][0]["method"] == "PUT"
    assert found["inventory_hash"]


def test_a_document_behind_a_url_is_read_and_nothing_is_called(capsys: Any) -> None:
    with bakery() as address:
        _, out, _ = command(capsys, "tools", "list", f"{address}/openapi.json")
    assert out.startswith("Bakery 1.0: 7 tools.")


def test_what_is_no_document_is_reported(tmp_path: Path, document: str, capsys: Any) -> None:
    status, _, errors = command(capsys, "tools", "list", str(tmp_path / "none.yaml"))
    assert status == 1
    assert "none.yaml cannot be read" in errors
    status, _, errors = command(capsys, "tools", "list", document, "get_things")
    assert status == 1
    assert "get_thing" in errors
