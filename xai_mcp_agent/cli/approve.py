"""`xai-mcp-agent tools approve`, and `plan approve` for calls that wait in the file of a run."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from ..agent.run_file import WaitingRun, held
from ..bridge.faces import Bridge
from ..console.approval import ask_approval, request_lines
from ..console.terminal_questions import read_line, why_not_here
from ..core.approval import ApprovalAnswer, ApprovalScope, AwaitedCall
from ..core.errors import BadSetting, ReviewNeeded
from ..core.shell import shown_command
from ..policy.decisions import Choice
from ..policy.review import Review, digest_of_reviews, waiting_of
from .bridges import open_bridge, server_named
from .output import AsJson, SettingsFile, StoreOption, echo_json, say, says_yes
from .tools import tell_choices

_BY = "whoever ran `xai-mcp-agent plan approve`"


def approve(
    server: Annotated[
        str | None, typer.Argument(help="The server, as the settings name it.")
    ] = None,
    tools: Annotated[
        list[str] | None, typer.Argument(help="Its tools, as the server names them.")
    ] = None,
    digest: Annotated[
        str,
        typer.Option(
            metavar="DIGEST",
            help="The digest of the tool as you reviewed it: approve it without being asked.",
        ),
    ] = "",
    withdraw: Annotated[
        bool, typer.Option("--withdraw", help="Ask about these tools again from now on.")
    ] = False,
    show: Annotated[
        bool, typer.Option("--list", help="Print the tools that are approved for good.")
    ] = False,
    store: StoreOption = None,
    settings: SettingsFile = None,
    as_json: AsJson = False,
) -> None:
    """Approve a server's tools for all future calls.

    It shows their full descriptions and asks. The approval holds until a tool changes.
    """
    if show == bool(server) or (not show and not tools) or (withdraw and digest):
        raise typer.BadParameter("Name a server and its tools, or give --list.")
    with open_bridge(settings, store=store, as_json=as_json, servers=[server]) as bridge:
        if show:
            _show(bridge, as_json=as_json)
            return
        server = server_named(bridge, server or "", is_needed=False)
        choices = _decide(bridge, server, tools or [], digest, withdraw=withdraw, as_json=as_json)
    tell_choices(choices, as_json=as_json)


# Calls of a run


def approve_run(
    file: Annotated[Path, typer.Argument(metavar="RUN_FILE", help="The file of a waiting run.")],
    yes: Annotated[
        list[int] | None, typer.Option("--yes", metavar="CALL", help="Allow this call.")
    ] = None,
    no: Annotated[
        list[int] | None, typer.Option("--no", metavar="CALL", help="Do not make this call.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Allow all other calls of the run.")
    ] = False,
    always: Annotated[
        bool,
        typer.Option("--for-good", help="Do not ask again about tools approved here."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Approve the calls that a stopped run of an agent or a plan waits for.

    Without --yes, --no or --all it asks about each call in the file.
    """
    answers = _answers(yes or [], no or [], "always" if always else "once")
    _answer_run(file, answers, everything=everything, always=always, as_json=as_json)


def _answers(
    yes: Sequence[int], no: Sequence[int], approved: ApprovalScope
) -> dict[int, ApprovalScope]:
    if twice := set(yes) & set(no):
        raise typer.BadParameter(f"--yes and --no both name call {min(twice)}.")
    return {**dict.fromkeys(yes, approved), **dict.fromkeys(no, "no")}


def _answer_run(
    file: Path,
    answers: dict[int, ApprovalScope],
    *,
    everything: bool,
    always: bool,
    as_json: bool,
) -> None:
    with held(file):
        run = WaitingRun.read(file)
        if everything:
            left = [n for n, x in enumerate(run.calls, 1) if x.answer is None]
            answers = _answers(left, [], "always" if always else "once") | answers
        if answers:
            run = _answered(run, answers)
        elif not as_json and not why_not_here():
            run = _asked(run)
        if run != WaitingRun.read(file):
            run.write()
    if as_json:
        echo_json({"agent": run.agent, "calls": [_call_json(x) for x in run.calls]})
    else:
        _tell(run)


def _answered(run: WaitingRun, answers: dict[int, ApprovalScope]) -> WaitingRun:
    for number, answer in answers.items():
        reason = "the person said no" if answer == "no" else ""
        run = run.answered(number, answer, by=_BY, reason=reason)
    return run


def _asked(run: WaitingRun) -> WaitingRun:
    """With what the person at the terminal says of each call that has no answer."""
    for number, call in enumerate(run.calls, 1):
        if call.answer is None:
            given = _ask(call, number, len(run.calls))
            run = run.answered(number, given.scope, by=_BY, reason=given.reason)
    return run


def _ask(call: AwaitedCall, number: int, of: int) -> ApprovalAnswer:
    until, over = time.monotonic() + call.request.limit_seconds, threading.Event()

    def read(prompt: str) -> str:
        typer.echo(prompt, nl=False)
        return read_line(until, over)

    say(f"Call {number} of {of}:")
    return ask_approval(call.request, lambda mark, text: say(f"{mark} {text}"), read)


def _tell(run: WaitingRun) -> None:
    for number, call in enumerate(run.calls, 1):
        answer = call.answer.scope if call.answer else "waits for an answer"
        say(f"{number}. {call.request.title}: {answer}")
        if call.answer is None:
            say("\n".join(f"   {x}" for x in request_lines(call.request)))
    if any(x.answer is None for x in run.calls):
        command = shown_command("xai-mcp-agent", "plan", "approve", str(run.file))
        say(f"Answer with `{command}` and --yes, --no or --all.")
    else:
        what = "plan" if run.plan else "workflow"
        say(f"Run the {what} again: it goes on.")


def _call_json(call: AwaitedCall) -> dict[str, object]:
    return {
        **asdict(call.request),
        "definition": call.definition,
        "answer": call.answer and call.answer.scope,
    }


# Tools for good


def _decide(
    bridge: Bridge,
    server: str,
    tools: Sequence[str],
    digest: str,
    *,
    withdraw: bool,
    as_json: bool,
) -> list[Choice]:
    if withdraw:
        return bridge.withdraw(server, *tools)
    if digest or as_json or why_not_here():
        return _approved(bridge, server, tools, digest)
    while waiting := waiting_of(bridge.review_to_approve(server, *tools)):
        say("\n".join(map(_text, waiting)))
        names = ", ".join(ascii(x.tool) for x in waiting)
        if not says_yes(f"May agents call {names} of {server!a} unasked from now on?"):
            raise BadSetting(f"{server}: nothing was approved.")
        try:
            return _approved(bridge, server, tools, digest_of_reviews(waiting), quietly=True)
        except ReviewNeeded:
            say("It is something else by now:")
    return _approved(bridge, server, tools, "")


def _approved(
    bridge: Bridge, server: str, tools: Sequence[str], digest: str, *, quietly: bool = False
) -> list[Choice]:
    """Approve what has this digest.

    Raises:
        ReviewNeeded: it does not; what waits is shown.
    """

    try:
        return bridge.approve(server, *tools, digest=digest)
    except ReviewNeeded:
        if not quietly:
            for read in waiting_of(bridge.review_to_approve(server, *tools)):
                say(_text(read), to_stderr=True)
        raise


def _text(read: Review) -> str:
    said = f"{read.server} says of {read.tool} (digest {read.digest}):"
    return "\n".join((said, *(f"    {x}" for x in read.lines)))


def _show(bridge: Bridge, *, as_json: bool) -> None:
    found = bridge.approvals()
    if as_json:
        echo_json([x._asdict() for x in found])
        return
    for one in found:
        held_back = "" if one.counts else ", which does not count: you have not agreed to it"
        say(f"{one.source or 'canvas'}: {one.tool} (digest {one.digest}){held_back}")
    if not found:
        say("Nothing is approved for good.")
