"""`xai-mcp-agent history`: what happened to servers and tools, when, and why."""

from __future__ import annotations

from typing import Annotated

import typer

from ..bridge.past.events import events_text
from .options import AsJson, SettingsFile, Since, StoreOption
from .output import echo_json, say
from .past import opened, say_nothing_yet, text_width

# What a person looks through, and a program reads in a moment; nobody asks for a million by chance.
_USUAL_LIMIT = 1000


def history(
    server: Annotated[str | None, typer.Option(help="Only this server and its tools.")] = None,
    tool: Annotated[str | None, typer.Option(help="Only the tools of this name.")] = None,
    since: Since = None,
    limit: Annotated[int, typer.Option(min=1, help="The newest so many events.")] = _USUAL_LIMIT,
    store: StoreOption = None,
    settings: SettingsFile = None,
    as_json: AsJson = False,
) -> None:
    """Tell what happened to servers and tools, oldest first. Starts no server.

    Times are of this machine's zone; in JSON they are in UTC.
    """
    with opened(store, settings) as found:
        if found is None:
            echo_json([]) if as_json else say_nothing_yet(store, settings)
            return
        # Loads SQLAlchemy, as opening it did.
        from ..catalog.asking.named import events_about
        from ..history.log import Range

        # One more tells whether there is more.
        events = events_about(found, server, tool, Range(since=since, limit=limit + 1))
    shown = events[-limit:]
    if as_json:
        echo_json([x.as_json() for x in shown])
        return
    if len(events) > limit:
        newest = f"{limit:,} events" if limit > 1 else "event"
        say(f"The newest {newest}; --limit shows more, --since and --server choose.")
    if not shown and (since or server or tool):
        say("Nothing happened that is remembered and fits these options.")
        return
    say(events_text(shown, text_width()))
