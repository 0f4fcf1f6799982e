"""How tools were at one time and at another: added, removed, renamed, changed, and in what."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Literal, NamedTuple, TypeAlias

from ...core.tools import JsonObject
from ...history.subject import Subject
from .diff import difference
from .in_full import difference_in_full
from .renames import as_if_named, likely_renames

_LOST = "What it was is not in the history any more, so what changed cannot be told"
_HIDDEN = "Something changed that is hidden because it is secret"


class Defined(NamedTuple):
    """A definition by its digest; `definition` is None where it was lost."""

    digest: str
    definition: JsonObject | None


_Tools: TypeAlias = Mapping[Subject, Defined]


@dataclass(frozen=True, slots=True)
class Version:
    """A definition that a tool had from a time on. `lines` tell how it differs from the last."""

    digest: str
    time: datetime
    position: int
    definition: JsonObject | None
    lines: tuple[str, ...]

    def as_json(self) -> JsonObject:
        """Every field, the time in UTC."""
        return {
            "digest": self.digest,
            "time": self.time.astimezone(UTC).isoformat(),
            "position": self.position,
            "definition": self.definition,
            "lines": list(self.lines),
        }


@dataclass(frozen=True, slots=True)
class ToolChanged:
    """What became of a tool. `lines` tell what is different in it, if it is there both times.

    One that was `renamed` is called as it is at the later time, and `was` is what it was called
    before. That it is the same tool is likely, not known.
    """

    tool: Subject
    how: Literal["added", "removed", "renamed", "changed"]
    lines: tuple[str, ...] = ()
    was: Subject | None = None

    def as_json(self) -> JsonObject:
        """Every field, and the tool as names."""
        return {
            "kind": self.tool.kind.name,
            "source": self.tool.source,
            "tool": self.tool.tool,
            "how": self.how,
            "was": self.was and self.was.tool,
            "lines": list(self.lines),
        }


def differences(
    old: JsonObject | None, new: JsonObject | None, *, in_full: bool = False
) -> tuple[str, ...]:
    """As `diff.difference`, of definitions that have different digests; never without a line.

    With `in_full` as `difference_in_full`, for who looks at one tool.
    """
    if old is None or new is None:
        return (_LOST,)
    return (difference_in_full if in_full else difference)(old, new) or (_HIDDEN,)


def compared(old: _Tools, new: _Tools, last: _Tools) -> list[ToolChanged]:
    """What became of each tool, by the names of sources and tools.

    `last` tells how those that are not there any more were at last.
    """
    found = list(_changes(old, new, last))
    return sorted(found, key=lambda x: (x.tool.kind.name, x.tool.source, x.tool.tool or ""))


def _changes(old: _Tools, new: _Tools, last: _Tools) -> Iterator[ToolChanged]:
    for tool in old.keys() & new.keys():
        if old[tool].digest != new[tool].digest:
            lines = differences(old[tool].definition, new[tool].definition)
            yield ToolChanged(tool, "changed", lines)
    gone = {x: last.get(x, old[x]) for x in old.keys() - new.keys()}
    came = {x: new[x] for x in new.keys() - old.keys()}
    renames = _renames(gone, came)
    for was, tool in renames.items():
        before, after = old[was].definition or {}, new[tool].definition or {}
        lines = difference(*as_if_named(tool.tool or "", before, after))
        yield ToolChanged(tool, "renamed", lines, was)
    for tool in gone.keys() - renames.keys():
        yield ToolChanged(tool, "removed")
    for tool in came.keys() - set(renames.values()):
        yield ToolChanged(tool, "added")


def _renames(gone: _Tools, came: _Tools) -> dict[Subject, Subject]:
    """Those that are likely, of each source."""
    old, new = _by_source(gone), _by_source(came)
    found: dict[Subject, Subject] = {}
    for source in old.keys() & new.keys():
        for was, name in likely_renames(old[source], new[source]).items():
            found[replace(source, tool=was)] = replace(source, tool=name)
    return found


def _by_source(tools: _Tools) -> dict[Subject, list[JsonObject]]:
    found: dict[Subject, list[JsonObject]] = defaultdict(list)
    for tool, (_, definition) in tools.items():
        if definition is not None:
            found[tool.anchor].append({**definition, "name": tool.tool})
    return found
