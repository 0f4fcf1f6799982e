"""Tools for choosing tools: `select_tool`, `plan_tools`, `execute_tool` and `list_tools`.

An agent reaches with them what its toolbelt holds, and nothing else: they know no more than what is
available to it, and a call by `execute_tool` is a call of the tool that it names.
"""

from __future__ import annotations

import json
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Awaitable, Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any, TypeAlias, cast

from ..catalog.definitions import ToolDefinition
from ..core.calls import ToolInvocation
from ..core.errors import InvalidArguments, UnknownTool
from ..core.json import JsonObject
from ..core.names import did_you_mean
from ..core.results import TextPart, ToolResult
from ..core.tools import META, Tool, ToolAnnotations, ToolKey
from ..core.visible import own_names
from ..search.found import SelectedTool
from ..search.meta_tools import tool_line
from .arguments import parse_arguments
from .toolsets import Available, Toolset

Select: TypeAlias = Callable[[str, Mapping[ToolKey, Tool]], Awaitable[SelectedTool | None]]
"""The one of these tools that fits best what somebody wants to do."""
Planned: TypeAlias = Callable[[str, Mapping[ToolKey, ToolDefinition]], Awaitable[ToolResult]]
"""A plan of calls of these tools, as an answer for a model."""

_PAGE = 30
_MOST_NAME_CHARS = 300
_NOT_IN_NAMES = re.compile(r"[^\w-]+", re.ASCII)
_READS = ToolAnnotations(read_only=True)
_NOTHING = "None of your tools fits that. Say it in other words, or look through them with {}."
_NO_MORE = "There are no more tools."
_NO_CURSOR = "There is no cursor {!r}. Leave it out to begin with the first page."


def _tool(name: str, description: str, required: Sequence[str] = (), **properties: Any) -> Tool:
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return Tool(ToolKey(META.name, "", name), description, schema, annotations=_READS)


_TEXT = {"type": "string"}
SELECT_TOOL = _tool(
    "select_tool",
    "Tells which of your tools fits best what you want to do, how surely, and why; and others.",
    ["request"],
    request={**_TEXT, "description": "What one tool should do."},
)
PLAN_TOOLS = _tool(
    "plan_tools",
    "Plans the calls of your tools that a whole request asks for, with where each argument comes "
    "from and what is missing. The plan is made of words and may be wrong: nothing is called.",
    ["request"],
    request={**_TEXT, "description": "All that is to be done."},
)
LIST_TOOLS = _tool(
    "list_tools",
    "Lists your tools page by page, with what they take and do.",
    server={**_TEXT, "description": "Only those of this server."},
    text={**_TEXT, "description": "Only those with this in their name or description."},
    cursor={**_TEXT, "description": "What the page before names; its filters stay."},
)
EXECUTE_TOOL = Tool(
    ToolKey(META.name, "", "execute_tool"),
    "Calls one of your tools by its name, also one that is not listed here.",
    {
        "type": "object",
        "properties": {
            "tool": {**_TEXT, "description": "Its name."},
            "arguments": {"type": "object", "description": "What it takes, by parameter."},
        },
        "required": ["tool"],
    },
)
PLANNING_TOOLS = (SELECT_TOOL, PLAN_TOOLS, LIST_TOOLS, EXECUTE_TOOL)


class PlanningToolset(Toolset):
    """The four, for an agent whose person wants them. `available` tells its tools now."""

    def __init__(
        self, select: Select, planned: Planned, available: Callable[[], Awaitable[Available]]
    ) -> None:
        self._select = select
        self._planned = planned
        self._available = available

    async def tools(self) -> Sequence[Tool]:
        """All four."""
        return PLANNING_TOOLS

    def known(self) -> Sequence[Tool]:
        """All four."""
        return PLANNING_TOOLS

    async def call(self, invocation: ToolInvocation) -> ToolResult:
        """Answer one of them; a call of `execute_tool` is known as that of another tool before."""
        available, given = await self._available(), invocation.arguments
        others = {x.tool.key: x for x in available.definitions if x.tool.key.kind != META.name}
        if invocation.tool.key == SELECT_TOOL.key:
            return await self._selected(given["request"], others)
        if invocation.tool.key == PLAN_TOOLS.key:
            return await self._planned(given["request"], others)
        if invocation.tool.key == LIST_TOOLS.key:
            return _page(given, available, list(others.values()))
        raise UnknownTool("Name the tool that is to be called as `tool`.")

    async def _selected(self, request: str, others: Mapping[ToolKey, ToolDefinition]) -> ToolResult:
        found = await self._select(request, {key: x.tool for key, x in others.items()})
        if found is None:
            return ToolResult.of_text(_NOTHING.format(f"`{LIST_TOOLS.name}`"))
        chosen = others[found.tool.key]
        names = [others[x.tool.key].name for x in found.alternatives]
        lines = [
            tool_line(chosen),
            f"Confidence {found.confidence:.2f}: {'; '.join(found.reasons)}",
        ]
        lines += [f"Others: {', '.join(names)}"] if names else []
        tools = [{"name": x} for x in (chosen.name, *names)]
        told = {"confidence": round(found.confidence, 3), "reasons": list(found.reasons)}
        return ToolResult((TextPart("\n".join(lines)),), structured={"tools": tools, **told})


def executed(
    arguments: JsonObject, available: Available, why_not: Callable[[str], str]
) -> tuple[ToolDefinition, JsonObject]:
    """The tool that a call of `execute_tool` names, and what that is called with.

    `why_not` tells why there is no tool of a name.

    Raises:
        UnknownTool: the agent has none of that name, or it is one of our own.
        InvalidArguments: there are none that can be read.
    """
    told = arguments.get("tool")
    name = told[:_MOST_NAME_CHARS] if isinstance(told, str) else ""
    found = available.find(name) or available.find(_NOT_IN_NAMES.sub("_", name))
    if found is None:
        raise UnknownTool(why_not(name))
    if found.tool.key.kind == META.name:
        raise UnknownTool(f"Call {found.name!r} by itself, not by {EXECUTE_TOOL.name!r}.")
    given, schema = arguments.get("arguments"), found.tool.input_schema
    if isinstance(given, str):
        given = parse_arguments(given, schema, tool=found.name)
    if given is not None and not isinstance(given, dict):
        problem = f"`arguments` must be an object, not {json.dumps(given)[:60]}"
        raise InvalidArguments(EXECUTE_TOOL.name, [problem], "an object")
    return found, own_names(cast(JsonObject, given or {}), schema)


def _page(given: JsonObject, available: Available, tools: Sequence[ToolDefinition]) -> ToolResult:
    """A page in the order of names, so that none is missed while others come and go."""
    server, text, after = given.get("server", ""), given.get("text", ""), ""
    if cursor := given.get("cursor"):
        try:
            server, text, after = map(str, json.loads(urlsafe_b64decode(cursor)))
        except (ValueError, TypeError):
            return ToolResult.of_text(_NO_CURSOR.format(cursor[:_MOST_NAME_CHARS]), is_error=True)
    if server and server not in available.sources:
        hint = did_you_mean(server, available.sources) or f"`{LIST_TOOLS.name}` shows all."
        return ToolResult.of_text(f"No server {server!r} has tools here. {hint}", is_error=True)
    chosen = [
        x for x in sorted(tools, key=attrgetter("name"))
        if (not server or x.tool.source == server)
        and text.casefold() in f"{x.name} {x.tool.title} {x.tool.description}".casefold()
    ]  # fmt: skip
    left = [x for x in chosen if x.name > after]
    page, more = left[:_PAGE], len(left) - _PAGE
    lines = [tool_line(x) for x in page] or [_NO_MORE]
    told: JsonObject = {"listed": [x.name for x in page], "total": len(chosen)}
    if more > 0:
        cursor = urlsafe_b64encode(json.dumps([server, text, page[-1].name]).encode()).decode()
        told["next_cursor"] = cursor
        lines.append(f"{more:,} more: go on with cursor {cursor}")
    return ToolResult((TextPart("\n".join(lines)),), structured=told)
