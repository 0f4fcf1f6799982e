"""A real MCP server of notes: resources that change, templates, prompts, completion, both eras.

As a program it speaks stdio. `notes_entry()` is what a settings file holds for it.
"""

from __future__ import annotations

import os
from typing import Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.prompts.base import UserMessage
from mcp.types import (
    CallToolResult,
    Completion,
    EmbeddedResource,
    EmptyResult,
    ImageContent,
    ResourceTemplateReference,
    SubscribeRequestParams,
    TextResourceContents,
    UnsubscribeRequestParams,
)

from tests.support.warm_python import python_entry

PNG = "iVBORw0KGgo="
DAYS = [f"day-{number:03}" for number in range(150)]


def notes() -> MCPServer:
    """Return a new server, which keeps its notes in memory."""
    server = MCPServer("notes", instructions="Write, then read.", log_level="CRITICAL")
    texts = {"today": "nothing yet"}
    _add_content(server, texts)
    _add_tools(server, texts)
    _add_completion(server)
    return server


def _add_content(server: MCPServer, texts: dict[str, str]) -> None:
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


def _add_tools(server: MCPServer, texts: dict[str, str]) -> None:
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


def notes_entry(**more: Any) -> dict[str, Any]:
    """Return the entry of a settings file for the notes over stdio."""
    # Here, because as a program this file is run without the tests on its path.

    return python_entry(__file__, **more)


if __name__ == "__main__":
    notes().run()
