"""Runs of plans: every call goes through the call pipeline.

A planner or a model made the plan, so its calls are judged like an agent's: by rules, approvals,
locks, and what a person switched off or blocked.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyio import to_thread

from ...core.approval import RunFacts
from ...core.calls import check_limit
from ...core.tools import ToolKey
from ...search.preferences import Preferences
from ..context import OperationContext

if TYPE_CHECKING:
    from ...agent.run_file import WaitingRun
    from ...planning.plan import Plan
    from ...planning.plan_run import PlanRun
    from ..streams import Tell

PLAN = "plan"
"""Default name of the agent that makes the calls of a plan."""


class RunOperations(OperationContext):
    """Runs of plans."""

    async def run_plan(
        self,
        plan: Plan | Mapping[str, Any],
        *,
        given: Mapping[Any, Any] | None = None,
        resume: PlanRun | WaitingRun | str | Path | None = None,
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

        `given` are arguments that replace the plan's, by `(call, parameter)` as in its `edges`, or
        by texts as in messages, which count calls from 1: `2.reader`. The run stops if an argument
        is missing, a call fails, or somebody must approve one: its calls are judged like an
        `agent`'s. `resume` continues a run, or the run in a file, which a new run writes. No call
        is made twice; one that may have been carried out is made again only as `again`, counted
        from 1. `source` is the default server of tools. `timeout_seconds` is for each call. `tell`
        gets each call on the bridge's own thread.

        With `forgets`, the file of a finished run is removed, so that the next run begins anew.
        `granted` and `facts` are those of the agent's run that this is part of, `preferences` its
        toolbelt's.

        Raises:
            BadPlan, BadSetting: it is not a plan, or has no such place; nothing was called.
            UnknownServer, UnknownTool, SettingsError, SourceFailed, ToolDisabled: one of its tools
                cannot be called; nothing was.
            RunFileError: the file cannot be used.
        """
        # Imported here: modules of agents and plans, which most programs do not need.
        from ...planning.plan import Plan, plan_as_json, plan_from_json
        from ...planning.plan_run import places_of
        from ..plan_runs import PlanTools, saved_run

        check_limit(timeout_seconds)
        plan = plan_from_json(plan_as_json(plan) if isinstance(plan, Plan) else plan)
        places = places_of(given or {}, plan)
        await self.engine.rules.renew()
        async with saved_run(resume, plan, places) as saved:
            caller = saved.caller(
                self.caller, agent, set() if granted is None else granted, facts or RunFacts()
            )
            context = OperationContext(self.engine, caller, self.own)
            tools = PlanTools(context, plan, source, timeout_seconds)
            await tools.prepare(saved.finished, context.preferences(preferences))
            tools.check(places)
            model = await saved.model(tools)
            again = None if again is None else again - 1
            run = await saved.go(tools, model, context, tell or (lambda _: None), again)
            if saved.has_file and forgets and run.is_finished:
                await to_thread.run_sync(run.waiting_run.remove)
            return run
