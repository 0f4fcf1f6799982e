"""Changes of tools between two points: added, removed, renamed, or with another definition."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from difflib import SequenceMatcher
from itertools import product
from typing import Any, Literal, NamedTuple, TypeAlias, cast

from ..core.json import JsonObject, as_object
from ..core.schemas import properties
from .diff import difference, differences
from .event import Subject

_MOST_PAIRS = 2000  # compared by name while a store waits
_COMPARED_CHARS = 200
_NEARLY_THE_SAME = 0.8
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_]+")


Definitions: TypeAlias = Mapping[Subject, JsonObject | None]
"""Definitions of tools, None for lost ones."""


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

    A `renamed` tool has its later name, and `was` is its earlier one. It is likely, not certain,
    that both are one tool.
    """

    tool: Subject
    how: Literal["added", "removed", "renamed", "changed"]
    lines: tuple[str, ...] = ()
    was: Subject | None = None


def tool_changes(old: Definitions, new: Definitions, last: Definitions) -> list[ToolChanged]:
    """Return the change of each of these tools, sorted by the names of sources and tools.

    All of them differ between `old` and `new`; `last` has the last definitions of those that no
    longer exist.
    """
    changes = [
        ToolChanged(x, "changed", differences(old[x], new[x])) for x in old.keys() & new.keys()
    ]
    removed = {x: last.get(x, old[x]) for x in old.keys() - new.keys()}
    added = {x: new[x] for x in new.keys() - old.keys()}
    old_bodies, new_bodies = (
        {x: body for x, body in tools.items() if body is not None} for tools in (removed, added)
    )
    renames = likely_renames(old_bodies, new_bodies)
    for was, tool in renames.items():
        before = old[was] or old_bodies[was]
        lines = difference(*_renamed_to(tool.tool or "", before, new_bodies[tool]))
        changes.append(ToolChanged(tool, "renamed", lines, was))
    changes += [ToolChanged(x, "removed") for x in removed.keys() - renames.keys()]
    changes += [ToolChanged(x, "added") for x in added.keys() - set(renames.values())]
    return sorted(changes, key=lambda x: (x.tool.kind.name, x.tool.source, x.tool.tool or ""))


# Renames: removed tools that are likely to have another name now.


class _Tool(NamedTuple):
    subject: Subject
    definition: JsonObject

    @property
    def name(self) -> str:
        return self.subject.tool or ""

    @property
    def description(self) -> str:
        return str(self.definition.get("description") or "")


def likely_renames(
    removed: Mapping[Subject, JsonObject], added: Mapping[Subject, JsonObject]
) -> dict[Subject, Subject]:
    """Return added tools by removed ones of the same source, if they have equal schemas.

    Of several such tools, those with the most similar names and descriptions are paired. A tool
    without parameters equals any other such tool, so its name or description must be similar, too.
    Of thousands with equal schemas only those with equal descriptions are paired.
    """
    renames: dict[Subject, Subject] = {}
    pairs = _pairs(_by_schemas(removed), _by_schemas(added))
    rated = [(likeness, x, y) for x, y in pairs if (likeness := _likeness_of(x, y)) is not None]
    rated.sort(key=lambda x: (-x[0], x[1].name, x[2].name))
    new_names = set[Subject]()
    for _, old, new in rated:
        if old.subject not in renames and new.subject not in new_names:
            renames[old.subject] = new.subject
            new_names.add(new.subject)
    return renames


def _renamed_to(name: str, *definitions: JsonObject) -> list[JsonObject]:
    """Return definitions as if all had this name, also in what SDKs derive from it."""
    schemas = ("input_schema", "output_schema")
    return [
        {k: _untitled(x) if k in schemas else x for k, x in definition.items()} | {"name": name}
        for definition in definitions
    ]


def _by_schemas(tools: Mapping[Subject, JsonObject]) -> dict[object, list[_Tool]]:
    """Group by source and both schemas without titles: some SDKs derive those from the name."""
    groups: dict[object, list[_Tool]] = defaultdict(list)
    for subject, definition in tools.items():
        both = [_untitled(definition.get(name)) for name in ("input_schema", "output_schema")]
        with suppress(RecursionError):  # a schema too deep for JSON equals no other
            text = json.dumps(both, sort_keys=True)
            groups[subject.kind, subject.source, text].append(_Tool(subject, definition))
    return groups


def _untitled(schema: Any) -> Any:
    if not isinstance(schema, dict):
        return schema
    return {name: x for name, x in cast(JsonObject, schema).items() if name != "title"}


def _pairs(
    removed: dict[object, list[_Tool]], added: dict[object, list[_Tool]]
) -> Iterator[tuple[_Tool, _Tool]]:
    room = _MOST_PAIRS
    groups = [(old, added[schemas]) for schemas, old in removed.items() if schemas in added]
    for old, new in sorted(groups, key=lambda group: len(group[0]) * len(group[1])):
        room -= len(old) * len(new)
        yield from product(old, new) if room >= 0 else _described_alike(old, new)


def _described_alike(removed: list[_Tool], added: list[_Tool]) -> Iterator[tuple[_Tool, _Tool]]:
    """Yield pairs whose description no other tool has."""
    old, new = _by_own_description(removed), _by_own_description(added)
    return ((old[x], new[x]) for x in old.keys() & new.keys())


def _by_own_description(tools: list[_Tool]) -> dict[str, _Tool]:
    counts = Counter(x.description for x in tools)
    return {x.description: x for x in tools if x.description and counts[x.description] == 1}


def _likeness_of(old: _Tool, new: _Tool) -> float | None:
    """Return the similarity, or None for different tools. Having no parameters does not count."""
    has_same_words = _has_same_words(old.name, new.name)
    before, after = old.description, new.description
    descriptions = _likeness(before, after) if before and after else 0.0
    has_parameters = bool(properties(as_object(old.definition.get("input_schema"))))
    if not (has_same_words or descriptions >= _NEARLY_THE_SAME or has_parameters):
        return None
    return has_same_words + _likeness(old.name, new.name) + descriptions


def _likeness(old: str, new: str) -> float:
    if old == new:
        return 1.0
    matcher = SequenceMatcher(None, old[:_COMPARED_CHARS], new[:_COMPARED_CHARS], autojunk=False)
    return matcher.ratio()


def _has_same_words(old: str, new: str) -> bool:
    """Return whether one name is a spelling of the other, or extends it by words."""
    one, other = ({x.lower() for x in _PART.findall(name)} for name in (old, new))
    return bool(one and other) and (one <= other or other <= one)
