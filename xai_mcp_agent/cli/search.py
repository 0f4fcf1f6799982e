"""`xai-mcp-agent search`: which tool does what somebody wants to do."""

from __future__ import annotations

from typing import Annotated

import typer

from ..views.found import found_json, found_text
from .bridges import open_bridge, require_settings, servers_named
from .output import AsJson, OnlyServers, SettingsFile, StoreOption, echo_json, say, text_width

_NOTHING = "No tool has any of these words. `xai-mcp-agent tools list` lists all that there are."


def search(
    query: Annotated[str, typer.Argument(help="What you want to do, in your words.")],
    limit: Annotated[
        int, typer.Option("--limit", min=1, help="Show at most this many tools.")
    ] = 10,
    kind: Annotated[
        list[str] | None,
        typer.Option("--kind", help="Find these: tool (default), prompt, resource. Repeatable."),
    ] = None,
    server: OnlyServers = None,
    store: StoreOption = None,
    settings: SettingsFile = None,
    as_json: AsJson = False,
) -> None:
    """Find tools for what you want to do, best match first, and say why each matches.

    A server that cannot be used is reported and the others are searched; the exit status is then 1.
    A note names the tools that a search by meaning could not include.
    """
    with open_bridge(settings, store=store, as_json=as_json, servers=server or ()) as bridge:
        names = servers_named(bridge, server or ())
        require_settings(bridge)
        found = bridge.search_tools(query, *names, limit=limit, kinds=kind or ("tool",))
    if as_json:
        shown = list(map(found_json, found))
        echo_json({"found": shown, "failed": found.failed, "note": found.note})
    else:
        for tool in found:
            say(found_text(tool, text_width()))
        if not found:
            say(_NOTHING)
        if found.note:
            say(f"note: {found.note}", to_stderr=True)
        for reason in found.failed.values():
            say(f"error: {reason}", to_stderr=True)
    if found.failed:
        raise typer.Exit(1)
