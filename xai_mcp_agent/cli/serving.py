"""MCP endpoint for other programs: over stdin and stdout, or over HTTP."""

from __future__ import annotations

import json
import os
import shlex
import signal
import socket
import sys
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

import anyio
import typer

from ..bridge.faces import Bridge
from ..bridge.operations import Operations
from ..core.errors import BadSetting
from ..core.json import JsonObject
from ..gateway.endpoint import Options
from ..sources.mcp import sdk
from .output import say

_NAME = "xai"  # our server's name in the settings of a client
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_ANYWHERE = ("0.0.0.0", "::")
_END_SECONDS = 1  # grace period for HTTP requests in flight


@dataclass(frozen=True)
class EndpointAccess:
    """Address and token of the HTTP endpoint; without a token a new one is made."""

    host: str
    port: int
    token: str = ""
    needs_token: bool = True

    def __post_init__(self) -> None:
        if self.host not in _LOOPBACK and not (self.token and self.needs_token):
            raise typer.BadParameter(
                f"{self.host} can be reached from other machines: give the token that clients "
                "must send, as --token or in XAI_MCP_TOKEN."
            )


def serve_stdio(bridge: Bridge, options: Options) -> None:
    """Serve one client over stdin and stdout until it closes them."""
    if sys.stdin.isatty():
        say("A client starts this command. Write into its settings:", to_stderr=True)
        command = ["xai-mcp-agent", *sys.argv[1:]]
        _say_all(_command_settings([*command, *_place_of(bridge, command)]), to_stderr=True)
    _start(bridge, options)
    from ..gateway.lines import stdio_streams
    from ..gateway.server import Gateway

    async def serve(operations: Operations) -> None:
        """Serve the client until it closes the streams."""
        async with Gateway(operations, options) as gateway, stdio_streams() as streams:
            await gateway.serve(*streams)

    _run(bridge, serve)


def serve_http(
    bridge: Bridge, options: Options, access: EndpointAccess, *, with_admin: bool
) -> None:
    """Serve any number of clients over HTTP until Ctrl-C.

    Raises:
        BadSetting: the port cannot be used.
    """
    listening = _listen(access.host, access.port)
    _start(bridge, options)
    import uvicorn
    from starlette.routing import Mount

    from ..admin.app import admin_app
    from ..gateway.guard import AccessGuard, new_token
    from ..gateway.server import Gateway

    token = (access.token or new_token()) if access.needs_token else None
    hosts = None if access.host in _ANYWHERE else {access.host, *_LOOPBACK}
    host = f"[{access.host}]" if ":" in access.host else access.host
    address = f"http://{host}:{listening.getsockname()[1]}"

    async def serve(operations: Operations) -> None:
        """Accept clients, and say how to connect one."""
        async with Gateway(operations, options) as gateway, anyio.create_task_group() as tasks:
            others = [Mount("/", admin_app(operations, token, hosts))] if with_admin else []
            app = AccessGuard(gateway.http_app(others), token=token, hosts=hosts, open_paths={"/"})
            config = uvicorn.Config(
                app, log_level="warning", lifespan="off", timeout_graceful_shutdown=_END_SECONDS
            )
            tasks.start_soon(uvicorn.Server(config).serve, [listening])
            say(f"Serving {address}/mcp until Ctrl-C. Write into the settings of a client:")
            _say_all(_address_settings(f"{address}/mcp", token))
            if with_admin:
                say(f"Status page: {address}/" + (f"#token={token}" if token else ""))
            sys.stdout.flush()

    with listening:
        _run(bridge, serve)


def _start(bridge: Bridge, options: Options) -> None:
    """Start the servers, which get ready while the SDK is imported."""
    bridge.start(*(options.names or bridge.usable_servers()))
    sdk.load_now()


def _command_settings(command: list[str]) -> list[str]:
    entry: JsonObject = {"command": command[0], "args": command[1:]}
    return _client_settings(f"{_NAME} -- {shlex.join(command)}", "Claude Desktop, Cursor", entry)


def _address_settings(url: str, token: str | None) -> list[str]:
    headers = {"headers": {"Authorization": f"Bearer {token}"}} if token else {}
    header = f' --header "Authorization: Bearer {token}"' if token else ""
    entry: JsonObject = {"type": "http", "url": url, **headers}
    return _client_settings(f"--transport http {_NAME} {url}{header}", "Cursor", entry)


def _client_settings(words: str, others: str, entry: JsonObject) -> list[str]:
    return [
        f"Claude Code:  claude mcp add {words}",
        f"{others}:  {json.dumps({'mcpServers': {_NAME: entry}})}",
        f"VS Code (.vscode/mcp.json):  {json.dumps({'servers': {_NAME: entry}})}",
    ]


def _place_of(bridge: Bridge, command: list[str]) -> list[str]:
    """Return the option with the settings file's path: the client runs in another folder."""
    file = bridge.settings.file
    return ["--settings", os.path.abspath(file)] if file and "--settings" not in command else []


def _say_all(lines: list[str], *, to_stderr: bool = False) -> None:
    for line in lines:
        typer.echo(f"  {line}", err=to_stderr)  # unbroken, so that it can be copied


def _run(bridge: Bridge, serve: Callable[[Operations], Coroutine[Any, Any, None]]) -> None:
    """Serve until SIGTERM or an interrupt, then stop all servers."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)
    try:
        bridge.run(serve)
    except KeyboardInterrupt:
        say("Ended.", to_stderr=True)


def _listen(host: str, port: int) -> socket.socket:
    listening = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        if sys.platform != "win32":
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen()  # early clients wait until the server is up
    except OSError as reason:
        listening.close()
        raise BadSetting(f"Port {port} of {host} cannot be used: {reason}. Name another.") from None
    return listening
