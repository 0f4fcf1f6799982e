"""Tools of the gateway itself: with them a client finds, plans and calls what it is not listed.

They answer as those of our own agents do. Here a tool has its id for a name, `server/tool`.
"""

from __future__ import annotations

import binascii
import json
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, Field

from ..agent.discovery import DiscoveryToolset
from ..agent.planning_tools import EXECUTE_TOOL, PLAN_TOOLS, SELECT_TOOL, executed
from ..agent.toolsets import Available
from ..bridge.agent_tools import planning_toolset
from ..bridge.operations import Operations
from ..bridge.operations.search import UsableTools
from ..bridge.operations.tools import Progress
from ..catalog.groups import ToolChoice
from ..core.calls import ToolInvocation
from ..core.errors import InvalidArguments, UnknownServer, UnknownTool
from ..core.json import JsonObject
from ..core.names import did_you_mean, listed
from ..core.results import TextPart, ToolResult
from ..core.tools import META, Tool, ToolAnnotations, ToolKey
from ..search.meta_tools import META_TOOLS, TOOL_EXPLAIN, TOOL_SEARCH, tool_line
from ..sources.functions.function import ToolSchema
from ..views.plans import plan_text

ToolsMode: TypeAlias = Literal["all", "search", "auto"]
"""What an endpoint lists: all its tools; those that find them; or all of them where these fit."""

_START_SECONDS = 10.0  # for servers that start with the gateway; npx takes some seconds
_LATER_SECONDS = 0.3  # one that hangs must not slow down each search
_PAGE = 50
_MOST_NAMES = 5
_WIDTH = 1_000  # of a plan: whoever shows it breaks its lines
_BY_ID = "A tool is named by its id, `server/tool`."


class _ListTools(BaseModel):
    source: str = Field("", description="Only the tools of this server.")
    text: str = Field("", description="Only tools that have this in their name or description.")
    cursor: str = Field("", description="`next_cursor` of the page before; keeps its filters.")


def own_tool(
    kind: str, name: str, does: str, takes: type[BaseModel], annotations: ToolAnnotations
) -> Tool:
    """A tool of the gateway, which takes what the model `takes` describes."""
    schema = takes.model_json_schema(schema_generator=ToolSchema)
    return Tool(ToolKey(kind, "", name), does, schema, annotations=annotations)


_READS = ToolAnnotations(read_only=True, open_world=False)
_LIST = own_tool(
    META.name, "list_tools",
    "Lists the tools of this server's servers page by page, with what they take and do.",
    _ListTools, _READS,
)  # fmt: skip
_TOOLS = (
    replace(
        TOOL_SEARCH,
        description="Finds tools that are not listed here. Say in a few words what one step needs, "
        "such as `create a calendar event`; search again for the next step rather than for the "
        f"whole task. Call what it finds with `{EXECUTE_TOOL.name}`. {_BY_ID}",
        annotations=_READS,
    ),
    replace(TOOL_EXPLAIN, annotations=_READS),
    replace(SELECT_TOOL, annotations=_READS),
    replace(PLAN_TOOLS, annotations=_READS),
    replace(
        EXECUTE_TOOL,
        description=f"Calls a tool that is not listed here, and returns its result. {_BY_ID}",
        annotations=ToolAnnotations(read_only=False, destructive=True, open_world=True),
    ),
    _LIST,
)


async def fits(
    operations: Operations, named: Iterable[tuple[str, Tool]], budget_tokens: int | None = None
) -> bool:
    """Whether these tools fit the budget of the settings, or this one, under these names."""
    budget = budget_tokens or operations.settings.search.budget_tokens
    return sum(x.tokens for x in await operations.engine.definitions.of(named)) <= budget


class GatewayTools:
    """The tools to search with, of one endpoint; `choice` has the tools that it serves, or all."""

    def __init__(self, choice: ToolChoice | None = None) -> None:
        self._choice = choice
        self._wait_until = time.monotonic() + _START_SECONDS

    def tools(self) -> tuple[Tool, ...]:
        """All of them."""
        return _TOOLS

    async def shown(
        self, mode: ToolsMode, named: Sequence[tuple[str, Tool]], operations: Operations
    ) -> list[tuple[str, Tool]]:
        """The tools that the endpoint lists, by name: those it serves are `named`.

        Where they are not all listed, those are that are always shown, and the own ones.
        """
        if mode == "all" or (mode == "auto" and await fits(operations, named)):
            return [*named]
        is_shown = operations.preferences().is_always_shown
        return [*(x for x in named if is_shown(x[1].key)), *((x.name, x) for x in _TOOLS)]

    async def call(
        self,
        name: str,
        arguments: JsonObject,
        operations: Operations,
        *,
        on_progress: Progress | None = None,
        meta: JsonObject | None = None,
    ) -> ToolResult:
        """Call one of them for the caller of `operations`.

        A wrong name or wrong arguments are a result with `is_error`. What goes wrong with a tool
        that `execute_tool` calls is raised, as `Operations.call_tool` does.
        """
        tool = next(x for x in _TOOLS if x.name == name)
        usable = await self.usable(operations)
        failed = usable.failed
        by_id = [(str(key), usable.tools[key]) for key in sorted(usable.tools, key=str)]
        tools = Available(await operations.engine.definitions.of(by_id))
        try:
            if tool.key == EXECUTE_TOOL.key:
                found, given = executed(arguments, tools, partial(_why_not, tools, failed))
                key = found.tool.key
                return await operations.call_tool(
                    key.source, key.name, given, on_progress=on_progress, meta=meta
                )
            invocation = ToolInvocation(tool, arguments, operations.caller)
            perform = partial(_answer, operations, tools, failed)
            return await operations.engine.calls.run(invocation, perform)
        except (InvalidArguments, UnknownTool, UnknownServer) as wrong:
            return ToolResult.of_text(str(wrong), is_error=True)

    async def usable(self, operations: Operations) -> UsableTools:
        """The tools of the endpoint that the caller may use now."""
        wait_seconds = max(self._wait_until - time.monotonic(), _LATER_SECONDS)
        return await operations.usable_tools(self._choice, wait_seconds=wait_seconds)


async def _answer(
    operations: Operations, tools: Available, failed: Mapping[str, str], invocation: ToolInvocation
) -> ToolResult:
    async def available() -> Available:
        return tools

    if invocation.tool is _LIST:
        result = _page(_ListTools.model_validate(invocation.arguments), tools, failed)
    elif invocation.tool.key in {x.key for x in META_TOOLS}:
        search = operations.search_for(operations.preferences())
        discovery = DiscoveryToolset(search, available, EXECUTE_TOOL.name)
        result = await discovery.call(invocation)
    else:
        describe = partial(plan_text, width=_WIDTH)
        result = await planning_toolset(operations, describe, None, available).call(invocation)
    if not failed:
        return result
    without = (
        f"Without the tools of these, which cannot be used now: {listed([*failed], _MOST_NAMES)}."
    )
    return replace(result, parts=(*result.parts, TextPart(without)))


def _why_not(tools: Available, failed: Mapping[str, str], name: str) -> str:
    source = next((x for x in failed if name.startswith(f"{x}/")), "")
    return f"{name!r} cannot be called now. {failed[source]}" if source else tools.unknown(name)


def _page(asked: _ListTools, tools: Available, failed: Mapping[str, str]) -> ToolResult:
    """A page of tools in the order of their ids, so that none is missed when others come or go."""
    source, text, after = (
        _read_cursor(asked.cursor) if asked.cursor else (asked.source, asked.text, "")
    )
    if source and source not in tools.sources:
        known = f"There are: {listed(tools.sources, _MOST_NAMES)}."
        why = failed.get(source) or did_you_mean(source, tools.sources) or known
        raise UnknownServer(f"No server {source!r} has tools here. {why}", source, tools.sources)
    looked_for = text.casefold()
    chosen = [
        x for x in tools.definitions
        if (not source or x.tool.source == source)
        and looked_for in f"{x.name} {x.tool.title or ''} {x.tool.description}".casefold()
    ]  # fmt: skip
    left = [x for x in chosen if x.name > after]
    page = left[:_PAGE]
    lines = [tool_line(x) for x in page] or ["There are no more tools." if after else "No tool."]
    told: dict[str, Any] = {"tools": [{"name": x.name} for x in page], "total": len(chosen)}
    if len(left) > _PAGE:
        told["next_cursor"] = _cursor(source, text, page[-1].name)
        lines.append(f"{len(left) - _PAGE:,} more: go on with cursor {told['next_cursor']}")
    return ToolResult((TextPart("\n".join(lines)),), structured=told)


def _cursor(*parts: str) -> str:
    return urlsafe_b64encode(json.dumps(parts).encode()).decode()


def _read_cursor(cursor: str) -> tuple[str, str, str]:
    try:
        source, text, after = map(str, json.loads(urlsafe_b64decode(cursor)))
    except (ValueError, TypeError, binascii.Error) as cause:
        problem = "`cursor` is none: give the `next_cursor` of a page, or leave it out"
        raise InvalidArguments(_LIST.name, [problem], "next_cursor") from cause
    return source, text, after
