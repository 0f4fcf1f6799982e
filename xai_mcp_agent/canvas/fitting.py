"""What comes next, whether wires fit, and why a tool is chosen, for nodes: plain values in and out.

Nobody asks a model.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Sequence
from pathlib import Path
from typing import Any

from ..bridge.operations import Operations
from ..console.text import count
from ..core.errors import BadSetting
from ..core.json import JsonObject
from ..drawing.reading import NoWorkflow, ReadCall, calls_in_file
from ..planning.answered import CheckedCalls, ExplainedChoice, NamedCall, Suggested, named_calls
from ..planning.plan import FromResult, Given, Missing, Parts, Source, plan_from_json
from ..steps.references import Reference, path_text, references_in
from ..views.fitting import (
    checked_text,
    choice_json,
    choice_text,
    suggested_text,
    suggestion_json,
    wire_problem_json,
)
from .agents import tools_in
from .ports import file_on, mapping, names, optional, required, whole
from .preferences import preferences_of
from .toolbelts import tools_chosen
from .transcript import used
from .waits import ask

_SUGGEST, _CHECK, _EXPLAIN = "MCPSuggestTools", "MCPCheckWires", "MCPExplainChoice"
_DEFAULT_LIMIT = 5
_WIDTH = 1_000  # of a text on a port: whoever shows it breaks its lines
_SERVERS = "the servers to list their tools"


def suggest_tools(
    ctx: Any, after: Any, request: Any = None, toolbelt_spec: Any = None, limit: Any = None
) -> tuple[list[JsonObject], str]:
    """The tools that may come next, the best first, as dicts and as text.

    Raises:
        BadSetting: a port has a value of the wrong kind, or nothing is given.
        UnknownTool: one of the tools before is not there, or may not be used.
    """
    before = names(after, "after", _SUGGEST)
    wanted = optional(request, "request", _SUGGEST)
    most = whole(limit, "limit", _SUGGEST) or _DEFAULT_LIMIT
    agent = tools_in(toolbelt_spec, "toolbelt_spec", _SUGGEST)

    def look(operations: Operations) -> Awaitable[Suggested]:
        choice = tools_chosen(agent, operations) if toolbelt_spec else None
        return operations.suggest_tools(before, wanted, most, choice, preferences_of(agent))

    with used(ctx, _SUGGEST, after=before, request=wanted) as (bridge, tell):
        found = ask(
            bridge, "suggest", look, awaited=_SERVERS, tell=lambda x: count(len(x.tools), "tool")
        )
        tell(names=[str(x.tool) for x in found.tools])
    return [suggestion_json(x) for x in found.tools], suggested_text(found, _WIDTH)


def check_wires(ctx: Any, workflow: Any, plan: Any = None) -> tuple[list[JsonObject], str]:
    """What is wrong with the calls of a workflow's file, or of a plan, as dicts and as text.

    Raises:
        BadSetting: neither or both are given, or there is no such file.
        NoWorkflow, BadPlan: it is none.
    """
    file, given = optional(workflow, "workflow", _CHECK), mapping(plan, "plan", _CHECK)
    if bool(file) == bool(given):
        raise BadSetting(f"{_CHECK} checks one thing: set `workflow` to a file, or wire `plan`.")
    with used(ctx, _CHECK, workflow=file) as (bridge, tell):
        if file:
            settings = os.fspath(bridge.settings.file or "")
            calls = calls_of_workflow(Path(file_on(file, "workflow", _CHECK, settings)))
        else:
            calls = named_calls(plan_from_json(given))
        checked = ask(
            bridge, "check wires", lambda operations: operations.check_wires(calls),
            awaited=_SERVERS, tell=lambda x: count(len(x.problems), "problem"),
        )  # fmt: skip
        tell(problems=len(checked.problems))
    return problems_json(checked, calls), checked_text(checked, calls, _WIDTH)


def explain_choice(
    ctx: Any, request: Any, server: Any, tool: Any, toolbelt_spec: Any = None
) -> tuple[JsonObject, str]:
    """Why a tool is chosen for a request, or is not, as a dict and as text.

    Raises:
        BadSetting: a port that is not wired.
        UnknownServer, UnknownTool: there is none of that name; the message has the nearest.
        SourceFailed: the server cannot be used.
    """
    asked = required(request, "request", _EXPLAIN)
    server = required(server, "server_name", _EXPLAIN)
    tool = required(tool, "tool_name", _EXPLAIN)
    agent = tools_in(toolbelt_spec, "toolbelt_spec", _EXPLAIN)

    def look(operations: Operations) -> Awaitable[ExplainedChoice]:
        choice = tools_chosen(agent, operations) if toolbelt_spec else None
        return operations.explain_choice(asked, server, tool, choice, preferences_of(agent))

    with used(ctx, _EXPLAIN, request=asked, server=server, tool=tool) as (bridge, tell):
        bridge.settings.source(server)
        found = ask(bridge, server, look, awaited=_SERVERS, tell=lambda x: x.key.name)
        tell(is_chosen=found.is_chosen)
    return choice_json(found), choice_text(found, _WIDTH)


def problems_json(checked: CheckedCalls, calls: Sequence[NamedCall]) -> list[JsonObject]:
    """The problems as dicts."""
    return [wire_problem_json(x, calls) for x in checked.problems]


def calls_of_workflow(file: Path) -> list[NamedCall]:
    """The calls in a workflow's file.

    Raises:
        NoWorkflow: it is none.
    """
    try:
        return [_named(x) for x in calls_in_file(file)]
    except RecursionError as cause:
        raise NoWorkflow(
            f"{file} has arguments that are too deep to be looked at. Name another file."
        ) from cause


def _named(call: ReadCall) -> NamedCall:
    arguments = {
        name: Missing("nobody gave it yet") if name in call.missing else _source(x)
        for name, x in call.arguments.items()
    }
    return NamedCall(call.source, call.tool, arguments, call.is_open, call.problem)


def _source(value: Any) -> Source | None:
    """What an argument is; what is joined, or taken out of a text, is its parts."""
    references = references_in(value)
    if not references:
        return Given(value)
    found = tuple(_from(x) for x in references if x.result >= 0)
    if isinstance(value, Reference) and not (value.after or value.before):
        return found[0] if found else None
    return Parts(found)


def _from(reference: Reference) -> FromResult:
    return FromResult(reference.result, path_text(reference.path).removeprefix(".") or None)
