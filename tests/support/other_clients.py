"""Clients that are not ours, in front of a gateway: `python other_clients.py NAME COMMAND...`.

Run in an environment of the client. It prints as JSON what the client saw of the gallery: the names
of tools, the sum of 20 and 22, an error of a tool, and a resource. The call comes first: it waits
for a server that is slow to start, and a list does not.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any

_ADD, _WRONG = ("gallery_add", {"a": 20, "b": 22}), ("gallery_add", {"a": "x", "b": 1})
_README = "gallery://readme"


async def fastmcp(command: list[str]) -> dict[str, Any]:
    """Use the client of fastmcp."""
    from fastmcp import Client
    from fastmcp.client.transports import StdioTransport
    from fastmcp.exceptions import ToolError

    transport = StdioTransport(command[0], command[1:], env={**os.environ})
    async with Client(transport) as client:
        error = ""
        try:
            await client.call_tool(*_WRONG)
        except ToolError as failure:
            error = str(failure)
        return {
            "sum": (await client.call_tool(*_ADD)).content[0].text,
            "error": error,
            "resource": (await client.read_resource(_README))[0].text,
            "tools": [x.name for x in await client.list_tools()],
        }


async def openai_agents(command: list[str]) -> dict[str, Any]:
    """Use the client of openai-agents."""
    from agents.mcp import MCPServerStdio

    params = {"command": command[0], "args": command[1:], "env": {**os.environ}}
    async with MCPServerStdio(params, client_session_timeout_seconds=30) as server:
        return {
            "sum": (await server.call_tool(*_ADD)).content[0].text,
            "error": (await server.call_tool(*_WRONG)).content[0].text,
            "resource": (await server.read_resource(_README)).contents[0].text,
            "tools": [x.name for x in await server.list_tools()],
        }


if __name__ == "__main__":
    name, *command = sys.argv[1:]
    print(json.dumps(asyncio.run(globals()[name](command))))
