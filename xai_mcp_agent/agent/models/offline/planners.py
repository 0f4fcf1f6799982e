"""Planners of the tools that are offered: made once for the same functions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from ....core.provider_schema import FunctionSpec
from ....planning.planner import Planner

# A selection of tools grows during a run; of some runs at once the last few are kept.
_KEPT_PLANNERS = 16


def planner_of(functions: Sequence[FunctionSpec]) -> Planner:
    """The planner of these functions, which it knows by name; the same objects give the same one
    while it is kept."""
    return _kept(_Same(tuple(functions)))


class _Same:
    """Functions that equal only the same objects: comparing what they say takes longer."""

    def __init__(self, functions: tuple[FunctionSpec, ...]) -> None:
        self.functions = functions
        self._ids = tuple(map(id, functions))

    def __hash__(self) -> int:
        return hash(self._ids)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self._ids == other._ids


@lru_cache(maxsize=_KEPT_PLANNERS)
def _kept(same: _Same) -> Planner:
    return Planner(
        {
            "id": x.name,
            "name": x.name,
            "description": x.description,
            "input_schema": x.parameters,
            "read_only": x.read_only,
        }
        for x in same.functions
    )
