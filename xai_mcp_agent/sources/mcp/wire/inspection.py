"""Inspection of what a server lists: how large it is, and what nobody could work with."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Any, cast

from ...web.large_json import TOO_DEEP

# Every reader and writer of JSON has a limit, some of a few hundred.
_MAX_DEPTH = 450
_HEADER = "x-mcp-header"
_PART_BYTES = 8  # of what is no text, about as it came


@dataclass
class Inspection:
    """What was found: a `problem` for a sentence, and the `size` in bytes.

    `mentions_headers`: an argument is to be sent as a header, if it is a tool.
    """

    problem: str = ""
    size: int = 0
    mentions_headers: bool = False


def look_through(value: Any) -> Inspection:
    """Look at every part of a value, level by level: it may be nested in any way."""
    found = Inspection()
    level = [value]
    for _ in range(_MAX_DEPTH):
        if not level or found.problem:
            return found
        level = [part for x in level for part in _parts(x, found)]
    found.problem = found.problem or "it is nested too deeply"
    return found


def _parts(value: Any, found: Inspection) -> list[Any]:
    found.size += len(value) if isinstance(value, str) else _PART_BYTES
    match value:
        case dict():
            fields = cast("dict[str, Any]", value)
            found.mentions_headers |= _HEADER in fields
            found.size += sum(map(len, fields))
            return list(fields.values())
        case list():
            return cast("list[Any]", value)
        case float() if not isfinite(value):
            found.problem = f"it has a number in it that JSON cannot hold ({value})"
        case str() if value == TOO_DEEP:
            found.problem = "it is nested too deeply"
        case _:
            pass
    return []
