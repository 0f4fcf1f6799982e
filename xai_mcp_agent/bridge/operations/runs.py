"""Runs of plans: every call goes through the call pipeline.

A planner or a model made the plan, so its calls are judged as those of an agent: by rules,
approvals, locks, and what a person switched off or blocked.
"""

from __future__ import annotations

import os
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import ExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import anyio
from anyio import to_thread

from ...agent.events import ToolFinished, ToolProgressed, ToolStarted
from ...agent.signed_file import RunFileError, held, place_of, remove_used
from ...core.approval import ApprovalAwaited, RunApprovals, RunFacts
from ...core.calls import Caller, ToolInvocation, checked_limit
from ...core.errors import BadSetting, NotApproved, ToolDisabled, XaiMcpError
from ...core.json import JsonObject
from ...core.names import did_you_mean
from ...core.results import ToolResult
from ...core.schemas import properties
from ...core.shell import shown_command, tool_command
from ...core.tools import MCP, Tool, ToolKey
from ...planning.plan_file import plan_as_json, plan_from_json
from ...planning.plan_run import Place, PlanRun, places_of
from ...planning.plans import Plan
from ...planning.runner import run_plan as make_calls
from ...planning.step_values import step_arguments, tool_of
from ...search.preferences import Preferences
from ..context import Context
from ..plan_state import WaitingPlan
from ..transcript import new_run_id
from .tools import Tools

PLAN = "plan"
"""The default name of the agent that makes the calls of a plan."""

_REFUSED = "Call {}, {}, may not be made: {}. Nothing was called."

CallEvent: TypeAlias = ToolStarted | ToolProgressed | ToolFinished
Tell: TypeAlias = Callable[[CallEvent], None]
"""Gets each call and its result, on the bridge's loop."""


class Runs(Tools):
    """Runs of plans."""

    async def run_plan(
        self,
        plan: Plan | Mapping[str, Any],
        *,
        given: Mapping[Any, Any] | None = None,
        resume: PlanRun | str | Path | None = None,
        again: int | None = None,
        agent: str = PLAN,
        source: str = "",
        timeout_seconds: float | None = None,
        tell: Tell | None = None,
        forgets: bool = False,
        granted: set[tuple[ToolKey, str]] | None = None,
        facts: RunFacts | None = None,
        preferences: Preferences | None = None,
    ) -> PlanRun:
        """Make the calls of a plan one after another, until the end or the first problem.

        `given` are arguments that replace those of the plan, by `(call, parameter)` as in its
        `edges`, or by texts as in messages, which count calls from 1: `2.reader`. The run stops
        where an argument is missing, where a call fails, and where somebody must approve one: its
        calls are judged as those of an `agent`. `resume` goes on with a run, or with the run in a
        file, which a new run writes. No call is made twice; one that may have been carried out is
        made again only as `again`, counted from 1. `source` is that of tools that name none.
        `timeout_seconds` is for each call. `tell` gets each call on the bridge's own thread.

        With `forgets`, the file of a run that has finished is removed, so that the next run begins
        anew. `granted` and `facts` are those of the agent's run that this is part of, `preferences`
        those of its toolbelt.

        Raises:
            BadPlan, BadSetting: it is no plan, or has no such place; nothing was called.
            UnknownServer, UnknownTool, SettingsError, SourceFailed, ToolDisabled: one of its
                tools cannot be called; nothing was.
            RunFileError: the file cannot be used.
        """
        checked_limit(timeout_seconds)
        plan = _checked(plan)
        places = places_of(given or {}, plan)
        await self.engine.rules.renew()
        async with _run_of(resume, plan) as (before, file):
            granted = set[tuple[ToolKey, str]]() if granted is None else granted
            caller = _caller(self.caller, agent, before, granted, facts or RunFacts())
            context = Context(self.engine, caller, self.own)
            calls = _PlanCalls(context, plan, source, timeout_seconds, tell, file)
            await calls.prepare(len(before.made), context.preferences(preferences))
            calls.check(places)
            run = await make_calls(
                plan, calls.call, before, given=places, harmless=calls.harmless,
                again=None if again is None else again - 1,
                note=calls.note, aside=to_thread.run_sync,
            )  # fmt: skip
            if run.is_finished and not before.is_finished:
                toolbelt, learned = self.caller.toolbelt, self.engine.learned
                await learned.learn_plan(toolbelt, plan, calls.keys, run.results)
            if file is not None and forgets and run.is_finished:
                await to_thread.run_sync(remove_used, file.file, file.stamp)
            problem = run.problem + _how_to_go_on(run, file and file.file)
            return replace(run, context=calls.context(), problem=problem)


class _PlanCalls:
    """Makes the calls of one run of a plan, and writes its file after each."""

    def __init__(
        self,
        context: Context,
        plan: Plan,
        source: str,
        timeout_seconds: float | None,
        tell: Tell | None,
        file: WaitingPlan | None,
    ) -> None:
        self._context = context
        self._plan = plan
        self._timeout_seconds = timeout_seconds
        self._tell = tell or _ignore
        self._file = file
        self._named = [tool_of(x, source) for x in plan.calls]
        self._tools: dict[int, Tool] = {}

    @property
    def harmless(self) -> set[int]:
        """The calls of read-only tools."""
        return {n for n, x in self._tools.items() if x.annotations.read_only}

    @property
    def keys(self) -> list[ToolKey]:
        """The keys of the tools of all calls."""
        kind_of = self._context.settings.kind_of
        return [ToolKey((kind_of(x) or MCP).name, x, name) for x, name in self._named]

    async def prepare(self, first: int, preferences: Preferences) -> None:
        """Look up the tools of the calls from this one on, and check that they may be called.

        Raises:
            BadPlan, UnknownServer, UnknownTool, SettingsError, SourceFailed, ToolDisabled: one
                cannot be called, so none is.
        """
        context, engine = self._context, self._context.engine
        later = {n: x for n, x in enumerate(self._named) if n >= first}
        sources = dict.fromkeys(source for source, _ in later.values())
        for source in sources:
            context.settings.source(source)
        await context.wait_for(*sources)
        self._tools = {n: await context.tool(*x) for n, x in later.items()}
        await engine.decisions.read()
        for number, tool in self._tools.items():
            why = engine.decisions.why_off(tool.key).format(tool.name)
            why = why or ("the settings block it" if preferences.is_blocked(tool.key) else "")
            why = why or engine.rulings.why_never(tool, context.caller)
            if why:
                name = self._plan.calls[number].name
                raise ToolDisabled(_REFUSED.format(number + 1, name, why.rstrip(".")))

    def check(self, given: Mapping[Place, Any]) -> None:
        """Refuse arguments for parameters that a tool does not have.

        Raises:
            BadSetting: there is one; the message has the nearest name.
        """
        for number, name in given:
            tool = self._tools.get(number)  # None for a call that was made before
            if tool is None or tool.input_schema.get("additionalProperties") is True:
                continue
            parameters = properties(tool.input_schema)
            if parameters and name not in parameters:
                place, places = f"{number + 1}.{name}", [f"{number + 1}.{x}" for x in parameters]
                raise BadSetting(
                    f"{tool.name} has no parameter for {place!r:.80}. "
                    f"{did_you_mean(place, places)}".rstrip()
                )

    async def call(self, number: int, arguments: JsonObject) -> ToolResult:
        """Make one call; see `CallPipeline`."""
        tool, call_id = self._tools[number], f"call_{number + 1}"
        self._tell(ToolStarted(call_id, tool.name, arguments, tool.source))
        limit, started = self._timeout_seconds, time.monotonic()
        error = ""

        async def on_progress(done: float, total: float | None, message: str) -> None:
            self._tell(ToolProgressed(call_id, tool.name, done, total, message))

        result: ToolResult | None = None
        try:
            result = await self._context.call(
                ToolInvocation(
                    tool, arguments, self._context.caller, "", limit, on_progress, call_id=call_id
                )
            )
            return result
        except ApprovalAwaited:
            raise
        except XaiMcpError as reason:
            error = str(reason) or (reason.for_model if isinstance(reason, NotApproved) else "")
            raise
        finally:
            if result is not None or error:
                shown = result or ToolResult.of_text(error, is_error=True)
                seconds, name, key = time.monotonic() - started, tool.name, tool.key
                self._tell(
                    ToolFinished(call_id, name, arguments, shown, seconds, "", tool.source, key)
                )

    async def note(self, run: PlanRun) -> None:
        """Write the run into its file, if it has one."""
        if self._file is not None:
            waiting = replace(self._file, run=replace(run, context=self.context()))
            with anyio.CancelScope(shield=True):
                await to_thread.run_sync(waiting.write)

    def context(self) -> JsonObject:
        """What the run needs to go on later."""
        caller = self._context.caller
        granted = sorted(caller.approvals.granted)
        return {
            "run": caller.run,
            "agent": caller.name,
            "granted": [[x.kind, x.source, x.name, digest] for x, digest in granted],
            "facts": caller.facts.to_json(),
        }


def _how_to_go_on(run: PlanRun, file: Path | None) -> str:
    """The next step for the person whose run waits."""
    if run.status != "waiting" or run.awaiting is None:
        return ""
    if file is not None:
        how = f"answer with `{shown_command('xai-mcp-agent', 'approve', str(file))}`, then run the"
        return f"\n  Next step: {how} plan again with this file: it goes on."
    key = run.awaiting.key
    command = tool_command("approve", key.source, key.name)
    return (
        "\n  Next step: run it where you can answer, keep it in a file to go on from, or approve "
        f"this tool for good with `{command}`."
    )


def _ignore(_: CallEvent) -> None:
    """Nobody listens."""


def _caller(
    before: Caller, agent: str, run: PlanRun, granted: set[tuple[ToolKey, str]], facts: RunFacts
) -> Caller:
    """The caller, with the facts and approvals of the run so far."""
    saved = run.context
    answered = [run.awaiting] if run.awaiting and run.awaiting.answer else []
    if "facts" in saved:
        facts.go_on_from(RunFacts.from_json(saved["facts"]))
    granted.update((ToolKey(*key), digest) for *key, digest in saved.get("granted", ()))
    return replace(
        before,
        kind="agent",
        name=agent,
        run=saved.get("run") or before.run or new_run_id(),
        approvals=RunApprovals(granted, answered, waits=True),
        facts=facts,
    )


def _checked(plan: Plan | Mapping[str, Any]) -> Plan:
    """The plan, once all its references can be read.

    Raises:
        BadPlan: it is no plan.
    """
    checked = plan_from_json(plan_as_json(plan) if isinstance(plan, Plan) else plan)
    step_arguments(checked)
    return checked


@asynccontextmanager
async def _run_of(
    resume: PlanRun | str | Path | None, plan: Plan
) -> AsyncGenerator[tuple[PlanRun, WaitingPlan | None]]:
    """The run to go on with, and its file, if it has one, which stays locked meanwhile.

    Raises:
        RunFileError: the file cannot be used, or another process uses it.
    """
    if isinstance(resume, PlanRun):
        yield resume, None
        return
    new = PlanRun.of(plan)
    if resume is None:
        yield new, None
        return
    with ExitStack() as locks:
        waiting = await to_thread.run_sync(partial(_read, place_of(resume), new, locks))
        yield waiting.run, waiting


def _read(file: Path, new: PlanRun, locks: ExitStack) -> WaitingPlan:
    if file.is_dir() or not os.access(file.parent, os.W_OK):
        raise RunFileError(f"{file} cannot be written. Name another file for the run.")
    locks.enter_context(held(file))
    return WaitingPlan.read(file) if file.exists() else WaitingPlan(file, new)
