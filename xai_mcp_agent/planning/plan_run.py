"""How far a plan was carried out, as a value that can be written as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, TypeAlias

from ..core.approval import AwaitedCall, awaited_from_json
from ..core.errors import BadSetting
from ..core.json import JsonObject
from ..core.names import did_you_mean
from ..steps.results import parsed
from .plan import Plan, digest_of_plan, missing_in

RunStatus: TypeAlias = Literal["running", "finished", "missing", "waiting", "failed", "unknown"]
"""missing: an argument must be given. waiting: for somebody's approval. failed: a call did.
unknown: whether a call was carried out, as its process ended, or its server was lost, meanwhile."""

STATUSES: tuple[RunStatus, ...] = (
    "running", "finished", "missing", "waiting", "failed", "unknown",
)  # fmt: skip

_MOST_DIGITS = 6  # of the number of a call

Place: TypeAlias = tuple[int, str]
"""A call by its place in the plan, from 0 on, and one of its parameters."""


@dataclass(frozen=True, slots=True)
class MadeCall:
    """A call that was made: what it gave, as data where it is any, and as text."""

    value: Any
    text: str
    seconds: float = 0.0

    def to_json(self) -> JsonObject:
        """For a file, without a value that its text says, too: that may be large and deep."""
        told: JsonObject = {"text": self.text, "seconds": self.seconds}
        return told if self._is_in_text() else {**told, "value": self.value}

    @staticmethod
    def from_json(value: JsonObject) -> MadeCall:
        """The call that was written so."""
        text = value["text"]
        found = value["value"] if "value" in value else parsed(text)
        return MadeCall(found, text, value["seconds"])

    def _is_in_text(self) -> bool:
        try:
            return bool(self.value == parsed(self.text))
        except RecursionError:
            return True  # deeper than a file could have it


@dataclass(frozen=True, slots=True)
class Lacking:
    """An argument that somebody must give before its call can be made, and why."""

    call: int
    parameter: str
    reason: str


@dataclass(frozen=True, slots=True)
class PlanRun:
    """A plan that is carried out: `made` are its first calls, `status` is how it stands.

    `problem` says why it stopped, where, and what to do. `lacking` are arguments to give, those of
    the next call first. `given` were given so far. `begun`: the next call may have been carried
    out already. `awaiting` is the call that waits for somebody. `plan` is the plan's digest,
    `context` what whoever makes the calls has to know of the run when it goes on.
    """

    plan: str
    status: RunStatus = "running"
    made: tuple[MadeCall, ...] = ()
    given: tuple[tuple[Place, Any], ...] = ()
    begun: bool = False
    awaiting: AwaitedCall | None = None
    lacking: tuple[Lacking, ...] = ()
    problem: str = ""
    context: JsonObject = field(default_factory=dict[str, Any])

    @staticmethod
    def of(plan: Plan) -> PlanRun:
        """Nothing is done yet."""
        return PlanRun(digest_of_plan(plan))

    @property
    def is_finished(self) -> bool:
        """Whether all calls were made."""
        return self.status == "finished"

    @property
    def results(self) -> list[Any]:
        """What the calls gave, in their order."""
        return [x.value for x in self.made]

    @property
    def result(self) -> Any:
        """What the last call gave; None before the first."""
        return self.made[-1].value if self.made else None

    @property
    def text(self) -> str:
        """The same as text."""
        return self.made[-1].text if self.made else ""

    def with_given(self, given: Mapping[Place, Any]) -> PlanRun:
        """With these arguments, too."""
        return replace(self, given=tuple({**dict(self.given), **given}.items()))

    def to_json(self) -> JsonObject:
        """For a file; `from_json` reads it back."""
        return {
            "plan": self.plan,
            "status": self.status,
            "made": [x.to_json() for x in self.made],
            "given": [[call, name, value] for (call, name), value in self.given],
            "begun": self.begun,
            "awaiting": None if self.awaiting is None else asdict(self.awaiting),
            "lacking": [asdict(x) for x in self.lacking],
            "problem": self.problem,
            "context": self.context,
        }

    @staticmethod
    def from_json(value: JsonObject) -> PlanRun:
        """The run that was written so.

        Raises:
            KeyError, TypeError, ValueError: it is none.
        """
        awaited, status = value["awaiting"], value["status"]
        if status not in STATUSES:
            raise ValueError(f"it has the status {status!r}")
        return PlanRun(
            value["plan"],
            status,
            tuple(MadeCall.from_json(x) for x in value["made"]),
            tuple(((call, name), x) for call, name, x in value["given"]),
            value["begun"],
            None if awaited is None else awaited_from_json(awaited),
            tuple(Lacking(**x) for x in value["lacking"]),
            value["problem"],
            value["context"],
        )


def places_of(given: Mapping[Any, Any], plan: Plan) -> dict[Place, Any]:
    """What is given, by place: a key is one, or a text as `2.reader`, or `reader`.

    In a text calls are counted from 1, as people do. Without a number it is for every call that
    lacks this parameter.

    Raises:
        BadSetting: the plan has no such call, or lacks no such parameter, or it is no JSON.
    """
    found: dict[Place, Any] = {}
    for key, value in given.items():
        _check_json(key, value)
        for place in _places(key, plan):
            found[place] = value
    return found


def _check_json(key: Any, value: Any) -> None:
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as cause:
        raise BadSetting(
            f"What is given for {key!r:.80} cannot be sent: {cause}. Give what JSON can hold."
        ) from cause


def _places(key: Any, plan: Plan) -> list[Place]:
    match key:
        case (int(call), str(name)) if 0 <= call < len(plan.calls):
            return [(call, name)]
        case str():
            number, dot, name = key.partition(".")
            is_number = number.isdecimal() and len(number) <= _MOST_DIGITS
            if dot and is_number and 0 < int(number) <= len(plan.calls) and name:
                return [(int(number) - 1, name)]
            lacking = [(n, x) for n, x in lacking_of(plan) if x == key]
            if lacking:
                return lacking
        case _:
            pass
    known = [f"{n + 1}.{name}" for n, name in lacking_of(plan)]
    hint = f"{nearest} " if (nearest := did_you_mean(str(key), known)) else ""
    raise BadSetting(
        f"The plan has no place for {key!r:.80}. {hint}Name a call, from 1 to {len(plan.calls)}, a "
        "dot, and its parameter, such as `1.query`."
    )


def lacking_of(plan: Plan) -> list[Place]:
    """The arguments that a plan lacks."""
    return [
        (number, name)
        for number, call in enumerate(plan.calls)
        for name, source in call.arguments.items()
        if missing_in(source)
    ]
