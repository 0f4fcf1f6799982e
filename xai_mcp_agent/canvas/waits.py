"""Runs something on the bridge for a node without a model, and shows it on the console."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from ..agent.events import RunEvent, ToolFinished, ToolProgressed, ToolStarted
from ..bridge.faces import Bridge
from ..bridge.operations import Operations
from ..console.console import Console
from ..core.json import JsonObject
from ..core.results import ToolResult
from ..secrets.redactor import Redactor
from .interactive_host import stage_for

T = TypeVar("T")

_CALL = "call"  # a node makes one


def ask(
    bridge: Bridge,
    name: str,
    do: Callable[[Operations], Awaitable[T]],
    *,
    awaited: str,
    tell: Callable[[T], str],
) -> T:
    """Run `do` on the bridge's loop and wait for it; then `tell` in a line of `name` what came.

    `awaited` says what is waited for, should it take long.

    Raises:
        RuntimeError: the bridge is closed, or was closed meanwhile. And what `do` raises.
    """
    with Console(name) as console:
        console.hide(Redactor([bridge.settings.secrets]))
        console.wait_for(awaited)
        found = stage_for(console).perform(bridge, do)
        console.note("--", f"{name}: {tell(found)}")
    return found


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
    with Console(server) as console:
        console.hide(Redactor([bridge.settings.secrets]))
        return stage_for(console).perform(
            bridge,
            lambda operations: operations.call_tool(
                server, tool, arguments, timeout_seconds=timeout_seconds, on_progress=on_progress
            ),
        )


def call(
    bridge: Bridge,
    server: str,
    tool: str,
    arguments: JsonObject,
    timeout_seconds: float | None,
    node: str,
    run_id: str,
) -> ToolResult:
    """Call a tool of a server for a node and show it as a call of an agent is shown.

    Raises:
        XaiMcpError: see `Bridge.call_tool`.
        RuntimeError: the bridge is closed, or was closed meanwhile.
    """
    name = f"{server}.{tool}"
    with Console(server) as console:
        console.hide(Redactor([bridge.settings.secrets]))
        stage = stage_for(console, node, run_id)

        def show(event: RunEvent) -> None:
            stage.post(lambda: console.show(event))

        def on_progress(done: float, total: float | None, message: str) -> None:
            show(ToolProgressed(_CALL, name, done, total, message))

        async def do(operations: Operations) -> ToolResult:
            show(ToolStarted(_CALL, name, arguments, server))
            started = time.monotonic()
            result = await operations.call_tool(
                server, tool, arguments, timeout_seconds=timeout_seconds, on_progress=on_progress
            )
            seconds = time.monotonic() - started
            show(ToolFinished(_CALL, name, arguments, result, seconds, "", server))
            return result

        return stage.perform(bridge, do)
