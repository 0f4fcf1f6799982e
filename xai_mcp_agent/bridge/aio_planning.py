"""Choosing tools, plans and their runs, as coroutines: a part of `AioBridge`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import fitting, planning, selecting
from .aio_caller import AioCaller
from .plan_runs import PLAN, PlanOptions
from .plan_runs import run_plan as carry_out

if TYPE_CHECKING:
    from pathlib import Path

    from ..planning.answered import CheckedCalls, ExplainedChoice, Suggested
    from ..planning.plan_run import PlanRun
    from ..planning.plans import Plan
    from ..search.found import SelectedTool


class AioPlanning(AioCaller):
    """Of the tools of servers and groups, or of all, that agents may use now."""

    async def select_tool(self, request: str, *servers: str) -> SelectedTool | None:
        """The tool that fits best what somebody wants to do, or None; see `SelectedTool`.

        Of these servers and groups, or of all, only tools that agents may use now.

        Raises:
            UnknownServer, SettingsError: a name that cannot be used.
        """
        return await self.run(selecting.select_named, request, servers)

    async def plan_tools(
        self, request: str, *servers: str, model: str = "", base_url: str = ""
    ) -> Plan:
        """The calls that a request asks for, each with the sources of its arguments.

        Of the tools of these servers and groups, or of all, that agents may use now. Without a
        `model`, such as `openai/gpt-5-mini`, words and shapes make the plan. A model is asked once;
        where it fails, or says what cannot be, the rough plan stands and says why. Nothing is
        called.

        Raises:
            UnknownServer, SettingsError: a name that cannot be used.
            UnknownProvider: the model's provider wants a model's name.
        """
        return await self.run(planning.plan_with, request, servers, model, base_url)

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
    ) -> PlanRun:
        """Make the calls of a plan one after another; how far that came, and why it stopped.

        `given` are arguments in place of what the plan says, by `(call, parameter)` as in its
        `edges`, or by texts as in messages, which count calls from 1: `2.reader`. It stops where
        one is missing, where a call fails, and where somebody must approve one: its calls are
        judged as those of an `agent`. `resume` goes on with a run; a file is where it is kept, and
        begins one if it is not there. No call is made twice; one that may have been carried out
        already only if it is `again`, counted from 1. `source` is that of tools that name none.
        `timeout_seconds` is for each call.

        Raises:
            BadPlan, BadSetting: it is no plan, or has no such place; nothing was called.
            UnknownServer, UnknownTool, SettingsError, SourceFailed, ToolDisabled: one of its
                tools cannot be called; nothing was.
            RunFileError: the file cannot be used.
        """
        options = PlanOptions(given, resume, again, agent, source, timeout_seconds)
        return await self.run(carry_out, plan, options)

    async def suggest_tools(
        self, after: Sequence[str] = (), request: str = "", limit: int = 5
    ) -> Suggested:
        """The tools that may come next, the best first, each with its reasons.

        `after` are those so far: `server/tool`, or a name that only one server has.

        Raises:
            UnknownTool: one of them is not there, or may not be used.
            BadSetting: neither tools nor a request are given.
        """
        return await self.run(fitting.suggest_tools, after, request, limit)

    async def check_wires(self, plan: Plan) -> CheckedCalls:
        """What is wrong with the calls of a plan as they are connected; none is made.

        Raises:
            BadPlan: it is not said whose tool one of them is.
        """
        return await self.run(fitting.check_wires, fitting.named_calls(plan))

    async def explain_choice(self, request: str, server: str, tool: str) -> ExplainedChoice:
        """Why a tool is chosen for a request by a search and a plan, or what keeps it from it.

        Raises:
            UnknownServer, UnknownTool: there is none of that name; the message has the nearest.
            SourceFailed: the server cannot be used.
        """
        return await self.run(fitting.explain_choice, request, server, tool)
