"""`xai-mcp-agent history show` and `diff`: what the history tells; no server is started."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from ..bridge.operations.history import At, when
from ..console.text import count
from ..core.errors import StoreFailed
from ..history.place import NOTHING_KEPT, Place, find_place
from ..settings.load import load_settings
from ..settings.sections import Retention
from ..settings.trust import without_untrusted
from ..views.changes import change_json, changes_text, version_json, versions_text
from ..views.history import NOTHING, event_json
from ..views.times import time_text
from .bridges import name_in_history
from .output import (
    AsJson,
    FromTime,
    SettingsFile,
    Since,
    StoreOption,
    ToTime,
    Until,
    echo_json,
    say,
    text_width,
)
from .telling import follow as follow_store
from .telling import newest_lines, print_json_lines, print_lines

if TYPE_CHECKING:
    from ..history.events_table import Range
    from ..history.history import History

Names: TypeAlias = tuple[str | None, str | None]
# What a person looks through, and a program reads in a moment; nobody asks for a million by chance.
_USUAL_LIMIT = 1000


def history(
    server: Annotated[str | None, typer.Option(help="Only this server and its tools.")] = None,
    tool: Annotated[str | None, typer.Option(help="Only tools of this name.")] = None,
    agent: Annotated[str | None, typer.Option(help="Only calls of this agent.")] = None,
    since: Since = None,
    until: Until = None,
    failed: Annotated[
        bool, typer.Option("--failed", help="Only failed and refused calls.")
    ] = False,
    grep: Annotated[
        str, typer.Option(metavar="TEXT", help="Only events that contain this text.")
    ] = "",
    limit: Annotated[
        int, typer.Option(min=1, help="Only the newest lines; with --json, rows of the log.")
    ] = _USUAL_LIMIT,
    is_all: Annotated[
        bool, typer.Option("--all", help="Include sessions in which nothing changed.")
    ] = False,
    follow: Annotated[
        bool, typer.Option("--follow", help="Follow new events until Ctrl-C.")
    ] = False,
    store: StoreOption = None,
    settings: SettingsFile = None,
    as_json: AsJson = False,
) -> None:
    """Show what happened to servers and tools, oldest first. Starts no server.

    Similar events share a line, and so do sessions without changes; --all shows each. Times are
    local; in JSON they are UTC.
    """
    if follow and until is not None:
        raise typer.BadParameter("--follow goes on for ever, and --until ends: give one of them.")
    server = name_in_history(server, settings)
    with opened(store, settings, follow=follow) as found:
        if found is None:
            echo_json([]) if as_json else say_nothing_yet(store, settings)
            return
        from ..history.events_table import Range  # loads SQLAlchemy, as opening it did

        found.check_agent(agent)
        last = found.position_of(when(until))
        end = found.newest_position() if last is None else last
        names = (server, tool)
        wanted = Range(since=since, until=end, failed=failed, agent=agent, text=grep)
        is_some = any((since, until, server, tool, agent, failed, grep))
        if as_json:
            _tell_events(found, names, wanted, limit, one_by_one=follow)
            day = ""
        else:
            day = _tell_lines(found, names, wanted, limit, is_all=is_all, is_some=is_some)
        if follow:
            follow_store(found, names, wanted, as_json=as_json, after=end, after_day=day)


def _tell_events(
    history: History, names: Names, wanted: Range, limit: int, *, one_by_one: bool
) -> None:
    shown = map(event_json, history.events(replace(wanted, limit=limit), *names))
    print_json_lines(shown) if one_by_one else echo_json(list(shown))


def _tell_lines(
    history: History, names: Names, wanted: Range, limit: int, *, is_all: bool, is_some: bool
) -> str:
    """The day of the last line."""
    lines, has_more = newest_lines(history, names, wanted, limit, is_all=is_all)
    if has_more:
        newest = count(len(lines), "line") if len(lines) > 1 else "line"
        say(f"The newest {newest}; --limit shows more, --since and --server choose.")
    if not lines:
        some = "Nothing happened that is remembered and fits these options."
        say(some if is_some else NOTHING)
    return print_lines(history, lines)


def prune(
    older_than: Annotated[
        float | None,
        typer.Option("--older-than", min=0, metavar="DAYS", help="Default: as in the settings."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be deleted; delete nothing.")
    ] = False,
    store: StoreOption = None,
    settings: SettingsFile = None,
) -> None:
    """Delete history that is too old or too large. This happens by itself once a day."""
    loaded = load_settings(settings)
    keep = loaded.retention
    if older_than is not None:
        keep = Retention(older_than, None)
    with opened(store, settings) as found:
        if found is None:
            say_nothing_yet(store, settings)
            return
        events, until = _pruned(found, keep, is_dry=dry_run)
    if until is None:
        say("Nothing is older, or more, than is to be kept.")
        return
    what = "would go" if dry_run else "removed"
    say(f"{count(events, 'event')} {what}, until {time_text(until)}.")


def _pruned(found: History, keep: Retention, *, is_dry: bool) -> tuple[int, datetime | None]:
    from ..history.history import open_history  # loads SQLAlchemy, as opening it did
    from ..history.retention import prune as remove

    history = found if is_dry else open_history(found.place)
    try:
        parts = [remove(history, keep, datetime.now(UTC), is_dry=is_dry)]
        while not (is_dry or parts[-1].is_all):
            parts.append(remove(history, keep, datetime.now(UTC)))
        if not is_dry:
            history.store.shrink()
    finally:
        if not is_dry:
            history.close()
    return sum(x.events for x in parts), max((x.until for x in parts if x.until), default=None)


def diff(
    server: Annotated[
        str | None,
        typer.Argument(help="Only this server; `canvas` has the tools you drew. Default: all."),
    ] = None,
    tool: Annotated[str | None, typer.Argument(help="Only this tool.")] = None,
    before: FromTime = None,
    after: ToTime = None,
    store: StoreOption = None,
    settings: SettingsFile = None,
    as_json: AsJson = False,
) -> None:
    """Show what changed in the tools of one server, or of all. Starts no server.

    Without times it shows the last change of each server, or all changes of one tool.
    """
    server = name_in_history(server, settings)
    with opened(store, settings) as found:
        if found is None:
            echo_json([]) if as_json else say_nothing_yet(store, settings)
        elif server is None and before is None:
            _tell_last_changes(found, after, as_json=as_json)
        elif server is not None and tool is not None and before is None and after is None:
            _tell_versions(found, server, tool, as_json=as_json)
        else:
            _tell_changes(found, server, tool, before, after, as_json=as_json)


@contextmanager
def opened(
    store: str | None, settings: Path | None, *, follow: bool = False
) -> Generator[History | None]:
    """The history, to read: no server is started for it. None where nothing was ever kept.

    Nothing is written into one that somebody named, nor beside it. To `follow` a file, SQLite
    needs files beside it.

    Raises:
        StoreFailed: it cannot be used, or is not where somebody said that it is.
        SettingsError: the settings file cannot be read.
    """
    place = replace(_place(store, settings), is_still=bool(store) and not follow)
    with _without_shm(place) as readable:
        found = _found(readable, is_named=bool(store))
        if found is None:
            yield None
            return
        try:
            yield found
        finally:
            found.close()


@contextmanager
def _without_shm(place: Place) -> Generator[Place]:
    """The place, or a private copy of its file where SQLite would leave a `-shm` file beside it.

    It does so beside a copied `-wal` file, which nobody has open: then there is no `-shm` yet.
    """
    file = place.file if place.is_still else None
    there = [os.path.exists(f"{file}{end}") for end in ("", "-wal", "-shm")]
    if file is None or there != [True, True, False]:
        yield place
        return
    with tempfile.TemporaryDirectory(prefix="xai-history-", ignore_cleanup_errors=True) as folder:
        copy = Path(folder, file.name)
        try:
            for end in ("", "-wal"):
                shutil.copyfile(f"{file}{end}", f"{copy}{end}")
        except OSError as cause:
            raise StoreFailed(place.shown, f"it cannot be copied: {cause}.") from cause
        yield replace(place, file=copy)


def say_nothing_yet(store: str | None, settings: Path | None) -> None:
    """Tell a person that there is no history."""
    place = _place(store, settings)
    if place.is_off:
        say(f"The history is off: {' '.join(NOTHING_KEPT)}")
        return
    say(
        f"Nothing is remembered yet in {place.shown}. It begins when a workflow or a command uses "
        "a server."
    )


def shown_at(at: At) -> str:
    """A point of the history, to read."""
    if at is None:
        return "now"
    return time_text(at) if isinstance(at, datetime) else f"event {at}"


def _found(place: Place, *, is_named: bool) -> History | None:
    if place.file is not None and not place.file.exists():
        if is_named:
            raise StoreFailed(place.shown, "there is no such file.", "Name another one.")
        return None
    # Here: no other command should wait for SQLAlchemy.
    from ..history.history import open_history
    from ..history.store import NoHistory

    try:
        return open_history(place, is_to_read=True)
    except NoHistory:
        if is_named:
            raise
        return None


def _place(store: str | None, settings: Path | None) -> Place:
    place = find_place(without_untrusted(load_settings(settings)), store)
    # Whoever names a file wants to see what is in it, whichever project's it is.
    return replace(place, any_project=True) if store and place.file else place


def _tell_versions(history: History, server: str, tool: str, *, as_json: bool) -> None:
    versions = history.versions(server, tool)
    if as_json:
        echo_json([version_json(x) for x in versions])
    else:
        say(f"{server}.{tool}, {count(len(versions), 'version')}:")
        say(versions_text(versions, text_width()))


def _tell_last_changes(history: History, after: At, *, as_json: bool) -> None:
    """Of every source, the one that changed last at the end."""
    found = history.last_changes(when(after))
    if as_json:
        echo_json([change_json(x) for one in found for x in one.changes])
        return
    if not found:
        say(
            "Nothing was ever listed."
            if after is None
            else f"Nothing was listed by {shown_at(after)}."
        )
    for one in found:
        say(f"{one.source}, last changed {time_text(one.time)}:")
        say(changes_text(one.changes, text_width()))


def _tell_changes(
    history: History, server: str | None, tool: str | None, before: At, after: At, *, as_json: bool
) -> None:
    of = server or "all servers"
    since, header = before, f"{of}, from {shown_at(before)} to {shown_at(after)}:"
    if before is None and server is not None:
        since, at = history.last_change(server, when(after)) or (0, None)
        never = "was never listed" if after is None else f"was not listed by {shown_at(after)}"
        header = f"{server}, last changed {time_text(at)}:" if at else f"{server} {never}:"
    elif _is_later(history, before, after):
        raise typer.BadParameter(
            f"--from ({shown_at(before)}) is later than --to ({shown_at(after)})."
        )
    changes = history.changes(server, tool, when(since), when(after))
    if as_json:
        echo_json([change_json(x) for x in changes])
    else:
        say(f"{header}\n{changes_text(changes, text_width())}")


def _is_later(history: History, before: At, after: At) -> bool:
    first, last = (history.position_of(when(x)) for x in (before, after))
    return first is not None and last is not None and first > last
