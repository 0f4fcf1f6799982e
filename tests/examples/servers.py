"""The bundled example servers for tests: their files, modules and results."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from mcp import Client

from tests.support.commands import SERVERS

ROOT = Path(__file__).parents[2]


def load(name: str) -> ModuleType:
    """Run a server's file as a new module with its own state."""
    file = SERVERS / f"{name}.py"
    module = sys.modules[f"example_{name}"] = ModuleType(f"example_{name}")  # for dataclasses
    code = compile(file.read_text(encoding="utf-8"), file, "exec")  # leaves no __pycache__ there
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    exec(code, module.__dict__)
    # MCPServer configures logging for a whole process.
    root.handlers[:], root.level = handlers, level
    return module


async def answer(client: Client, tool: str, **arguments: Any) -> Any:
    """Call a tool that must succeed; return its structured result."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return result.structured_content


async def refusal(client: Client, tool: str, **arguments: Any) -> str:
    """Call a tool that must refuse; return the text of its error."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error, result.structured_content
    return result.content[0].text
