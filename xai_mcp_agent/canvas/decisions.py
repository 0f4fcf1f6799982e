"""Nodes that switch tools off and on, and accept changed definitions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from ..bridge.bridge import Bridge
from ..bridge.decisions import accept, disable, enable
from ..bridge.engine import Engine
from ..bridge.history import written
from ..core.errors import StoreFailed
from ..policy.decisions import Choice
from ..views.tools import choice_text
from .drawn_tools import drawn_in
from .ports import required
from .transcript import used
from .waits import ask

_ENABLE, _ACCEPT = "MCPEnableTool", "MCPAcceptTool"
_ONLY_HERE = "It counts until this process ends."


def enable_tool(ctx: Any, server: str, tool: str, enabled: bool | None) -> str:
    """Let agents use a tool, or not; what came of it. None means yes.

    Raises:
        BadSetting, UnknownServer, SettingsError, UnknownTool, SourceFailed: nothing was decided.
    """
    is_enabled = enabled is None or bool(enabled)
    server, tool = _ports(server, tool, _ENABLE)
    decide, drawn = enable if is_enabled else disable, [x.name for x in drawn_in(ctx)]
    with used(ctx, _ENABLE, server=server, tool=tool, enabled=is_enabled) as (bridge, tell):
        choice = _decide(bridge, server, lambda engine: decide(engine, server, [tool], drawn))
        tell(is_new=choice.is_new)
    return choice_text(choice)


def accept_tool(ctx: Any, server: str, tool: str) -> tuple[list[str], str]:
    """Accept the definition that a tool has now; what is different, and what came of it.

    Raises:
        BadSetting, UnknownServer, SettingsError, UnknownTool, SourceFailed: nothing was decided.
    """
    server, tool = _ports(server, tool, _ACCEPT)
    with used(ctx, _ACCEPT, server=server, tool=tool) as (bridge, tell):
        choice = _decide(bridge, server, lambda engine: accept(engine, server, [tool]))
        tell(is_new=choice.is_new, changes=choice.lines)
    return list(choice.lines), choice_text(choice)


def _decide(bridge: Bridge, server: str, do: Callable[[Engine], Awaitable[list[Choice]]]) -> Choice:
    async def decide(engine: Engine) -> tuple[Choice, str]:
        (choice,) = await do(engine)
        try:
            await written(engine)
        except StoreFailed as reason:  # the workflow goes on
            return choice, f"\n{reason} {_ONLY_HERE}"
        return choice, ""

    def tell(decided: tuple[Choice, str]) -> str:
        choice, trouble = decided
        return choice_text(choice).removeprefix(f"{server}: ") + trouble

    return ask(bridge, server, decide, awaited=f"the history and the server {server}", tell=tell)[0]


def _ports(server: Any, tool: Any, node: str) -> tuple[str, str]:
    return required(server, "server_name", node), required(tool, "tool_name", node)
