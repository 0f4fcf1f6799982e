"""A plan as a model: the agent loop makes its calls without a language model."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from itertools import takewhile

from anyio import to_thread

from ...core.names import join_names
from ...core.results import ToolResult
from ...planning.plan import Plan, step_arguments, why_missing
from ...planning.plan_run import FinishedCall, MissingArgument, Place, RunStatus
from ...steps.references import references_in
from ...steps.results import NotInResult, StepResult, fill, value_of
from ..messages import ToolCall
from .base import ModelReply, ModelRequest, OnAgain, OnText

OUTCOME_UNKNOWN = (
    "Call {0}, {1}, may have been carried out: the run ended before it had a result. Check what "
    "came of it. Then repeat it (`again` of MCPRunPlan, `--again {0}` of `plan run`), or make a "
    "plan of the rest."
)
_MAX_NAMES = 12  # of arguments, in a message for people
_DEFAULT_ANSWER = "The plan was carried out."


class PlanModel:
    """A model that asks for a plan's calls and answers with their outcome. For one run.

    It asks for read-only calls together, once all their references have results, and for a call
    that may change something alone and in its turn. `replacements` holds arguments that replace the
    plan's. `reads` are the read-only calls, `uncertain` the failed ones that may have had an
    effect. References are filled from whole results; see `add_result`.

    `status`, `problem` and `missing` say how the run ended.

    Raises:
        BadPlan: a call refers to a later one, or a field is no path.
    """

    name = "plan"
    calls_functions = True
    is_program = True
    """Its text is the answer verbatim: results may contain calls and thinking."""

    def __init__(
        self,
        plan: Plan,
        replacements: Mapping[Place, object],
        reads: Collection[int],
        uncertain: Collection[int],
    ) -> None:
        self._plan = plan
        self._reads = reads
        self._uncertain = uncertain
        self._steps = step_arguments(plan)
        for (number, name), value in replacements.items():
            self._steps[number][name] = value
        self._without_value = tuple(
            MissingArgument(number, name, why)
            for number, call in enumerate(plan.calls)
            for name, source in call.arguments.items()
            if (why := why_missing(source)) and (number, name) not in replacements
        )
        self._failed: dict[int, str] = {}
        self.results: dict[int, tuple[ToolResult, float]] = {}
        self.finished: dict[int, FinishedCall] = {}
        self.pending: dict[int, ToolCall] = {}
        self.shown_name: Callable[[int], str] = str
        self.status: RunStatus = "finished"
        self.problem = ""
        self.missing: tuple[MissingArgument, ...] = ()

    async def add_result(self, number: int, result: ToolResult, seconds: float) -> None:
        """Add the whole result of a call; a later run repeats a failed call."""
        if result.is_error:
            self._failed[number] = result.text
            return
        value = await to_thread.run_sync(value_of, result)
        self.results[number] = (result, seconds)
        self.finished[number] = FinishedCall(value, result.text, round(seconds, 3))

    async def reply(
        self, request: ModelRequest, on_text: OnText, on_again: OnAgain | None = None
    ) -> ModelReply:
        """Ask for the next calls, or report how the run ended."""
        if self._failed:
            self._report_failure(min(self._failed))
        elif calls := await to_thread.run_sync(self._next_calls):
            self.pending = {number_of(x.id): x for x in calls}
            return ModelReply("", calls, "tool_calls")
        if self.problem:  # not as text, so that calls quoted in it are not taken for calls
            return ModelReply("", refusal=self.problem)
        last = self.finished[max(self.finished)].text if self.finished else ""
        return ModelReply(last or _DEFAULT_ANSWER)

    async def aclose(self) -> None:
        """Do nothing: nothing is open."""

    def _next_calls(self) -> tuple[ToolCall, ...]:
        """Return the calls that can be made now; if none can, set `missing`."""
        remaining = [n for n in range(len(self._steps)) if n not in self.finished]
        candidates = list(takewhile(lambda x: x in self._reads, remaining)) or remaining[:1]
        all_missing: list[MissingArgument] = []
        calls: list[ToolCall] = []
        for number in candidates:
            arguments, step = dict[str, object](), self._steps[number]
            missing = [x for x in self._without_value if x.call == number]
            if any(x.result not in self.finished for x in references_in(step)):
                continue
            for name, value in step.items():
                try:
                    arguments[name] = fill(value, self._step_results(number))
                except NotInResult as reason:
                    missing.append(MissingArgument(number, name, str(reason)))
            if not missing:
                words = json.dumps(arguments, ensure_ascii=False)
                calls.append(ToolCall(f"call_{number + 1}", self.shown_name(number), words))
            all_missing += missing
        if all_missing and not calls:
            later = (x for x in self._without_value if x.call > all_missing[-1].call)
            self._stop((*all_missing, *later))
        return tuple(calls)

    def _step_results(self, number: int) -> list[StepResult]:
        calls = self._plan.calls[:number]
        values = [self.finished[n].value if n in self.finished else None for n in range(number)]
        return [
            StepResult(value, f"call {n}, {call.name}")
            for n, (value, call) in enumerate(zip(values, calls, strict=True), 1)
        ]

    def _stop(self, missing: tuple[MissingArgument, ...]) -> None:
        first = missing[0]
        names = join_names([f"`{x.call + 1}.{x.parameter}`" for x in missing], _MAX_NAMES)
        reason = first.reason if first.reason.endswith((".", "?", "!")) else f"{first.reason}."
        self.status, self.missing = "missing", missing
        self.problem = (
            f"Call {first.call + 1}, {self._plan.calls[first.call].name}, was not made: "
            f"`{first.parameter}` is missing: {reason} Give {names}, and run the plan again: it "
            "goes on there."
        )

    def _report_failure(self, number: int) -> None:
        call, reason = self._plan.calls[number], self._failed[number]
        problem = f"Call {number + 1}, {call.name}, failed: {reason or 'it did not say why'}"
        if number in self._uncertain:
            self.status = "unknown"
            self.problem = f"{problem}\n{OUTCOME_UNKNOWN.format(number + 1, call.name)}"
            return
        names = [f"`{number + 1}.{x}`" for x in call.arguments]
        more = ["another one"] if len(names) > _MAX_NAMES else []
        either = " or ".join([*names[:_MAX_NAMES], *more])
        other = f", or give another value for {either}," if names else ""
        self.status = "failed"
        self.problem = (
            f"{problem}\n  Next step: fix that{other} and run it again: call {number + 1} is made "
            "anew."
        )


def number_of(call_id: str) -> int:
    """Return the place of a call in the plan, counted from 0."""
    return int(call_id.removeprefix("call_")) - 1
