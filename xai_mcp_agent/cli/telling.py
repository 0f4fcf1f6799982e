"""What `history show` prints: the newest lines, and those that come while it follows."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import typer

from ..views.history import HistoryLine, event_json, lines_of, lines_text
from ..views.times import day_text
from .output import say, text_width

if TYPE_CHECKING:
    from ..history.events_table import Range
    from ..history.history import History

_MOST_ROWS = 50_000  # that are looked through for the lines that are wanted, some seconds
_FIRST_ROWS = 500
_AT_ONCE = 1000  # events that are told in one go while it follows
PAUSE_SECONDS = 0.5


def newest_lines(
    history: History,
    names: tuple[str | None, str | None],
    wanted: Range,
    most: int,
    *,
    is_all: bool,
) -> tuple[list[HistoryLine], bool]:
    """The newest lines, oldest first, and whether there are more."""
    rows = _FIRST_ROWS
    while True:
        found = history.rows(replace(wanted, limit=rows), *names)
        lines = list(lines_of(found, is_all=is_all))
        has_more = len(found) >= rows
        if len(lines) > most or not has_more or rows >= _MOST_ROWS:
            return lines[-most:], has_more or len(lines) > most
        rows *= 4


def print_lines(history: History, lines: list[HistoryLine], after_day: str = "") -> str:
    """Print them with what changed; the day of the last one."""
    if lines:
        say(lines_text(lines, text_width(), history.what_changed, after_day))
        return day_text(lines[-1].first.time)
    return after_day


def follow(
    history: History,
    names: tuple[str | None, str | None],
    wanted: Range,
    *,
    as_json: bool,
    after: int,
    after_day: str = "",
) -> None:
    """Print what is written behind a position, until somebody interrupts."""
    try:
        while True:
            newest = history.newest_position()
            while after < newest:
                until = min(after + _AT_ONCE, newest)
                here = replace(wanted, after=after, until=until, limit=None)
                after_day = _print_new(history, names, here, after_day, as_json=as_json)
                after = until
            time.sleep(PAUSE_SECONDS)
    except KeyboardInterrupt:
        raise typer.Exit from None


def _print_new(
    history: History,
    names: tuple[str | None, str | None],
    wanted: Range,
    after_day: str,
    *,
    as_json: bool,
) -> str:
    if as_json:
        print_json_lines(event_json(x) for x in history.events(wanted, *names))
        return after_day
    return print_lines(history, list(lines_of(history.rows(wanted, *names))), after_day)


def print_json_lines(values: Iterable[object]) -> None:
    """Each on a line of its own, at once: there is no end of them."""
    for value in values:
        typer.echo(json.dumps(value))
