"""`plan make`, `run`, `approve` and `check`: plans of calls."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

from ..agent.events import RunEvent, ToolFinished
from ..agent.run_file import WaitingRun, lock_run
from ..bridge.faces import Bridge
from ..bridge.operations.runs import PLAN
from ..canvas.at_node import on_stage
from ..canvas.planning import perform
from ..console.approval import ask_approval, request_lines
from ..console.console import Console
from ..core.approval import ApprovalScope, AwaitedCall
from ..core.json import JsonObject
from ..core.shell import shell_command
from ..drawing.reading import calls_in_file
from ..planning.answers import calls_to_check
from ..planning.plan import Plan, plan_as_json, read_plan
from ..planning.plan_run import PlanRun
from ..secrets.redactor import Redactor, redact_json
from ..views.fitting import checked_text, wire_problem_json
from ..views.plans import plan_text
from .frame import LOOK, Frame, Report, StoreFrame, say_env_notes
from .options import BaseUrl, Model, OnlyServers, Timeout, pair_in
from .output import reader_until, say, say_result, write_file

_APPROVER = "whoever ran `xai-mcp-agent plan approve`"
_STATUS = {"finished": 0, "failed": 1}


def make(
    frame: StoreFrame,
    request: Annotated[str, Argument(help="What you want done, in your words.")],
    server: OnlyServers = None,
    model: Model = None,
    base_url: BaseUrl = "",
    out: Annotated[Path | None, Option(help="Write the plan to this file, as JSON.")] = None,
) -> Report:
    """Plan the calls that answer a request, and say what is missing; nothing is called.

    It uses the tools that agents may use now. Without --model the plan is rough: it is made from
    words and schemas alone. A model's plan is checked, and the model may correct it once; if that
    fails, the rough plan stands. An existing file is kept as a backup. The exit status is 1 if
    nothing can be planned or a server cannot be used; such a server is reported, and the plan is
    made without it.
    """
    if not request.strip():
        raise typer.BadParameter("Say what is to be done, such as 'lend a book about the sea'.")
    with frame.bridge(*(server or ())) as (bridge, names):
        if model:
            say_env_notes(bridge.settings)
        plan = bridge.plan_tools(request, *names, model=model or "", base_url=base_url)
    plan_json = plan_as_json(plan)
    if out is not None:
        text = json.dumps(plan_json, indent=2, ensure_ascii=False)
        backup = write_file(out, f"{text}\n", "--out", may_replace=True)
        also = f" The old file is kept as {backup}." if backup else ""
        say(f"Written to {out}.{also}", to_stderr=True)
    return Report(
        {**plan_json, "failed": plan.failed},
        plan_text(plan),
        plan.failed.values(),
        status=0 if plan.calls else 1,
    )


def check(
    frame: StoreFrame,
    file: Annotated[Path, Argument(help="A workflow (.xircuits), or a plan as JSON.")],
) -> Report:
    """Check that the calls of a workflow or a plan fit together, before any of them is made.

    It reports missing arguments, arguments that a tool does not take, and fields that a result does
    not have, with the tool that would give them. The exit status is then 1.
    """
    is_plan = file.suffix == ".json"
    calls = calls_to_check(read_plan(file)) if is_plan else calls_in_file(file)
    with frame.bridge() as (bridge, _):
        checked = bridge.check_wires(calls)
    json = {
        "problems": [wire_problem_json(x, calls) for x in checked.problems],
        "checked": checked.checked,
        "calls": checked.of,
    }
    text = checked_text(checked, calls)
    return Report(json, text, status=1 if checked.problems else 0)


def run(
    frame: StoreFrame,
    file: Annotated[Path, Argument(help="The plan, as JSON.")],
    give: Annotated[
        list[str] | None,
        Option(metavar="CALL.PARAM=JSON", help="Set an argument of a call; calls count from 1."),
    ] = None,
    state: Annotated[
        Path | None, Option(help="Keep the state of the run in this file, and continue from it.")
    ] = None,
    again: Annotated[
        int | None,
        Option(
            metavar="CALL",
            help="Repeat this call, which may already have been made when the run was killed.",
        ),
    ] = None,
    agent: Annotated[
        str, Option(metavar="NAME", help="The agent in whose name the calls are made.")
    ] = PLAN,
    source: Annotated[
        str, Option(metavar="SERVER", help="The server of tools that name none.")
    ] = "",
    timeout: Timeout = None,
) -> Report:
    """Run a plan: make its calls one after another, each with the results of earlier ones.

    Rules, approvals and switched-off tools count as they do for an agent. It stops when a value is
    missing, a call fails or a call needs approval; with --state the same command continues there
    and repeats no call. The exit status is 1 if a call failed, and 3 if you must first supply,
    approve or check something.
    """
    plan, values = read_plan(file), dict(_argument(x) for x in give or [])
    options: dict[str, Any] = {
        "given": values, "resume": state, "again": again, "agent": agent, "source": source,
        "timeout_seconds": timeout,
    }  # fmt: skip
    with frame.bridge() as (bridge, _):
        mask = Redactor([bridge.settings.secrets], guesses=True)
        if frame.as_json:  # a program cannot be asked
            plan_run = bridge.run_plan(plan, **options)
        else:
            plan_run = _run_at_terminal(bridge, plan, options, mask)
    if not frame.as_json:
        _print_end(plan_run, plan, mask)
    json_ = json.loads(redact_json(json.dumps(_run_json(plan_run)), mask))
    return Report(json_, status=_STATUS.get(plan_run.status, LOOK))


def _argument(word: str) -> tuple[str, Any]:
    name, text = pair_in(word, "--give takes CALL.PARAM=JSON")
    try:
        return name, json.loads(text)
    except (ValueError, RecursionError):
        return name, text  # text without quotation marks


def _run_at_terminal(bridge: Bridge, plan: Plan, options: JsonObject, mask: Redactor) -> PlanRun:
    """Run the plan for the person at the terminal, and print each finished call.

    Arguments are not printed: they may be secrets.
    """
    of = len(plan.calls)

    def show(event: RunEvent, at: float) -> None:
        if isinstance(event, ToolFinished):
            number = int(event.call_id.removeprefix("call_"))
            how = "failed" if event.result.is_error else "done"
            name = plan.calls[number - 1].name
            say(f"{number}/{of} {name}: {how} in {event.seconds:.2f} s", to_stderr=True)

    with on_stage(bridge, Console(options["agent"])) as stage:
        stage.console.hide(mask)
        return perform(stage, plan, options, show)


def _print_end(run: PlanRun, plan: Plan, mask: Redactor) -> None:
    if run.is_finished and plan.calls:
        say_result(mask(run.text), to_stderr=False)
    elif run.is_finished:
        say("The plan has no calls, so nothing was done.", to_stderr=True)
    else:
        say(f"{run.status}: {len(run.calls)} of {len(plan.calls)} calls were made.", to_stderr=True)
        say(mask(run.problem), to_stderr=True)


def _run_json(run: PlanRun) -> JsonObject:
    return {
        "status": run.status,
        "results": run.results,
        "text": run.text,
        "missing": [
            {"call": x.call + 1, "parameter": x.parameter, "reason": x.reason} for x in run.missing
        ],
        "waiting": run.awaiting and run.awaiting.request.title,
        "problem": run.problem,
    }


# Waiting calls


def approve(
    frame: Frame,
    file: Annotated[Path, Argument(metavar="RUN_FILE", help="The file of a waiting run.")],
    yes: Annotated[list[int] | None, Option(metavar="CALL", help="Allow this call.")] = None,
    no: Annotated[list[int] | None, Option(metavar="CALL", help="Do not make this call.")] = None,
    everything: Annotated[bool, Option("--all", help="Allow all other calls of the run.")] = False,
    always: Annotated[
        bool, Option("--for-good", help="Do not ask again about tools approved here.")
    ] = False,
) -> Report:
    """Approve the calls that a stopped run of an agent or a plan waits for.

    Without --yes, --no or --all it asks about each call in the file.
    """
    if twice := set(yes or ()) & set(no or ()):
        raise typer.BadParameter(f"--yes and --no both name call {min(twice)}.")
    scope: ApprovalScope = "always" if always else "once"
    with lock_run(file):
        run = before = WaitingRun.read(file)
        answers: dict[int, ApprovalScope] = {}
        if everything:
            answers = {n: scope for n, x in enumerate(run.calls, 1) if x.answer is None}
        answers |= {**dict.fromkeys(yes or (), scope), **dict.fromkeys(no or (), "no")}
        for number, answer in answers.items():
            reason = "the person said no" if answer == "no" else ""
            run = run.answered(number, answer, by=_APPROVER, reason=reason)
        if not answers and frame.can_ask:
            run = _ask(run)
        if run != before:
            run.write()
    json_ = {"agent": run.agent, "calls": [_call_json(x) for x in run.calls]}
    return Report(json_, "\n".join(_run_lines(run)))


def _ask(run: WaitingRun) -> WaitingRun:
    """Ask the person at the terminal about each call that has no answer."""
    for number, call in enumerate(run.calls, 1):
        if call.answer is None:
            say(f"Call {number} of {len(run.calls)}:")
            read = reader_until(call.request.limit_seconds)
            answer = ask_approval(call.request, lambda mark, text: say(f"{mark} {text}"), read)
            run = run.answered(number, answer.scope, by=_APPROVER, reason=answer.reason)
    return run


def _run_lines(run: WaitingRun) -> list[str]:
    lines = list[str]()
    for number, call in enumerate(run.calls, 1):
        answer = call.answer.scope if call.answer else "waits for an answer"
        lines.append(f"{number}. {call.request.title}: {answer}")
        if call.answer is None:
            lines += [f"   {x}" for x in request_lines(call.request)]
    if any(x.answer is None for x in run.calls):
        command = shell_command("xai-mcp-agent", "plan", "approve", str(run.file))
        return [*lines, f"Answer with `{command}` and --yes, --no or --all."]
    return [*lines, f"Run the {'plan' if run.plan else 'workflow'} again: it continues."]


def _call_json(call: AwaitedCall) -> dict[str, object]:
    return {
        **asdict(call.request),
        "definition": call.definition,
        "answer": call.answer and call.answer.scope,
    }
