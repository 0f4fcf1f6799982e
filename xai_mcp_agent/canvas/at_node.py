"""A node at work: its thread, its lines on the screen and in the transcript, its person."""

from __future__ import annotations

import time
import uuid
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

from ..agent.events import RunEvent, ToolFinished, ToolProgressed, ToolStarted
from ..bridge.faces import Bridge
from ..bridge.operations import Operations
from ..bridge.transcript import Recorder, transcript_file, workflow_name
from ..console.console import Console
from ..console.notebook import is_in_lab
from ..core.calls import Caller
from ..core.json import JsonObject
from ..core.results import ToolResult
from ..secrets.redactor import Redactor
from ..sources.canvas import DrawnTool
from .agents import learn_keys, own_agents
from .drawn_tools import DrawnToolset
from .lease import bridge_of
from .panel.recorder import PanelRecorder
from .person import InteractiveHost
from .workflow_thread import WorkflowThread
from .workshop.run import lesson_run

T = TypeVar("T")

_CALL = "call"  # label of a node that calls a tool
_RUN_KEY = "mcp_run"


class Stage(WorkflowThread):
    """The thread of one run, with its console and the person in front of it. See `on_stage`."""

    def __init__(
        self, bridge: Bridge, console: Console, ctx: Any, node: str, run_id: str, agent: str
    ) -> None:
        super().__init__(bridge, console.tick, agent)
        self.ctx = ctx
        self.console = console
        self.person = InteractiveHost(self, console)
        workflow = workflow_name() if node else ""
        self.caller = Caller("person", run=run_id, host=self.person, workflow=workflow, node=node)

    def show(self, event: RunEvent) -> None:
        """Write an event to the screen. Called from the loop."""
        self.post(lambda: self.console.show(event))

    async def run_nodes(self, do: Callable[[Any], T]) -> T:
        """Run a person's nodes in the workflow's thread, and wait. Called from the loop."""
        ctx = self.ctx

        def run() -> T:
            with own_agents(ctx):
                return self.console.aside(lambda: do(ctx))

        return await self.run(run)

    def drawn_toolset(self, tools: Mapping[str, DrawnTool]) -> DrawnToolset:
        """Return a toolset of drawn tools, whose nodes run in this thread."""

        async def run(tool: DrawnTool, arguments: JsonObject) -> ToolResult:
            return await self.run_nodes(lambda ctx: tool.call(ctx, arguments))

        return DrawnToolset(tools, run)


@contextmanager
def on_stage(
    bridge: Bridge,
    console: Console,
    *,
    ctx: Any = None,
    node: str = "",
    run_id: str = "",
    agent: str = "",
) -> Generator[Stage]:
    """Yield a stage for a run in this thread; its console hides the secrets of the settings.

    `node` is the node at work, if any. At the end the stage drops the workflow: an
    error of some library may keep every frame it passed through for any length of time. Through
    those frames it must not keep the workflow, because its servers close when its `ctx` is gone.
    """
    with console:
        if ctx is not None:
            learn_keys(ctx, bridge.settings.secrets)
        console.hide(Redactor([bridge.settings.secrets]))
        stage = Stage(bridge, console, ctx, node, run_id, agent)
        try:
            yield stage
        finally:
            stage.ctx = None
            del stage.bridge  # its pipeline remembers the last callers, and they this stage


def recorder(ctx: Any, bridge: Bridge, **who: str) -> Recorder:
    """Return the recorder for one agent or node; it masks the keys of all agents of the run."""
    file, lesson = transcript_file(), lesson_run(ctx)
    if not file and lesson is None and not is_in_lab():
        return Recorder("", who)
    run = ctx.setdefault(_RUN_KEY, uuid.uuid4().hex[:8])
    learn_keys(ctx, bridge.settings.secrets)
    secrets, listen = [bridge.settings.secrets], lesson.note if lesson else None
    kind = PanelRecorder if is_in_lab() else Recorder
    return kind(file, {"run": run, **who}, secrets, listen)


class AtNode:
    """A node without a model at work; the transcript gets `answer`."""

    def __init__(self, stage: Stage, label: str) -> None:
        self.stage = stage
        self.label = label
        self.answer: JsonObject = {}

    @property
    def bridge(self) -> Bridge:
        """The bridge of the run."""
        return self.stage.bridge

    def wait(
        self,
        do: Callable[[Operations], Awaitable[T]],
        *,
        waiting_for: str,
        summary: Callable[[T], str],
    ) -> T:
        """Run `do` on the bridge's loop, wait for it, and print a line with its `summary`.

        Raises:
            RuntimeError: the bridge is closed, or was closed meanwhile. Errors of `do` are raised
                too.
        """
        self.stage.console.wait_for(waiting_for)
        value = self.stage.perform(do)
        self.stage.console.note("--", f"{self.label}: {summary(value)}")
        return value

    def call(
        self, server: str, tool: str, arguments: JsonObject, timeout_seconds: float | None
    ) -> ToolResult:
        """Call a tool of a server, show it like a call of an agent, and note its answer.

        Raises:
            XaiMcpError: see `Bridge.call_tool`.
            RuntimeError: the bridge is closed, or was closed meanwhile.
        """
        name, stage = f"{server}.{tool}", self.stage

        def on_progress(current: float, total: float | None, message: str) -> None:
            stage.show(ToolProgressed(_CALL, name, current, total, message))

        async def do(operations: Operations) -> ToolResult:
            """Call the tool, and print a line before and a line after."""
            stage.show(ToolStarted(_CALL, name, arguments, server))
            start = time.monotonic()
            result = await operations.call_tool(
                server, tool, arguments, timeout_seconds=timeout_seconds, on_progress=on_progress
            )
            seconds = time.monotonic() - start
            stage.show(ToolFinished(_CALL, name, arguments, result, seconds, "", server))
            return result

        result = stage.perform(do)
        self.note(result)
        return result

    def note(self, result: ToolResult) -> None:
        """Put the result of a tool into the transcript."""
        self.answer.update(text=result.text, structured=result.structured, is_error=result.is_error)


@contextmanager
def at_node(ctx: Any, node: str, label: str, run_id: str = "", **fields: Any) -> Generator[AtNode]:
    """Yield a node at work; `label` stands before its lines.

    The transcript has `NodeStarted` with these `fields`, and `NodeFinished` or `NodeFailed`.
    """
    fields = {"run_id": run_id, **fields} if run_id else fields
    bridge, start = bridge_of(ctx), time.monotonic()
    note = partial(recorder(ctx, bridge, node=node).note, **fields)
    note("NodeStarted")
    try:
        with on_stage(bridge, Console(label), ctx=ctx, node=node, run_id=run_id) as stage:
            work = AtNode(stage, label)
            yield work
    except BaseException as error:
        note("NodeFailed", error=str(error) or type(error).__name__, seconds=_since(start))
        raise
    note("NodeFinished", **work.answer, seconds=_since(start))


def call_here(
    bridge: Bridge,
    server: str,
    tool: str,
    arguments: JsonObject,
    timeout_seconds: float | None,
    on_progress: Callable[[float, float | None, str], None],
) -> ToolResult:
    """Call a tool and show only what its server asks the person in front of this thread.

    Raises:
        XaiMcpError: see `Bridge.call_tool`.
    """
    with on_stage(bridge, Console(server)) as stage:
        return stage.perform(
            lambda operations: operations.call_tool(
                server, tool, arguments, timeout_seconds=timeout_seconds, on_progress=on_progress
            )
        )


def _since(start: float) -> float:
    return round(time.monotonic() - start, 3)
