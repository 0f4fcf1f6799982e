"""Preferences of a person: tools that are always shown, never used, or trusted.

A name may belong to a tool, a server and a group at once; then it means all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias

from ..core.patterns import Fits, globs, guard, names_of, unmatched_patterns, with_groups
from ..core.tools import ToolKey

Has: TypeAlias = Callable[[ToolKey], bool]
"""Returns whether a tool is in a group."""


@dataclass(frozen=True, slots=True)
class _Matcher:
    """The meaning of some patterns: names that fit, and groups without patterns."""

    fits: Fits
    sets: tuple[Has, ...]

    def has(self, key: ToolKey) -> bool:
        return any(map(self.fits, names_of(key))) or any(has(key) for has in self.sets)


@dataclass(frozen=True)
class Preferences:
    """Patterns of tools, and the groups of patterns that these may name.

    A pattern is the name of a tool, a server or a group, or `server/tool`, each perhaps with `*` in
    it. Blocked names also block names that look alike; the others are compared with case. `sets`
    are groups without patterns: functions that know whether a tool is in them.
    """

    always_shown: tuple[str, ...] = ()
    blocked: tuple[str, ...] = ()
    trusted: tuple[str, ...] = ()
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    sets: Mapping[str, Has] = field(default_factory=dict[str, Has])

    def merge(self, other: Preferences) -> Preferences:
        """Return the preferences of both. A group of the same name has the patterns of both."""
        names = dict.fromkeys((*self.groups, *other.groups))
        return Preferences(
            (*self.always_shown, *other.always_shown),
            (*self.blocked, *other.blocked),
            (*self.trusted, *other.trusted),
            {x: (*self.groups.get(x, ()), *other.groups.get(x, ())) for x in names},
            {**self.sets, **other.sets},
        )

    def is_always_shown(self, key: ToolKey) -> bool:
        """Return whether it is shown in every request."""
        return self._always_shown.has(key)

    def is_blocked(self, key: ToolKey) -> bool:
        """Return whether agents may not use it; never for a tool without a source."""
        return bool(key.source and self.blocked) and self._blocked.has(key)

    def is_trusted(self, key: ToolKey) -> bool:
        """Return whether it comes before other tools that fit as well."""
        return self._trusted.has(key)

    def unmatched(self, tools: Iterable[ToolKey], sources: Iterable[str] = ()) -> tuple[str, ...]:
        """Return the patterns that name none of these tools and sources, and no group."""
        names = {
            *self.groups,
            *self.sets,
            *sources,
            *(name for key in tools for name in names_of(key)),
        }
        return unmatched_patterns((*self.always_shown, *self.blocked, *self.trusted), names)

    @property
    def all_blocked(self) -> tuple[str, ...]:
        """Return the patterns of blocked tools, with the patterns of groups."""
        return self._with_groups(self.blocked)

    @cached_property
    def _always_shown(self) -> _Matcher:
        return self._matcher(self.always_shown)

    @cached_property
    def _blocked(self) -> _Matcher:
        return replace(self._matcher(self.blocked), fits=guard(*self.all_blocked))

    @cached_property
    def _trusted(self) -> _Matcher:
        return self._matcher(self.trusted)

    def _matcher(self, patterns: Iterable[str]) -> _Matcher:
        fits = globs(self._with_groups(patterns))
        return _Matcher(fits, tuple(x for name, x in self.sets.items() if fits(name)))

    def _with_groups(self, patterns: Iterable[str]) -> tuple[str, ...]:
        return with_groups(patterns, self.groups)
