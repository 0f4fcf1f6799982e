"""A real MCP server with the tools of a file: `python catalog_server.py FILE [MORE]`.

A file has a JSON object a line: `name`, `description`, `input_schema`, and perhaps `declares`, the
output schema of a tool that is only listed. Each tool answers with its name and arguments.
`add_tool` adds a tool while the server runs, and sends a notice; with a file MORE, `install_tools`
adds all the tools in it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import anyio
from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged

from tests.support.warm_python import python_entry

ADD = {
    "name": "add_tool",
    "description": "Installs one more tool.",
    "input_schema": {
        "type": "object",
        "properties": {"name": {"type": "string"}, "description": {"type": "string"}},
        "required": ["name", "description"],
    },
}
INSTALL = {
    "name": "install_tools",
    "description": "Installs the tools that are ready to be installed.",
    "input_schema": {"type": "object"},
}


class Catalog:
    """The tools, by their names."""

    def __init__(self, file: Path, more: Path | None = None) -> None:
        installers = [ADD, INSTALL] if more else [ADD]
        self.tools = {x["name"]: _tool(x) for x in [*_lines(file), *installers]}
        self._more = more
        self._bus = InMemorySubscriptionBus()
        self.server = Server(
            "catalog",
            on_list_tools=self.list,
            on_call_tool=self.call,
            on_subscriptions_listen=ListenHandler(self._bus),
        )

    async def list(self, _ctx: Any, _params: Any) -> types.ListToolsResult:
        """Return all tools."""
        return types.ListToolsResult(tools=[*self.tools.values()])

    async def call(self, ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        """Return the name and the arguments of the call."""
        arguments = params.arguments or {}
        if params.name == ADD["name"]:
            await self._add([{**arguments, "input_schema": {"type": "object"}}], ctx)
        if params.name == INSTALL["name"] and self._more:
            await self._add(_lines(self._more), ctx)
        text = f"{params.name} {json.dumps(arguments, sort_keys=True)}"
        return types.CallToolResult(content=[types.TextContent(text=text)])

    async def _add(self, lines: Sequence[dict[str, Any]], ctx: Any) -> None:
        self.tools |= {x["name"]: _tool(x) for x in lines}
        await self._bus.publish(ToolsListChanged())
        if ctx.protocol_version < "2026":
            await ctx.session.send_tool_list_changed()

    async def serve(self) -> None:
        """Serve over stdio until the input ends."""
        async with stdio_server() as (read, write):
            await self.server.run(read, write, self.server.create_initialization_options())


def catalog_entry(
    file: Path, tools: Iterable[Any], later: Sequence[Any] = (), **more: Any
) -> dict[str, Any]:
    """Write tools into the file; return the entry of a server that has them.

    Those that come `later` are what `install_tools` adds.
    """
    files = [file, file.with_suffix(".later")] if later else [file]
    for place, lines in zip(files, (tools, later), strict=False):
        place.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return python_entry(__file__, *files, **more)


def _lines(file: Path) -> list[dict[str, Any]]:
    # Only a line feed ends a line: descriptions may hold other ends of lines.
    return [json.loads(x) for x in file.read_text(encoding="utf-8").split("\n") if x.strip()]


def _tool(line: dict[str, Any]) -> types.Tool:
    return types.Tool(
        name=line["name"],
        description=line["description"],
        input_schema=line["input_schema"],
        output_schema=line.get("declares"),
    )


if __name__ == "__main__":
    anyio.run(Catalog(*map(Path, sys.argv[1:3])).serve)
