"""Carries out a plan: one call after the other, each with what earlier ones gave.

It knows no server: it is given a `call`. It stops at what somebody has to give, to approve or to
see to, and goes on from there; no call is made twice.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

from ..core.approval import ApprovalAwaited
from ..core.errors import BadSetting, NotApproved, SourceClosed, ToolTimeout, XaiMcpError
from ..core.json import JsonObject
from ..core.names import listed
from ..core.results import ToolResult
from ..steps.results import NotInResult, fill, value_of
from ..steps.results import StepResult as Result
from .plan import Plan, PlannedCall, digest_of_plan, missing_in, step_arguments
from .plan_run import Lacking, MadeCall, Place, PlanRun, RunStatus

Call: TypeAlias = Callable[[int, JsonObject], Awaitable[ToolResult]]
"""Makes the call at this place of the plan with these arguments."""

Note: TypeAlias = Callable[[PlanRun], Awaitable[None]]
"""Is told what is about to be done, and what was; what it raises ends the run."""

Aside: TypeAlias = Callable[[Callable[[], Any]], Awaitable[Any]]
"""Runs what may take long, such as taking apart a large result."""

_MAY_BE_DONE = (SourceClosed, ToolTimeout)  # what was sent then, nobody knows
_MOST_NAMES = 12  # of arguments, in what a person reads
_UNKNOWN = (
    "Call {0}, {1}, may have been carried out: the run ended before it had a result. Look what "
    "came of it. Then say that call {0} is made again, or make a plan of the rest."
)


async def run_plan(
    plan: Plan,
    call: Call,
    run: PlanRun | None = None,
    *,
    given: Mapping[Place, Any] | None = None,
    harmless: Collection[int] = (),
    again: int | None = None,
    note: Note | None = None,
    aside: Aside | None = None,
) -> PlanRun:
    """How far it came, from where `run` was left. A call that failed is made again.

    `given` are arguments by call and parameter, in place of what the plan says. `harmless` are
    calls that change nothing: whether one of them was made need not be known. `again` is the call
    that may have been carried out and is to be made once more.

    Raises:
        BadPlan: a part of a result is none, or of a call that comes later. Nothing was called.
        BadSetting: the run is of another plan, or no such call waits to be made again.
    """
    aside = aside or _at_once
    begun = await aside(lambda: _continued(plan, run or PlanRun.of(plan), again))
    steps = await aside(lambda: step_arguments(plan))
    runner = _Runner(plan, steps, call, harmless, note or _nothing, aside)
    return await runner.run(begun.with_given(given or {}))


class _Runner:
    def __init__(
        self,
        plan: Plan,
        steps: Sequence[JsonObject],
        call: Call,
        harmless: Collection[int],
        note: Note,
        aside: Aside,
    ) -> None:
        self._plan = plan
        self._steps = steps
        self._call = call
        self._harmless = harmless
        self._note = note
        self._aside = aside

    async def run(self, run: PlanRun) -> PlanRun:
        while run.status == "running" and len(run.made) < len(self._plan.calls):
            run = await self._next(run)
        if run.status == "running":
            run = replace(run, status="finished")
        await self._note(run)
        return run

    async def _next(self, run: PlanRun) -> PlanRun:
        """The run after its next call, or stopped before it."""
        number = len(run.made)
        planned = self._plan.calls[number]
        if run.begun:
            return _stopped(run, "unknown", _UNKNOWN.format(number + 1, planned.name))
        if lacking := self._lacking(run):
            return _lacks(run, planned, lacking)
        arguments = await self._aside(partial(self._arguments, run))
        if isinstance(arguments, Lacking):
            return _lacks(run, planned, (arguments,))
        # What somebody answered is used up, should the process end now.
        begun = replace(run, begun=number not in self._harmless, awaiting=None)
        await self._note(begun)
        return await self._made(begun, planned, arguments)

    async def _made(self, run: PlanRun, planned: PlannedCall, arguments: JsonObject) -> PlanRun:
        number, started = len(run.made), time.monotonic()
        try:
            result = await self._call(number, arguments)
        except ApprovalAwaited as waiting:
            why = f"Call {number + 1}, {planned.name}, waits for an approval. Nothing was sent."
            return _stopped(replace(run, begun=False, awaiting=waiting.call), "waiting", why)
        except XaiMcpError as reason:
            return _failed(run, planned, reason, is_known=not isinstance(reason, _MAY_BE_DONE))
        if result.is_error:
            return _failed(run, planned, XaiMcpError(result.text), is_known=True)
        seconds = round(time.monotonic() - started, 3)
        made = await self._aside(lambda: MadeCall(value_of(result), result.text, seconds))
        run = replace(run, begun=False, made=(*run.made, made))
        await self._note(run)
        return run

    def _lacking(self, run: PlanRun) -> tuple[Lacking, ...]:
        """What must be given before the next call, and then also what later ones need."""
        given, first = dict(run.given), len(run.made)
        found = tuple(
            Lacking(number, name, why)
            for number, call in enumerate(self._plan.calls)
            for name, source in call.arguments.items()
            if number >= first and (number, name) not in given and (why := missing_in(source))
        )
        return found if found and found[0].call == first else ()

    def _arguments(self, run: PlanRun) -> JsonObject | Lacking:
        """Those of the next call; or the one that an earlier result does not give."""
        number, calls = len(run.made), self._plan.calls
        given = {name: x for (call, name), x in run.given if call == number}
        results = [
            Result(x.value, f"call {n}, {calls[n - 1].name}") for n, x in enumerate(run.made, 1)
        ]
        arguments: JsonObject = {}
        for name, value in self._steps[number].items():
            try:
                arguments[name] = given[name] if name in given else fill(value, results)
            except NotInResult as reason:
                return Lacking(number, name, str(reason))
        return {**arguments, **given}


def _continued(plan: Plan, run: PlanRun, again: int | None) -> PlanRun:
    if run.plan != digest_of_plan(plan):
        raise BadSetting(
            "This run is of another plan, or the plan was changed since. Go on with the plan as it "
            "was, or begin a new run."
        )
    number = len(run.made)
    if again is not None:
        if not (run.begun and again == number):
            raise BadSetting(
                f"Call {again + 1} cannot be made again: only one that may have been carried out, "
                "and has no result, can."
            )
        run = replace(run, begun=False)
    return run if run.is_finished else replace(run, status="running", problem="", lacking=())


def _lacks(run: PlanRun, planned: PlannedCall, lacking: tuple[Lacking, ...]) -> PlanRun:
    first = lacking[0]
    names = listed([f"`{x.call + 1}.{x.parameter}`" for x in lacking], _MOST_NAMES)
    reason = first.reason if first.reason.endswith((".", "?", "!")) else f"{first.reason}."
    why = (
        f"Call {first.call + 1}, {planned.name}, was not made: `{first.parameter}` is missing: "
        f"{reason} Give {names}, and run the plan again: it goes on there."
    )
    return _stopped(replace(run, lacking=lacking), "missing", why)


def _failed(run: PlanRun, planned: PlannedCall, reason: XaiMcpError, *, is_known: bool) -> PlanRun:
    number = len(run.made) + 1
    said = str(reason) or (reason.for_model if isinstance(reason, NotApproved) else "")
    why = f"Call {number}, {planned.name}, failed: {said or 'it did not say why'}"
    if is_known or not run.begun:
        names = [f"`{number}.{x}`" for x in planned.arguments]
        other = f", or give another value for {_either(names)}," if names else ""
        do = f"mend that{other} and run it again: call {number} is made anew."
        return _stopped(replace(run, begun=False), "failed", f"{why}\n  Next step: {do}")
    return _stopped(run, "unknown", f"{why}\n{_UNKNOWN.format(number, planned.name)}")


def _either(names: Sequence[str]) -> str:
    more = len(names) > _MOST_NAMES
    return " or ".join([*names[:_MOST_NAMES], *(["another one"] if more else [])])


def _stopped(run: PlanRun, status: RunStatus, problem: str) -> PlanRun:
    return replace(run, status=status, problem=problem)


async def _nothing(run: PlanRun) -> None:
    pass


async def _at_once(do: Callable[[], Any]) -> Any:
    return do()
