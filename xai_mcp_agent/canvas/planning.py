"""Planning a request and running a plan, for nodes and commands: plain values in and out."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from functools import partial
from typing import Any

from ..agent.events import RunEvent
from ..bridge.context import OwnTools
from ..bridge.faces import Bridge
from ..bridge.operations import Operations
from ..bridge.operations.runs import PLAN
from ..bridge.transcript import new_run_id
from ..console.text import count
from ..core.errors import BadSetting, XaiMcpError
from ..planning.plan import BadPlan, Plan, plan_as_json, plan_from_json, read_plan
from ..planning.plan_run import PlanRun
from ..sources.canvas import DrawnTool, drawn_tools
from ..views.plans import plan_text
from .agent_run import facts_in, granted_in
from .at_node import Stage, at_node, recorder
from .drawn_tools import collect_drawn_tools
from .ports import file_on, inputs, outputs
from .toolbelts import preferences_of, tool_choice, tools_in

_PLAN, _RUN = "MCPPlan", "MCPRunPlan"


class PlanStopped(XaiMcpError):
    """A plan did not run to its end; the message says why, and what to do."""


def plan_request(
    ctx: Any, request: str, toolbelt_spec: Mapping[str, Any], model: str = "", base_url: str = ""
) -> dict[str, Any]:
    """Return the calls that a request needs, and what is missing for them.

    Raises:
        BadSetting: `toolbelt_spec` is not a toolbelt's spec.
        SettingsError: the settings file cannot be read.
    """
    agent = tools_in(toolbelt_spec, "toolbelt_spec", _PLAN)
    own = [x.tool() for x in drawn_tools(agent["agent_toolbelt"]).values()]

    async def make(operations: Operations) -> Plan:
        plan = await operations.plan_tools(
            request,
            model=model,
            base_url=base_url,
            choice=tool_choice(agent, operations) if toolbelt_spec else None,
            preferences=preferences_of(agent),
            own=own,
        )
        return replace(plan, reasons=(*plan.reasons, *plan.failed.values()))

    with at_node(ctx, _PLAN, "plan", request=request) as work:
        plan = work.wait(
            make,
            waiting_for="the servers to list their tools",
            summary=lambda x: count(len(x.calls), "call"),
        )
        work.answer.update(names=[str(x.tool) for x in plan.calls], problems=list(plan.problems))
    return {
        "plan": plan_as_json(plan),
        "problems": list(plan.problems),
        "summary": plan_text(plan),
    }


def run_plan(
    ctx: Any,
    plan: Any,
    given: Mapping[str, Any],
    run_state: str,
    again: int | None,
    agent_name: str,
    toolbelt_spec: Mapping[str, Any],
) -> PlanRun:
    """Make the calls of a plan, as far as possible now; see `Bridge.run_plan`.

    Raises:
        BadSetting, BadPlan: there is no plan, or `toolbelt_spec` is not a toolbelt's spec.
        XaiMcpError: nothing was called; see `Bridge.run_plan`.
    """
    name, run_id = agent_name or PLAN, new_run_id()
    agent = tools_in(toolbelt_spec, "toolbelt_spec", _RUN)
    tools = drawn_tools(agent["agent_toolbelt"]) if toolbelt_spec else collect_drawn_tools(ctx)
    with at_node(ctx, _RUN, name, run_id, agent=name) as work:
        plan, stage = _plan_on(plan, work.bridge), work.stage
        transcript = recorder(ctx, work.bridge, run_id=run_id, agent=name, node=_RUN)
        options: dict[str, Any] = {
            "given": given,
            "resume": run_state or None,
            "again": again,
            "agent": name,
            "forgets": True,
            "granted": granted_in(ctx),
            "facts": facts_in(ctx),
            "preferences": preferences_of(agent),
        }

        def show(event: RunEvent, at: float) -> None:
            stage.console.show(event)
            transcript.event(event, at)

        stage.caller = replace(
            stage.caller,
            toolbelt=agent["toolbelt_name"],
            approval=agent["tool_approval"],
            locks=agent["lock_tools"],
        )
        run = perform(stage, plan, options, show, tools)
        stage.console.note("--", f"{name}: {run.status}")
        work.answer.update(status=run.status, calls=len(run.calls), problem=run.problem)
    return run


def perform(
    stage: Stage,
    plan: Plan,
    options: Mapping[str, Any],
    show: Callable[[RunEvent, float], None],
    tools: Mapping[str, DrawnTool] | None = None,
) -> PlanRun:
    """Run a plan, and ask the person in front of this stage whatever has to be asked.

    `options` are passed to `Bridge.run_plan`. `show` gets each call and its result, with the time,
    in this thread. `tools` are the drawn tools, `canvas/name` in the plan.

    Raises:
        XaiMcpError: nothing was called; see `Bridge.run_plan`.
    """

    def tell(event: RunEvent) -> None:
        stage.post(partial(show, event, time.time()))

    async def go(operations: Operations) -> PlanRun:
        if tools is not None:
            toolset = stage.drawn_toolset(tools)
            own = OwnTools(tuple(toolset.initial_tools()), toolset.call)
            await operations.record_canvas_tools(own.tools)
            operations = operations.for_caller(operations.caller, own)
        return await operations.run_plan(plan, **options, tell=tell)

    return stage.perform(go)


def run_for_node(node: Any, ctx: Any) -> None:
    """Run the plan of an MCPRunPlan, and set its ports as far as the run got.

    Raises:
        PlanStopped: the plan did not finish, and the branch for that is not wired.
        BadSetting, XaiMcpError: as in `run_plan`, unless on_error is wired.
    """
    run = PlanRun("failed", {})
    try:
        run = run_plan(ctx, **inputs(node))
    except Exception as error:
        run = replace(run, problem=str(error) or type(error).__name__)
        if not node.on_error:
            raise
    finally:
        missing = [{**asdict(x), "call": x.call + 1} for x in run.missing]
        names = ("result", "results", "text", "status", "problem")
        outputs(node, {x: getattr(run, x) for x in names} | {"missing": missing})
    branch = {"missing": node.on_missing, "waiting": True}.get(run.status, node.on_error)
    if not run.is_finished and not branch:
        raise PlanStopped(run.problem)


def way_on_of(node: Any, way_on: Any) -> Any:
    """Return the branch of an MCPRunPlan that goes on after its plan; None ends the workflow."""
    ways = {"finished": way_on, "missing": node.on_missing, "waiting": node.on_waiting}
    return ways.get(node.status.value, node.on_error)


def _plan_on(value: Any, bridge: Bridge) -> Plan:
    """Return the plan on the port: a dict, or the name of a file.

    Raises:
        BadSetting: the port is empty.
        BadPlan: the value is not a plan.
    """
    if value is None or value == "":
        raise BadSetting(f"{_RUN} has nothing to run: wire the plan of {_PLAN} to `plan`.")
    if isinstance(value, str):
        return read_plan(file_on(value, "plan", _RUN, bridge.settings.file))
    try:
        return plan_from_json(value)
    except BadPlan as reason:
        raise BadPlan(f"`plan` of {_RUN}: {reason}") from reason
