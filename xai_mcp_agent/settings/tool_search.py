"""What the settings say of which tools a model is shown: the section `toolSearch`.

What is wrong in it is noted, and the default counts; except for what is blocked, where a slip must
not open a door.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

from ..core.errors import SettingsError
from ..core.names import did_you_mean, nearest
from .document import Place, kind_of, repeated_keys
from .embeddings import EmbeddingSettings, read_embeddings
from .interpolation import Variables
from .learning import read_learns

SECTION = "toolSearch"
BUDGET_VARIABLE = "XAI_TOOL_BUDGET"
DEFAULT_BUDGET_TOKENS = 3_800
"""About 22 full definitions of real servers, or 140 lines of a search."""

EMBEDDINGS_KEY = "embeddings"
_KEYS = ("tokenBudget", "pin", "blocked", "trusted", "groups", "learn", EMBEDDINGS_KEY)
_PATTERNS = 'Write texts such as "library", "files/read_file" or "files/read_*".'


@dataclass(frozen=True)
class ToolSearchSettings:
    """`budget_tokens` is the most that the definitions in one request take.

    `pinned`, `blocked` and `trusted` name tools, servers and `groups`; see `search.preferences`.
    With `learns` the words that led to a tool are remembered for the next search. `embeddings` is
    the model that searches by meaning besides; None: words alone count.
    """

    budget_tokens: int = DEFAULT_BUDGET_TOKENS
    pinned: tuple[str, ...] = ()
    blocked: tuple[str, ...] = ()
    trusted: tuple[str, ...] = ()
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    learns: bool = True
    embeddings: EmbeddingSettings | None = None


def read_tool_search(
    written: Any, place: Place, variables: Variables, notes: list[str]
) -> ToolSearchSettings:
    """What is written there; what is wrong with it is added to the notes.

    `XAI_TOOL_BUDGET` and `XAI_MCP_LEARN` decide when they are set.

    Raises:
        SettingsError: what is blocked cannot be told.
    """
    given = _checked(written, place, notes)
    blocked = _patterns(given.get("blocked"), place.at("blocked"), variables)
    section = _Section(place, variables, notes)
    # A wrong group may be one that is blocked.
    groups = replace(section, is_strict=bool(blocked)).groups(given)
    return ToolSearchSettings(
        _budget(given.get("tokenBudget"), place.at("tokenBudget"), variables.environ, notes),
        section.patterns(given, "pin"),
        blocked,
        section.patterns(given, "trusted"),
        groups,
        read_learns(given.get("learn"), place.at("learn"), variables.environ, notes),
        read_embeddings(
            section.objects(given, EMBEDDINGS_KEY), place.at(EMBEDDINGS_KEY), variables, notes
        ),
    )


def _checked(written: Any, place: Place, notes: list[str]) -> Mapping[str, Any]:
    """The section, if it can be read without overlooking what is blocked."""
    if written is None:
        return {}
    if not isinstance(written, Mapping):
        problem = f"must be an object, but is {kind_of(written)}."
        raise place.error(problem, 'Write {"blocked": [...]}, or leave it out.')
    for there in repeated_keys(written, place):
        raise there.error("this key is written more than once.", "Join them.")
    given = {str(key): value for key, value in cast(Mapping[Any, Any], written).items()}
    for key in (x for x in given if x not in _KEYS):
        if nearest(key, _KEYS, count=1) == ["blocked"]:
            raise place.at(key).error("this key is not known.", "Rename it to 'blocked'.")
        notes.append(place.at(key).note(f"this key is not known. {did_you_mean(key, _KEYS)}"))
    return given


@dataclass(frozen=True)
class _Section:
    """Reads parts of the section; a wrong one is noted and left out, or with `is_strict` raised."""

    place: Place
    variables: Variables
    notes: list[str]
    is_strict: bool = False

    def objects(self, given: Mapping[str, Any], key: str) -> Mapping[str, Any]:
        """An object, or nothing."""
        value = given.get(key)
        if value is None or isinstance(value, Mapping):
            return cast(Mapping[str, Any], value or {})
        problem = f"must be an object, but is {kind_of(value)}."
        self._refuse(self.place.at(key).error(problem, "Write {...}."))
        return {}

    def patterns(self, given: Mapping[str, Any], key: str) -> tuple[str, ...]:
        """Names of tools, servers and groups."""
        try:
            return _patterns(given.get(key), self.place.at(key), self.variables)
        except SettingsError as reason:
            self._refuse(reason)
            return ()

    def groups(self, given: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
        """The groups by their names."""
        groups = self.objects(given, "groups")
        inner = replace(self, place=self.place.at("groups"))
        return {str(name): inner.patterns(groups, name) for name in groups}

    def _refuse(self, reason: SettingsError) -> None:
        if self.is_strict:
            raise reason
        self.notes.append(str(reason))


def _patterns(value: Any, place: Place, variables: Variables) -> tuple[str, ...]:
    """What is written there, with variables replaced.

    Raises:
        SettingsError: it is no list of texts.
    """
    given = [value] if isinstance(value, str) else [] if value is None else value
    if not isinstance(given, list | tuple):
        raise place.error(f"must be a list, but is {kind_of(given)}.", _PATTERNS)
    found = tuple(
        variables.expand(x, place).strip() if isinstance(x, str) else ""
        for x in cast(Iterable[Any], given)
    )
    if not all(found):
        raise place.error("has something in it that names no tool.", _PATTERNS)
    return found


def _budget(value: Any, place: Place, environ: Mapping[str, str], notes: list[str]) -> int:
    named = environ.get(BUDGET_VARIABLE, "").strip()
    if named.isascii() and named.isdecimal() and int(named[:9]):
        return int(named[:9])
    budget = DEFAULT_BUDGET_TOKENS if value is None else value
    if isinstance(budget, bool) or not isinstance(budget, int) or budget < 1:
        fix = f"Write the most tokens for tools, such as 3800; {DEFAULT_BUDGET_TOKENS} until then."
        notes.append(str(place.error("must be a whole number above 0.", fix)))
        budget = DEFAULT_BUDGET_TOKENS
    if named:
        notes.append(
            f"{BUDGET_VARIABLE}={named[:40]} is no whole number above 0, so {budget} is used. "
            "Set it to the most tokens for tools, such as 3800, or unset it."
        )
    return budget
