"""How tools were at one time and at another: added, removed, renamed, changed, and in what."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, TypeAlias

from ..core.tools import JsonObject
from ..history.subject import Subject
from .diff import difference
from .renames import as_if_named, likely_renames

_LOST = "What it was is not in the history any more, so what changed cannot be told"
_HIDDEN = "Something changed that is hidden because it is secret"

Defined: TypeAlias = tuple[str, JsonObject | None]
"""The digest of a definition, and the definition; None where that was lost."""


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


def differences(old: JsonObject | None, new: JsonObject | None) -> tuple[str, ...]:
    """As `diff.difference`, of definitions that have different digests; never without a line."""
    if old is None or new is None:
        return (_LOST,)
    return difference(old, new) or (_HIDDEN,)


def compared(old: Mapping[Subject, Defined], new: Mapping[Subject, Defined]) -> list[ToolChanged]:
    """What became of each tool, by the names of sources and tools."""
    found = list(_changes(old, new))
    return sorted(found, key=lambda x: (x.tool.kind.name, x.tool.source, x.tool.tool or ""))


def _changes(
    old: Mapping[Subject, Defined], new: Mapping[Subject, Defined]
) -> Iterator[ToolChanged]:
    for tool in old.keys() & new.keys():
        if old[tool][0] != new[tool][0]:
            yield ToolChanged(tool, "changed", differences(old[tool][1], new[tool][1]))
    renames = _renames(old, new)
    for was, tool in renames.items():
        before, after = old[was][1] or {}, new[tool][1] or {}
        lines = difference(*as_if_named(tool.tool or "", before, after))
        yield ToolChanged(tool, "renamed", lines, was)
    for tool in old.keys() - new.keys() - renames.keys():
        yield ToolChanged(tool, "removed")
    for tool in new.keys() - old.keys() - set(renames.values()):
        yield ToolChanged(tool, "added")


def _renames(
    old: Mapping[Subject, Defined], new: Mapping[Subject, Defined]
) -> dict[Subject, Subject]:
    """Those that are likely, of each source."""
    gone, came = _by_source(old, new), _by_source(new, old)
    found: dict[Subject, Subject] = {}
    for source in gone.keys() & came.keys():
        for was, name in likely_renames(gone[source], came[source]).items():
            found[Subject(source.kind, source.source, was)] = Subject(
                source.kind, source.source, name
            )
    return found


def _by_source(
    these: Mapping[Subject, Defined], those: Mapping[Subject, Defined]
) -> dict[Subject, list[JsonObject]]:
    """The definitions of the tools that only these have."""
    found: dict[Subject, list[JsonObject]] = defaultdict(list)
    for tool, (_, definition) in these.items():
        if tool not in those and definition is not None:
            found[tool.anchor].append({**definition, "name": tool.tool})
    return found
