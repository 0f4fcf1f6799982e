"""`xai-mcp-agent enable`, `disable` and `accept`: what a person decides about tools."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from ..bridge.bridge import Bridge
from ..bridge.deciding.making import Choice
from ..bridge.nodes.decisions import choice_text
from ..core.errors import StoreFailed
from ..history.place import IN_MEMORY
from .options import AsJson, SettingsFile, StoreOption
from .output import echo_json, say
from .past import absolute

_LASTING = "Name a file or a database, with XAI_MCP_STORE, `store` in the settings, or --store."
_NOTHING = "Nothing has changed since it was accepted."

Server = Annotated[
    str, typer.Argument(help="The server, as the settings name it; `canvas` for drawn tools.")
]
Tools = Annotated[list[str], typer.Argument(help="Its tools, as the server names them.")]


def disable(
    server: Server,
    tools: Tools,
    store: StoreOption = None,
    settings: SettingsFile = None,
    as_json: AsJson = False,
) -> None:
    """Switch tools off: no agent is offered them, until they are switched on again.

    Runs that go on meanwhile know it from their next agent on. `call` still calls them.
    """
    _decide(lambda x: x.disable(server, *tools), store, settings, as_json=as_json)


def enable(
    server: Server,
    tools: Tools,
    store: StoreOption = None,
    settings: SettingsFile = None,
    as_json: AsJson = False,
) -> None:
    """Switch tools on again that were switched off."""
    _decide(lambda x: x.enable(server, *tools), store, settings, as_json=as_json)


def accept(
    server: Annotated[
        str | None, typer.Argument(help="The server, as the settings name it.")
    ] = None,
    tools: Annotated[
        list[str] | None, typer.Argument(help="Its tools, as the server names them.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="All tools that have changed, of the server or of all.")
    ] = False,
    store: StoreOption = None,
    settings: SettingsFile = None,
    as_json: AsJson = False,
) -> None:
    """Accept the definitions that tools have now, and show what changed in them.

    Pinned tools are called only as they were accepted: at first by their first use.
    """
    if everything == bool(tools) or not (server or everything):
        raise typer.BadParameter("Name a server and its tools, or give --all.")

    def decide(bridge: Bridge) -> list[Choice]:
        servers = [server] if server else bridge.settings.names
        return [choice for name in servers for choice in bridge.accept(name, *(tools or ()))]

    _decide(decide, store, settings, as_json=as_json)


def _decide(
    do: Callable[[Bridge], Sequence[Choice]],
    store: str | None,
    settings: Path | None,
    *,
    as_json: bool,
) -> None:
    with Bridge.open(settings, store=absolute(store)) as bridge:
        if (place := bridge.store().place) == IN_MEMORY:
            raise StoreFailed(place, "what is decided there is forgotten at once.", _LASTING)
        choices = do(bridge)
    if as_json:
        echo_json([asdict(x) for x in choices])
        return
    for choice in choices:
        say(choice_text(choice))
    if not choices:
        say(_NOTHING)
