"""`xai-mcp-agent ask`: a question to an agent that has the tools of the settings."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Annotated

import typer

from ..agent.events import RunEvent, RunFailed, ToolFinished
from ..agent.models.choice import OFFLINE, AgentModel
from ..bridge.agent import Agent, AgentResult
from ..bridge.faces import Bridge
from ..bridge.operations import Operations
from ..canvas.interactive_host import stage_for
from ..console.console import Console
from ..console.screen import Screen
from ..console.surface import Detail, surface_of
from ..core.errors import NoTools
from ..core.json import JsonObject
from ..secrets.redactor import Redactor
from ..settings.entry import WAIT_SECONDS
from .bridges import open_bridge, require_settings, servers_named
from .given import MODEL_WORDS, ModelName, in_our_words, one_of
from .output import (
    AsJson,
    OnlyServers,
    SettingsFile,
    StoreOption,
    echo_json,
    print_error,
    say,
    say_result,
)

_QUIET = Detail.QUIET.name.lower()
_SHOWN = [x.name.lower() for x in Detail]


def ask(
    question: Annotated[str, typer.Argument(help="The question, in quotation marks.")],
    server: OnlyServers = None,
    model: ModelName = OFFLINE,
    base_url: Annotated[
        str,
        typer.Option(
            "--base-url", help="The address of the model's service, if not its provider's."
        ),
    ] = "",
    system: Annotated[str, typer.Option(help="Instructions for the agent.")] = "",
    wait: Annotated[
        float | None,
        typer.Option(
            min=0,
            metavar="SECONDS",
            help="Without --server: how long to wait for the next server once one is ready. "
            f"Default: what the settings say, else {WAIT_SECONDS:g}.",
        ),
    ] = None,
    show: Annotated[
        str | None,
        typer.Option(parser=one_of(_SHOWN), metavar="|".join(_SHOWN), help="How much to show."),
    ] = None,
    store: StoreOption = None,
    settings: SettingsFile = None,
    as_json: AsJson = False,
) -> None:
    """Ask an agent that uses the tools of your settings, and print its answer.

    At a terminal you see each step, and approve what needs your approval. When piped, it prints
    only the answer; problems go to stderr. It waits for a server named by --server as long as its
    `startTimeout` allows. The exit status is 1 if there is no answer, if no server offers a usable
    tool, or if a server named by --server or marked `required` in the settings cannot be used.
    """
    is_watched = sys.stdout.isatty() and not as_json
    if not question.strip():
        raise typer.BadParameter("The question is empty. Write it in quotation marks.")
    with open_bridge(settings, store=store, as_json=as_json, servers=server or ()) as bridge:
        names = servers_named(bridge, server or ())
        if model == OFFLINE:
            require_settings(bridge)
        chosen = replace(AgentModel.of(model), base_url=base_url)
        agent = Agent(bridge, names or None, wait_seconds=wait, model=chosen, system_prompt=system)
        console = Console("agent", show) if is_watched else _beside(show)
        with in_our_words(MODEL_WORDS):
            try:
                result = _played(bridge, agent, question, console)
            except NoTools as reason:
                if as_json:
                    echo_json({"answer": "", "stopped": reason.stopped, "left_out": reason.reasons})
                print_error(reason, as_json=False)
                raise typer.Exit(1) from None
    if as_json:
        echo_json(_result_json(result))
    elif not is_watched:
        say_result(result.answer, to_stderr=False)
    elif show == _QUIET:
        say(result.answer)
    for note in () if as_json else result.notes:
        say(f"note: {note}", to_stderr=True)
    if result.stopped != "answered" or (server and result.left_out):
        raise typer.Exit(1)


def _beside(show: str | None) -> Console:
    """What happens on stderr, beside the answer."""

    def write(text: str) -> None:
        typer.echo(text, err=True, nl=False)

    return Console("agent", show or _QUIET, screen=Screen(write, surface_of(sys.stderr)))


def _played(bridge: Bridge, agent: Agent, question: str, console: Console) -> AgentResult:
    """Run it for the person in front of this thread."""
    with console:
        console.hide(Redactor([bridge.settings.secrets]))
        stage = stage_for(console)

        def tell(event: RunEvent) -> None:
            if not isinstance(event, RunFailed):  # that is the error of the command, told once
                stage.post(lambda: console.show(event))

        def watch(servers: tuple[str, ...]) -> None:
            stage.post(lambda: console.servers_awaited(servers))

        async def do(operations: Operations) -> AgentResult:
            return await agent.aio.play(question, tell, operations.caller.host, watch)

        return stage.perform(bridge, do)


def _result_json(result: AgentResult) -> JsonObject:
    return {
        "answer": result.answer,
        "stopped": result.stopped,
        "calls": [_call_json(x) for x in result.calls],
        "usage": result.usage,
        "left_out": result.left_out,
        "notes": result.notes,
    }


def _call_json(call: ToolFinished) -> JsonObject:
    return {
        "tool": call.tool,
        "server": call.source,
        "is_error": call.result.is_error,
        "text": call.result.text,
        "seconds": round(call.seconds, 3),
    }
