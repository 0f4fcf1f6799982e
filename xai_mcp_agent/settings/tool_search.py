"""What the settings say of which tools a model is shown: the section `toolSearch`.

What is wrong in it is noted, and the default counts; except for what is blocked, where a slip must
not open a door.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from ..core.errors import SettingsError
from .document import Place, kind_of
from .interpolation import Variables

SECTION = "toolSearch"
BUDGET_VARIABLE = "XAI_TOOL_BUDGET"
DEFAULT_BUDGET_TOKENS = 3_800
"""About 22 full definitions of real servers, or 140 lines of a search."""

_KEYS = ("tokenBudget", "pin", "blocked", "trusted", "groups", "learn", "embeddings")
_PATTERNS = 'Write texts such as "library", "files/read_file" or "files/read_*".'


@dataclass(frozen=True)
class ToolSearchSettings:
    """`budget_tokens` is the most that the definitions in one request take.

    `pinned`, `blocked` and `trusted` name tools, servers and `groups`; see `search.preferences`.
    With `learns` the words that led to a tool are remembered for the next search. `embeddings` is
    the endpoint or the folder of a model that searches by meaning, as it is written there.
    """

    budget_tokens: int = DEFAULT_BUDGET_TOKENS
    pinned: tuple[str, ...] = ()
    blocked: tuple[str, ...] = ()
    trusted: tuple[str, ...] = ()
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    learns: bool = True
    embeddings: Mapping[str, Any] = field(default_factory=dict[str, Any])


def read_tool_search(
    written: Any, place: Place, variables: Variables, notes: list[str]
) -> ToolSearchSettings:
    """What is written there; what is wrong with it is added to the notes.

    `XAI_TOOL_BUDGET` decides when it is set.

    Raises:
        SettingsError: what is blocked cannot be told.
    """
    section = _Section(place, notes)
    given = section.objects(written, place)
    for key in given:
        if key not in _KEYS:
            notes.append(place.at(str(key)).note("this key is not known."))
    return ToolSearchSettings(
        _budget(given.get("tokenBudget"), place.at("tokenBudget"), variables.environ, notes),
        section.patterns(given, "pin"),
        _patterns(given.get("blocked"), place.at("blocked")),
        section.patterns(given, "trusted"),
        section.groups(given),
        section.flag(given, "learn"),
        section.objects(given.get("embeddings"), place.at("embeddings")),
    )


@dataclass(frozen=True)
class _Section:
    """Reads parts of the section; a wrong one is noted and left out."""

    place: Place
    notes: list[str]

    def objects(self, value: Any, place: Place) -> Mapping[str, Any]:
        """An object, or nothing."""
        if value is None or isinstance(value, Mapping):
            return cast(Mapping[str, Any], value or {})
        self._refuse(place, f"must be an object, but is {kind_of(value)}.", "Write {...}.")
        return {}

    def patterns(self, given: Mapping[str, Any], key: str) -> tuple[str, ...]:
        """Names of tools, servers and groups."""
        try:
            return _patterns(given.get(key), self.place.at(key))
        except SettingsError as reason:
            self.notes.append(str(reason))
            return ()

    def groups(self, given: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
        """The groups by their names."""
        groups = self.objects(given.get("groups"), self.place.at("groups"))
        inner = _Section(self.place.at("groups"), self.notes)
        return {str(name): inner.patterns(groups, str(name)) for name in groups}

    def flag(self, given: Mapping[str, Any], key: str) -> bool:
        """Whether it is on, which it is where nothing is said."""
        value = given.get(key, True)
        if not isinstance(value, bool):
            place, problem = self.place.at(key), f"must be true or false, but is {kind_of(value)}."
            # Somebody meant to say something about what is remembered of people.
            self._refuse(place, problem, "Write true or false; it counts as false until then.")
            return False
        return value

    def _refuse(self, place: Place, problem: str, fix: str) -> None:
        self.notes.append(str(place.error(problem, fix)))


def _patterns(value: Any, place: Place) -> tuple[str, ...]:
    given = [value] if isinstance(value, str) else value or []
    if not isinstance(given, list):
        raise place.error(f"must be a list, but is {kind_of(given)}.", _PATTERNS)
    found = cast(list[Any], given)
    if not all(isinstance(x, str) and x.strip() for x in found):
        raise place.error("has something in it that names no tool.", _PATTERNS)
    return tuple(x.strip() for x in found)


def _budget(value: Any, place: Place, environ: Mapping[str, str], notes: list[str]) -> int:
    if named := environ.get(BUDGET_VARIABLE, "").strip():
        is_number = named.isascii() and named.isdecimal()
        value, place = int(named[:9]) if is_number else named, Place(BUDGET_VARIABLE)
    if value is None:
        return DEFAULT_BUDGET_TOKENS
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        fix = f"Write the most tokens for tools, such as 3800; {DEFAULT_BUDGET_TOKENS} until then."
        notes.append(str(place.error("must be a whole number above 0.", fix)))
        return DEFAULT_BUDGET_TOKENS
    return value
