"""A small real MCP server for tests: `python workshop_server.py FILE`.

It counts, waits and fails on request, and writes the number of its process into the file.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import anyio
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

server = MCPServer("workshop", log_level="CRITICAL")
PID_FILE = Path(sys.argv[-1])


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def fail(reason: str) -> str:
    """Fail for a reason."""
    raise ToolError(reason)


@server.tool()
async def wait(seconds: float) -> str:
    """Wait; a file `FILE.waiting` says that it began, `FILE.cancelled` that it was cancelled."""
    PID_FILE.with_name(f"{PID_FILE.name}.waiting").touch()
    try:
        await anyio.sleep(seconds)
    except anyio.get_cancelled_exc_class():
        PID_FILE.with_suffix(".pid.cancelled").touch()
        raise
    return "Waited."


if __name__ == "__main__":
    PID_FILE.write_text(str(os.getpid()), encoding="ascii")
    server.run()
