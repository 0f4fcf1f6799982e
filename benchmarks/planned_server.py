"""An MCP server for plans: `python planned_server.py FOLDER`.

It lists the tools that are named in `tools.json` of the folder, answers the calls of a plan with
the results in `answers.json`, one after another, and writes each call to a line of `calls.jsonl`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import anyio
from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server


class PlannedServer:
    """The tools, and the answers of the plan that runs now."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        names = json.loads((folder / "tools.json").read_text(encoding="utf-8"))
        self._tools = [types.Tool(name=x, input_schema={"type": "object"}) for x in names]
        self.server = Server("planned", on_list_tools=self.list, on_call_tool=self.call)

    async def list(self, _ctx: Any, _params: Any) -> types.ListToolsResult:
        """Return all tools."""
        return types.ListToolsResult(tools=self._tools)

    async def call(self, _ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        """Return the next answer; beyond the last one, an error."""
        log, call = self._folder / "calls.jsonl", {"tool": params.name, "args": params.arguments}
        count = len(log.read_text(encoding="utf-8").splitlines()) if log.exists() else 0
        with log.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(call) + "\n")
        answers = json.loads((self._folder / "answers.json").read_text(encoding="utf-8"))
        answer = answers[count]
        text = types.TextContent(text=json.dumps(answer))
        return types.CallToolResult(content=[text], structured_content=answer)

    async def serve(self) -> None:
        """Serve over stdio until the input ends."""
        async with stdio_server() as (read, write):
            await self.server.run(read, write, self.server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(PlannedServer(Path(sys.argv[1])).serve)
