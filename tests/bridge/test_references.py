"""Types that stand behind a `$ref`, as pydantic and OpenAPI documents have them, in every view."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import command
from xai_mcp_agent import Bridge, InvalidArguments

FUNCTIONS = '''
from enum import Enum, IntEnum
from pydantic import BaseModel, Field

class Size(Enum):
    SMALL = "small"
    LARGE = "large"

class Priority(IntEnum):
    LOW = 1
    HIGH = 2

class Chair(BaseModel):
    upholstery: str = Field(description="What covers the cushion.")
    wood: Size | None = None

def order(
    item: Chair, size: Size | None = None, priority: Priority = Priority.LOW,
    others: list[Chair] | None = None,
) -> str:
    """Order something."""
    return str(size)

def greet(name: str) -> str:
    """Greet somebody."""
    return name
'''

TREES = """
from __future__ import annotations
from pydantic import BaseModel
from typing_extensions import TypeAliasType

class Tree(BaseModel):
    branches: list[Tree] = []

Nested = TypeAliasType("Nested", "int | list[Nested]")

def prune(tree: Tree, nested: Nested = 1) -> str:
    '''Prune something.'''
    return "done"
"""

SCHEMAS: dict[str, Any] = {
    "Size": {"type": "string", "enum": ["small", "large"]},
    "Priority": {"type": "integer", "enum": [1, 2]},
    "Chair": {
        "type": "object",
        "required": ["upholstery"],
        "properties": {
            "upholstery": {"type": "string", "description": "What covers the cushion."},
            "wood": {"anyOf": [{"$ref": "#/components/schemas/Size"}, {"type": "null"}]},
        },
    },
    "Order": {
        "type": "object",
        "required": ["item"],
        "properties": {
            "item": {"$ref": "#/components/schemas/Chair"},
            "size": {"anyOf": [{"$ref": "#/components/schemas/Size"}, {"type": "null"}]},
            "priority": {"allOf": [{"$ref": "#/components/schemas/Priority"}], "default": 1},
            "others": {
                "anyOf": [
                    {"type": "array", "items": {"$ref": "#/components/schemas/Chair"}},
                    {"type": "null"},
                ]
            },
        },
    },
}
DOCUMENT: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {"title": "A shop", "version": "1"},
    "servers": [{"url": "http://127.0.0.1:9"}],
    "paths": {
        "/order": {
            "post": {
                "operationId": "order",
                "summary": "Order something.",
                "requestBody": {
                    "required": True,
                    "content": {
                        "application/json": {"schema": {"$ref": "#/components/schemas/Order"}}
                    },
                },
                "responses": {"200": {"description": "It is ordered."}},
            }
        },
        "/greet": {
            "get": {
                "operationId": "greet",
                "summary": "Greet somebody.",
                "responses": {"200": {"description": "Hello."}},
            }
        },
    },
    "components": {"schemas": SCHEMAS},
}
CHOICES = '"small"|"large"|null'
HUGE = {"item": {"upholstery": "wool"}, "size": "huge"}


@pytest.fixture(params=["functions", "openapiServices"])
def settings(request: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Settings with a source `shop` that has a tool with such types, and one without."""
    monkeypatch.chdir(tmp_path)
    entry: dict[str, Any] = {"file": "shop.py"}
    (tmp_path / "shop.py").write_text(FUNCTIONS, encoding="utf-8")
    if request.param == "openapiServices":
        entry = {"spec": "shop.json"}
        (tmp_path / "shop.json").write_text(json.dumps(DOCUMENT), encoding="utf-8")
    settings = {request.param: {"shop": entry}}
    (tmp_path / "mcp_settings.json").write_text(json.dumps(settings), encoding="utf-8")
    return settings


def test_choices_and_fields_behind_references_are_shown_and_found_everywhere(
    settings: Any, capsys: Any
) -> None:
    _, out, _ = command(capsys, "tools", "list", "shop")
    listed = " ".join(out.split())
    for shown in (f"size?: {CHOICES}", "item: object", "priority?: 1|2 = 1", "others?: array|null"):
        assert shown in listed
    _, out, _ = command(capsys, "tools", "explain", "shop", "order")
    lines = [x.strip() for x in out.splitlines()]
    assert "priority (1|2)" in lines
    assert "item.upholstery (string, required): What covers the cushion." in lines
    assert f"others.wood ({CHOICES})" in lines
    with Bridge(settings) as bridge:
        with pytest.raises(InvalidArguments) as caught:
            bridge.call_tool("shop", "order", HUGE)
        for words in ("upholstery", "cushion", "large"):
            assert [x.tool.name for x in bridge.search_tools(words)] == ["order"]
    assert f"size?: {CHOICES}" in str(caught.value)


def test_types_that_contain_themselves_are_shown_and_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "garden.py").write_text(TREES, encoding="utf-8")
    settings = {"functions": {"garden": {"file": "garden.py"}}}
    (tmp_path / "mcp_settings.json").write_text(json.dumps(settings), encoding="utf-8")
    _, out, _ = command(capsys, "tools", "explain", "garden", "prune")
    assert "prune(tree: object, nested?: integer|array = 1)" in out
    assert "tree.branches.branches (array)" in out
    with Bridge(settings) as bridge:
        assert [x.tool.name for x in bridge.search_tools("branches")] == ["prune"]
