"""`history stats`: how often tools are called, and how that goes; no server is started."""

from __future__ import annotations

from typing import Annotated

import typer

from ..history.stats import Stats
from ..views.stats import Order, sorted_stats, stats_json, stats_text
from .history import opened, say_nothing_yet
from .output import AsJson, SettingsFile, Since, StoreOption, echo_json, say, text_width


def stats(
    since: Since = None,
    sort: Annotated[Order, typer.Option(help="The order.")] = "calls",
    store: StoreOption = None,
    settings: SettingsFile = None,
    as_json: AsJson = False,
) -> None:
    """Show how often tools were called, how often they failed, and how long they took.

    It starts no server. Without --since it counts all calls ever made, and takes median and p95
    from the last 500 to 1,000.
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
