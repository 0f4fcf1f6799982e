"""`tools suggest` and `check-wires`: what comes next, and whether calls fit together."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from ..canvas.fitting import calls_of_workflow, problems_json
from ..planning.answered import NamedCall, named_calls
from ..planning.plan import read_plan
from ..views.fitting import checked_text, suggested_text, suggestion_json
from .bridges import open_bridge, require_settings
from .output import AsJson, SettingsFile, StoreOption, echo_json, say, text_width


def suggest(
    after: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SERVER/TOOL", help="The tools used so far, in order. Default: none."
        ),
    ] = None,
    request: Annotated[str, typer.Option(help="What you want to achieve, in your words.")] = "",
    limit: Annotated[int, typer.Option("--limit", min=1, help="Show at most this many tools.")] = 5,
    store: StoreOption = None,
    settings: SettingsFile = None,
    as_json: AsJson = False,
) -> None:
    """Suggest the next tool, best first, and say why.

    Suggestions follow from the results of the tools so far, from what followed them before, and
    from your request.
    """
    if not (after or request.strip()):
        raise typer.BadParameter("Name the tools so far, or say with --request what you want.")
    with open_bridge(settings, store=store, as_json=as_json) as bridge:
        require_settings(bridge)
        found = bridge.suggest_tools(after or [], request, limit)
    if as_json:
        echo_json({"found": list(map(suggestion_json, found.tools)), "failed": found.failed})
    else:
        say(suggested_text(replace(found, failed={}), text_width()))
        for reason in found.failed.values():
            say(f"error: {reason}", to_stderr=True)
    if found.failed:
        raise typer.Exit(1)


def check_wires(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A workflow (.xircuits), or a plan as JSON.")
    ],
    store: StoreOption = None,
    settings: SettingsFile = None,
    as_json: AsJson = False,
) -> None:
    """Check that the calls of a workflow or a plan fit together, before any of them is made.

    It reports missing arguments, arguments that a tool does not take, and fields that a result does
    not have, with the tool that would give them. The exit status is then 1.
    """
    calls = _calls(file)
    with open_bridge(settings, store=store, as_json=as_json) as bridge:
        require_settings(bridge)
        checked = bridge.check_wires(calls)
    if as_json:
        found = problems_json(checked, calls)
        echo_json({"problems": found, "checked": checked.checked, "calls": checked.of})
    else:
        say(checked_text(checked, calls, text_width()))
    if checked.problems:
        raise typer.Exit(1)


def _calls(file: Path) -> list[NamedCall]:
    return named_calls(read_plan(file)) if file.suffix == ".json" else calls_of_workflow(file)
