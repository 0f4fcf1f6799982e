"""Tools that are not shown: what to search for, and what the searches of a conversation found."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ....core.provider_schema import FunctionSpec
from ....planning.reading.arguments import Filled
from ....planning.reading.hints import hints_in
from ....planning.reading.parts import Part
from ....planning.reading.tools import WordedTool
from ....planning.reading.words import is_generic, is_stop, stem
from ....search.meta_tools import META_TOOLS, TOOL_SEARCH
from ...planning_tools import PLANNING_TOOLS
from .conversation import Outcome
from .matching import worded

_SEARCH = TOOL_SEARCH.name
_META = frozenset(x.name for x in META_TOOLS)
# By name and description: what a person draws may be called `list_tools`, too.
_CHOOSING = frozenset((x.name, x.description) for x in PLANNING_TOOLS)
_FEW_WORDS = 2  # so few may need what they mean to be said in other words
_PUNCTUATION = ".,;:!?\"'()[]{}"
# `name(param: type, other?: type) - first sentence [server]`, the best first.
_LINE = re.compile(r"^([\w-]{1,64})\(", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Search:
    """What one search gave: names, the best first; an `error` when it failed."""

    names: tuple[str, ...] = ()
    error: str = ""


@dataclass(frozen=True)
class Finder:
    """The search for tools, where it is offered, and what it found so far, by its words.

    `new` are the names that it gave since the person's last words.
    """

    tool: WordedTool | None = None
    done: Mapping[str, Search] = field(default_factory=dict[str, Search])
    new: frozenset[str] = frozenset()

    def step(self, part: Part) -> tuple[WordedTool, Filled] | None:
        """The search for a tool for this part, if there is something to search for."""
        query = query_of(part)
        return (self.tool, Filled(({"query": query},))) if self.tool and query else None


def is_meta(name: str) -> bool:
    """Whether this is a function that finds others."""
    return name in _META


def is_for_choosing(function: FunctionSpec) -> bool:
    """Whether it finds, chooses or plans others: rules do that themselves."""
    return is_meta(function.name) or (function.name, function.description) in _CHOOSING


def finder_of(
    functions: Sequence[FunctionSpec], earlier: Iterable[Outcome], outcomes: Iterable[Outcome]
) -> Finder:
    """What can be searched, and was before and since the person's last words."""
    tool = next((worded(x) for x in functions if x.name == _SEARCH), None)
    new = _searches(outcomes)
    found = (name for x in new.values() for name in x.names)
    return Finder(tool, {**_searches(earlier), **new}, frozenset(found))


def query_of(part: Part) -> str:
    """The words of a part that say what is to be done; empty when they say nothing."""
    said = [x.strip(_PUNCTUATION) for x in part.matching_text().split()]
    telling = [x for x in said if x and not is_stop(stem(x))]
    meant = [x for x, weight in hints_in(part).items() if weight == 1]
    if len(telling) > _FEW_WORDS:
        return " ".join(telling)
    says_much = meant or any(not is_generic(stem(x)) for x in telling)
    return " ".join(dict.fromkeys([*telling, *meant])) if says_much else ""


def _searches(outcomes: Iterable[Outcome]) -> dict[str, Search]:
    return {
        str(x.arguments.get("query")): Search(error=x.error)
        if x.is_error
        else Search(tuple(dict.fromkeys(_LINE.findall(x.text))))
        for x in outcomes
        if x.name == _SEARCH
    }
