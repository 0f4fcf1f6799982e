"""`history show`, `diff`, `stats` and `prune`: read the history without starting a server."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer
from typer import Option

from ..console.text import count
from ..history.event import At, Range
from ..history.usage import Stats
from ..settings.load import load_settings
from ..settings.sections import Retention
from ..views.changes import change_json, changes_text, version_json, versions_text
from ..views.history import NOTHING, HistoryLine, event_json, lines_of, lines_text
from ..views.stats import Order, sorted_stats, stats_json, stats_text
from ..views.times import day_text, time_text
from .frame import Report, StoreFrame
from .options import FromTime, OneServer, OneTool, Since, ToTime, Until
from .output import echo_json, say, table_width

if TYPE_CHECKING:
    from ..history.history import History
    from ..history.retention import Pruned

Names: TypeAlias = tuple[str | None, str | None]
# A person can skim this many, and a million lines never appear by accident.
_DEFAULT_LIMIT = 1000
_MAX_ROWS = 50_000  # read at most for the requested lines; takes some seconds
_FIRST_ROWS = 500
_BATCH_EVENTS = 1000  # events printed at once with --follow
PAUSE_SECONDS = 0.5


def show(
    frame: StoreFrame,
    server: Annotated[
        str | None, Option(metavar="SERVER", help="Only this server and its tools.")
    ] = None,
    tool: Annotated[str | None, Option(metavar="TOOL", help="Only tools of this name.")] = None,
    agent: Annotated[str | None, Option(metavar="NAME", help="Only calls of this agent.")] = None,
    since: Since = None,
    until: Until = None,
    failed: Annotated[bool, Option(help="Only failed and refused calls.")] = False,
    grep: Annotated[str, Option(metavar="TEXT", help="Only events that contain this text.")] = "",
    limit: Annotated[
        int, Option(min=1, help="Only the newest lines; with --json, rows of the log.")
    ] = _DEFAULT_LIMIT,
    is_all: Annotated[
        bool, Option("--all", help="Include sessions in which nothing changed.")
    ] = False,
    follow: Annotated[bool, Option(help="Follow new events until Ctrl-C.")] = False,
) -> Report | None:
    """Show what happened to servers and tools, oldest first. Starts no server.

    Similar events share a line, and so do sessions without changes; --all shows each. Times are
    local; in JSON they are UTC.
    """
    if follow and until is not None:
        raise typer.BadParameter("--follow and --until exclude each other: give one of them.")
    names = (frame.name_in_history(server), tool)
    with frame.history([], follow=follow) as history:
        history.check_agent(agent)
        end = history.position_of(until)
        event_range = Range(since=since, until=end, failed=failed, agent=agent, text=grep)
        is_some = any((since, until, server, tool, agent, failed, grep))
        day = ""
        if frame.as_json:
            events = map(event_json, history.events(replace(event_range, limit=limit), *names))
            _print_json_lines(events) if follow else echo_json(list(events))
        else:
            day = _print_newest(history, names, event_range, limit, is_all=is_all, is_some=is_some)
        if follow:
            _follow(history, names, event_range, as_json=frame.as_json, after=end, after_day=day)
    return None


def _print_newest(
    history: History, names: Names, event_range: Range, limit: int, *, is_all: bool, is_some: bool
) -> str:
    """Print the newest lines, oldest first; return the day of the last line."""
    lines, has_more = _newest_lines(history, names, event_range, limit, is_all=is_all)
    if has_more:
        newest = count(len(lines), "line") if len(lines) > 1 else "line"
        say(f"The newest {newest}; --limit shows more, --since and --server choose.")
    if not lines:
        some = "The history has nothing that matches these options."
        say(some if is_some else NOTHING)
    return _print_lines(history, lines)


def _newest_lines(
    history: History, names: Names, event_range: Range, most: int, *, is_all: bool
) -> tuple[list[HistoryLine], bool]:
    """Return the newest lines, oldest first, and whether there are more."""
    limit = _FIRST_ROWS
    while True:
        rows = history.rows(replace(event_range, limit=limit), *names)
        lines = list(lines_of(rows, is_all=is_all))
        has_more = len(rows) >= limit
        if len(lines) > most or not has_more or limit >= _MAX_ROWS:
            return lines[-most:], has_more or len(lines) > most
        limit *= 4


def _print_lines(history: History, lines: list[HistoryLine], after_day: str = "") -> str:
    if not lines:
        return after_day
    say(lines_text(lines, history.what_changed, after_day))
    return day_text(lines[-1].first.time)


def _follow(
    history: History, names: Names, event_range: Range, *, as_json: bool, after: int, after_day: str
) -> None:
    """Print new events after a position until Ctrl-C."""
    try:
        while True:
            newest = history.position_of()
            while after < newest:
                until = min(after + _BATCH_EVENTS, newest)
                part = replace(event_range, after=after, until=until, limit=None)
                if as_json:
                    _print_json_lines(event_json(x) for x in history.events(part, *names))
                else:
                    lines = list(lines_of(history.rows(part, *names)))
                    after_day = _print_lines(history, lines, after_day)
                after = until
            time.sleep(PAUSE_SECONDS)
    except KeyboardInterrupt:
        raise typer.Exit from None


def _print_json_lines(values: Iterable[object]) -> None:
    for value in values:
        typer.echo(json.dumps(value))


def stats(
    frame: StoreFrame,
    since: Since = None,
    sort: Annotated[Order, Option(help="The order.")] = "calls",
) -> Report:
    """Show how often tools were called, how often they failed, and how long they took.

    It starts no server. Without --since it counts all calls ever made, and takes median and p95
    from the last 500 to 1,000.
    """
    with frame.history(stats_json(Stats(), since)) as history:
        counted = sorted_stats(history.stats(since), sort)
    return Report(stats_json(counted, since), stats_text(counted, table_width()))


def prune(
    frame: StoreFrame,
    older_than: Annotated[
        float | None, Option(min=0, metavar="DAYS", help="Default: as in the settings.")
    ] = None,
    dry_run: Annotated[bool, Option(help="Show what would be deleted; delete nothing.")] = False,
) -> Report:
    """Delete history that is too old or too large. This happens by itself once a day."""
    keep = load_settings(frame.settings).retention
    if older_than is not None:
        keep = Retention(older_than, None)
    with frame.history({"events": 0, "until": None}) as history:
        pruned = _prune(history, keep, is_dry=dry_run)
    until = pruned.until
    json_ = {"events": pruned.events, "until": until and until.isoformat()}
    if until is None:
        return Report(json_, "Nothing exceeds what the settings keep.")
    what = "would go" if dry_run else "removed"
    return Report(json_, f"{count(pruned.events, 'event')} {what}, until {time_text(until)}.")


def _prune(read: History, keep: Retention, *, is_dry: bool) -> Pruned:
    from ..history.history import open_history  # loads SQLAlchemy, as opening it did
    from ..history.retention import prune as remove

    if is_dry:
        return remove(read, keep, datetime.now(UTC), is_dry=True)
    history = open_history(read.place)
    try:
        pruned = remove(history, keep, datetime.now(UTC))
        history.store.shrink()
    finally:
        history.close()
    return pruned


def diff(
    frame: StoreFrame,
    server: OneServer = None,
    tool: OneTool = None,
    before: FromTime = None,
    after: ToTime = None,
) -> Report:
    """Show what changed in the tools of one server, or of all. Starts no server.

    Without times it shows the last change of each server, or all changes of one tool. `canvas` has
    the tools you drew.
    """
    server = frame.name_in_history(server)
    with frame.history([]) as history:
        if server is None and before is None:
            return _last_changes(history, after)
        if server is not None and tool is not None and before is None and after is None:
            versions = history.versions(server, tool)
            head = f"{server}.{tool}, {count(len(versions), 'version')}:"
            text = f"{head}\n{versions_text(versions)}"
            return Report([version_json(x) for x in versions], text)
        return _changes(history, server, tool, before, after)


def _last_changes(history: History, after: At) -> Report:
    """Report the last change of each source, the newest last."""
    last = history.last_changes(after)
    lines = list[str]()
    for one in last:
        lines += [
            f"{one.source}, last changed {time_text(one.time)}:",
            changes_text(one.changes),
        ]
    none = "Nothing was ever listed."
    if after is not None:
        none = f"Nothing was listed by {moment_text(after)}."
    return Report([change_json(x) for one in last for x in one.changes], "\n".join(lines) or none)


def _changes(
    history: History, server: str | None, tool: str | None, before: At, after: At
) -> Report:
    of = server or "all servers"
    since, head = before, f"{of}, from {moment_text(before)} to {moment_text(after)}:"
    if before is None and server is not None:
        since, at = history.last_change(server, after) or (0, None)
        never = "was never listed" if after is None else f"was not listed by {moment_text(after)}"
        head = f"{server}, last changed {time_text(at)}:" if at else f"{server} {never}:"
    elif _is_later(history, before, after):
        raise typer.BadParameter(
            f"--from ({moment_text(before)}) is later than --to ({moment_text(after)})."
        )
    changes = history.changes(server, tool, since, after)
    text = f"{head}\n{changes_text(changes)}"
    return Report([change_json(x) for x in changes], text)


def _is_later(history: History, before: At, after: At) -> bool:
    return after is not None and history.position_of(before) > history.position_of(after)


def moment_text(at: At) -> str:
    """Return a time or a position of the history in words."""
    if at is None:
        return "now"
    return time_text(at) if isinstance(at, datetime) else f"event {at}"
