"""Tools that find, explain, choose, plan and call the other tools of an agent.

They know only the tools that are available to the agent, and a call by `execute_tool` is a call of
the tool that it names. `search.meta_tools` formats their answers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TypeAlias, cast

from anyio import to_thread

from ..catalog.definitions import ToolDefinition
from ..core.calls import ToolInvocation
from ..core.errors import InvalidArguments, UnknownTool
from ..core.json import JsonObject
from ..core.names import did_you_mean
from ..core.results import TextPart, ToolResult
from ..core.schemas import example_arguments
from ..core.tools import META, Tool, ToolAnnotations, ToolKey
from ..core.visible import own_names
from ..search.meta_tools import (
    DEFAULT_RESULTS,
    MAX_RESULTS,
    META_TOOLS,
    TOOL_EXPLAIN,
    TOOL_SEARCH,
    Hits,
    explain_answer,
    search_answer,
    tool_line,
    unknown_answer,
)
from ..search.ranking import Ranked
from ..search.results import SelectedTool
from .arguments import parse_arguments
from .toolsets import Available, FixedToolset

Search: TypeAlias = Callable[[str, Mapping[ToolKey, Tool], int], Awaitable[Sequence[Ranked]]]
"""Finds the tools that match a request, best first, up to a count."""
Select: TypeAlias = Callable[[str, Mapping[ToolKey, Tool]], Awaitable[SelectedTool | None]]
"""Returns the tool that matches a request best."""
MakePlan: TypeAlias = Callable[[str, Mapping[ToolKey, ToolDefinition]], Awaitable[ToolResult]]
"""Returns a plan of calls of these tools, as an answer for a model."""

AskAvailable: TypeAlias = Callable[[], Awaitable[Available]]
"""Returns the tools that an agent may call now."""

_PAGE = 30
_SUGGESTIONS = 3
_MAX_NAME_CHARS = 300
_NOT_IN_NAMES = re.compile(r"[^\w-]+", re.ASCII)
_NOTHING = "None of your tools fits that. Say it in other words, or look through them with {}."


def _tool(name: str, description: str, required: Sequence[str] = (), **properties: str) -> Tool:
    specs = {x: {"type": "string", "description": y} for x, y in properties.items()}
    schema = {"type": "object", "properties": specs, "required": list(required)}
    reads = ToolAnnotations(read_only=True)
    return Tool(ToolKey(META.name, "", name), description, schema, annotations=reads)


SELECT_TOOL = _tool(
    "select_tool",
    "Tells which of your tools fits best what you want to do, how surely, and why; and others.",
    ["request"],
    request="What one tool should do.",
)
PLAN_TOOLS = _tool(
    "plan_tools",
    "Plans the calls of your tools that a whole request asks for, with where each argument comes "
    "from and what is missing. The plan is made of words and may be wrong: nothing is called.",
    ["request"],
    request="All that is to be done.",
)
LIST_TOOLS = _tool(
    "list_tools",
    "Lists your tools page by page, with what they take and do.",
    server="Only tools of this server.",
    text="Only tools with this in their name or description.",
    cursor="What the page before names; give the same `server` and `text` again.",
)
EXECUTE_TOOL = Tool(
    ToolKey(META.name, "", "execute_tool"),
    "Calls one of your tools by its name, also one that is not listed here.",
    {
        "type": "object",
        "properties": {
            "tool": {"type": "string", "description": "Its name."},
            "arguments": {"type": "object", "description": "What it takes, by parameter."},
        },
        "required": ["tool"],
    },
)
PLANNING_TOOLS = (SELECT_TOOL, PLAN_TOOLS, LIST_TOOLS, EXECUTE_TOOL)


@dataclass(frozen=True)
class Planning:
    """The functions behind `PLANNING_TOOLS`, for agents that have those tools."""

    select: Select
    make_plan: MakePlan


class MetaToolset(FixedToolset):
    """`tool_search` and `tool_explain`; with `planning`, the four planning tools too.

    `available` returns the tools of the agent now: they may have changed since the model was asked.
    `executor` is the tool that calls the others, if the model cannot call them directly.
    """

    def __init__(
        self,
        search: Search,
        available: AskAvailable,
        planning: Planning | None = None,
        executor: str = "",
    ) -> None:
        self._search = search
        self._available = available
        self._planning = planning
        self._executor = executor
        self._tools = META_TOOLS if planning is None else (*META_TOOLS, *PLANNING_TOOLS)

    async def call(self, invocation: ToolInvocation) -> ToolResult:
        """Answer a call; `execute_tool` was already resolved to the tool that it names."""
        arguments, available = invocation.arguments, await self._available()
        others = {x.tool.key: x for x in available.definitions if x.tool.key.kind != META.name}
        name, planning = invocation.tool.name, self._planning
        if name == TOOL_SEARCH.name:
            limit = int(arguments.get("max_results", DEFAULT_RESULTS))
            limit = min(max(limit, 1), MAX_RESULTS)
            hits = await self._find(arguments["query"], others, limit)
            return search_answer(hits, available.sources, self._executor)
        if name == TOOL_EXPLAIN.name:
            return await self._explain(str(arguments["tool"]), available, others)
        if name == LIST_TOOLS.name:
            return _page_answer(arguments, available, list(others.values()))
        if name == SELECT_TOOL.name and planning:
            tools = {key: x.tool for key, x in others.items()}
            return _selection_answer(await planning.select(arguments["request"], tools), others)
        if name == PLAN_TOOLS.name and planning:
            return await planning.make_plan(arguments["request"], others)
        raise UnknownTool("Name the tool that is to be called as `tool`.")

    async def _explain(
        self, name: str, available: Available, others: Mapping[ToolKey, ToolDefinition]
    ) -> ToolResult:
        definition = _find_by_name(name, available)
        if definition is None:
            hits = await self._find(name, others, _SUGGESTIONS)
            return unknown_answer(available.unknown(name), hits)
        # In a thread, because a schema comes from a server and may take long.
        example = await to_thread.run_sync(example_arguments, definition.tool.input_schema)
        return explain_answer(definition, example, self._executor)

    async def _find(self, query: str, others: Mapping[ToolKey, ToolDefinition], limit: int) -> Hits:
        results = await self._search(query, {key: x.tool for key, x in others.items()}, limit)
        return [(others[x.tool.key], x.score) for x in results]


def resolve_execution(
    arguments: JsonObject, available: Available, why_not: Callable[[str], str]
) -> tuple[ToolDefinition, JsonObject]:
    """Return the tool that a call of `execute_tool` names, and the arguments for it.

    `why_not` says why there is no tool of a name.

    Raises:
        UnknownTool: the agent has no tool of that name, or it is one of our own.
        InvalidArguments: the arguments cannot be read.
    """
    value = arguments.get("tool")
    name = value[:_MAX_NAME_CHARS] if isinstance(value, str) else ""
    definition = _find_by_name(name, available)
    if definition is None:
        raise UnknownTool(why_not(name))
    if definition.tool.key.kind == META.name:
        raise UnknownTool(f"Call {definition.name!r} by itself, not by {EXECUTE_TOOL.name!r}.")
    inner, schema = arguments.get("arguments"), definition.tool.input_schema
    if isinstance(inner, str):
        inner = parse_arguments(inner, schema, tool=definition.name)
    if inner is not None and not isinstance(inner, dict):
        problem = f"`arguments` must be an object, not {json.dumps(inner)[:60]}"
        raise InvalidArguments(EXECUTE_TOOL.name, [problem], "an object")
    return definition, own_names(cast(JsonObject, inner or {}), schema)


def _find_by_name(name: str, available: Available) -> ToolDefinition | None:
    return available.find(name) or available.find(_NOT_IN_NAMES.sub("_", name))


def _selection_answer(
    choice: SelectedTool | None, others: Mapping[ToolKey, ToolDefinition]
) -> ToolResult:
    if choice is None:
        return ToolResult.of_text(_NOTHING.format(f"`{LIST_TOOLS.name}`"))
    best = others[choice.tool.key]
    names = [others[x.tool.key].name for x in choice.alternatives]
    lines = [tool_line(best), f"Confidence {choice.confidence:.2f}: {'; '.join(choice.reasons)}"]
    lines += [f"Others: {', '.join(names)}"] if names else []
    structured: JsonObject = {
        "tools": [{"name": x} for x in (best.name, *names)],
        "confidence": round(choice.confidence, 3),
        "reasons": list(choice.reasons),
    }
    return ToolResult((TextPart("\n".join(lines)),), structured=structured)


def _page_answer(
    arguments: JsonObject, available: Available, tools: Sequence[ToolDefinition]
) -> ToolResult:
    """Return a page in the order of names, so that no tool is missed while others come and go."""
    server, text, after = (arguments.get(x) or "" for x in ("server", "text", "cursor"))
    if server and server not in available.sources:
        hint = did_you_mean(server, available.sources) or f"`{LIST_TOOLS.name}` shows all."
        return ToolResult.of_text(f"No server {server!r} has tools here. {hint}", is_error=True)
    matching = [
        x for x in sorted(tools, key=attrgetter("name"))
        if (not server or x.tool.source == server)
        and text.casefold() in f"{x.name} {x.tool.title} {x.tool.description}".casefold()
    ]  # fmt: skip
    rest = [x for x in matching if x.name > after]
    page, more = rest[:_PAGE], len(rest) - _PAGE
    lines = [tool_line(x) for x in page] or ["There are no more tools."]
    structured: JsonObject = {"listed": [x.name for x in page], "total": len(matching)}
    if more > 0:
        structured["next_cursor"] = page[-1].name
        lines.append(f"{more:,} more: go on with cursor {page[-1].name}")
    return ToolResult((TextPart("\n".join(lines)),), structured=structured)
