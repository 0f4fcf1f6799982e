"""`xai-mcp-agent tools select`: which tools a request to a model would show."""

from __future__ import annotations

from typing import Annotated

import typer

from ..views.selection import selection_text
from .bridges import open_bridge, require_settings
from .output import AsJson, SettingsFile, StoreOption, echo_json, say, text_width


def select(
    question: Annotated[
        str, typer.Argument(help="A request, as you would put it to an agent.")
    ] = "",
    budget: Annotated[
        int | None,
        typer.Option("--budget", min=1, help="The most tokens. Default: as in the settings."),
    ] = None,
    store: StoreOption = None,
    settings: SettingsFile = None,
    as_json: AsJson = False,
) -> None:
    """Show which tools a model would be given for a request, why, and how many tokens they take.

    A server that cannot be used is reported; the exit status is then 1.
    """
    with open_bridge(settings, store=store, as_json=as_json) as bridge:
        require_settings(bridge)
        selection, left_out = bridge.select_tools(question, budget)
    if as_json:
        echo_json({**selection.as_json(), "unusable": left_out})
    else:
        say(selection_text(selection, text_width()))
        for reason in left_out:
            say(f"error: {reason}", to_stderr=True)
    if left_out:
        raise typer.Exit(1)
