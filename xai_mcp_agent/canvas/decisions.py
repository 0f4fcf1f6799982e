"""Nodes that switch tools off and on, and accept changed definitions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from ..bridge.faces import Bridge
from ..bridge.operations import Operations
from ..core.errors import LockFailed, XaiMcpError
from ..policy.decisions import Choice
from ..views.tools import choice_text, review_text
from .drawn_tools import drawn_in
from .ports import optional, required
from .transcript import used
from .waits import ask

_ENABLE, _ACCEPT = "MCPEnableTool", "MCPAcceptTool"


def enable_tool(ctx: Any, server: str, tool: str, enabled: bool | None) -> str:
    """Let agents use a tool, or not; what came of it. None means yes.

    Raises:
        BadSetting, UnknownServer, SettingsError, UnknownTool, SourceFailed: nothing was decided.
    """
    is_enabled = enabled is None or bool(enabled)
    server, tool = _ports(server, tool, _ENABLE)
    drawn = [x.name for x in drawn_in(ctx)]
    with used(ctx, _ENABLE, server=server, tool=tool, enabled=is_enabled) as (bridge, tell):
        switch = Operations.enable if is_enabled else Operations.disable
        choice = _decide(bridge, server, lambda x: switch(x, server, tool, drawn=drawn))
        tell(is_new=choice.is_new)
    return choice_text(choice)


def accept_tool(ctx: Any, server: str, tool: str, digest: Any = "") -> tuple[list[str], str]:
    """Accept what a tool is now, if it has this digest, or a person says so; what came of it.

    First what is different from what was accepted before.

    Raises:
        BadSetting, UnknownServer, SettingsError, UnknownTool, SourceFailed: nothing was decided.
        ReviewNeeded: it has another digest, or nobody can be asked.
        XaiMcpError: the person said no.
    """
    server, tool = _ports(server, tool, _ACCEPT)
    given = optional(digest, "digest", _ACCEPT)
    with used(ctx, _ACCEPT, server=server, tool=tool) as (bridge, tell):
        choice = _decide(bridge, server, partial(_accept, server=server, tool=tool, digest=given))
        tell(is_new=choice.is_new, changes=choice.lines)
    return list(choice.lines), choice_text(choice)


async def _accept(operations: Operations, server: str, tool: str, digest: str) -> list[Choice]:
    """Accept it by its digest; without one, by that of what the person has read and accepted."""
    if not digest:
        accepted, why = await operations.ask_to_accept(_ACCEPT, server, [tool], review_text)
        if why:
            raise XaiMcpError(f"{server}: {tool!r} was not accepted: {why}.")
        if accepted:
            return accepted
    return await operations.accept(server, tool, digest=digest)


def _decide(
    bridge: Bridge, server: str, do: Callable[[Operations], Awaitable[list[Choice]]]
) -> Choice:
    async def decide(operations: Operations) -> tuple[Choice, str]:
        try:
            (choice,) = await do(operations)
        except LockFailed as trouble:  # it counts in this process, and the workflow goes on
            if not trouble.choices:
                raise
            (choice,) = trouble.choices
            return choice, f"\n{trouble}"
        return choice, ""

    def tell(decided: tuple[Choice, str]) -> str:
        choice, trouble = decided
        return choice_text(choice).removeprefix(f"{server}: ") + trouble

    return ask(bridge, server, decide, awaited=f"the server {server}", tell=tell)[0]


def _ports(server: Any, tool: Any, node: str) -> tuple[str, str]:
    return required(server, "server_name", node), required(tool, "tool_name", node)
