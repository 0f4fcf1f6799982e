"""What the settings say of plans: the section `planning`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from ..core.names import did_you_mean
from .document import Place, kind_of
from .learning import read_learns

SECTION = "planning"
_KEYS = ("learn",)


@dataclass(frozen=True, slots=True)
class PlanningSettings:
    """With `learns`, runs that went well are remembered for plans: see `bridge.learning`."""

    learns: bool = True


def read_planning(
    written: Any, place: Place, environ: Mapping[str, str], notes: list[str]
) -> PlanningSettings:
    """What is written there; what is wrong is added to the notes, and nothing is learned then."""
    if written is not None and not isinstance(written, Mapping):
        problem = f"must be an object, but is {kind_of(written)}."
        fix = 'Write {"learn": true}, or leave it out; nothing is learned until then.'
        notes.append(str(place.error(problem, fix)))
        written = {"learn": False}
    given = cast("Mapping[str, Any]", written or {})
    for key in (str(x) for x in given if x not in _KEYS):
        notes.append(place.at(key).note(f"this key is not known. {did_you_mean(key, _KEYS)}"))
    return PlanningSettings(read_learns(given.get("learn"), place.at("learn"), environ, notes))
