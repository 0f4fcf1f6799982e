"""Serves MCP to clients of other programs: over stdin and stdout, or over HTTP."""

from __future__ import annotations

import json
import shlex
import signal
import socket
import sys
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import anyio

from ..bridge.faces import Bridge
from ..bridge.operations import Operations
from ..core.errors import BadSetting
from ..core.json import JsonObject
from ..gateway.endpoint import Options
from .output import say

NAME = "xai"  # of our server in the settings of a client


def serve_stdio(bridge: Bridge, options: Options) -> None:
    """Serve one client over stdin and stdout, until it closes them."""
    # They get going while the SDK is imported.
    bridge.start(*(options.names or bridge.usable_servers()))
    from ..gateway.server import Gateway
    from ..gateway.stdio import stdio_streams

    async def serve(operations: Operations) -> None:
        async with stdio_streams() as streams, Gateway(operations, options) as gateway:
            await gateway.serve(*streams)

    _run(bridge, serve)


def serve_http(
    bridge: Bridge,
    options: Options,
    host: str,
    port: int,
    wrap: Callable[[Operations, Any], Any],
    ready: Callable[[str], None],
) -> None:
    """Serve any number of clients over HTTP, until interrupted.

    `wrap` makes the application of the gateway's, `ready` gets the address of the endpoint.

    Raises:
        BadSetting: the port cannot be used.
    """
    listening = _listen(host, port)
    address = f"http://{host}:{listening.getsockname()[1]}"
    import uvicorn

    from ..gateway.server import Gateway

    async def serve(operations: Operations) -> None:
        async with Gateway(operations, options) as gateway, anyio.create_task_group() as tasks:
            app = wrap(operations, gateway)
            config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1)
            server = uvicorn.Server(config)
            tasks.start_soon(server.serve, [listening])
            ready(address)

    with listening:
        _run(bridge, serve)


def client_settings(arguments: Sequence[str]) -> list[str]:
    """Lines to paste into the settings of well-known clients, for this command."""
    entry: JsonObject = {"command": arguments[0], "args": list(arguments[1:])}
    return [
        f"Claude Code:  claude mcp add {NAME} -- {shlex.join(arguments)}",
        f"Claude Desktop, Cursor:  {json.dumps({'mcpServers': {NAME: entry}})}",
        f"VS Code (.vscode/mcp.json):  {json.dumps({'servers': {NAME: entry}})}",
    ]


def address_settings(url: str, token: str | None) -> list[str]:
    """The same for an address."""
    headers = {"headers": {"Authorization": f"Bearer {token}"}} if token else {}
    entry: JsonObject = {"type": "http", "url": url, **headers}
    header = f' --header "Authorization: Bearer {token}"' if token else ""
    return [
        f"Claude Code:  claude mcp add --transport http {NAME} {url}{header}",
        f"Cursor:  {json.dumps({'mcpServers': {NAME: entry}})}",
        f"VS Code (.vscode/mcp.json):  {json.dumps({'servers': {NAME: entry}})}",
    ]


def _run(bridge: Bridge, serve: Callable[[Operations], Coroutine[Any, Any, None]]) -> None:
    """Serve until the end; SIGTERM and an interrupt end it, and with it all servers."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)
    try:
        bridge.run(serve)
    except KeyboardInterrupt:
        say("Ended.", to_stderr=True)


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family)
    try:
        if sys.platform != "win32":
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen()  # who comes before the server is up waits for it
    except OSError as reason:
        listening.close()
        raise BadSetting(f"Port {port} of {host} cannot be used: {reason}. Name another.") from None
    return listening
