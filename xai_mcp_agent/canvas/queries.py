"""Ports of the nodes that find and explain tools and read the history.

They ask no model. If the history cannot be used, the text says so and the workflow goes on.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from datetime import datetime
from typing import Any

from ..bridge.faces import Bridge
from ..bridge.operations import Operations
from ..catalog.groups import ToolChoice
from ..console.text import count
from ..core.errors import BadSetting, StoreFailed, UnknownServer
from ..core.json import JsonObject
from ..history.event import Event
from ..history.records import Records
from ..planning.answers import ExplainedChoice
from ..search.results import ExplainedTool, FoundTools
from ..views.fitting import choice_json, choice_text
from ..views.history import event_json, events_text
from ..views.search import explained_json, explained_text, match_json, match_text
from ..views.times import BadTime, moment, now
from ..views.tools import records_json, records_text
from .at_node import at_node
from .toolbelts import preferences_of, tool_choice, tools_in

_SEARCH, _EXPLAIN, _HISTORY = "MCPSearchTools", "MCPExplainTool", "MCPToolHistory"
_DEFAULT_LIMIT = 10
_USUAL_LIMIT = 100
_OLDER = "Older ones are left out: raise `limit`, or set `since` or `until`."
_NOTHING = "No tool has any of these words. MCPListTools lists all that a server has."


def find_tools(
    ctx: Any, query: str, toolbelt_spec: Mapping[str, Any], limit: int | None = None
) -> dict[str, Any]:
    """Return the tools that match a request, best first.

    It searches the sources of a toolbelt, without its blocked tools, or else all sources in the
    settings. The text names sources that cannot be used.

    Raises:
        BadSetting: `toolbelt_spec` is not a toolbelt's spec.
        SettingsError: the settings file cannot be read.
    """
    agent = tools_in(toolbelt_spec, "toolbelt_spec", _SEARCH)

    def search(operations: Operations) -> Awaitable[FoundTools]:
        return operations.search_tools(
            query,
            limit=limit or _DEFAULT_LIMIT,
            choice=_choice(toolbelt_spec, agent, operations),
            preferences=preferences_of(agent),
        )

    with at_node(ctx, _SEARCH, "search", query=query) as work:
        tools = work.wait(
            search,
            waiting_for="the servers to list their tools",
            summary=lambda x: count(len(x), "tool"),
        )
        work.answer["names"] = [str(x.entry.key) for x in tools]
    lines = [match_text(x) for x in tools] or [_NOTHING]
    lines += [f"Note: {tools.note}"] if tools.note else []
    lines += [f"Left out: {reason}" for reason in tools.failed.values()]
    rows = [match_json(x) for x in tools]
    best = rows[0] if rows else {"name": "", "server": ""}
    return {
        "found": rows,
        "best": best["name"],
        "best_server": best["server"],
        "summary": "\n".join(lines),
    }


def explain_tool(
    ctx: Any,
    server_name: str,
    tool_name: str,
    request: str = "",
    toolbelt_spec: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return a tool's definition, an example call, and why a request, if any, selects it.

    Raises:
        BadSetting: `toolbelt_spec` is not a toolbelt's spec.
        UnknownServer, UnknownTool: the name does not exist; the message has the nearest.
        SourceFailed: the server cannot be used.
    """
    agent = tools_in(toolbelt_spec, "toolbelt_spec", _EXPLAIN)
    fields = {"server": server_name, "tool": tool_name} | ({"request": request} if request else {})

    async def explain(operations: Operations) -> tuple[ExplainedTool, ExplainedChoice | None]:
        tool = await operations.explain_tool(server_name, tool_name)
        if not request:
            return tool, None
        choice, preferences = _choice(toolbelt_spec, agent, operations), preferences_of(agent)
        return tool, await operations.explain_choice(
            request, server_name, tool_name, choice, preferences
        )

    def summary(answer: tuple[ExplainedTool, ExplainedChoice | None]) -> str:
        name, choice = answer[0].entry.key.name, answer[1]
        return f"{name} is {'' if choice.is_chosen else 'not '}chosen" if choice else name

    with at_node(ctx, _EXPLAIN, server_name, **fields) as work:
        work.bridge.settings.source(server_name)
        what = "the servers to list their tools" if request else f"the server {server_name}"
        tool, choice = work.wait(explain, waiting_for=what, summary=summary)
        work.answer["example"] = tool.example
        if choice:
            work.answer["is_chosen"] = choice.is_chosen
    lines = [explained_text(tool), *([choice_text(choice)] if choice else [])]
    return {
        "definition": explained_json(tool),
        "example": tool.example,
        "choice": choice_json(choice) if choice else {},
        "is_chosen": bool(choice and choice.is_chosen),
        "summary": "\n".join(lines),
    }


def _choice(spec: Any, agent: JsonObject, operations: Operations) -> ToolChoice | None:
    """Return the tools of a toolbelt, or None for those of all servers if there is no toolbelt."""
    return tool_choice(agent, operations) if spec else None


def tool_history(
    ctx: Any,
    server_name: str = "",
    tool_name: str = "",
    since: str = "",
    limit: int | None = None,
    until: str = "",
    agent_name: str = "",
    failed: bool = False,
    text_in_it: str = "",
) -> dict[str, Any]:
    """Return the newest events, oldest first; without a tool also the state of each tool.

    Raises:
        BadSetting: `since` or `until` is not a time.
        UnknownServer, UnknownTool: the name is neither in the settings nor in the history.
    """
    most = limit or _USUAL_LIMIT
    options: dict[str, Any] = {
        "since": _moment(since, "since"),
        "until": _moment(until, "until"),
        "failed": failed,
        "agent": agent_name or None,
        "text": text_in_it,
        "limit": most + 1,
    }

    async def read(operations: Operations) -> tuple[list[Event], Records | None]:
        events = await _events(operations, server_name, tool_name, options)
        return events, None if tool_name else await operations.records()

    with at_node(ctx, _HISTORY, "history", server=server_name, tool=tool_name) as work:
        try:
            events, records = work.wait(
                read,
                waiting_for="the history",
                summary=lambda x: count(min(len(x[0]), most), "event"),
            )
        except StoreFailed as reason:
            work.answer["trouble"] = str(reason)
            return {"events": [], "text": str(reason), "tools": [], "status": str(reason)}
        newest = events[-most:]
        work.answer["events"] = len(newest)
        if records is not None:
            _require(work.bridge, records, server_name)
    text = events_text(newest)
    if len(events) > most:
        text = f"{text}\n{count(most, 'event')}. {_OLDER}"
    only = server_name or None
    return {
        "events": [event_json(x) for x in newest],
        "text": text,
        "tools": records_json(records, only)["tools"] if records else [],
        "status": records_text(records, only) if records else "",
    }


async def _events(
    operations: Operations, server: str, tool: str, options: dict[str, Any]
) -> list[Event]:
    try:
        return await operations.history(server or None, tool or None, **options)
    except UnknownServer:
        if server in operations.settings.sources:
            return []  # it was not used yet
        raise


def _require(bridge: Bridge, records: Records, server: str) -> None:
    """Raise UnknownServer for a name that neither the settings nor the history have."""
    if server and all(x.source_name != server for x in (*records.sources, *records.tools)):
        bridge.settings.source(server)


def _moment(text: str, port: str) -> datetime | None:
    try:
        return moment(text, now(), is_end=port == "until") if text else None
    except BadTime as reason:
        raise BadSetting(f"{_HISTORY}: {port}: {reason}") from reason
