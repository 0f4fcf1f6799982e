"""What the settings say of how long the history is kept: the section `history`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from .document import Place, kind_of

SECTION = "history"
_KEYS = ("keep", "max_mb")
_FIX = "Write a number above 0, or null for no limit."


@dataclass(frozen=True, slots=True)
class Retention:
    """Events are kept for so many days, and no more than so many megabytes; None: no limit."""

    days: float | None = 400
    megabytes: float | None = 200


def read_retention(written: Any, place: Place, notes: list[str]) -> Retention:
    """What is written there; what is wrong is added to the notes, and the default counts."""
    usual = Retention()
    if written is None:
        return usual
    if not isinstance(written, dict):
        problem = f"must be an object, but is {kind_of(written)}."
        notes.append(str(place.error(problem, 'Write {"keep": 400, "max_mb": 200}.')))
        return usual
    given = cast(Mapping[str, Any], written)
    for key in given.keys() - set(_KEYS):
        problem = "is not known here."
        notes.append(str(place.at(str(key)).error(problem, f"Known: {', '.join(_KEYS)}.")))
    limits = zip(_KEYS, (usual.days, usual.megabytes), strict=True)
    return Retention(*(_limit(given, key, place, default, notes) for key, default in limits))


def _limit(
    given: Mapping[str, Any], key: str, place: Place, default: float | None, notes: list[str]
) -> float | None:
    value = given.get(key, default)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0:
        notes.append(str(place.at(key).error("must be a number above 0.", _FIX)))
        return default
    return value
