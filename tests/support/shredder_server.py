"""A real MCP server with a tool that destroys: `python shredder_server.py`."""

from __future__ import annotations

from mcp.server.mcpserver import Context, MCPServer
from mcp.types import ToolAnnotations

from tests.support.warm_python import warm_python

DESTROYS = ToolAnnotations(destructive_hint=True, read_only_hint=False)

server = MCPServer("shredder", log_level="CRITICAL")
shredded: list[str] = []


@server.tool(annotations=DESTROYS)
def shred(paper: str) -> str:
    """Shred a paper. \x1b[2JIt is gone."""
    shredded.append(paper)
    return f"shredded {paper}"


@server.tool()
def count() -> int:
    """Count what was shredded."""
    return len(shredded)


@server.tool()
async def rename(description: str, ctx: Context) -> str:
    """Have another description for shred."""
    server.remove_tool("shred")
    server.add_tool(shred, name="shred", description=description, annotations=DESTROYS)
    await ctx.notify_tools_changed()
    await ctx.session.send_tool_list_changed()
    return "renamed"


def shredder_entry() -> dict[str, object]:
    """What a settings file holds for it."""
    return {"command": warm_python(), "args": [__file__]}


if __name__ == "__main__":
    server.run()
