"""`xai-mcp-agent refresh`: list the tools of servers anew, and say what changed since last time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from ..bridge.bridge import Bridge
from ..bridge.past.changes import changes_text
from ..bridge.past.refreshing import Refreshed, headline, refreshed
from .options import AsJson, SettingsFile, StoreOption
from .output import echo_json, say
from .past import absolute, text_width
from .servers import require_settings

_INDENT = "  "


def refresh(
    server: Annotated[str | None, typer.Argument(help="Only this server.")] = None,
    force: Annotated[
        bool,
        typer.Option("--force", help="Write every tool down, though nothing may have changed."),
    ] = False,
    store: StoreOption = None,
    settings: SettingsFile = None,
    as_json: AsJson = False,
) -> None:
    """Connect one server, or all, and say what changed in their tools since last time.

    One that cannot be listed is told of, and the others go on; the exit status is then 1.
    """
    with Bridge.open(settings, store=absolute(store)) as bridge:
        require_settings(bridge)
        if server:
            bridge.settings.server(server)
        names = [server] if server else bridge.usable_servers()
        found = bridge.run(refreshed, names, force=force)
        broken = [] if server else [str(x) for x in bridge.settings.problems.values()]
    if as_json:
        echo_json({"servers": [x.as_json() for x in found], "problems": broken})
    else:
        _tell(found, broken)
    if broken or any(x.error for x in found):
        raise typer.Exit(1)


def _tell(found: Sequence[Refreshed], broken: Sequence[str]) -> None:
    for one in found:
        if one.error:
            say(f"error: {one.error}", to_stderr=True)
            continue
        say(headline(one))
        if one.changes and one.before is not None:
            text = changes_text(one.changes, text_width() - len(_INDENT))
            say("\n".join(f"{_INDENT}{line}" for line in text.splitlines()))
    for problem in broken:
        say(f"error: {problem}", to_stderr=True)
