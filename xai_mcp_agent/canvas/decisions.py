"""Nodes that switch tools off and on, and accept changed definitions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from ..bridge.faces import Bridge
from ..bridge.operations import Operations
from ..bridge.operations.decisions import Decided
from ..core.errors import XaiMcpError
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
        switch = partial(
            Operations.switch, server=server, tools=[tool], drawn=drawn, is_enabled=is_enabled
        )
        choice = _decide(bridge, server, switch)
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
        do = partial(_accept_read, server=server, tool=tool, digest=given)
        choice = _decide(bridge, server, do)
        tell(is_new=choice.is_new, changes=choice.lines)
    return list(choice.lines), choice_text(choice)


async def _accept_read(operations: Operations, server: str, tool: str, digest: str) -> Decided:
    """Accept it by its digest; without one, by that of what the person has read and accepted."""
    if not digest:
        accepted, why = await operations.ask_to_accept(_ACCEPT, server, [tool], review_text)
        if why:
            raise XaiMcpError(f"{server}: {tool!r} was not accepted: {why}.")
        if accepted is not None:
            return accepted
    return await operations.accept_read(server, [tool], digest)


def _decide(bridge: Bridge, server: str, do: Callable[[Operations], Awaitable[Decided]]) -> Choice:
    async def decide(operations: Operations) -> tuple[Choice, str]:
        (choice,), trouble = await do(operations)
        return choice, f"\n{trouble}" if trouble else ""  # the workflow goes on

    def tell(decided: tuple[Choice, str]) -> str:
        choice, trouble = decided
        return choice_text(choice).removeprefix(f"{server}: ") + trouble

    return ask(bridge, server, decide, awaited=f"the server {server}", tell=tell)[0]


def _ports(server: Any, tool: Any, node: str) -> tuple[str, str]:
    return required(server, "server_name", node), required(tool, "tool_name", node)
