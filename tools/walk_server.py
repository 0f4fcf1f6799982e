"""A small MCP server for walks over stdio: `python walk_server.py`."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from mcp.server.mcpserver import Context, MCPServer

_LOOK_SECONDS = 0.02
_tasks: set[asyncio.Task[None]] = set()

server = MCPServer("walk", log_level="CRITICAL")


@server.tool()
def echo(text: str) -> str:
    """Say the text again."""
    return text


@server.tool()
async def add_later(name: str, file: str, ctx: Context) -> str:
    """Add a tool of this name, and send a notice, as soon as the file exists."""
    task = asyncio.create_task(_add(name, Path(file), ctx))
    _tasks.add(task)
    task.add_done_callback(_tasks.discard)
    return f"waiting for {file}"


async def _add(name: str, file: Path, ctx: Context) -> None:
    await asyncio.to_thread(_wait_for, file)
    server.add_tool(lambda: name, name=name, description=f"Says {name}.")
    await ctx.notify_tools_changed()  # to 2026-07-28 listeners
    await ctx.session.send_tool_list_changed()  # to handshake-era clients


def _wait_for(file: Path) -> None:
    while not file.exists():
        time.sleep(_LOOK_SECONDS)


if __name__ == "__main__":
    server.run()
