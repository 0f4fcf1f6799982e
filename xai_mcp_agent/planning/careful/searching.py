"""Tools that the planner does not have: what to search for, and what was found by it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..reading.hints import changes_unit, hints_in
from ..reading.parts import Part
from ..reading.words import is_generic, is_stop, stem, unit_name

WIDELY = "search list find all"
"""Finds what can be looked into, whatever it holds."""
MOST_FOUND = 20  # by such a search
_FEW_WORDS = 2  # so few may need what they mean to be said in other words
_PUNCTUATION = ".,;:!?\"'()[]{}"


@dataclass(frozen=True, slots=True)
class Search:
    """What one search gave: keys of tools, the best first; an `error` when it failed."""

    names: tuple[str, ...] = ()
    error: str = ""


@dataclass(frozen=True)
class ToolSearch:
    """The tool that searches for tools, where there is one, and what it found, by its words.

    It takes a `query`. `new` are the tools that it gave since the request.
    """

    tool: Any = None
    done: Mapping[str, Search] = field(default_factory=dict[str, Search])
    new: frozenset[str] = frozenset()


def _unit_names(part: Part) -> list[str]:
    """The usual names of the units that a part converts: `centimetre` for `centimeters`."""
    if not changes_unit(part):
        return []
    stated = [x for x in part.mentions if x.kind in ("unit", "phrase", "name")]
    return [name for x in stated if (name := unit_name(str(x.value)))]


def query_of(part: Part) -> str:
    """The words of a part that say what is to be done; empty when they say nothing."""
    said = [x.strip(_PUNCTUATION) for x in part.matching_text().split()]
    telling = [x for x in said if x and not is_stop(stem(x))]
    meant = [x for x, weight in hints_in(part).items() if weight == 1]
    telling += [x for x in _unit_names(part) if x not in telling]
    if len(telling) > _FEW_WORDS:
        return " ".join(telling)
    says_much = meant or any(not is_generic(stem(x)) for x in telling)
    if says_much:
        return " ".join(dict.fromkeys([*telling, *meant]))
    # Names of places may be names of other things.
    return " ".join(x.text for x in part.mentions if x.kind == "zone")
