"""`xai-mcp-agent plan run`: the calls of a plan, made one after another."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from ..agent.events import RunEvent, ToolFinished
from ..bridge.faces import Bridge
from ..bridge.operations.runs import PLAN
from ..canvas.planning import perform
from ..console.console import Console
from ..core.json import JsonObject
from ..planning.plan import Plan, read_plan
from ..planning.plan_run import PlanRun
from ..secrets.redactor import Redactor, redact_json
from ..secrets.secrets import Mask
from .bridges import open_bridge, require_settings
from .given import LIMIT_WORDS, Timeout, reworded
from .output import AsJson, SettingsFile, StoreOption, echo_json, say, say_result

_LEFT = 3  # the exit status where somebody has to give, approve or look at something first
_STATUS = {"finished": 0, "failed": 1}


def run_plan(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The plan, as JSON.")],
    give: Annotated[
        list[str] | None,
        typer.Option(
            "--give",
            metavar="CALL.PARAM=JSON",
            help="Set an argument of a call; calls count from 1.",
        ),
    ] = None,
    state: Annotated[
        Path | None,
        typer.Option(
            "--state",
            metavar="FILE",
            help="Keep the state of the run in this file, and continue from it.",
        ),
    ] = None,
    again: Annotated[
        int | None,
        typer.Option(
            "--again",
            metavar="CALL",
            help="Repeat this call, which may already have been made when the run was killed.",
        ),
    ] = None,
    agent: Annotated[str, typer.Option(help="The agent in whose name the calls are made.")] = PLAN,
    source: Annotated[str, typer.Option(help="The server of tools that name none.")] = "",
    timeout: Timeout = None,
    store: StoreOption = None,
    settings: SettingsFile = None,
    as_json: AsJson = False,
) -> None:
    """Run a plan: make its calls one after another, each with the results of earlier ones.

    Rules, approvals and switched-off tools count as they do for an agent. It stops when a value is
    missing, a call fails or a call needs approval; with --state the same command continues there
    and repeats no call. The exit status is 1 if a call failed, and 3 if you must first supply,
    approve or check something.
    """
    plan, given = read_plan(file), dict(_given(x) for x in give or [])
    options: dict[str, Any] = {
        "given": given, "resume": state, "again": again, "agent": agent, "source": source,
        "timeout_seconds": timeout,
    }  # fmt: skip
    with open_bridge(settings, store=store, as_json=as_json) as bridge:
        require_settings(bridge)
        mask = Redactor([bridge.settings.secrets], guesses=True)
        # For a program nobody is asked anything.
        run = bridge.run_plan(plan, **options) if as_json else _shown(bridge, plan, options)
    if as_json:
        echo_json(json.loads(redact_json(json.dumps(_run_json(run)), mask)))
    else:
        _tell(run, plan, mask)
    if status := _STATUS.get(run.status, _LEFT):
        raise typer.Exit(status)


def _given(word: str) -> tuple[str, Any]:
    name, equals, text = word.partition("=")
    if not (name and equals):
        raise typer.BadParameter(f"--give wants CALL.PARAM=JSON, not {word[:40]!r}.")
    try:
        return name, json.loads(text)
    except (ValueError, RecursionError):
        return name, text  # a text without its quotation marks


def _shown(bridge: Bridge, plan: Plan, options: JsonObject) -> PlanRun:
    """Run it for the person at the terminal, who is told of each call when it is over.

    Not with which arguments: they may be secrets.
    """
    of = len(plan.calls)

    def show(event: RunEvent, at: float) -> None:
        if isinstance(event, ToolFinished):
            number = int(event.call_id.removeprefix("call_"))
            how = "failed" if event.result.is_error else "done"
            name = plan.calls[number - 1].name
            say(f"{number}/{of} {name}: {how} in {event.seconds:.2f} s", to_stderr=True)

    with Console(options["agent"]) as console:
        console.hide(Redactor([bridge.settings.secrets], guesses=True))
        return perform(bridge, plan, options, show, console)


def _tell(run: PlanRun, plan: Plan, mask: Mask) -> None:
    if run.is_finished and plan.calls:
        say_result(mask(run.text), to_stderr=False)
        return
    if run.is_finished:
        say("The plan has no calls, so nothing was done.", to_stderr=True)
        return
    say(f"{run.status}: {len(run.made)} of {len(plan.calls)} calls were made.", to_stderr=True)
    say(mask(reworded(run.problem, LIMIT_WORDS)), to_stderr=True)


def _run_json(run: PlanRun) -> JsonObject:
    return {
        "status": run.status,
        "results": run.results,
        "text": run.text,
        "missing": [
            {"call": x.call + 1, "parameter": x.parameter, "reason": x.reason} for x in run.lacking
        ],
        "waiting": run.awaiting and run.awaiting.request.title,
        "problem": run.problem,
    }
