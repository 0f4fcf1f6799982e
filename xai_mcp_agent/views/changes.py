"""Changes of tools, and the versions of one tool, as JSON and as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import groupby

from ..console.text import wrap
from ..core.json import JsonObject
from ..history.tool_changes import ToolChanged, Version
from .history import subject_text
from .times import time_text, utc_text

NO_CHANGE = "Nothing changed."

# Limit for tools that only came or went; the first listing of a server may have thousands.
_MOST_CAME_OR_WENT = 50
_MOST_LINES = 200  # of one tool, which may have thousands of parameters
_MOST_LINE_CHARS = 5000  # names instead of full texts from here on


def change_json(change: ToolChanged) -> JsonObject:
    """Return a change with every field, its tool as names."""
    return {
        "kind": change.tool.kind.name,
        "source": change.tool.source,
        "tool": change.tool.tool,
        "how": change.how,
        "was": change.was and change.was.tool,
        "lines": list(change.lines),
    }


def version_json(version: Version) -> JsonObject:
    """Return a version with every field, its time in UTC."""
    return {**asdict(version), "time": utc_text(version.time)}


def changes_text(changes: Sequence[ToolChanged], width: int) -> str:
    """Return the changes of tools in lines of at most this many columns."""
    lines = list[str]()
    for how, group in groupby(sorted(changes, key=_rank), lambda x: x.how):
        some = list(group)
        if how in ("added", "removed"):
            lines += _wrap(f"{how}: {_names(some)}", width, "", "    ")
            continue
        for change in some:
            lines += _wrap(_head(change), width, "", "    ")
            lines += _lines(change.lines, width)
    return "\n".join(lines) or NO_CHANGE


def versions_text(versions: Sequence[Version], width: int) -> str:
    """Return a tool's definitions: since when each holds, and how it differs from the last."""
    lines = list[str]()
    for number, version in enumerate(versions):
        lines.append(f"{time_text(version.time)}  {'changed' if number else 'first seen'}")
        lines += _lines(version.lines, width)
    return "\n".join(lines)


def _rank(change: ToolChanged) -> int:
    return ("changed", "renamed", "removed", "added").index(change.how)


def _head(change: ToolChanged) -> str:
    name = subject_text(change.tool)
    if change.was is None:
        return f"{name} changed"
    return f"{name} is probably {subject_text(change.was)}, renamed"


def _names(changes: Sequence[ToolChanged]) -> str:
    names = [subject_text(x.tool) for x in changes[:_MOST_CAME_OR_WENT]]
    left = len(changes) - len(names)
    return ", ".join(names) + (f" and {left:,} more" if left else "")


def _lines(lines: Sequence[str], width: int) -> Iterator[str]:
    left = len(lines) - _MOST_LINES
    more = [f"and {left:,} more changes, which JSON has"] if left > 0 else []
    for line in (*lines[:_MOST_LINES], *more):
        yield from _wrap(line, width, "    ", "      ")


def _wrap(line: str, width: int, first: str, after: str) -> list[str]:
    return wrap(line[:_MOST_LINE_CHARS], width, first, after)
