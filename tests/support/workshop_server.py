"""A small real MCP server for tests: `python workshop_server.py [--pid FILE] [--http PORT]`.

It counts, waits and fails on request, and tells which process it is.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import anyio
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

server = MCPServer("workshop", log_level="CRITICAL")
began: Path | None = None


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
    """Wait; a file `<pid file>.waiting` says that it began, `.cancelled` that it was cancelled."""
    if began is not None:
        began.touch()
    try:
        await anyio.sleep(seconds)
    except anyio.get_cancelled_exc_class():
        if began is not None:
            began.with_suffix(".cancelled").touch()
        raise
    return "Waited."


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--pid", type=Path)
    parser.add_argument("--http", type=int)
    options = parser.parse_args()
    if options.pid:
        began = options.pid.with_name(f"{options.pid.name}.waiting")
        options.pid.write_text(str(os.getpid()), encoding="ascii")
    if options.http:
        server.run("streamable-http", port=options.http)
    else:
        server.run()
