"""`xai-mcp-agent explain`: all there is to know of one tool, with an example call."""

from __future__ import annotations

from typing import Annotated

import typer

from ..bridge.search import explain_tool
from ..views.found import explained_json, explained_text
from .bridges import open_bridge
from .output import AsJson, SettingsFile, StoreOption, echo_json, say, text_width
from .servers import require_settings


def explain(
    server: Annotated[str, typer.Argument(help="The server, as the settings name it.")],
    tool: Annotated[str, typer.Argument(help="The tool, as the server names it.")],
    store: StoreOption = None,
    settings: SettingsFile = None,
    as_json: AsJson = False,
) -> None:
    """Show all there is to know of one tool, with an example call and since when it is known."""
    with open_bridge(settings, store=store, as_json=as_json) as bridge:
        require_settings(bridge)
        bridge.settings.source(server)
        explained = bridge.run(explain_tool, server, tool)
    if as_json:
        echo_json(explained_json(explained))
    else:
        say(explained_text(explained, text_width()))
