"""Outcome of a plan's run, and the values that a person supplies."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from ..core.approval import AwaitedCall
from ..core.errors import BadSetting
from ..core.names import did_you_mean
from .plan import Plan, why_missing

RunStatus: TypeAlias = Literal["finished", "missing", "waiting", "failed", "unknown"]
"""missing: an argument has no value. waiting: for an approval. failed: a call failed. unknown: a
call may have been carried out when its process ended or its server was lost.
"""

Place: TypeAlias = tuple[int, str]
"""Position of a call in the plan, from 0, and one of its parameters."""


@dataclass(frozen=True, slots=True)
class FinishedCall:
    """Finished call: its result as data, if any, and as text."""

    value: Any
    text: str
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class MissingArgument:
    """Argument without a value, so that its call cannot be made, and why."""

    call: int
    parameter: str
    reason: str


@dataclass(frozen=True, slots=True)
class PlanRun:
    """Progress of a plan: `calls` are its finished calls, by position.

    `problem` says why it stopped, where, and what to do. `missing` are arguments without a
    value, the next call's first. `awaiting` is the call that waits for approval. `waiting_run` is
    the `WaitingRun` to resume from.
    """

    status: RunStatus
    calls: Mapping[int, FinishedCall]
    missing: tuple[MissingArgument, ...] = ()
    problem: str = ""
    awaiting: AwaitedCall | None = None
    waiting_run: Any = None

    @property
    def is_finished(self) -> bool:
        """Return whether all calls were made."""
        return self.status == "finished"

    @property
    def results(self) -> list[Any]:
        """Return the results of the calls in the order of the plan."""
        return [self.calls[x].value for x in sorted(self.calls)]

    @property
    def result(self) -> Any:
        """Return the result of the last call, or None before the first."""
        return self.calls[max(self.calls)].value if self.calls else None

    @property
    def text(self) -> str:
        """Return the result of the last call as text."""
        return self.calls[max(self.calls)].text if self.calls else ""


def places_of(values: Mapping[Any, Any], plan: Plan) -> dict[Place, Any]:
    """Return the values by place: a key is a place, or a text such as `2.reader` or `reader`.

    In a text calls are counted from 1. A text without a number applies to every call in which this
    parameter is missing.

    Raises:
        BadSetting: the plan has no such place, or a value is not JSON.
    """
    try:
        json.dumps(list(values.values()), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as cause:
        raise BadSetting(
            f"A value cannot be sent: {cause}. Use only values that JSON can hold."
        ) from cause
    return {place: value for key, value in values.items() for place in _places(key, plan)}


def _places(key: Any, plan: Plan) -> list[Place]:
    missing = [
        (number, name)
        for number, call in enumerate(plan.calls)
        for name, source in call.arguments.items()
        if why_missing(source)
    ]
    match key:
        case (int(call), str(name)) if 0 <= call < len(plan.calls):
            return [(call, name)]
        case str():
            number, _, name = key.partition(".")
            calls = {str(n + 1): n for n in range(len(plan.calls))}
            if number in calls and name:
                return [(calls[number], name)]
            if places := [x for x in missing if x[1] == key]:
                return places
        case _:
            pass
    nearest = did_you_mean(str(key), [f"{n + 1}.{name}" for n, name in missing])
    raise BadSetting(
        f"The plan has no place for {key!r:.80}. Name a call, from 1 to {len(plan.calls)}, a dot, "
        f"and its parameter, such as `1.query`. {nearest}".rstrip()
    )
