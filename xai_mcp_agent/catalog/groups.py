"""Sets of tools: the groups of the settings, and the choice of a toolbelt."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice

from ..core.names import did_you_mean
from ..core.patterns import Fits, fits, globs, is_wild, names_of, unmatched_patterns
from ..core.tools import Tool, ToolKey
from ..settings.sections import GroupSettings

_MOST_CANDIDATES = 1_000  # the search for the nearest of more names takes too long


class ToolGroup:
    """Group of the settings. `kinds` has the kind of each usable source by name."""

    def __init__(self, settings: GroupSettings, kinds: Mapping[str, str]) -> None:
        self.name = settings.name
        self._settings = settings
        self._kinds = kinds
        self._selectors = [
            {field: tuple(map(fits, patterns)) for field, patterns in selector.items()}
            for selector in settings.selectors
        ]
        self._include = frozenset(settings.include)
        self._exclude = {pattern: fits(pattern) for pattern in settings.exclude}

    @cached_property
    def sources(self) -> tuple[str, ...]:
        """Return the sources whose tools may be in the group, in the order of the settings."""
        included = {source for source, _ in self._include}
        return tuple(
            source
            for source, kind in self._kinds.items()
            if source in included or any(_may_fit(x, source, kind) for x in self._selectors)
        )

    def has(self, tool: Tool) -> bool:
        """Return whether a tool is in the group."""
        is_in = (tool.source, tool.name) in self._include or any(
            all(_any_fits(patterns, _TEXTS[field](tool)) for field, patterns in selector.items())
            for selector in self._selectors
        )
        return is_in and not _any_fits(self._exclude.values(), names_of(tool.key))

    def describe_unknown(self) -> tuple[str, ...]:
        """Return a line for each source of the group that does not exist, with the nearest name."""
        sources = [x for selector in self._settings.selectors for x in selector.get("source", ())]
        plain = [x for x in sources if not is_wild(x)]
        names = dict.fromkeys((*plain, *(x for x, _ in self._settings.include)))
        return tuple(
            f"The group {self.name!r} names the source {x!r}, which does not exist or is "
            f"switched off. {did_you_mean(x, self._kinds)}".rstrip()
            for x in names
            if x not in self._kinds
        )

    def describe_unmatched(
        self, tools: Sequence[Tool], failed: Collection[str] = ()
    ) -> tuple[str, ...]:
        """Return a line for each tool, included or excluded by name, that does not exist.

        `tools` are all tools of its sources, except `failed` ones, which may have any tool. A
        misspelt `exclude` leaves its tool in the group.
        """
        keys = {(x.source, x.name) for x in tools}
        lines = [
            f"The group {self.name!r} names the tool {f'{source}/{name}'!r}, which does not exist. "
            f"{did_you_mean(name, _some(x.name for x in tools if x.source == source))}".rstrip()
            for source, name in self._settings.include
            if source in self._kinds and source not in failed and (source, name) not in keys
        ]
        if any(x in failed for x in self.sources):
            return tuple(lines)
        lines += [
            f"The group {self.name!r} excludes {pattern!r}, which does not exist."
            for pattern, fit in self._exclude.items()
            # Patterns may be for tools that do not exist yet.
            if not is_wild(pattern) and not any(_any_fits([fit], names_of(x.key)) for x in tools)
        ]
        if not any(map(self.has, tools)):
            lines.append(f"The group {self.name!r} has no tools: nothing matches it.")
        return tuple(lines)


_TEXTS: Mapping[str, Callable[[Tool], tuple[str, ...]]] = {
    "source": lambda tool: (tool.source,),
    "kind": lambda tool: (tool.key.kind,),
    "name": lambda tool: (tool.name,),
    "tags": lambda tool: tool.tags,
    "method": lambda tool: (tool.operation.method.upper(),) if tool.operation else (),
    "path": lambda tool: (tool.operation.path,) if tool.operation else (),
}
"""Texts of a tool by the fields of selectors; of each field one pattern must fit one text."""


def _may_fit(selector: Mapping[str, tuple[Fits, ...]], source: str, kind: str) -> bool:
    """Return whether tools of a source may fit."""
    texts = {"source": source, "kind": kind}
    return all(_any_fits(selector[field], (texts[field],)) for field in texts if field in selector)


def _any_fits(patterns: Iterable[Fits], texts: tuple[str, ...]) -> bool:
    for fit in patterns:  # plain loops: called for thousands of tools
        for text in texts:
            if fit(text):
                return True
    return False


@dataclass(frozen=True)
class ToolFilter:
    """Filter of a source's or group's tools: all or `only` these, and none of `without`."""

    only: tuple[str, ...] | None = None
    without: tuple[str, ...] = ()

    def joined(self, other: ToolFilter) -> ToolFilter:
        """Return the union of two filters, without tools that either leaves out."""
        only = None
        if self.only is not None and other.only is not None:
            only = tuple(dict.fromkeys((*self.only, *other.only)))
        return ToolFilter(only, tuple(dict.fromkeys((*self.without, *other.without))))

    def takes(self, tool: Tool) -> bool:
        """Return whether a tool is selected."""
        return self._only is None or any(map(self._only, _own_names(tool.key)))

    def leaves_out(self, tool: Tool) -> bool:
        """Return whether a tool is in `without`."""
        return any(map(self._without, _own_names(tool.key)))

    def has(self, tool: Tool) -> bool:
        """Return whether a tool passes the filter."""
        return self.takes(tool) and not self.leaves_out(tool)

    def describe_unmatched(self, tools: Sequence[Tool]) -> tuple[str, ...]:
        """Return a line for each name of the filter that no tool has."""
        names = {name for tool in tools for name in _own_names(tool.key)}
        wrong = unmatched_patterns((*(self.only or ()), *self.without), names)
        nearest = _some(tool.name for tool in tools)
        return tuple(f"{x!r}. {did_you_mean(x, nearest)}".rstrip() for x in wrong)

    @cached_property
    def _only(self) -> Fits | None:
        return None if self.only is None else globs(self.only)

    @cached_property
    def _without(self) -> Fits:
        return globs(self.without)


EVERYTHING = ToolFilter()


def _own_names(key: ToolKey) -> tuple[str, ...]:
    """Return the names of a tool for a filter, without its source's."""
    return tuple(x for x in names_of(key) if x == key.name or x != key.source)


@dataclass(frozen=True)
class ToolChoice:
    """Tools of a toolbelt: of whole sources and of groups, perhaps filtered.

    `filters` are by the names of sources and groups. No group brings back a tool that the filter of
    its source leaves out.
    """

    sources: tuple[str, ...]
    groups: tuple[ToolGroup, ...] = ()
    filters: Mapping[str, ToolFilter] = field(default_factory=dict[str, ToolFilter])

    @cached_property
    def all_sources(self) -> tuple[str, ...]:
        """Return the sources that must be connected for the toolbelt."""
        of_groups = (name for group in self.groups for name in group.sources)
        return tuple(dict.fromkeys((*self.sources, *of_groups)))

    def sources_of(self, name: str) -> tuple[str, ...]:
        """Return the sources of the group of this name, or the name itself as a source's."""
        return next((x.sources for x in self.groups if x.name == name), (name,))

    def part(self, name: str) -> Callable[[Tool], bool]:
        """Return a predicate for tools of the source or group of this name."""
        group = next((x for x in self.groups if x.name == name), None)
        return group.has if group else lambda tool: tool.source == name

    @property
    def is_everything(self) -> bool:
        """Return whether it has all tools of its sources."""
        return not self.groups and not self.filters

    def has(self, tool: Tool) -> bool:
        """Return whether a tool is in the toolbelt."""
        own = self.filters.get(tool.source, EVERYTHING)
        if own.leaves_out(tool):
            return False
        if tool.source in self.sources and own.takes(tool):
            return True
        return any(self._is_of(group, tool) for group in self.groups)

    def select(self, tools: Sequence[Tool]) -> Sequence[Tool]:
        """Return the tools that are in the toolbelt."""
        return tools if self.is_everything else [x for x in tools if self.has(x)]

    def describe_unmatched(
        self, tools: Sequence[Tool], failed: Collection[str] = ()
    ) -> tuple[str, ...]:
        """Return lines about names that match nothing; see `ToolGroup.describe_unmatched`."""
        lines = [line for x in self.groups for line in x.describe_unknown()]
        lines += [line for x in self.groups for line in x.describe_unmatched(tools, failed)]
        for name, chosen in self.filters.items():
            part = list(filter(self.part(name), tools))
            lines += [f"{name} has no tool {x}" for x in chosen.describe_unmatched(part)]
            if part and not any(map(chosen.has, part)):
                lines.append(
                    f"{name} gives no tool: `tools` and `except_tools` of its node leave none of "
                    f"its {len(part):,}."
                )
        return tuple(lines)

    def _is_of(self, group: ToolGroup, tool: Tool) -> bool:
        return self.filters.get(group.name, EVERYTHING).has(tool) and group.has(tool)


def _some(names: Iterable[str]) -> list[str]:
    return list(islice(names, _MOST_CANDIDATES))
