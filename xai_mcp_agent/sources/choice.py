"""The tools of a source that are offered: `include`, `exclude` and `disabledTools`."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Protocol

from ..core.names import did_you_mean
from ..core.patterns import globs, guard, unmatched_guards, unmatched_patterns


class _Lists(Protocol):
    @property
    def include(self) -> tuple[str, ...]: ...
    @property
    def exclude(self) -> tuple[str, ...]: ...
    @property
    def disabled_tools(self) -> tuple[str, ...]: ...


@dataclass(frozen=True)
class NameChoice:
    """The offered names, the disabled names, and notes on patterns that match nothing."""

    names: tuple[str, ...]
    disabled: tuple[str, ...]
    notes: tuple[str, ...]


def choose(names: Collection[str], lists: _Lists, absent: str) -> NameChoice:
    """Choose among the tools of a source; `absent` ends the sentence about an unknown name."""
    is_included, is_excluded = globs(lists.include or ["*"]), globs(lists.exclude)
    is_off = guard(*lists.disabled_tools)
    included = [x for x in names if is_included(x) and not is_excluded(x)]
    offered = tuple(x for x in included if not is_off(x))
    return NameChoice(offered, tuple(filter(is_off, included)), tuple(_notes(names, lists, absent)))


def _notes(names: Collection[str], lists: _Lists, absent: str) -> Iterator[str]:
    idle = {
        "include": unmatched_patterns(lists.include, names),
        "exclude": unmatched_patterns(lists.exclude, names),
        "disabledTools": unmatched_guards(lists.disabled_tools, names),
    }
    for key, patterns in idle.items():
        for pattern in patterns:
            hint = did_you_mean(pattern, list(names))
            yield f"`{key}` names {pattern!r}, {absent}. {hint}".rstrip()
