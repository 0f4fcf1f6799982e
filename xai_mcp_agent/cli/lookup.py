"""`tools explain`, `select` and `suggest`, and `search`: which tool for what, and why."""

from __future__ import annotations

from typing import Annotated

import typer
from typer import Argument, Option

from ..views.fitting import choice_json, choice_text, suggested_text, suggestion_json
from ..views.search import (
    explained_json,
    explained_text,
    match_json,
    match_text,
    selection_text,
)
from .frame import Report, StoreFrame
from .options import Limit, OnlyServers, Server, Tool

_NOTHING = "No tool has any of these words. `xai-mcp-agent tools list` lists all tools."


def explain(
    frame: StoreFrame,
    server: Server,
    tool: Tool,
    request: Annotated[
        str, Option(help="Also say why it is chosen for this request, or why not.")
    ] = "",
) -> Report:
    """Show everything about one tool, with an example call and when it was first seen.

    With a request, it also shows why a search finds the tool, how a plan uses it, and which rules
    apply to it.
    """
    with frame.bridge(server) as (bridge, [name]):
        bridge.settings.source(name)
        if request.strip():
            choice = bridge.explain_choice(request, name, tool)
            return Report(choice_json(choice), choice_text(choice))
        explained = bridge.explain_tool(name, tool)
    return Report(explained_json(explained), explained_text(explained))


def select(
    frame: StoreFrame,
    question: Annotated[str, Argument(help="A request, as you would put it to an agent.")] = "",
    budget: Annotated[
        int | None, Option(min=1, help="The token budget. Default: as in the settings.")
    ] = None,
) -> Report:
    """Show which tools a model would be given for a request, why, and how many tokens they take.

    A server that cannot be used is reported; the exit status is then 1.
    """
    with frame.bridge() as (bridge, _):
        selection, unusable = bridge.select_tools(question, budget)
    json = {**selection.as_json(), "unusable": unusable}
    return Report(json, selection_text(selection), unusable)


def suggest(
    frame: StoreFrame,
    after: Annotated[
        list[str] | None,
        Argument(metavar="SERVER/TOOL", help="The tools used so far, in order. Default: none."),
    ] = None,
    request: Annotated[str, Option(help="What you want to achieve, in your words.")] = "",
    limit: Limit = 5,
) -> Report:
    """Suggest the next tool, best first, and say why.

    Suggestions follow from the results of the tools so far, from what followed them before, and
    from your request.
    """
    if not (after or request.strip()):
        raise typer.BadParameter("Name the tools so far, or say with --request what you want.")
    with frame.bridge() as (bridge, _):
        suggested = bridge.suggest_tools(after or [], request, limit)
    json = {"found": list(map(suggestion_json, suggested.tools)), "failed": suggested.failed}
    text = suggested_text(suggested)
    return Report(json, text, suggested.failed.values())


def search(
    frame: StoreFrame,
    query: Annotated[str, Argument(help="What you want to do, in your words.")],
    limit: Limit = 10,
    kind: Annotated[
        list[str] | None,
        Option(metavar="KIND", help="Find these: tool (default), prompt, resource. Repeatable."),
    ] = None,
    server: OnlyServers = None,
) -> Report:
    """Find tools for what you want to do, best match first, and say why each matches.

    A server that cannot be used is reported and the others are searched; the exit status is then 1.
    A note names the tools that a search by meaning could not include.
    """
    with frame.bridge(*(server or ())) as (bridge, names):
        tools = bridge.search_tools(query, *names, limit=limit, kinds=kind or ("tool",))
    json = {"found": list(map(match_json, tools)), "failed": tools.failed, "note": tools.note}
    text = "\n".join(match_text(x) for x in tools) or _NOTHING
    return Report(json, text, tools.failed.values(), [tools.note] if tools.note else ())
