"""Toolbelts as the canvas collects them in `ctx` (spec 1): drawn tools, and names of servers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, cast

from ..core.errors import SettingsError, XaiMcpError
from ..core.tools import JsonObject
from ..sources.canvas import DrawnTool
from .engine import Engine
from .runs import bridge_of

DEFAULT_TOOLBELT = "default"


def define_tool(
    ctx: Any,
    toolbelt: str | None,
    name: str,
    description: str,
    run: Callable[[Any, str, JsonObject | None], Any],
    parameters: Mapping[str, Any] | None = None,
) -> None:
    """Add a drawn tool to a toolbelt. See `DrawnTool` for `run` and `parameters`."""
    if not name:
        raise XaiMcpError("A drawn tool has no name: set `tool_name` of AgentDefineTool.")
    tools = ctx.setdefault(f"toolbelt_{toolbelt or DEFAULT_TOOLBELT}", {})
    tools[name] = DrawnTool(name, description or "", run, parameters or None)


def use_server(ctx: Any, server: str, toolbelt: str | None) -> None:
    """Add a server to a toolbelt, and begin to connect it in the background.

    What is wrong with the server itself is told when an agent needs it; the agent goes on without.

    Raises:
        UnknownServer: the settings have no server of that name; says which they have.
    """
    bridge = bridge_of(ctx)
    with suppress(SettingsError):  # it disables that server; AgentRun says so and goes on without
        bridge.settings.server(server)
    names = ctx.setdefault(f"mcp_servers_{toolbelt or DEFAULT_TOOLBELT}", [])
    if server not in names:
        names.append(server)
    bridge.run(Engine.start, [server])


def make_toolbelt(ctx: Any, name: str | None) -> dict[str, Any]:
    """The spec of a toolbelt: what was defined and declared for it so far."""
    toolbelt = name or DEFAULT_TOOLBELT
    return {
        "standard_tools": dict(ctx.get(f"toolbelt_{toolbelt}") or {}),
        "mcp_servers": list(ctx.get(f"mcp_servers_{toolbelt}") or []),
    }


def servers_in(agent: Mapping[str, Any]) -> tuple[str, ...]:
    """The servers an agent may use, each once, in the order they were declared."""
    names = cast(list[str], agent.get("enabled_mcp_servers") or [])
    return tuple(dict.fromkeys(names))
