"""What a person prefers: which tools are always shown, never used, or trusted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from ..core.patterns import Patterns, idle, names_of
from ..core.tools import ToolKey


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
        return self._pinned.name(key)

    def is_blocked(self, key: ToolKey) -> bool:
        """Whether agents may not use it. A tool without a source of its own never is."""
        return bool(key.source) and self._blocked.name(key)

    def is_trusted(self, key: ToolKey) -> bool:
        """Whether it comes before others that fit as well."""
        return self._trusted.name(key)

    def idle(self, tools: Iterable[ToolKey], sources: Iterable[str] = ()) -> tuple[str, ...]:
        """The patterns that name none of these tools and sources, and no group."""
        names = {*self.groups, *sources, *(name for key in tools for name in names_of(key))}
        return idle((*self.pinned, *self.blocked, *self.trusted), names)

    @cached_property
    def _pinned(self) -> Patterns:
        return Patterns.of(self._with_groups(self.pinned))

    @cached_property
    def _blocked(self) -> Patterns:
        return Patterns.of(self._with_groups(self.blocked))

    @cached_property
    def _trusted(self) -> Patterns:
        return Patterns.of(self._with_groups(self.trusted))

    def _with_groups(self, patterns: Iterable[str]) -> tuple[str, ...]:
        """These, and those in the groups they name, however deep. Groups may name each other."""
        found = dict.fromkeys(patterns)
        waiting = list(found)
        while waiting:
            pattern = waiting.pop()
            named = Patterns.of([pattern])
            groups = (x for name, x in self.groups.items() if named.fit_any([name]))
            fresh = [x for group in groups for x in group if x not in found]
            found.update(dict.fromkeys(fresh))
            waiting += fresh
        return tuple(found)
