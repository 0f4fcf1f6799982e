"""`xai-mcp-agent tools --all`: every tool that the history knows, also those that are gone."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import typer

from ..bridge.bridge import Bridge
from ..bridge.past.asking import At, when
from ..bridge.past.records import NOTHING, records_as_dicts, records_text
from ..bridge.past.times import time_text
from ..catalog.records.fold import Records
from ..core.errors import UnknownServer, XaiMcpError
from ..core.names import did_you_mean, nearest
from .output import echo_json, say
from .past import absolute, opened, say_nothing_yet, text_width

_NOTHING_THEN = "Nothing was known then."


def tell_known_now(
    server: str | None, store: str | None, settings: Path | None, *, as_json: bool
) -> None:
    """Connect the servers as far as that can be done, and tell all that is known of their tools.

    Without a settings file only the history is told.

    Raises:
        UnknownServer: neither the settings nor the history have it.
        Exit: some servers could not be connected; all is told.
    """
    with Bridge.open(settings, store=absolute(store)) as bridge:
        failed = _connected(bridge, server)
        records = bridge.records()
        place = bridge.store().place
        also = (*bridge.settings.servers, *bridge.settings.problems)
        _require(server, records, "is in the settings or the history", also)
    if as_json:
        _print_json(records, server, failed)
    else:
        text = records_text(records, text_width(), server)
        say(f"Nothing is remembered yet in {place}." if text == NOTHING else text)
        for reason in failed.values():
            say(f"error: {reason}", to_stderr=True)
    if failed:
        raise typer.Exit(1)


def tell_known_at(
    server: str | None, at: At, store: str | None, settings: Path | None, *, as_json: bool
) -> None:
    """Tell what was known at a time or position. Starts no server.

    Raises:
        UnknownServer: the history does not have it.
        StoreFailed: it cannot be used.
    """
    with opened(store, settings) as found:
        records, known = Records(), Records()
        if found is not None:
            from ..catalog.asking.past import (  # loads SQLAlchemy, as opening it did
                When,
                records_at,
            )

            records, known = records_at(found, when(at)), records_at(found, When())
    if found is not None:
        _require(server, known, "is in the history")
    if as_json:
        _print_json(records, server, {})
    elif found is None:
        say_nothing_yet(store, settings)
    else:
        then = time_text(at) if isinstance(at, datetime) else f"event {at}"
        text = records_text(records, text_width(), server)
        say(f"As of {then}:\n" + (_NOTHING_THEN if text == NOTHING else text))


def _connected(bridge: Bridge, server: str | None) -> dict[str, str]:
    """Connect what can be; why the others cannot, by their names."""
    names = [x for x in bridge.usable_servers() if server in (None, x)]
    if names:
        bridge.connect(*names, wait=True)
    failed = {x: str(p) for x, p in bridge.settings.problems.items() if server in (None, x)}
    for name in names:
        try:
            bridge.list_tools(name)
        except XaiMcpError as reason:
            failed[name] = str(reason)
    return failed


def _require(server: str | None, records: Records, where: str, also: tuple[str, ...] = ()) -> None:
    known = {*also, *(x.shown_source for x in (*records.sources, *records.tools))}
    if server is not None and server not in known:
        names = sorted(known)
        hint = did_you_mean(server, names) or f"There is {', '.join(names) or 'none'}."
        raise UnknownServer(f"No server {server!r} {where}. {hint}", server, nearest(server, names))


def _print_json(records: Records, server: str | None, failed: dict[str, str]) -> None:
    sources, tools = records_as_dicts(records, server)
    echo_json({"servers": sources, "tools": tools, "failed": failed})
