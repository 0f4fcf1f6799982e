"""Changes of tools, and the versions of one tool, as JSON and as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import groupby

from ..console.text import one_line
from ..core.json import JsonObject
from ..history.tool_changes import ToolChanged, Version
from .history import subject_text
from .times import time_text, utc_text

NO_CHANGE = "Nothing changed."

# Names of added or removed tools; the first listing of a server may have thousands.
_MOST_NAMES = 50
_MOST_LINES = 200  # of one tool, which may have thousands of parameters


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


def changes_text(changes: Sequence[ToolChanged]) -> str:
    """Return the changes of tools to read."""
    lines = list[str]()
    for how, group in groupby(sorted(changes, key=_rank), lambda x: x.how):
        of_kind = list(group)
        if how in ("added", "removed"):
            lines.append(one_line(f"{how}: {_names(of_kind)}"))
            continue
        for change in of_kind:
            lines += [one_line(_head(change)), *_lines(change.lines)]
    return "\n".join(lines) or NO_CHANGE


def versions_text(versions: Sequence[Version]) -> str:
    """Return the versions of a tool: the start of each, and its differences from the one before."""
    lines = list[str]()
    for number, version in enumerate(versions):
        lines.append(f"{time_text(version.time)}  {'changed' if number else 'first seen'}")
        lines += _lines(version.lines)
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


def _lines(changes: Sequence[str]) -> Iterator[str]:
    yield from (one_line(x, "    ") for x in changes[:_MOST_LINES])
    if (remaining := len(changes) - _MOST_LINES) > 0:
        yield f"    and {remaining:,} more changes; JSON has all"
