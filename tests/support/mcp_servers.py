"""Real MCP servers of the SDK: over stdio as children, over HTTP and SSE in threads.

As a program this file is the gallery, which has something of every kind: `python mcp_servers.py
[PORT]`; `gallery_entry()` is its entry in a settings file.
"""

from __future__ import annotations

import inspect
import os
import socket
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import anyio
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
    ToolAnnotations,
)

from tests.support.warm_python import python_entry

PNG = "iVBORw0KGgo="


def gallery() -> MCPServer:
    """Return a new server: tools with every kind of content, resources, templates, a prompt."""
    server = MCPServer(
        "gallery", version="1.2.3", instructions="Use add for sums.", log_level="CRITICAL"
    )
    _add_tools(server)
    _add_slow_tools(server)

    @server.resource("gallery://readme", description="What this is.", mime_type="text/markdown")
    def readme() -> str:
        return "# Gallery"

    @server.resource("gallery://logo", mime_type="image/png")
    def logo() -> bytes:
        return b"\x89PNG\r\n\x1a\n"

    @server.resource("gallery://item/{number}")
    def item(number: str) -> str:
        return f"item {number}"

    @server.prompt(description="A greeting.")
    def greet(name: str, style: str = "warm") -> str:
        return f"Say a {style} hello to {name}"

    return server


def _add_tools(server: MCPServer) -> None:
    @server.tool(
        title="Adder",
        annotations=ToolAnnotations(read_only_hint=True, open_world_hint=False),
        meta={"acme/cost": 1},
    )
    def add(a: int, b: int) -> int:
        """Add two integers."""
        return a + b

    @server.tool()
    def process() -> int:
        """The number of its process."""
        return os.getpid()

    @server.tool()
    def refuse() -> str:
        """Fail, and say why."""
        raise ToolError("told on purpose")

    @server.tool()
    def parts() -> CallToolResult:
        """One of each kind of content."""
        text = TextResourceContents(uri="gallery://x", text="inside", mime_type="text/plain")
        blob = BlobResourceContents(uri="gallery://y", blob=PNG, mime_type="image/png")
        return CallToolResult(
            content=[
                TextContent(text="hello"),
                ImageContent(data=PNG, mime_type="image/png"),
                AudioContent(data="UklGRg==", mime_type="audio/wav"),
                ResourceLink(name="readme", uri="gallery://readme", description="Read me."),
                EmbeddedResource(resource=text),
                EmbeddedResource(resource=blob),
            ]
        )

    @server.tool()
    async def grow(name: str, ctx: Context) -> str:
        """Add a tool of this name."""
        server.add_tool(lambda: f"I am {name}.", name=name, description=f"Says {name}.")
        await ctx.notify_tools_changed()  # to 2026-07-28 listeners
        await ctx.session.send_tool_list_changed()  # to handshake-era clients
        return f"Added {name}."


def _add_slow_tools(server: MCPServer) -> None:
    began: list[str] = []
    stops: list[str] = []

    @server.tool()
    async def wait(label: str) -> str:
        """Wait until the call is cancelled."""
        began.append(label)
        try:
            await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class():
            stops.append(label)
            raise
        return "never"

    @server.tool()
    async def has_begun() -> list[str]:
        """The labels of the waits so far."""
        return list(began)

    @server.tool()
    async def was_stopped() -> list[str]:
        """The labels of the waits that were told to stop."""
        return list(stops)

    @server.tool()
    async def steps(count: int, ctx: Context) -> str:
        """Tell how far it is, step by step."""
        for number in range(1, count + 1):
            await ctx.report_progress(number, count, f"step {number}")
        return "done"


def gallery_entry(**more: Any) -> dict[str, Any]:
    """Return the entry of a settings file for the gallery over stdio."""
    # Here, because as a program this file is run without the tests on its path.

    return python_entry(__file__, **more)


@contextmanager
def serving(app: Any) -> Generator[str]:
    """Run a web application in a thread for the length of the block; yield its address.

    `app` may be a method that returns one for the address.
    """
    from tests.support.web_server import run_in_thread

    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        with run_in_thread(app(address) if inspect.ismethod(app) else app, listening):
            yield address


if __name__ == "__main__":
    if sys.argv[1:]:
        gallery().run("streamable-http", port=int(sys.argv[1]))
    else:
        gallery().run()
