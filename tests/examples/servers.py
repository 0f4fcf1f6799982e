"""The bundled example servers as the tests meet them: their files, their modules, their answers."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from mcp import Client

ROOT = Path(__file__).parents[2]
SERVERS = ROOT / "examples" / "servers"


def load(name: str) -> ModuleType:
    """Run a server's file as a new module, with a catalogue, a clock and a server of its own."""
    file = SERVERS / f"{name}.py"
    module = sys.modules[f"example_{name}"] = ModuleType(f"example_{name}")  # for dataclasses
    code = compile(file.read_text(encoding="utf-8"), file, "exec")  # leaves no __pycache__ there
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    exec(code, module.__dict__)
    root.handlers[:], root.level = handlers, level  # MCPServer sets up logging as for a process
    return module


async def answer(client: Client, tool: str, **arguments: Any) -> Any:
    """Call a tool that must succeed; its structured result."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return result.structured_content


async def refusal(client: Client, tool: str, **arguments: Any) -> str:
    """Call a tool that must refuse; the words of its error."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error, result.structured_content
    return result.content[0].text
