"""A node without a model at work: its bridge, its lines on the screen and in the transcript."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from ..agent.events import RunEvent, ToolFinished, ToolProgressed, ToolStarted
from ..bridge.faces import Bridge
from ..bridge.operations import Operations
from ..console.console import Console
from ..core.json import JsonObject
from ..core.results import ToolResult
from ..secrets.redactor import Redactor
from .interactive_host import stage_for
from .lease import bridge_of
from .transcript import recorder

T = TypeVar("T")

_CALL = "call"  # a node makes one


@dataclass
class AtNode:
    """What a node works with. `answer` is what the transcript says came of it."""

    bridge: Bridge
    node: str
    label: str
    run_id: str = ""
    answer: JsonObject = field(default_factory=dict[str, Any])

    def wait(
        self,
        do: Callable[[Operations], Awaitable[T]],
        *,
        waiting_for: str,
        summary: Callable[[T], str],
    ) -> T:
        """Run `do` on the bridge's loop and wait for it; a line on the screen says what came.

        Raises:
            RuntimeError: the bridge is closed, or was closed meanwhile. And what `do` raises.
        """
        with hiding_console(self.bridge, self.label) as console:
            console.wait_for(waiting_for)
            value = stage_for(console).perform(self.bridge, do)
            console.note("--", f"{self.label}: {summary(value)}")
        return value

    def call(
        self, server: str, tool: str, arguments: JsonObject, timeout_seconds: float | None
    ) -> ToolResult:
        """Call a tool of a server and show it as a call of an agent is shown.

        Raises:
            XaiMcpError: see `Bridge.call_tool`.
            RuntimeError: the bridge is closed, or was closed meanwhile.
        """
        name = f"{server}.{tool}"
        with hiding_console(self.bridge, server) as console:
            stage = stage_for(console, self.node, self.run_id)

            def show(event: RunEvent) -> None:
                stage.post(partial(console.show, event))

            def on_progress(done: float, total: float | None, message: str) -> None:
                show(ToolProgressed(_CALL, name, done, total, message))

            async def do(operations: Operations) -> ToolResult:
                show(ToolStarted(_CALL, name, arguments, server))
                started = time.monotonic()
                result = await operations.call_tool(
                    server,
                    tool,
                    arguments,
                    timeout_seconds=timeout_seconds,
                    on_progress=on_progress,
                )
                seconds = time.monotonic() - started
                show(ToolFinished(_CALL, name, arguments, result, seconds, "", server))
                return result

            return stage.perform(self.bridge, do)


@contextmanager
def at_node(ctx: Any, node: str, label: str, run_id: str = "", **asked: Any) -> Generator[AtNode]:
    """What a node works with, for the length of its work; `label` stands before its lines.

    The transcript has `NodeStarted` with what was `asked`, and `NodeFinished` or `NodeFailed`.
    """
    asked = {"run_id": run_id, **asked} if run_id else asked
    bridge, started = bridge_of(ctx), time.monotonic()
    writing = recorder(ctx, bridge, node=node)
    writing.note("NodeStarted", **asked)
    work = AtNode(bridge, node, label, run_id)
    try:
        yield work
    except BaseException as error:
        words = str(error) or type(error).__name__
        writing.note("NodeFailed", **asked, error=words, seconds=_since(started))
        raise
    writing.note("NodeFinished", **asked, **work.answer, seconds=_since(started))


def call_here(
    bridge: Bridge,
    server: str,
    tool: str,
    arguments: JsonObject,
    timeout_seconds: float | None,
    on_progress: Callable[[float, float | None, str], None],
) -> ToolResult:
    """Call a tool and show nothing but what its server asks the person in front of this thread.

    Raises:
        XaiMcpError: see `Bridge.call_tool`.
    """
    with hiding_console(bridge, server) as console:
        return stage_for(console).perform(
            bridge,
            lambda operations: operations.call_tool(
                server, tool, arguments, timeout_seconds=timeout_seconds, on_progress=on_progress
            ),
        )


@contextmanager
def hiding_console(bridge: Bridge, name: str) -> Generator[Console]:
    """A console that hides the secrets of the bridge's settings."""
    with Console(name) as console:
        console.hide(Redactor([bridge.settings.secrets]))
        yield console


def _since(started: float) -> float:
    return round(time.monotonic() - started, 3)
