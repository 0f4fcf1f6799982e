"""Named groups of tools: the section `groups`, as values.

What is wrong in a group makes that group unusable, and nothing else: read without it, the group
would be another one than somebody meant.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from ..core.errors import SettingsError
from ..core.names import did_you_mean
from ..core.patterns import fits
from .document import Place, kind_of, repeated_keys
from .interpolation import Variables

SECTION = "groups"
FIELDS = ("source", "name", "tags", "method", "path", "kind")
"""What a selector may ask for."""

_KEYS = ("selectors", "include", "exclude")
_SHAPE = 'Write {"selectors": [{"source": "library", "name": "get_*"}]}.'
_TEXTS = 'Write a text such as "get_*" or "regex:get_.+", or a list of them.'
_TOOL = 'Write source/tool, such as "library/lend_book".'


@dataclass(frozen=True)
class GroupSettings:
    """One group. A tool is in it that fits a selector, or is in `include`, and not in `exclude`.

    A selector has patterns (see `core.patterns.fits`) by fields; one of each field must fit.
    `include` are sources and names of tools, `exclude` patterns for tools and sources.
    """

    name: str
    selectors: tuple[Mapping[str, tuple[str, ...]], ...] = ()
    include: tuple[tuple[str, str], ...] = ()
    exclude: tuple[str, ...] = ()


@dataclass(frozen=True)
class GroupsSettings:
    """All groups by their names, and why others cannot be used."""

    groups: Mapping[str, GroupSettings] = field(default_factory=dict[str, GroupSettings])
    problems: Mapping[str, SettingsError] = field(default_factory=dict[str, SettingsError])


def read_groups(
    written: Any, place: Place, variables: Variables, sources: Iterable[str], notes: list[str]
) -> GroupsSettings:
    """The groups that are written there; `sources` are the names that they may not have.

    What is wrong with one is added to the notes too: nobody may use it yet.
    """
    groups: dict[str, GroupSettings] = {}
    problems: dict[str, SettingsError] = {}
    for key, value in _object(written, place, notes).items():
        name, there = str(key), place.at(str(key))
        try:
            groups[name] = _group(name, value, there, variables, sources)
        except SettingsError as raised:
            # A new one: what was raised holds the frames it came through.
            known = raised.file, raised.key_path, raised.problem, raised.fix
            problems[name] = SettingsError(*known)
            notes.append(f"{raised} Until then the group {name!r} cannot be used.")
    return GroupsSettings(groups, problems)


def _object(written: Any, place: Place, notes: list[str]) -> Mapping[Any, Any]:
    if written is None:
        return {}
    if isinstance(written, Mapping):
        return cast(Mapping[Any, Any], written)
    problem = f"must be an object, but is {kind_of(written)}."
    notes.append(str(place.error(problem, 'Write {"name": {"selectors": [...]}}.')))
    return {}


def _group(
    name: str, value: Any, place: Place, variables: Variables, sources: Iterable[str]
) -> GroupSettings:
    if not name.strip():
        raise place.error("a group needs a name.", "Put one before the colon.")
    if name in sources:
        raise place.error("a source of this file has this name too.", "Rename one of them.")
    if not isinstance(value, Mapping):
        raise place.error(f"must be an object, but is {kind_of(value)}.", _SHAPE)
    given = _checked(cast(Mapping[Any, Any], value), place, _KEYS)
    below = place.at("selectors")
    group = GroupSettings(
        name,
        tuple(
            _selector(x, below.at(i), variables)
            for i, x in enumerate(_list(given.get("selectors"), below, _SHAPE))
        ),
        tuple(_tool(x, place.at("include")) for x in _texts_at(given, "include", place, variables)),
        _usable(_texts_at(given, "exclude", place, variables), place.at("exclude")),
    )
    if not group.selectors and not group.include:
        raise place.error("no tool can be in it.", f"{_SHAPE} Or name tools under `include`.")
    return group


def _selector(value: Any, place: Place, variables: Variables) -> Mapping[str, tuple[str, ...]]:
    if not isinstance(value, Mapping):
        fix = 'Write {"source": "library"}, or "name", "tags", "method", "path", "kind" in it.'
        raise place.error(f"must be an object, but is {kind_of(value)}.", fix)
    given = _checked(cast(Mapping[Any, Any], value), place, FIELDS)
    found = {x: _patterns(given[x], place.at(x), variables, x) for x in given}
    if not found:
        raise place.error("it says nothing.", 'Write {"name": "*"} if all tools are meant.')
    return found


def _patterns(value: Any, place: Place, variables: Variables, field_name: str) -> tuple[str, ...]:
    found = _texts(value, place, variables)
    if not found:
        raise place.error("is empty, so nothing would fit.", _TEXTS)
    if field_name == "method":  # in any case in a document
        found = tuple(x if x.startswith("regex:") else x.upper() for x in found)
    return _usable(found, place)


def _usable(patterns: tuple[str, ...], place: Place) -> tuple[str, ...]:
    for pattern in patterns:
        try:
            fits(pattern)
        except ValueError as cause:
            raise place.error(
                f"has a regular expression that cannot be used: {cause}.", _TEXTS
            ) from None
    return patterns


def _texts_at(
    given: Mapping[str, Any], key: str, place: Place, variables: Variables
) -> tuple[str, ...]:
    return _texts(given.get(key, ()), place.at(key), variables)


def _texts(value: Any, place: Place, variables: Variables) -> tuple[str, ...]:
    values = (value,) if isinstance(value, str) else _list(value, place, _TEXTS)
    if not all(isinstance(x, str) and x.strip() for x in values):
        raise place.error("has something in it that is no text, or an empty one.", _TEXTS)
    return tuple(variables.expand(x, place).strip() for x in values)


def _tool(text: str, place: Place) -> tuple[str, str]:
    source, slash, tool = text.partition("/")
    if not (source and slash and tool):
        raise place.error(f"{text!r} does not say of which source it is.", _TOOL)
    return source, tool


def _list(value: Any, place: Place, fix: str) -> tuple[Any, ...]:
    if value is None:
        return ()
    if not isinstance(value, list | tuple):
        raise place.error(f"must be a list, but is {kind_of(value)}.", fix)
    return tuple(cast(Iterable[Any], value))


def _checked(given: Mapping[Any, Any], place: Place, known: tuple[str, ...]) -> Mapping[str, Any]:
    """The object, every key of which is known: one that is not could make a group larger."""
    for there in repeated_keys(given, place):
        raise there.error("this key is written more than once.", "Join them.")
    for key in given:
        if key not in known:
            hint = did_you_mean(str(key), known) or f"The keys are: {', '.join(known)}."
            raise place.at(str(key)).error("this key is not known.", hint)
    return {str(key): value for key, value in given.items() if value is not None}
