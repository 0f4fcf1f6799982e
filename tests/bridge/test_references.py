"""Types that stand behind a `$ref`, as pydantic and OpenAPI documents have them, in every view."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support import catalog_server
from tests.support.commands import command
from tests.support.model_endpoint import calls, model_endpoint, says
from xai_mcp_agent import Agent, AgentModel, Bridge, InvalidArguments
from xai_mcp_agent.agent.events import ToolFinished

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


PARAMETERS: dict[str, tuple[Any, str]] = {
    "one_reference_twice": (
        {"anyOf": [{"type": "array", "items": {"$ref": "#/$defs/Item"}}, {"$ref": "#/$defs/Item"}]},
        "array|object",
    ),
    "an_anchor": ({"$ref": "#Size"}, "any"),
    "a_choice_of_any_text": (
        {"type": "string", "anyOf": [{"const": "x"}, {"format": "uri"}]},
        "string",
    ),
    "a_choice_of_anything": ({"anyOf": [{"const": "x"}, {"format": "uri"}]}, "any"),
    "a_choice_beside_a_type": (
        {"type": "string", "anyOf": [{"type": "string"}, {"type": "null"}]},
        "string",
    ),
    "all_of_a_type_and_its_values": (
        {"allOf": [{"type": "string"}, {"enum": ["a", "b"]}]},
        '"a"|"b"',
    ),
    "all_of_two_types": (
        {"allOf": [{"type": ["string", "null"]}, {"type": "string"}]},
        "string",
    ),
}


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


def test_the_list_of_tools_shows_choices_and_objects(settings: Any, capsys: Any) -> None:
    _, out, _ = command(capsys, "tools", "list", "shop")
    shown = " ".join(out.split())
    assert f"size?: {CHOICES}" in shown
    assert "item: object" in shown
    assert "priority?: 1|2 = 1" in shown
    assert "others?: array|null" in shown


def test_an_explanation_has_the_choices_and_the_fields_of_objects(
    settings: Any, capsys: Any
) -> None:
    _, out, _ = command(capsys, "tools", "explain", "shop", "order")
    lines = [x.strip() for x in out.splitlines()]
    assert "priority (1|2)" in lines
    assert f"size ({CHOICES})" in lines
    assert "item.upholstery (string, required): What covers the cushion." in lines
    assert f"others.wood ({CHOICES})" in lines


def test_the_error_for_a_wrong_argument_lists_the_choices(settings: Any) -> None:
    with Bridge(settings) as bridge, pytest.raises(InvalidArguments) as caught:
        bridge.call_tool("shop", "order", HUGE)
    assert f"size?: {CHOICES}" in str(caught.value)


@pytest.mark.parametrize("words", ["upholstery", "cushion", "large"])
def test_a_tool_is_found_by_what_stands_behind_its_references(settings: Any, words: str) -> None:
    with Bridge(settings) as bridge:
        assert [x.tool.name for x in bridge.search_tools(words)] == ["order"]


def test_a_model_that_searches_reads_the_choices(settings: Any) -> None:
    steps = [calls(("tool_search", {"query": "upholstery"})), says("Done.")]
    search = {"toolSearch": {"tokenBudget": 180}}
    with Bridge({**settings, **search}) as bridge, model_endpoint(steps) as endpoint:
        model = AgentModel(
            provider="openai", name="scripted", base_url=endpoint.base_url, api_key="sk-dummy-key"
        )
        events = [*Agent(bridge, "shop", model=model).stream("Order a chair.")]
    (finished,) = [x for x in events if isinstance(x, ToolFinished)]
    assert f"size?: {CHOICES}" in finished.result.text


def test_parameters_show_just_what_they_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    schema = {
        "type": "object",
        "properties": {name: spec for name, (spec, _) in PARAMETERS.items()},
        "$defs": {
            "Item": {"type": "object", "properties": {"name": {"type": "string"}}},
            "Size": {"$anchor": "Size", "type": "string"},
        },
    }
    tool = {"name": "pack", "description": "Pack.", "input_schema": schema}
    (tmp_path / "tools.jsonl").write_text(json.dumps(tool) + "\n", encoding="utf-8")
    server = {"command": sys.executable, "args": [catalog_server.__file__, "tools.jsonl"]}
    settings = json.dumps({"mcpServers": {"box": server}})
    (tmp_path / "mcp_settings.json").write_text(settings, encoding="utf-8")
    _, out, _ = command(capsys, "tools", "explain", "box", "pack")
    lines = [x.strip() for x in out.splitlines()]
    labels = {x: next((y for y in lines if y.startswith(f"{x} (")), "") for x in PARAMETERS}
    assert labels == {name: f"{name} ({label})" for name, (_, label) in PARAMETERS.items()}


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
