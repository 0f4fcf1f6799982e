"""`xai-mcp-agent diff`: what changed in the tools of a server, or in one tool."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from ..bridge.past.asking import At, when
from ..bridge.past.changes import changes_text, versions_text
from ..bridge.past.times import time_text
from ..bridge.screen.values import count
from .options import AsJson, FromTime, SettingsFile, StoreOption, ToTime
from .output import echo_json, say
from .past import opened, say_nothing_yet, text_width

if TYPE_CHECKING:
    from ..history.store import Store


def diff(
    server: Annotated[str, typer.Argument(help="The server; `canvas` has the tools you drew.")],
    tool: Annotated[str | None, typer.Argument(help="Only this tool.")] = None,
    before: FromTime = None,
    after: ToTime = None,
    store: StoreOption = None,
    settings: SettingsFile = None,
    as_json: AsJson = False,
) -> None:
    """Tell what changed in the tools of a server. Starts no server.

    Without times: of a server the last change, of one tool all its changes.
    """
    with opened(store, settings) as found:
        if found is None:
            echo_json([]) if as_json else say_nothing_yet(store, settings)
        elif tool is not None and before is None and after is None:
            _tell_versions(found, server, tool, as_json=as_json)
        else:
            _tell_changes(found, server, tool, before, after, as_json=as_json)


def _tell_versions(store: Store, server: str, tool: str, *, as_json: bool) -> None:
    from ..catalog.asking.named import versions_named  # loads SQLAlchemy

    versions = versions_named(store, server, tool)
    if as_json:
        echo_json([x.as_json() for x in versions])
    else:
        say(f"{server}.{tool}, {count(len(versions), 'version')}:")
        say(versions_text(versions, text_width()))


def _tell_changes(
    store: Store, server: str, tool: str | None, before: At, after: At, *, as_json: bool
) -> None:
    from ..catalog.asking.named import changes_between, last_change

    since, header = before, f"{server}, from {_shown(before)} to {_shown(after)}:"
    if before is None:
        since, at = last_change(store, server, when(after)) or (0, None)
        never = "was never listed" if after is None else f"was not listed by {_shown(after)}"
        header = f"{server}, last changed {time_text(at)}:" if at else f"{server} {never}:"
    elif _is_later(store, before, after):
        raise typer.BadParameter(f"--from ({_shown(before)}) is later than --to ({_shown(after)}).")
    changes = changes_between(store, server, tool, when(since), when(after))
    if as_json:
        echo_json([x.as_json() for x in changes])
    else:
        say(f"{header}\n{changes_text(changes, text_width())}")


def _is_later(store: Store, before: At, after: At) -> bool:
    from ..catalog.asking.past import position_of

    first, last = (position_of(store, when(x)) for x in (before, after))
    return first is not None and last is not None and first > last


def _shown(at: At) -> str:
    if at is None:
        return "now"
    return time_text(at) if isinstance(at, datetime) else f"event {at}"
