"""Real MCP servers of the SDK.

The gallery has something of every kind; the notes have resources that change, templates, prompts
and completion. `python mcp_servers.py NAME [PORT]` runs one of them, and `gallery_entry()` and
`notes_entry()` are their entries in a settings file.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import anyio
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.prompts.base import UserMessage
from mcp.types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    Completion,
    EmbeddedResource,
    EmptyResult,
    ImageContent,
    ResourceLink,
    ResourceTemplateReference,
    SubscribeRequestParams,
    TextContent,
    TextResourceContents,
    ToolAnnotations,
    UnsubscribeRequestParams,
)

from tests.support.warm_python import python_entry

PNG = "iVBORw0KGgo="
DAYS = [f"day-{number:03}" for number in range(150)]


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


def notes() -> MCPServer:
    """Return a new server, which keeps its notes in memory."""
    server = MCPServer("notes", instructions="Write, then read.", log_level="CRITICAL")
    texts = {"today": "nothing yet"}
    _add_note_content(server, texts)
    _add_note_tools(server, texts)
    _add_completion(server)
    return server


def _add_note_content(server: MCPServer, texts: dict[str, str]) -> None:
    @server.resource("notes://today", mime_type="text/plain")
    def today() -> str:
        return texts["today"]

    @server.resource("notes://logo", mime_type="image/png")
    def logo() -> bytes:
        return b"\x89PNG\r\n\x1a\n"

    @server.resource("notes://day/{day}")
    def note(day: str) -> str:
        return f"{day}: {texts.get(day, 'nothing')}"

    @server.resource("notes://search{?word,limit}")
    def found(word: str = "", limit: str = "10") -> str:
        return f"{word!r} up to {limit}"

    @server.prompt()
    def describe(day: str) -> list[Any]:
        text = TextResourceContents(uri=f"notes://day/{day}", text="a note", mime_type="text/plain")
        return [
            UserMessage(f"Describe {day}."),
            UserMessage(ImageContent(data=PNG, mime_type="image/png")),
            UserMessage(EmbeddedResource(resource=text)),
        ]


def _add_note_tools(server: MCPServer, texts: dict[str, str]) -> None:
    subscribed: list[str] = []

    async def subscribe(_: Any, params: SubscribeRequestParams) -> EmptyResult:
        subscribed.append(str(params.uri))
        return EmptyResult()

    async def unsubscribe(_: Any, params: UnsubscribeRequestParams) -> EmptyResult:
        subscribed.remove(str(params.uri))
        return EmptyResult()

    # Not served by the SDK's server itself, in the era that has these requests.
    peer = server._lowlevel_server
    peer.add_request_handler("resources/subscribe", SubscribeRequestParams, subscribe)
    peer.add_request_handler("resources/unsubscribe", UnsubscribeRequestParams, unsubscribe)

    @server.tool()
    async def subscriptions() -> list[str]:
        """What the client is subscribed to in the way of the handshake era."""
        return list(subscribed)

    @server.tool()
    async def write(text: str, ctx: Context, uri: str = "notes://today", times: int = 1) -> str:
        """Write the note of today, and tell of it so often."""
        texts["today"] = text
        for _ in range(times):
            await ctx.notify_resource_updated(uri)  # to 2026-07-28 listeners
            await ctx.session.send_resource_updated(uri)  # to handshake-era clients
        return "written"

    @server.tool()
    async def add(name: str, ctx: Context) -> str:
        """Add a resource and a prompt of this name."""
        server.resource(f"notes://{name}", name=name)(lambda: f"I am {name}")
        server.prompt(name=name)(lambda: f"Say {name}")
        await ctx.notify_resources_changed()
        await ctx.session.send_resource_list_changed()
        await ctx.notify_prompts_changed()
        await ctx.session.send_prompt_list_changed()
        return "added"

    @server.tool()
    async def meta(ctx: Context) -> CallToolResult:
        """Give back what came along with the call, as what comes along with the result."""
        meta_values = dict(ctx.request_context.meta or {})
        return CallToolResult(content=[], _meta={"acme/given": meta_values.get("acme/cost")})

    @server.tool()
    async def who_calls(ctx: Context) -> str:
        """What the client says it is called."""
        params = ctx.session.client_params
        return params.client_info.name if params else ""

    @server.tool()
    def die() -> str:
        """End without an answer."""
        os._exit(3)


def _add_completion(server: MCPServer) -> None:
    @server.completion()
    async def complete(ref: Any, argument: Any, context: Any) -> Completion:
        kind = "template" if isinstance(ref, ResourceTemplateReference) else "prompt"
        if argument.name != "day":
            values = (context.arguments or {}) if context else {}
            return Completion(values=[f"{kind} {values.get('day', 'unknown')}"])
        days = [day for day in DAYS if day.startswith(argument.value)]
        return Completion(values=days[:100], total=len(days), has_more=len(days) > 100)


def gallery_entry(**more: Any) -> dict[str, Any]:
    """Return the entry of a settings file for the gallery over stdio."""
    return python_entry(__file__, "gallery", **more)


def notes_entry(**more: Any) -> dict[str, Any]:
    """Return the entry of a settings file for the notes over stdio."""
    return python_entry(__file__, "notes", **more)


if __name__ == "__main__":
    name, *port = sys.argv[1:]
    server = {"gallery": gallery, "notes": notes}[name]()
    if port:
        server.run("streamable-http", port=int(port[0]))
    else:
        server.run()
