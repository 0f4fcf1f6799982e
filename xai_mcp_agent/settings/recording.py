"""What is kept of a call besides that it was made: nothing, unless somebody asks for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

from .document import Place, kind_of

ENVIRONMENT_VARIABLE = "XAI_MCP_RECORD"
ARGUMENTS, RESULTS = _WHAT = "arguments", "results"

_NOTHING = "none"
_FIX = f'Write "{ARGUMENTS}", "{RESULTS}", or both.'
_NOT_RECORDED = "It is not recorded until then."


def recorded_by(
    written: Any, place: Place, environ: Mapping[str, str]
) -> tuple[frozenset[str], list[str]]:
    """Which of the two are kept, and notes about what is wrong with what was written.

    `XAI_MCP_RECORD` decides when it is set: both words, one, or `none`.
    """
    if named := environ.get(ENVIRONMENT_VARIABLE, "").strip():
        words = named.replace(",", " ").lower().split()
        return _known([x for x in words if x != _NOTHING], Place(ENVIRONMENT_VARIABLE))
    if written is None:
        return frozenset(), []
    if not isinstance(written, list):
        problem = f"must be a list, but is {kind_of(written)}."
        return frozenset(), [f"{place.error(problem, _FIX)} {_NOT_RECORDED}"]
    return _known(cast(list[Any], written), place)


def _known(words: Iterable[Any], place: Place) -> tuple[frozenset[str], list[str]]:
    given = list(words)
    known = frozenset(x for x in _WHAT if x in given)
    if all(x in _WHAT for x in given):
        return known, []
    problem = "has something in it that cannot be recorded."  # not quoted: it may be anything
    return known, [f"{place.error(problem, _FIX)} {_NOT_RECORDED}"]
