"""`tools explain`: all there is to know of one tool, or why it is chosen for a request."""

from __future__ import annotations

from typing import Annotated

import typer

from ..views.fitting import choice_json, choice_text
from ..views.found import explained_json, explained_text
from .bridges import open_bridge, require_settings, server_named
from .output import AsJson, ServerName, SettingsFile, StoreOption, echo_json, say, text_width


def explain(
    server: ServerName,
    tool: Annotated[str, typer.Argument(help="The tool, as the server names it.")],
    request: Annotated[
        str, typer.Option(help="Also say why it is chosen for this request, or why not.")
    ] = "",
    store: StoreOption = None,
    settings: SettingsFile = None,
    as_json: AsJson = False,
) -> None:
    """Show everything about one tool, with an example call and when it was first seen.

    With a request, it also shows why a search finds the tool, how a plan uses it, and which rules
    apply to it.
    """
    with open_bridge(settings, store=store, as_json=as_json, servers=[server]) as bridge:
        server = server_named(bridge, server)
        require_settings(bridge)
        bridge.settings.source(server)
        if request.strip():
            choice = bridge.explain_choice(request, server, tool)
            echo_json(choice_json(choice)) if as_json else say(choice_text(choice, text_width()))
            return
        explained = bridge.explain_tool(server, tool)
    if as_json:
        echo_json(explained_json(explained))
    else:
        say(explained_text(explained, text_width()))
