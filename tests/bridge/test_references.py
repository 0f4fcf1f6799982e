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
'''


CHOICES = '"small"|"large"|null'


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Settings with a source `shop` that has a tool with such types."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shop.py").write_text(FUNCTIONS, encoding="utf-8")
    settings = {"functions": {"shop": {"file": "shop.py"}}}
    (tmp_path / "mcp_settings.json").write_text(json.dumps(settings), encoding="utf-8")
    return settings


def test_choices_and_fields_behind_references_are_shown_and_found_everywhere(
    settings: Any, capsys: Any
) -> None:
    _, out, _ = command(capsys, "tools", "list", "shop")
    listed = " ".join(out.split())
    for text in (f"size?: {CHOICES}", "item: object", "priority?: 1|2 = 1", "others?: array|null"):
        assert text in listed
    _, out, _ = command(capsys, "tools", "explain", "shop", "order")
    lines = [x.strip() for x in out.splitlines()]
    assert "priority (1|2)" in lines
    assert "item.upholstery (string, required): What covers the cushion." in lines
    assert f"others.wood ({CHOICES})" in lines
    with Bridge(settings) as bridge:
        with pytest.raises(InvalidArguments) as caught:
            bridge.call_tool("shop", "order", {"item": {"upholstery": "wool"}, "size": "huge"})
        for words in ("upholstery", "cushion", "large"):
            assert [x.tool.name for x in bridge.search_tools(words)] == ["order"]
    assert f"size?: {CHOICES}" in str(caught.value)
