"""Finding and explaining tools without a model, for nodes: plain values in and out."""

from __future__ import annotations

from collections.abc import Awaitable
from functools import partial
from typing import Any

from ..bridge.operations import Operations
from ..console.text import count
from ..core.json import JsonObject
from ..search.found import FoundTools
from ..views.found import explained_json, explained_text, found_json, found_text
from ..views.selection import selection_text
from .agent_run import select_for
from .agents import tools_in
from .ports import optional, required, whole
from .preferences import preferences_of
from .toolbelts import tools_chosen
from .transcript import used
from .waits import ask

_SEARCH, _EXPLAIN, _REPORT = "MCPSearchTools", "MCPExplainTool", "AgentSelectionReport"
_DEFAULT_LIMIT = 10
_WIDTH = 1_000  # of a text on a port: whoever shows it breaks its lines
_NOTHING = "No tool has any of these words. MCPListTools lists all that a server has."


def find_tools(
    ctx: Any, query: Any, toolbelt_spec: Any = None, limit: Any = None
) -> tuple[list[JsonObject], str]:
    """The tools that fit what somebody wants, best first, as dicts and as text.

    Of the sources in a toolbelt, without what it blocks; else of all in the settings. Those that
    cannot be used are told of in the text.

    Raises:
        BadSetting: a port that is not wired or has a value of the wrong kind.
        SettingsError: the settings file cannot be read.
    """
    query = required(query, "query", _SEARCH)
    most = whole(limit, "limit", _SEARCH) or _DEFAULT_LIMIT
    agent = tools_in(toolbelt_spec, "toolbelt_spec", _SEARCH)

    def search(operations: Operations) -> Awaitable[FoundTools]:
        choice = tools_chosen(agent, operations) if toolbelt_spec else None
        return operations.search_tools(
            query, limit=most, choice=choice, preferences=preferences_of(agent)
        )

    with used(ctx, _SEARCH, query=query) as (bridge, tell):
        found = ask(
            bridge, "search", search,
            awaited="the servers to list their tools", tell=lambda x: count(len(x), "tool"),
        )  # fmt: skip
        tell(names=[str(x.entry.key) for x in found])
    lines = [found_text(x, _WIDTH) for x in found] or [_NOTHING]
    lines += [f"Note: {found.note}"] if found.note else []
    lines += [f"Left out: {reason}" for reason in found.failed.values()]
    return [found_json(x) for x in found], "\n".join(lines)


def report_selection(
    ctx: Any, agent: Any, request: Any = None
) -> tuple[JsonObject, list[str], int, str]:
    """What an agent's first request would show: all of it, the names, their tokens, and as text.

    With a `request` a search for it comes first. No model is asked.

    Raises:
        UnknownAgent, BadSetting, SettingsError: a mistake of a person.
    """
    wanted = optional(request, "request", _REPORT)
    selection, left_out = select_for(ctx, agent, wanted, _REPORT)
    report = {**selection.as_json(), "unusable": list(left_out)}
    lines = [selection_text(selection, _WIDTH), *(f"Left out: {x}" for x in left_out)]
    names = [x.definition.name for x in selection.shown]
    return report, names, selection.tokens, "\n".join(lines)


def explain_tool(ctx: Any, server: Any, tool: Any) -> tuple[JsonObject, JsonObject, str]:
    """A tool's definition, the arguments of an example call, and both as text.

    Raises:
        BadSetting: a port that is not wired.
        UnknownServer, UnknownTool: there is none of that name; the message has the nearest.
        SourceFailed: the server cannot be used.
    """
    server = required(server, "server_name", _EXPLAIN)
    tool = required(tool, "tool_name", _EXPLAIN)
    with used(ctx, _EXPLAIN, server=server, tool=tool) as (bridge, tell):
        bridge.settings.source(server)
        found = ask(
            bridge, server, partial(Operations.explain_tool, server=server, tool=tool),
            awaited=f"the server {server}", tell=lambda x: x.entry.key.name,
        )  # fmt: skip
        tell(example=found.example)
    return explained_json(found), found.example, explained_text(found, _WIDTH)
