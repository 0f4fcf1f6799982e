"""The tools with which an agent chooses and plans, among those available to it."""

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
from .operations import Operations
from .toolbox import AskAvailable


def planning_toolset(
    operations: Operations,
    describe: Callable[[Plan], str],
    preferences: Preferences | None,
    available: AskAvailable,
) -> PlanningToolset:
    """`select_tool`, `plan_tools`, `execute_tool` and `list_tools`, for one agent.

    `describe` puts a plan into words. They know only `available` tools, without those that rules
    or settings deny.
    """

    async def select(request: str, tools: Mapping[ToolKey, Tool]) -> SelectedTool | None:
        usable = await operations.allowed(tools, operations.preferences(preferences))
        return await operations.select_among(usable, request, preferences)

    async def make_plan(request: str, tools: Mapping[ToolKey, ToolDefinition]) -> ToolResult:
        among = {key: x.tool for key, x in tools.items()}
        usable = await operations.allowed(among, operations.preferences(preferences))
        by_key = await operations.plan_among(usable, request)
        # Under the names that the model reads.
        calls = tuple(replace(x, tool=tools[x.tool].name) for x in by_key.calls)
        plan = replace(by_key, calls=calls)
        names = [{"name": x} for x in dict.fromkeys(str(call.tool) for call in calls)]
        structured = {"tools": names, "plan": plan_as_json(plan)}
        return ToolResult((TextPart(describe(plan)),), structured=structured)

    return PlanningToolset(select, make_plan, available)
