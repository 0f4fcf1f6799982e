"""Changes of tools between two points: added, removed, renamed, or with another definition."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple, TypeAlias

from ..core.json import JsonObject
from .diff import difference, differences
from .event import Subject
from .renames import as_if_named, likely_renames


class Defined(NamedTuple):
    """Definition by its digest; `definition` is None if it was lost."""

    digest: str
    definition: JsonObject | None


ToolsDefined: TypeAlias = Mapping[Subject, Defined]


@dataclass(frozen=True, slots=True)
class Version:
    """Definition that a tool had from a time on. `lines` are the differences from the last."""

    digest: str
    time: datetime
    position: int
    definition: JsonObject | None
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ToolChanged:
    """Change of a tool. `lines` are the differences, if it exists both times.

    A `renamed` tool has its later name, and `was` is its earlier one. That it is the same tool is
    likely, not known.
    """

    tool: Subject
    how: Literal["added", "removed", "renamed", "changed"]
    lines: tuple[str, ...] = ()
    was: Subject | None = None


def tool_changes(old: ToolsDefined, new: ToolsDefined, last: ToolsDefined) -> list[ToolChanged]:
    """Return the change of each tool, by the names of sources and tools.

    `last` has the last definitions of tools that no longer exist.
    """
    changes = [
        ToolChanged(x, "changed", differences(old[x].definition, new[x].definition))
        for x in old.keys() & new.keys()
        if old[x].digest != new[x].digest
    ]
    gone = {x: last.get(x, old[x]) for x in old.keys() - new.keys()}
    came = {x: new[x] for x in new.keys() - old.keys()}
    old_bodies, new_bodies = (
        {x: y.definition for x, y in tools.items() if y.definition is not None}
        for tools in (gone, came)
    )
    renames = likely_renames(old_bodies, new_bodies)
    for was, tool in renames.items():
        before = old[was].definition or old_bodies[was]
        lines = difference(*as_if_named(tool.tool or "", before, new_bodies[tool]))
        changes.append(ToolChanged(tool, "renamed", lines, was))
    changes += [ToolChanged(x, "removed") for x in gone.keys() - renames.keys()]
    changes += [ToolChanged(x, "added") for x in came.keys() - set(renames.values())]
    return sorted(changes, key=lambda x: (x.tool.kind.name, x.tool.source, x.tool.tool or ""))
