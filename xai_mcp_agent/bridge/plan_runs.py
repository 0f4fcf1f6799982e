"""Runs of plans by the agent loop: the tools of their calls, and the file to resume from."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import anyio
from anyio import to_thread

from ..agent.conversation import Conversation
from ..agent.events import RunEvent, ToolFinished, ToolStarted
from ..agent.loop import AgentRun, AgentSpec
from ..agent.messages import ToolCall
from ..agent.models.plan import OUTCOME_UNKNOWN, PlanModel, number_of
from ..agent.results import ResultPages
from ..agent.run_file import RunFileError, WaitingRun, lock_run, place_of
from ..agent.state import RunState
from ..agent.toolsets import AgentTools, FixedToolset
from ..agent.window import ContextWindow
from ..core.approval import RunApprovals, RunFacts
from ..core.calls import Caller, ToolInvocation
from ..core.errors import (
    BadSetting,
    NotApproved,
    SourceClosed,
    ToolDisabled,
    ToolTimeout,
    XaiMcpError,
)
from ..core.names import did_you_mean
from ..core.results import ToolResult, result_as_json, result_from_json
from ..core.schemas import properties
from ..core.shell import shell_command, tool_command
from ..core.tools import Tool, ToolKey
from ..planning.plan import Plan, digest_of_plan, tool_of
from ..planning.plan_run import Place, PlanRun
from ..search.preferences import Preferences
from .context import OperationContext
from .streams import Tell
from .transcript import new_run_id

_REFUSED = "Call {}, {}, may not be made: it is {}. Nothing was called."
# One for the answer, and one that is never reached: the last turn has no tools.
_TURNS_BESIDE_CALLS = 2


class PlanTools(FixedToolset):
    """Tools of a plan's calls; each call goes through the call pipeline.

    `uncertain` are the positions of calls without a result that may have been carried out.
    """

    def __init__(
        self, context: OperationContext, plan: Plan, source: str, timeout_seconds: float | None
    ) -> None:
        self._context = context
        self._plan = plan
        self._timeout_seconds = timeout_seconds
        self._keys = [tool_of(x, source) for x in plan.calls]
        self._tools: Sequence[Tool] = ()
        self.by_call: dict[int, Tool] = {}
        self.uncertain = set[int]()

    @property
    def reads(self) -> set[int]:
        """Return the calls of read-only tools, which may be repeated."""
        return {n for n, x in self.by_call.items() if x.annotations.read_only}

    async def prepare(self, finished: Collection[int], preferences: Preferences) -> None:
        """Look up the tools of the remaining calls, and check that they may be called.

        Raises:
            BadPlan, UnknownServer, UnknownTool, SettingsError, SourceFailed, ToolDisabled: a tool
                cannot be called; no call is made.
        """
        context = self._context
        remaining = {n: x for n, x in enumerate(self._keys) if n not in finished}
        sources = dict.fromkeys(source for source, _ in remaining.values())
        for source in sources:
            context.settings.source(source)
        await context.wait_for(*sources)
        self.by_call = {n: await context.tool(*x) for n, x in remaining.items()}
        self._tools = tuple({x.key: x for x in self.by_call.values()}.values())
        await context.engine.decisions.read()
        for number, tool in self.by_call.items():
            if why := next(context.obstacles(tool, preferences), None):
                name = self._plan.calls[number].name
                raise ToolDisabled(_REFUSED.format(number + 1, name, why))

    def check(self, arguments: Mapping[Place, object]) -> None:
        """Refuse arguments for parameters that a tool does not have.

        Raises:
            BadSetting: a tool does not have the parameter; the message has the nearest name.
        """
        for number, name in arguments:
            tool = self.by_call.get(number)  # None for a finished call
            if tool is None or tool.input_schema.get("additionalProperties") is True:
                continue
            parameters = properties(tool.input_schema)
            if parameters and name not in parameters:
                place, places = f"{number + 1}.{name}", [f"{number + 1}.{x}" for x in parameters]
                raise BadSetting(
                    f"{tool.name} has no parameter for {place!r:.80}. "
                    f"{did_you_mean(place, places)}".rstrip()
                )

    async def call(self, invocation: ToolInvocation) -> ToolResult:
        """Make one call; see `CallPipeline`."""
        try:
            # A person is asked about the tool by its own name.
            invocation = replace(invocation, shown_name="", timeout_seconds=self._timeout_seconds)
            return await self._context.call(invocation)
        except (SourceClosed, ToolTimeout):  # the arguments of an earlier process are unknown
            if not invocation.tool.annotations.read_only:
                self.uncertain.add(number_of(invocation.call_id))
            raise
        except NotApproved as refused:
            raise XaiMcpError(str(refused) or refused.for_model) from None


class SavedRun:
    """Run of a plan: the state that it resumes from, and its file, if it has one.

    The file is written before and after each call, so that no call is made twice, even if the
    process ends. `arguments` are all values that replace the plan's, so far.

    Raises:
        BadSetting: the run is of another plan.
    """

    def __init__(
        self, before: WaitingRun, plan: Plan, arguments: Mapping[Place, object], *, has_file: bool
    ) -> None:
        if before.request_digest != digest_of_plan(plan):
            raise BadSetting(
                "This run belongs to another plan, or the plan has changed since. Continue "
                "with the original plan, or begin a new run."
            )
        self._run = before
        self._plan = plan
        self.has_file = has_file
        self._writing = anyio.Lock()
        self._saved = before.plan or {}
        earlier = {(call, name): value for call, name, value in self._saved.get("given", ())}
        self.arguments: dict[Place, object] = {**earlier, **arguments}

    @property
    def finished(self) -> set[int]:
        """Return the positions of finished calls."""
        of_turn = (number_of(x.call_id) for x in self._run.state.made.values())
        return {*map(int, self._saved.get("results", {})), *of_turn}

    def caller(
        self, caller: Caller, agent: str, granted: set[tuple[ToolKey, str]], facts: RunFacts
    ) -> Caller:
        """Return the caller of the run's calls, with the facts and approvals so far."""
        before = self._run
        granted.update(before.granted)
        facts.merge(before.facts)
        return replace(
            caller,
            kind="agent",
            name=agent,
            run=self._saved.get("run") or caller.run or new_run_id(),
            approvals=RunApprovals(granted, before.answers, waits=True),
            facts=facts,
        )

    async def model(self, tools: PlanTools) -> PlanModel:
        """Return the plan as a model, with the results so far."""
        model = PlanModel(self._plan, self.arguments, tools.reads, tools.uncertain)
        for number, (result, seconds) in self._saved.get("results", {}).items():
            await model.add_result(int(number), result_from_json(result), seconds)
        for event in self._run.state.made.values():
            await model.add_result(number_of(event.call_id), event.result, event.seconds)
        return model

    def uncertain(self, reads: Collection[int], again: int | None) -> ToolCall | None:
        """Return the call that may have been carried out, unless it is the one to make `again`.

        Raises:
            BadSetting: `again` names another call.
        """
        state = self._run.state
        begun = [state.pending[n] for n in state.begun if n not in state.made]
        call = next((x for x in begun if number_of(x.id) not in reads), None)
        if again is None:
            return call
        if call is not None and number_of(call.id) == again:
            return None
        raise BadSetting(
            f"Call {again + 1} cannot be made again: only one that may have been carried out, and "
            "has no result, can."
        )

    async def go(
        self,
        tools: PlanTools,
        model: PlanModel,
        context: OperationContext,
        tell: Tell,
        again: int | None,
    ) -> PlanRun:
        """Make the remaining calls, as far as possible now.

        Raises:
            BadSetting: `again` names no call that may have been carried out.
            RunFileError: the file cannot be written.
        """
        if call := self.uncertain(tools.reads, again):
            number = number_of(call.id)
            problem = OUTCOME_UNKNOWN.format(number + 1, self._plan.calls[number].name)
            return PlanRun("unknown", model.finished, problem=problem, waiting_run=self._run)
        caller, before = context.caller, self._run.state
        # The plan asks again for a pending call; an answer to it counts.
        start = replace(before, pending=(), made={}, begun=(), awaiting={})
        turns = start.step + len(self._plan.calls) + _TURNS_BESIDE_CALLS
        spec = AgentSpec(caller.name, model, max_thoughts=turns, window=ContextWindow(0))

        async def emit(event: RunEvent) -> None:
            if isinstance(event, ToolFinished):
                await model.add_result(number_of(event.call_id), event.result, event.seconds)
            if isinstance(event, ToolStarted | ToolFinished):
                await self._write(model, caller, lambda: run.progress)
            tell(event)

        run = AgentRun(spec, start, emit, caller)
        agent_tools = AgentTools([tools], context.engine.definitions, start.names)
        model.shown_name = lambda number: agent_tools.shown_name(tools.by_call[number].key)
        finished = await run.go(agent_tools, ResultPages(lambda _: ""))
        state = run.state
        if model.status == "unknown":
            state = replace(state, pending=tuple(model.pending.values()), begun=(0,))
        await self._write(model, caller, lambda: state)
        return self._outcome(model, state, finished.stopped)

    def _outcome(self, model: PlanModel, state: RunState, stopped: str) -> PlanRun:
        run = PlanRun(
            model.status, model.finished, model.missing, model.problem, waiting_run=self._run
        )
        if stopped != "waiting" or not state.awaiting:
            return run
        place = min(state.awaiting)
        awaiting = state.awaiting[place]
        number = number_of(state.pending[place].id)
        problem = (
            f"Call {number + 1}, {self._plan.calls[number].name}, waits for an approval. Nothing "
            f"was sent.{self._next_step(awaiting.key)}"
        )
        return replace(run, status="waiting", missing=(), problem=problem, awaiting=awaiting)

    async def _write(self, model: PlanModel, caller: Caller, state: Callable[[], RunState]) -> None:
        async with self._writing:
            facts = RunFacts()
            facts.merge(caller.facts)  # a copy: others change it meanwhile
            results = {
                str(n): (result_as_json(result), seconds)
                for n, (result, seconds) in model.results.items()
            }
            arguments = [[call, name, value] for (call, name), value in self.arguments.items()]
            self._run = replace(
                self._run,
                agent=caller.name,
                state=state(),
                granted=tuple(sorted(caller.approvals.granted)),
                facts=facts,
                plan={"run": caller.run, "given": arguments, "results": results},
            )
            if self.has_file:
                with anyio.CancelScope(shield=True):
                    await to_thread.run_sync(self._run.write)

    def _next_step(self, key: ToolKey) -> str:
        if self.has_file:
            command = shell_command("xai-mcp-agent", "plan", "approve", str(self._run.file))
            action = (
                f"answer with `{command}`, then run the plan again with this file: it continues."
            )
        else:
            command = tool_command("approve", key.source, key.name)
            action = (
                "run it where you can answer, store the run in a file to continue from, or approve "
                f"this tool for good with `{command}`."
            )
        return f"\n  Next step: {action}"


@asynccontextmanager
async def saved_run(
    resume: PlanRun | WaitingRun | str | Path | None, plan: Plan, arguments: Mapping[Place, object]
) -> AsyncGenerator[SavedRun]:
    """Return the run to resume, or a new one; a file stays locked meanwhile.

    Raises:
        BadSetting: the run is of another plan.
        RunFileError: the file cannot be used, or another process uses it.
    """
    before = resume.waiting_run if isinstance(resume, PlanRun) else resume
    state = RunState(Conversation(plan.request or "Run the plan."))
    new = WaitingRun(Path(), "", digest_of_plan(plan), state)
    if before is None or isinstance(before, WaitingRun):
        yield SavedRun(before or new, plan, arguments, has_file=False)
        return
    with ExitStack() as locks:
        new = replace(new, file=place_of(before))
        before = await to_thread.run_sync(partial(_read, new, locks))
        yield SavedRun(before, plan, arguments, has_file=True)


def _read(new: WaitingRun, locks: ExitStack) -> WaitingRun:
    file = new.file
    if file.is_dir() or not os.access(file.parent, os.W_OK):
        raise RunFileError(f"{file} cannot be written. Name another file for the run.")
    locks.enter_context(lock_run(file))
    return WaitingRun.read(file) if file.exists() else new
