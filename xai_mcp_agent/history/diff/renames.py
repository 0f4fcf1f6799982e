"""Rename detection: which vanished tools are likely to be new ones under another name."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, cast

from ...core.json import JsonObject, as_object
from ...core.schemas import properties

_MOST_PAIRS = 2000  # that are compared by their names: a blink; a store waits meanwhile
_COMPARED_CHARS = 200
_NEARLY_THE_SAME = 0.8
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class _Pair:
    """A tool that vanished and one that came, and how alike they are."""

    old: JsonObject
    new: JsonObject
    words: float
    names: float
    descriptions: float

    @property
    def order(self) -> tuple[Any, ...]:
        """The likeliest first; by name where there is nothing else to tell them apart."""
        likeness = self.words + self.names + self.descriptions
        return -likeness, self.old["name"], self.new["name"]

    @property
    def is_likely(self) -> bool:
        """Whether they are the same tool. That neither takes parameters says nothing."""
        if self.words == 1 or self.descriptions >= _NEARLY_THE_SAME:
            return True
        return bool(properties(as_object(self.old.get("input_schema"))))


def likely_renames(gone: Iterable[JsonObject], new: Iterable[JsonObject]) -> dict[str, str]:
    """New names by old ones: of tools that vanished and came with equal schemas.

    Where several have equal schemas, those with the most similar names and descriptions belong
    together. A tool without parameters is as any other such tool, so it must also be called or
    described alike. Of thousands with equal schemas only those described alike are found.
    """
    found: dict[str, str] = {}
    taken: set[str] = set()
    for pair in sorted(_pairs(_by_schemas(gone), _by_schemas(new)), key=lambda pair: pair.order):
        old, one = pair.old["name"], pair.new["name"]
        if pair.is_likely and old not in found and one not in taken:
            found[old] = one
            taken.add(one)
    return found


def as_if_named(name: str, *definitions: JsonObject) -> list[JsonObject]:
    """Definitions as if all had this name, also in what SDKs make of the name."""
    schemas = ("input_schema", "output_schema")
    return [
        {k: _untitled(x) if k in schemas else x for k, x in definition.items()} | {"name": name}
        for definition in definitions
    ]


def _by_schemas(definitions: Iterable[JsonObject]) -> dict[str, list[JsonObject]]:
    found: dict[str, list[JsonObject]] = defaultdict(list)
    for definition in definitions:
        # One that is too deep to be written is like no other.
        with suppress(RecursionError, ValueError):
            found[_schemas(definition)].append(definition)
    return found


def _schemas(definition: JsonObject) -> str:
    """Both as text, without their titles: some SDKs make those of the name of the tool."""
    both = [_untitled(definition.get(name)) for name in ("input_schema", "output_schema")]
    return json.dumps(both, sort_keys=True, default=str)


def _untitled(schema: Any) -> Any:
    if not isinstance(schema, dict):
        return schema
    return {name: x for name, x in cast(JsonObject, schema).items() if name != "title"}


def _pairs(gone: dict[str, list[JsonObject]], new: dict[str, list[JsonObject]]) -> Iterator[_Pair]:
    left = _MOST_PAIRS
    groups = [(old, new[schemas]) for schemas, old in gone.items() if schemas in new]
    for old, came in sorted(groups, key=lambda group: len(group[0]) * len(group[1])):
        left -= len(old) * len(came)
        pairs = ((x, y) for x in old for y in came) if left >= 0 else _described_alike(old, came)
        yield from (_compared(x, y) for x, y in pairs if x["name"] != y["name"])


def _described_alike(
    gone: list[JsonObject], came: list[JsonObject]
) -> Iterator[tuple[JsonObject, JsonObject]]:
    """Those of which no others have the same description."""
    old, new = _by_description(gone), _by_description(came)
    for description in old.keys() & new.keys():
        if description and len(old[description]) == len(new[description]) == 1:
            yield old[description][0], new[description][0]


def _by_description(definitions: list[JsonObject]) -> dict[str, list[JsonObject]]:
    found: dict[str, list[JsonObject]] = defaultdict(list)
    for definition in definitions:
        found[str(definition.get("description") or "")].append(definition)
    return found


def _compared(old: JsonObject, new: JsonObject) -> _Pair:
    told, tells = str(old.get("description") or ""), str(new.get("description") or "")
    was_called, is_called = str(old["name"]), str(new["name"])
    return _Pair(
        old,
        new,
        words=float(_has_the_same_words(was_called, is_called)),
        names=_likeness(was_called, is_called),
        descriptions=_likeness(told, tells) if told and tells else 0.0,
    )


def _likeness(old: str, new: str) -> float:
    if old == new:
        return 1.0
    matcher = SequenceMatcher(None, old[:_COMPARED_CHARS], new[:_COMPARED_CHARS], autojunk=False)
    return matcher.ratio()


def _has_the_same_words(old: str, new: str) -> bool:
    """Whether one name is the other written differently, or with words before or behind it."""
    one, other = ({x.lower() for x in _PART.findall(name)} for name in (old, new))
    return bool(one and other) and (one <= other or other <= one)
