"""`xai-mcp-agent serve`: serve our tools to other programs."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated

import typer
from typer import Option

from ..bridge.operations import Operations
from ..console.text import count
from ..core.errors import XaiMcpError
from ..core.json import JsonObject
from ..core.shell import shell_command
from ..gateway import process
from ..gateway.endpoint import Listing, Options
from ..settings.load import find_settings
from ..sources import warm
from . import serving
from .frame import Frame, Report
from .output import say

_STOP_SECONDS = 20.0  # stubborn servers take a few seconds to stop
_LOOK_SECONDS = 0.05
_VARIABLES = (
    "Its servers have the environment of the program that started it: variables set since then "
    "do not reach them."
)


Stdio = Annotated[bool, Option(help="Serve the client that starts this command.")]
Http = Annotated[bool, Option(help="Serve clients over HTTP.")]
Groups = Annotated[
    list[str] | None, Option(metavar="NAME", help="Only this group or server; may be repeated.")
]
ShownTools = Annotated[
    Listing,
    Option(
        help="List all tools, or only those that search for others, or the latter if not all fit.",
    ),
]
Unprefixed = Annotated[bool, Option(help="Leave out the server's name where a name is unique.")]
Author = Annotated[bool, Option(help="Let clients draw and run workflows below this folder.")]
Port = Annotated[int, Option(min=0, max=65535, help="The port of --http; 0 takes a free one.")]
Host = Annotated[str, Option(metavar="ADDRESS", help="The address of --http.")]
Token = Annotated[
    str,
    Option(
        envvar="XAI_MCP_TOKEN",
        show_envvar=True,
        help="The token that clients send over HTTP; a new one each time by default.",
    ),
]
NoToken = Annotated[bool, Option(help="Require no token: any program of this machine may call.")]
Admin = Annotated[bool, Option(help="With --http, also serve the REST interface and its page.")]
Socket = Annotated[bool, Option(help="Keep the servers for all clients of this user.")]
Attach = Annotated[
    bool, Option(help="Attach a client to the process of --socket, which starts if needed.")
]
Status = Annotated[bool, Option(help="Show that process.")]
Stop = Annotated[bool, Option(help="End that process.")]
Idle = Annotated[
    float, Option(metavar="SECONDS", min=1, help="End that process this long after its last use.")
]


def serve(
    frame: Frame,
    stdio: Stdio = False,
    http: Http = False,
    group: Groups = None,
    tools: ShownTools = "all",
    unprefixed: Unprefixed = False,
    author: Author = False,
    port: Port = 8765,
    host: Host = "127.0.0.1",
    token: Token = "",
    no_token: NoToken = False,
    admin: Admin = False,
    socket: Socket = False,
    attach: Attach = False,
    status: Status = False,
    stop: Stop = False,
    idle: Idle = process.IDLE_SECONDS,
) -> Report | None:
    """Serve the tools, prompts and resources of your servers to other programs, over MCP.

    A client starts it with --stdio, or finds it at an address with --http. With --socket one
    process keeps the servers for all your clients, and ends after a while without use.
    """
    if [stdio, http, socket, attach, status, stop].count(True) != 1:
        raise typer.BadParameter(
            "Give one of --stdio, --http, --socket, --attach, --status and --stop."
        )
    if stdio or http:
        options = Options(
            tuple(group or ()),
            prefixed=not unprefixed,
            tools=tools,
            author=Path.cwd() if author else None,
        )
        access = (
            serving.EndpointAccess(host, port, token, needs_token=not no_token) if http else None
        )
        return _serve_clients(frame, options, access, with_admin=admin)
    if group or unprefixed or author or tools != "all":
        raise typer.BadParameter(
            "--group, --tools, --unprefixed and --author are for --stdio and --http."
        )
    if status:
        return _status(_file_of(frame.settings))
    if stop:
        return _stop(_file_of(frame.settings))
    if attach:
        return _attach(frame.settings, idle)
    return _keep_servers(frame, idle)


def _serve_clients(
    frame: Frame, options: Options, access: serving.EndpointAccess | None, *, with_admin: bool
) -> None:
    """Serve over HTTP with this access, else over stdin and stdout."""
    with frame.bridge() as (bridge, _):
        if access is None:
            serving.serve_stdio(bridge, options)
        else:
            serving.serve_http(bridge, options, access, with_admin=with_admin)


def _keep_servers(frame: Frame, idle: float) -> None:
    """Run the process that keeps the servers."""
    place = warm.place_of(frame.settings)
    if warm.is_live(place):
        say(f"Another process keeps the servers of {place.settings} already.")
        _say_how_to_attach(place)
        return
    _report_others(place)

    def ready() -> None:
        say(f"Keeping the servers of {place.settings}, until {idle:g} s after the last use.")
        say(_VARIABLES)
        _say_how_to_attach(place)
        sys.stdout.flush()

    try:
        process.keep_servers(
            place, lambda: Frame(settings=Path(place.settings)).open(), _gateway, idle, ready
        )
    except process.AlreadyRunning as reason:
        say(str(reason))


@asynccontextmanager
async def _gateway(operations: Operations) -> AsyncGenerator[process.Services]:
    # Imported here: heavy, and needed only to serve.
    from ..admin.app import admin_app
    from ..gateway.server import Gateway

    async with Gateway(operations) as gateway:
        yield process.Services(gateway.serve, admin_app(operations, token=None, hosts=None))


def _attach(settings: Path | None, idle: float) -> None:
    """Replace this process with a relay between a client and the process that keeps the servers."""
    place = warm.place_of(settings)
    if not warm.is_live(place):
        _report_others(place)
        warm.ensure(place, ["--idle", f"{idle:g}"])
    os.execv(place.relay[0], place.relay)


def _report_others(place: warm.WarmPlace) -> None:
    """Explain why a process with other settings is not used."""
    for other, facts in warm.live_places(place.settings):
        if other.folder != place.folder:
            say(
                f"Process {facts['pid']} (version {facts['version']}) keeps the servers of "
                f"{place.settings} with other settings, or other values of their variables. It "
                "ends once it is unused; this is a new one.",
                to_stderr=True,
            )


def _say_how_to_attach(place: warm.WarmPlace) -> None:
    attach = ("xai-mcp-agent", "serve", "--attach", "--settings", place.settings)
    say("The command to write into the settings of a client, which also starts this process:")
    say(f"  {shell_command(*attach)}")
    say("Or, in a tenth of the time, while this process runs:")
    say(f"  {shell_command(*place.relay)}")


def _status(file: str) -> Report:
    shown = [
        {**facts, **_state_of(place), "socket": str(place.socket)}
        for place, facts in warm.live_places(file)
    ]
    lines = list[str]()
    for one in shown:
        lines.append(_status_text(one))
        for server in one.get("servers", ()):
            tools = "" if server["tools"] is None else f", {count(server['tools'], 'tool')}"
            lines.append(f"  {server['name']}: {server['state']}{tools}")
    lines.append(_VARIABLES if shown else f"No process keeps the servers of {file}.")
    return Report({"settings": file, "processes": shown}, "\n".join(lines))


def _state_of(place: warm.WarmPlace) -> JsonObject:
    try:
        return warm.ask(place, status=True)
    except OSError as reason:
        return {"error": str(reason)}


def _status_text(one: JsonObject) -> str:
    who = f"Process {one['pid']}, version {one['version']}, since {one['since']}"
    if "error" in one:
        return f"{who}, does not answer: {one['error']}."
    connections = count(one["connections"], "connection")
    return f"{who}: {connections}; it ends {one['idle_seconds']:g} s after the last."


def _stop(file: str) -> Report:
    places = list(warm.live_places(file))
    for place, facts in places:
        try:
            warm.ask(place, stop=True)
        except OSError as reason:
            raise XaiMcpError(
                f"Process {facts['pid']} does not answer: {reason}. End it with "
                f"`kill {facts['pid']}`."
            ) from reason
    until = time.monotonic() + _STOP_SECONDS
    for place, facts in places:
        while place.lock.exists():
            if time.monotonic() > until:
                raise XaiMcpError(
                    f"Process {facts['pid']} was asked to end, but has not ended yet."
                )
            time.sleep(_LOOK_SECONDS)
    lines = [f"Process {facts['pid']} has ended." for _, facts in places]
    text = "\n".join(lines) or f"No process keeps the servers of {file}."
    return Report({"ended": [facts["pid"] for _, facts in places]}, text)


def _file_of(settings: Path | None) -> str:
    """Return the path of the settings file, even if it cannot be read."""
    file = settings or find_settings()
    if file is None:
        raise XaiMcpError("No mcp_settings.json was found. Name yours with --settings.")
    return os.path.abspath(file)
