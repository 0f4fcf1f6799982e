"""Finding tools and explaining them, for nodes: what goes out on their ports. No model is asked."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from typing import Any

from ..bridge.operations import Operations
from ..console.text import count
from ..core.json import JsonObject
from ..planning.answered import ExplainedChoice
from ..search.found import ExplainedTool, FoundTools
from ..views.fitting import choice_json, choice_text
from ..views.found import explained_json, explained_text, found_json, found_text
from .agents import tools_in
from .at_node import AtNode, at_node
from .preferences import preferences_of
from .toolbelts import tools_chosen

_SEARCH, _EXPLAIN = "MCPSearchTools", "MCPExplainTool"
_DEFAULT_LIMIT = 10
_WIDTH = 1_000  # of a text on a port: whoever shows it breaks its lines
_NOTHING = "No tool has any of these words. MCPListTools lists all that a server has."


def find_tools(
    ctx: Any, query: str, toolbelt_spec: Mapping[str, Any], limit: int | None = None
) -> dict[str, Any]:
    """The tools that fit what somebody wants, best first.

    Of the sources in a toolbelt, without what it blocks; else of all in the settings. The text
    names those that cannot be used.

    Raises:
        BadSetting: `toolbelt_spec` is no spec of a toolbelt.
        SettingsError: the settings file cannot be read.
    """
    agent = tools_in(toolbelt_spec, "toolbelt_spec", _SEARCH)

    def search(operations: Operations) -> Awaitable[FoundTools]:
        choice = tools_chosen(agent, operations) if toolbelt_spec else None
        return operations.search_tools(
            query,
            limit=limit or _DEFAULT_LIMIT,
            choice=choice,
            preferences=preferences_of(agent),
        )

    with at_node(ctx, _SEARCH, "search", query=query) as work:
        tools = work.wait(
            search,
            waiting_for="the servers to list their tools",
            summary=lambda x: count(len(x), "tool"),
        )
        work.answer["names"] = [str(x.entry.key) for x in tools]
    lines = [found_text(x, _WIDTH) for x in tools] or [_NOTHING]
    lines += [f"Note: {tools.note}"] if tools.note else []
    lines += [f"Left out: {reason}" for reason in tools.failed.values()]
    rows = [found_json(x) for x in tools]
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
    """A tool's definition, an example call, and why it is chosen for a request, if there is one.

    Raises:
        BadSetting: `toolbelt_spec` is no spec of a toolbelt.
        UnknownServer, UnknownTool: there is none of that name; the message has the nearest.
        SourceFailed: the server cannot be used.
    """
    spec = toolbelt_spec or {}
    agent = tools_in(spec, "toolbelt_spec", _EXPLAIN)
    asked = {"server": server_name, "tool": tool_name} | ({"request": request} if request else {})
    with at_node(ctx, _EXPLAIN, server_name, **asked) as work:
        work.bridge.settings.source(server_name)
        tool = _explained(work, server_name, tool_name)
        work.answer["example"] = tool.example
        choice = _choice(work, server_name, tool_name, request, agent, bool(spec))
    lines = [explained_text(tool, _WIDTH), *([choice_text(choice, _WIDTH)] if choice else [])]
    return {
        "definition": explained_json(tool),
        "example": tool.example,
        "choice": choice_json(choice) if choice else {},
        "is_chosen": bool(choice and choice.is_chosen),
        "summary": "\n".join(lines),
    }


def _explained(work: AtNode, server: str, tool: str) -> ExplainedTool:
    return work.wait(
        lambda operations: operations.explain_tool(server, tool),
        waiting_for=f"the server {server}",
        summary=lambda x: x.entry.key.name,
    )


def _choice(
    work: AtNode, server: str, tool: str, request: str, agent: JsonObject, has_toolbelt: bool
) -> ExplainedChoice | None:
    if not request:
        return None

    def explain(operations: Operations) -> Awaitable[ExplainedChoice]:
        choice = tools_chosen(agent, operations) if has_toolbelt else None
        return operations.explain_choice(request, server, tool, choice, preferences_of(agent))

    choice = work.wait(
        explain,
        waiting_for="the servers to list their tools",
        summary=lambda x: f"{x.key.name} is {'' if x.is_chosen else 'not '}chosen",
    )
    work.answer["is_chosen"] = choice.is_chosen
    return choice
