"""Whether agents learn from what they do: the key `learn` of several sections, and a variable."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .document import Place, kind_of

LEARN_VARIABLE = "XAI_MCP_LEARN"

_SWITCH = {"on": True, "true": True, "1": True, "off": False, "false": False, "0": False}


def read_learns(value: Any, place: Place, environ: Mapping[str, str], notes: list[str]) -> bool:
    """Whether it is on, which it is where nothing is said."""
    if named := environ.get(LEARN_VARIABLE, "").strip().lower():
        value, place = _SWITCH.get(named, named), Place(LEARN_VARIABLE)
    if value is None:
        return True
    if not isinstance(value, bool):
        # Somebody meant to say something about what is remembered of people.
        problem = f"must be true or false, but is {kind_of(value)}."
        fix = "Write true or false, or on or off in the variable; it counts as false until then."
        notes.append(str(place.error(problem, fix)))
        return False
    return value
