"""`xai-mcp-agent stats`: how often tools are called, and how that goes; no server is started."""

from __future__ import annotations

from typing import Annotated

import typer

from ..history.stats import Stats
from ..views.stats import Order, sorted_stats, stats_json, stats_text
from .history import opened, say_nothing_yet
from .output import AsJson, SettingsFile, Since, StoreOption, echo_json, say, text_width


def stats(
    since: Since = None,
    sort: Annotated[Order, typer.Option(help="What stands first.")] = "calls",
    store: StoreOption = None,
    settings: SettingsFile = None,
    as_json: AsJson = False,
) -> None:
    """Tell how often tools were called, how often they failed, and how long that took.

    Starts no server. Without --since of all calls there ever were; half of the calls took the
    median at most, 95 of 100 what stands beside it: of the last 500 to 1,000 then.
    """
    with opened(store, settings) as found:
        if found is None:
            none = stats_json(Stats(), since)
            echo_json(none) if as_json else say_nothing_yet(store, settings)
            return
        told = sorted_stats(found.stats(since), sort)
    if as_json:
        echo_json(stats_json(told, since))
    else:
        say(stats_text(told, text_width()))
