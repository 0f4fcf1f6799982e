"""What a person prefers: which tools are always shown, never used, or trusted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from ..core.tools import ToolKey

_MOST_NESTED = 4  # a group may name groups


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
        """What either of the two prefers."""
        return Preferences(
            (*self.pinned, *other.pinned),
            (*self.blocked, *other.blocked),
            (*self.trusted, *other.trusted),
            {**self.groups, **other.groups},
        )

    def is_pinned(self, key: ToolKey) -> bool:
        """Whether it is shown in every request."""
        return self._names(self.pinned, key)

    def is_blocked(self, key: ToolKey) -> bool:
        """Whether agents may not use it. A tool without a source of its own never is."""
        return bool(key.source) and self._names(self.blocked, key)

    def is_trusted(self, key: ToolKey) -> bool:
        """Whether it comes before others that fit as well."""
        return self._names(self.trusted, key)

    def _names(self, patterns: Iterable[str], key: ToolKey, depth: int = _MOST_NESTED) -> bool:
        return any(self._is_named(x, key, depth) for x in patterns)

    def _is_named(self, pattern: str, key: ToolKey, depth: int) -> bool:
        names = (key.name, key.source, f"{key.source}/{key.name}", f"{key.source}.{key.name}")
        if any(name and fnmatchcase(name, pattern) for name in names):
            return True
        return depth > 0 and self._names(self.groups.get(pattern, ()), key, depth - 1)
