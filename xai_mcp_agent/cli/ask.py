"""`xai-mcp-agent ask`: ask an agent that has the tools of the settings."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import typer
from typer import Argument, Option

from ..agent.events import RunEvent, RunFailed, ToolFinished
from ..agent.models.choice import OFFLINE, AgentModel
from ..bridge.agent import Agent, AgentResult
from ..bridge.faces import Bridge
from ..bridge.operations import Operations
from ..canvas.at_node import on_stage
from ..console.console import Console
from ..core.errors import BadSetting, NoTools, XaiMcpError
from ..core.json import JsonObject
from ..secrets.private_files import make_private_folder, replace_private
from ..secrets.secrets import Secret
from ..settings.entry import WAIT_SECONDS
from .frame import Report, StoreFrame, console_beside, say_env_notes
from .options import BaseUrl, Model, OnlyServers
from .output import say, say_result

logger = logging.getLogger(__name__)


Question = Annotated[
    str,
    Argument(
        help="The question, in quotation marks. Without it, or `-`: stdin.", show_default=False
    ),
]
ApiKey = Annotated[
    str,
    Option(
        metavar="VARIABLE",
        help="The environment variable with its API key, if not the provider's own.",
    ),
]
Temperature = Annotated[float | None, Option(min=0, help="The model's temperature.")]
MaxThoughts = Annotated[int, Option(min=1, help="The maximum number of model turns.")]
System = Annotated[str, Option(help="Instructions for the agent.")]
AnswerSchema = Annotated[
    Path | None, Option(help="A JSON Schema: the answer is JSON that fits it.")
]
Approve = Annotated[
    list[str] | None,
    Option(
        metavar="TOOL",
        help="Call this tool without asking you: its name, or a pattern. Can be repeated.",
    ),
]
Continue = Annotated[
    bool, Option("--continue", help="Go on with the last conversation of this folder.")
]
Wait = Annotated[
    float | None,
    Option(
        min=0, metavar="SECONDS",
        help="Without --server: how long to wait for the next server once one is ready. "
        f"Default: what the settings say, else {WAIT_SECONDS:g}.",
    ),
]  # fmt: skip
Show = Annotated[
    Literal["quiet", "normal", "verbose"] | None,
    Option(case_sensitive=False, help="How much to show."),
]


def ask(
    frame: StoreFrame,
    question: Question = "-",
    server: OnlyServers = None,
    model: Model = OFFLINE,
    base_url: BaseUrl = "",
    api_key: ApiKey = "",
    temperature: Temperature = None,
    max_thoughts: MaxThoughts = 10,
    system: System = "",
    schema: AnswerSchema = None,
    approve: Approve = None,
    goes_on: Continue = False,
    wait: Wait = None,
    show: Show = None,
) -> Report | None:
    """Ask an agent that uses the tools of your settings, and print its answer.

    At a terminal you see each step, and approve what needs your approval. When piped, it prints
    only the answer; problems go to stderr. It waits for a server named by --server as long as its
    `startTimeout` allows. The exit status is 1 if there is no answer, if no server offers a usable
    tool, or if a server named by --server or marked `required` in the settings cannot be used.
    """
    question = _question(question)
    output = _schema(schema)
    is_watched = sys.stdout.isatty() and not frame.as_json
    with frame.bridge(*(server or ()), needs_server=model == OFFLINE) as (bridge, names):
        say_env_notes(bridge.settings)
        agent_model = replace(
            AgentModel.of(model or OFFLINE, base_url),
            api_key=_key(api_key),
            temperature=temperature,
        )
        agent = Agent(
            bridge, names or None, wait_seconds=wait, model=agent_model, system_prompt=system,
            max_thoughts=max_thoughts, output_schema=output,
            approval=dict.fromkeys(approve, "allow") if approve else None,
        )  # fmt: skip
        earlier = _last_conversation() if goes_on else []
        messages = [*earlier, {"role": "user", "content": question}]
        console = Console("agent", show) if is_watched else console_beside("agent", show)
        try:
            result = _play(bridge, agent, messages, console)
        except NoTools as reason:
            return _no_tools(frame, reason)
    _remember(result.conversation)
    if not frame.as_json and not is_watched:
        say_result(result.answer, to_stderr=False)
    elif not frame.as_json and show == "quiet":
        say(result.answer)
    is_bad = result.stopped != "answered" or bool(server and result.left_out)
    return Report(_result_json(result), notes=result.notes, status=int(is_bad))


def _no_tools(frame: StoreFrame, reason: NoTools) -> Report:
    if frame.as_json:
        say(f"error: {reason}", to_stderr=True)
    json_ = {"answer": "", "stopped": reason.stopped, "left_out": reason.reasons}
    return Report(json_, errors=[str(reason)])


def _question(words: str) -> str:
    if words == "-":
        if sys.stdin is None or sys.stdin.isatty():
            raise typer.BadParameter("Write the question in quotation marks, or pipe it in.")
        words = sys.stdin.read()
    if not words.strip():
        raise typer.BadParameter("The question is empty. Write it in quotation marks.")
    return words


def _key(variable: str) -> Secret | None:
    if not variable:
        return None
    if not os.environ.get(variable):
        raise typer.BadParameter(f"--api-key: the environment variable {variable} is not set.")
    return Secret(os.environ[variable])


def _schema(file: Path | None) -> JsonObject | None:
    if file is None:
        return None
    try:
        schema: Any = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as cause:
        why = getattr(cause, "strerror", None) or f"it is not JSON ({cause})"
        raise BadSetting(f"{file} cannot be used as --schema: {why}.") from cause
    return cast(JsonObject, schema)


def _play(bridge: Bridge, agent: Agent, messages: list[Any], console: Console) -> AgentResult:
    """Run the agent for the person in front of this thread."""
    with on_stage(bridge, console) as stage:

        def tell(event: RunEvent) -> None:
            if not isinstance(event, RunFailed):  # the command reports that error itself
                stage.show(event)

        def watch(servers: tuple[str, ...]) -> None:
            stage.post(lambda: console.wait_for_servers(servers))

        async def do(operations: Operations) -> AgentResult:
            return await agent.aio.play(messages, tell, operations.caller.host, watch)

        return stage.perform(do)


def _result_json(result: AgentResult) -> JsonObject:
    return {
        "answer": result.answer,
        "structured": result.structured,
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


# Conversations


def _last_conversation() -> list[Any]:
    """Return the messages of the last conversation of the working folder; only this user reads it.

    Raises:
        XaiMcpError: there is none.
    """
    try:
        return json.loads(_conversation_file().read_text(encoding="utf-8"))
    except (OSError, ValueError) as cause:
        raise XaiMcpError(
            f"There is no conversation of {Path.cwd()} to go on with. Ask without --continue."
        ) from cause


def _remember(conversation: list[Any]) -> None:
    """Store a conversation as the last one of the working folder."""
    file = _conversation_file()
    try:
        make_private_folder(file.parent)
        replace_private(file, json.dumps(conversation).encode())
    except OSError as reason:
        logger.warning("This conversation cannot be continued: %s", reason)


def _conversation_file() -> Path:
    from platformdirs import user_state_path

    folder = hashlib.sha256(str(Path.cwd()).encode("utf-8", "surrogatepass")).hexdigest()[:16]
    state = user_state_path("xai-mcp-agent", appauthor=False)
    return state / "conversations" / f"{folder}.json"
