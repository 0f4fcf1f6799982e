"""`xai-mcp-agent tools usage`: show what agents learned about tools, and forget it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Annotated

from typer import Option

from ..console.text import as_it_is, count, one_line
from ..core.json import JsonObject
from ..history.event import Range
from ..views.history import subject_text
from ..views.times import time_text, utc_text
from .frame import Report, StoreFrame
from .options import OneServer, OneTool

if TYPE_CHECKING:
    from ..history.history import History
    from ..history.learned_rows import LearnedFilter, LearnedRow

_NOTHING = "Nothing is remembered about the use of tools."
_INDENT = " " * 4


def usage(
    frame: StoreFrame,
    server: OneServer = None,
    tool: OneTool = None,
    toolbelt: Annotated[
        str | None, Option(metavar="NAME", help="Only calls of agents with this toolbelt.")
    ] = None,
    forget: Annotated[
        bool, Option(help="Delete all of this for good, and show what it was.")
    ] = False,
) -> Report:
    """Show what tools were used for: the words that find them again. Starts no server.

    `canvas` has the tools you drew. --forget removes these words, also for agents that are running.
    """
    server = frame.name_in_history(server)
    key = "forgotten" if forget else "remembered"
    with frame.history({key: []}) as history:
        rows = _rows(history, server, tool, toolbelt, forget=forget)
    json = {key: [_json(x) for x in rows]}
    if not rows:
        return Report(json, _NOTHING)
    head = f"{key.capitalize()}: {count(len(rows), 'request')}."
    return Report(json, "\n".join([head, *_lines(rows)]))


def _rows(
    history: History, server: str | None, tool: str | None, toolbelt: str | None, *, forget: bool
) -> Sequence[LearnedRow]:
    # Imported here, because SQLAlchemy is slow to load.
    from ..history.learned_rows import LearnedFilter, read_learned

    which = LearnedFilter(toolbelt, server, tool)
    rows = read_learned(history, which)
    if not rows:
        history.rows(Range(limit=1), server, tool)  # refuses an unknown name
    return _forget(history, which) if forget and rows else rows


def _forget(history: History, which: LearnedFilter) -> Sequence[LearnedRow]:
    """Delete the words; the history is opened again for writing."""
    from ..history.history import open_history
    from ..history.recording.report_writer import ReportWriter

    writer = ReportWriter(open_history(history.place), as_it_is)
    try:
        return writer.forget(which)
    finally:
        writer.close()


def _lines(rows: Sequence[LearnedRow]) -> list[str]:
    lines: list[str] = []
    for (toolbelt, tool), group in groupby(rows, lambda x: (x.toolbelt, x.tool)):
        lines.append(one_line(f"{subject_text(tool)} ({toolbelt}):"))
        for one in group:
            often = f" ({one.times:,} times)" if one.times > 1 else ""
            lines.append(one_line(f"{one.words}{often}", f"{_INDENT}{time_text(one.used)}  "))
    return lines


def _json(one: LearnedRow) -> JsonObject:
    return {
        "toolbelt": one.toolbelt,
        "kind": one.tool.kind.name,
        "server": one.tool.source,
        "tool": one.tool.tool,
        "words": one.words,
        "uses": one.times,
        "learned": utc_text(one.learned),
        "used": utc_text(one.used),
    }
