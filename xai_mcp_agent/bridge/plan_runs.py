"""Runs of plans: the calls of one, which wait for approvals, and its file for another process."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import anyio
from anyio import to_thread

from ..agent.events import ToolFinished, ToolProgressed, ToolStarted
from ..agent.run_file import (
    RunFileError,
    Stamp,
    WaitingRun,
    answered,
    held,
    place_of,
    read_signed,
    write_signed,
)
from ..core.approval import ApprovalAwaited, ApprovalScope, AwaitedCall, RunApprovals, RunFacts
from ..core.calls import Caller, ToolInvocation
from ..core.errors import BadSetting, NotApproved, ToolDisabled, XaiMcpError
from ..core.json import JsonObject
from ..core.names import did_you_mean
from ..core.results import ToolResult
from ..core.schemas import properties
from ..core.shell import shown_command, tool_command
from ..core.tools import MCP, Tool, ToolKey
from ..planning.plan import Plan, plan_as_json, plan_from_json, tool_of
from ..planning.plan_run import Place, PlanRun
from ..search.preferences import Preferences
from .context import Context
from .transcript import new_run_id

CallEvent: TypeAlias = ToolStarted | ToolProgressed | ToolFinished
Tell: TypeAlias = Callable[[CallEvent], None]
"""Gets each call and its result, on the bridge's loop."""

_REFUSED = "Call {}, {}, may not be made: {}. Nothing was called."
_KEY = "plan_run"


@dataclass(frozen=True, slots=True)
class WaitingPlan:
    """The run of a plan, as its `file` has it.

    Answer the call that waits with `answered`, and `write`; running the plan again with this file
    goes on.
    """

    file: Path
    run: PlanRun
    stamp: Stamp = field(default_factory=Stamp, compare=False, repr=False)

    @property
    def agent(self) -> str:
        """The name of the agent that makes its calls."""
        return str(self.run.context.get("agent", ""))

    @property
    def calls(self) -> tuple[AwaitedCall, ...]:
        """The call that waits to be approved, if there is one."""
        return () if self.run.awaiting is None else (self.run.awaiting,)

    def answered(
        self, number: int, answer: ApprovalScope, *, by: str = "the program", reason: str = ""
    ) -> WaitingPlan:
        """With an answer to the call that waits, which is the first: once, run, always or no.

        Raises:
            BadSetting: there is no such call, or no such answer.
        """
        calls = answered(dict(enumerate(self.calls)), number, answer, by=by, reason=reason)
        return replace(self, run=replace(self.run, awaiting=calls[0]))

    def write(self, mask: Callable[[str], str] = str) -> None:
        """Replace the file, readable by this user only.

        Nothing in it is masked: the other calls need the arguments and results.

        Raises:
            RunFileError: it cannot be written, or the run has gone on since it was read.
        """
        write_signed(self.file, {_KEY: self.run.to_json()}, self.stamp)

    @staticmethod
    def read(file: str | Path) -> WaitingPlan:
        """Read the run of a file.

        Raises:
            RunFileError: there is none, no run of this user wrote it, or it is an older copy of a
                run that has gone on since.
        """
        path = place_of(file)
        content, stamp = read_signed(path)
        if _KEY not in content:
            raise RunFileError(f"{path} holds the run of an agent, not of a plan.")
        try:
            return WaitingPlan(path, PlanRun.from_json(content[_KEY]), stamp)
        except (KeyError, TypeError, ValueError, AttributeError) as cause:
            raise RunFileError(
                f"{path} was written by another version of xai-mcp-agent: {cause!r}. Go on with it "
                "there, or delete it, and the plan begins anew."
            ) from cause


def read_waiting(file: str | Path) -> WaitingRun | WaitingPlan:
    """Read the run of a file, of an agent or of a plan.

    Raises:
        RunFileError: there is none, or no run of this user wrote it.
    """
    is_plan = _KEY in read_signed(place_of(file))[0]
    return WaitingPlan.read(file) if is_plan else WaitingRun.read(file)


class PlanCalls:
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
        self._tell: Tell = tell or (lambda _: None)
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
        tool, call_id, caller = self._tools[number], f"call_{number + 1}", self._context.caller
        limit, started = self._timeout_seconds, time.monotonic()
        self._tell(ToolStarted(call_id, tool.name, arguments, tool.source))

        async def on_progress(done: float, total: float | None, message: str) -> None:
            self._tell(ToolProgressed(call_id, tool.name, done, total, message))

        def finish(result: ToolResult) -> None:
            seconds, name, key = time.monotonic() - started, tool.name, tool.key
            self._tell(
                ToolFinished(call_id, name, arguments, result, seconds, "", tool.source, key)
            )

        invocation = ToolInvocation(
            tool, arguments, caller, "", limit, on_progress, call_id=call_id
        )
        try:
            result = await self._context.call(invocation)
        except ApprovalAwaited:
            raise
        except XaiMcpError as reason:
            error = str(reason) or (reason.for_model if isinstance(reason, NotApproved) else "")
            if error:
                finish(ToolResult.of_text(error, is_error=True))
            raise
        finish(result)
        return result

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


def how_to_go_on(run: PlanRun, file: Path | None) -> str:
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


def caller_of_run(
    before: Caller, agent: str, run: PlanRun, granted: set[tuple[ToolKey, str]], facts: RunFacts
) -> Caller:
    """The caller of a run's calls, with the facts and approvals so far."""
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


def checked_plan(plan: Plan | Mapping[str, Any]) -> Plan:
    """The plan, once all its references can be read.

    Raises:
        BadPlan: it is no plan.
    """
    return plan_from_json(plan_as_json(plan) if isinstance(plan, Plan) else plan)


@asynccontextmanager
async def opened_run(
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
