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

# Names of added or removed tools; the first listing of a server may have thousands.
_MOST_NAMES = 50
_MOST_LINES = 200  # of one tool, which may have thousands of parameters
_MOST_LINE_CHARS = 5000


def change_json(change: ToolChanged) -> JsonObject:
    """Return all fields of a change, with its tool as names."""
    return {
        "kind": change.tool.kind.name,
        "source": change.tool.source,
        "tool": change.tool.tool,
        "how": change.how,
        "was": change.was and change.was.tool,
        "lines": list(change.lines),
    }


def version_json(version: Version) -> JsonObject:
    """Return all fields of a version, with its time in UTC."""
    return {**asdict(version), "time": utc_text(version.time)}


def changes_text(changes: Sequence[ToolChanged], width: int) -> str:
    """Return the changes of tools in lines of at most `width` columns."""
    lines = list[str]()
    for how, group in groupby(sorted(changes, key=_rank), lambda x: x.how):
        of_kind = list(group)
        if how in ("added", "removed"):
            lines += _wrap(f"{how}: {_names(of_kind)}", width, "", "    ")
            continue
        for change in of_kind:
            lines += _wrap(_head(change), width, "", "    ")
            lines += _lines(change.lines, width)
    return "\n".join(lines) or NO_CHANGE


def versions_text(versions: Sequence[Version], width: int) -> str:
    """Return the versions of a tool: the start of each, and its differences from the one before."""
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
    names = [subject_text(x.tool) for x in changes[:_MOST_NAMES]]
    remaining = len(changes) - len(names)
    return ", ".join(names) + (f" and {remaining:,} more" if remaining else "")


def _lines(lines: Sequence[str], width: int) -> Iterator[str]:
    remaining = len(lines) - _MOST_LINES
    more = [f"and {remaining:,} more changes; JSON has all"] if remaining > 0 else []
    for line in (*lines[:_MOST_LINES], *more):
        yield from _wrap(line, width, "    ", "      ")


def _wrap(line: str, width: int, first: str, after: str) -> list[str]:
    return wrap(line[:_MOST_LINE_CHARS], width, first, after)
