"""What a person prefers: which tools are always shown, never used, or trusted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

from ..core.tools import ToolKey

_Parts: TypeAlias = tuple[str, ...]
"""A pattern, cut at each `*`."""


@dataclass(frozen=True)
class Preferences:
    """Patterns of tools, and the groups of patterns that these may name.

    A pattern is the name of a tool, of a server, or `server/tool`, or that of a group, each
    perhaps with `*` in it. Names are compared with case.
    """

    pinned: tuple[str, ...] = ()
    blocked: tuple[str, ...] = ()
    trusted: tuple[str, ...] = ()
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])

    def joined(self, other: Preferences) -> Preferences:
        """What either of the two prefers. A group of both has what it has in either."""
        names = dict.fromkeys((*self.groups, *other.groups))
        return Preferences(
            (*self.pinned, *other.pinned),
            (*self.blocked, *other.blocked),
            (*self.trusted, *other.trusted),
            {x: (*self.groups.get(x, ()), *other.groups.get(x, ())) for x in names},
        )

    def is_pinned(self, key: ToolKey) -> bool:
        """Whether it is shown in every request."""
        return _is_named(self._pinned, key)

    def is_blocked(self, key: ToolKey) -> bool:
        """Whether agents may not use it. A tool without a source of its own never is."""
        return bool(key.source) and _is_named(self._blocked, key)

    def is_trusted(self, key: ToolKey) -> bool:
        """Whether it comes before others that fit as well."""
        return _is_named(self._trusted, key)

    def idle(self, tools: Iterable[ToolKey], sources: Iterable[str] = ()) -> tuple[str, ...]:
        """The patterns that name none of these tools and sources, and no group."""
        names = {*self.groups, *sources, *(name for key in tools for name in _names(key))}
        patterns = dict.fromkeys((*self.pinned, *self.blocked, *self.trusted))
        return tuple(
            x for x in patterns if x not in names and not ("*" in x and _fits_any(_parts(x), names))
        )

    @cached_property
    def _pinned(self) -> _Patterns:
        return _Patterns.of(self._with_groups(self.pinned))

    @cached_property
    def _blocked(self) -> _Patterns:
        return _Patterns.of(self._with_groups(self.blocked))

    @cached_property
    def _trusted(self) -> _Patterns:
        return _Patterns.of(self._with_groups(self.trusted))

    def _with_groups(self, patterns: Iterable[str]) -> tuple[str, ...]:
        """These, and those in the groups they name, however deep. Groups may name each other."""
        found = dict.fromkeys(patterns)
        waiting = list(found)
        while waiting:
            pattern = waiting.pop()
            groups = (x for name, x in self.groups.items() if _fits(_parts(pattern), name))
            fresh = [x for group in groups for x in group if x not in found]
            found.update(dict.fromkeys(fresh))
            waiting += fresh
        return tuple(found)


@dataclass(frozen=True, slots=True)
class _Patterns:
    """Patterns, parted in names, which are looked up, and those with `*`."""

    names: frozenset[str]
    wild: tuple[_Parts, ...]

    @staticmethod
    def of(patterns: Iterable[str]) -> _Patterns:
        given = tuple(patterns)
        wild = tuple(_parts(x) for x in given if "*" in x)
        return _Patterns(frozenset(x for x in given if "*" not in x), wild)


def _is_named(patterns: _Patterns, key: ToolKey) -> bool:
    if not patterns.names and not patterns.wild:
        return False
    names = _names(key)
    if not patterns.names.isdisjoint(names):
        return True
    return any(_fits_any(x, names) for x in patterns.wild)


def _fits_any(pattern: _Parts, names: Iterable[str]) -> bool:
    return any(_fits(pattern, name) for name in names)


def _names(key: ToolKey) -> tuple[str, ...]:
    if not key.source:
        return (key.name,)
    return key.name, key.source, f"{key.source}/{key.name}", f"{key.source}.{key.name}"


def _parts(pattern: str) -> _Parts:
    return tuple(pattern.split("*"))


def _fits(pattern: _Parts, name: str) -> bool:
    """Whether it is this name, with any text in place of each `*`. Quick, whatever the name."""
    if not name.startswith(first := pattern[0]):
        return False
    if len(pattern) == 1:
        return first == name
    last, middle = pattern[-1], pattern[1:-1]
    at, end = len(first), len(name) - len(last)
    if end < at or not name.endswith(last):
        return False
    for part in middle:
        at = name.find(part, at, end) + len(part)
        if at < len(part):
            return False
    return True
