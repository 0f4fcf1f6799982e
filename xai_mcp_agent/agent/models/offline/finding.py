"""Tools that are not shown: what to search for, and what the searches of a conversation found."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ....core.provider_schema import FunctionSpec
from ....planning.careful.searching import Search, ToolSearch
from ....search.meta_tools import META_TOOLS, TOOL_SEARCH
from ...planning_tools import PLANNING_TOOLS
from .conversation import Outcome

_SEARCH = TOOL_SEARCH.name
_META = frozenset(x.name for x in META_TOOLS)
# By name and description: what a person draws may be called `list_tools`, too.
_CHOOSING = frozenset((x.name, x.description) for x in PLANNING_TOOLS)
# `name(param: type, other?: type) - first sentence [server]`, the best first.
_LINE = re.compile(r"^([\w-]{1,64})\(", re.MULTILINE)


def is_meta(name: str) -> bool:
    """Whether this is a function that finds others."""
    return name in _META


def is_for_choosing(function: FunctionSpec) -> bool:
    """Whether it finds, chooses or plans others: rules do that themselves."""
    return is_meta(function.name) or (function.name, function.description) in _CHOOSING


def tool_search_of(
    functions: Sequence[FunctionSpec], earlier: Iterable[Outcome], outcomes: Iterable[Outcome]
) -> ToolSearch:
    """What can be searched, and was before and since the person's last words."""
    tool = next((x.name for x in functions if x.name == _SEARCH), None)
    new = _searches(outcomes)
    found = (name for x in new.values() for name in x.names)
    return ToolSearch(tool, {**_searches(earlier), **new}, frozenset(found))


def _searches(outcomes: Iterable[Outcome]) -> dict[str, Search]:
    return {
        str(x.arguments.get("query")): Search(error=x.error)
        if x.is_error
        else Search(tuple(dict.fromkeys(_LINE.findall(x.text))))
        for x in outcomes
        if x.name == _SEARCH
    }
