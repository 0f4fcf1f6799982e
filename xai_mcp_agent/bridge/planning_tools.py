"""The tools with which an agent chooses and plans, over what is available to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from ..agent.planning_tools import PlanningToolset
from ..catalog.definitions import ToolDefinition
from ..core.results import TextPart, ToolResult
from ..core.tools import Tool, ToolKey
from ..planning.plan_file import plan_as_json
from ..planning.plans import Plan
from ..search.found import SelectedTool
from ..search.preferences import Preferences
from .engine import Engine
from .planning import allowed, plan_among
from .preferences import preferred
from .selecting import select_among
from .toolbox import AskAvailable


def planning_toolset(
    engine: Engine,
    shown: Callable[[Plan], str],
    preferences: Preferences | None,
    available: AskAvailable,
) -> PlanningToolset:
    """`select_tool`, `plan_tools`, `execute_tool` and `list_tools`; `shown` puts a plan into words.

    They know only what is `available`, less what nobody would let the agent call.
    """

    async def select(request: str, tools: Mapping[ToolKey, Tool]) -> SelectedTool | None:
        usable = await allowed(engine, tools, preferred(engine, preferences))
        return await select_among(engine, usable, request, preferences)

    async def planned(request: str, tools: Mapping[ToolKey, ToolDefinition]) -> ToolResult:
        known = {key: x.tool for key, x in tools.items()}
        usable = await allowed(engine, known, preferred(engine, preferences))
        plan = await plan_among(engine, usable, request)
        # Under the names that the model knows.
        calls = tuple(replace(x, tool=tools[x.tool].name) for x in plan.calls)
        plan = replace(plan, calls=calls)
        names = [{"name": x} for x in dict.fromkeys(str(call.tool) for call in calls)]
        structured = {"tools": names, "plan": plan_as_json(plan)}
        return ToolResult((TextPart(shown(plan)),), structured=structured)

    return PlanningToolset(select, planned, available)
