"""Toolbelts as the canvas collects them in `ctx` (spec 1): drawn tools, and names of servers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, cast

from ...core.errors import SettingsError
from ...core.tools import JsonObject
from ...sources.canvas import DrawnTool
from ..engine import Engine
from ..ports import BadSetting, mapping, optional, required
from ..runs import bridge_of

DEFAULT_TOOLBELT = "default"

_DEFINE, _USE, _MAKE = "AgentDefineTool", "AgentUseMCPTools", "AgentMakeToolbelt"


def define_tool(
    ctx: Any,
    toolbelt: str | None,
    name: str,
    description: str,
    run: Callable[[Any, str, JsonObject | None], Any],
    parameters: Mapping[str, Any] | None = None,
) -> None:
    """Add a drawn tool to a toolbelt. See `DrawnTool` for `run` and `parameters`.

    Raises:
        BadSetting: no name, `parameters` that are no dict, or another tool of that name in the
            toolbelt. The same `run` may be added again.
    """
    name = required(name, "tool_name", _DEFINE)
    text = optional(description, "description", _DEFINE)
    wanted = mapping(parameters, "parameters", _DEFINE, wire='names and types, `"city": "string"`,')
    belt = optional(toolbelt, "for_toolbelt", _DEFINE) or DEFAULT_TOOLBELT
    tools = ctx.setdefault(f"toolbelt_{belt}", {})
    if name in tools and getattr(tools[name], "run", None) != run:
        raise BadSetting(
            f"Two tools of the toolbelt {belt!r} are called {name!r}. "
            "Change the `tool_name` of one AgentDefineTool, or its `for_toolbelt`."
        )
    tools[name] = DrawnTool(name, text, run, wanted or None)


def use_server(ctx: Any, server: str, toolbelt: str | None) -> None:
    """Add a server to a toolbelt, and begin to connect it in the background.

    What is wrong with the server itself is told when an agent needs it; the agent goes on without.

    Raises:
        UnknownServer: the settings have no server of that name; says which they have.
        SettingsError: the settings file cannot be read at all.
        BadSetting: no name.
    """
    server = required(server, "server_name", _USE)
    belt = optional(toolbelt, "toolbelt_name", _USE) or DEFAULT_TOOLBELT
    bridge = bridge_of(ctx)
    with suppress(SettingsError):  # it disables that server; AgentRun says so and goes on without
        bridge.settings.server(server)
    names = ctx.setdefault(f"mcp_servers_{belt}", [])
    if server not in names:
        names.append(server)
    bridge.run(Engine.start, [server])


def make_toolbelt(ctx: Any, name: str | None, pin_tools: Any = False) -> dict[str, Any]:
    """The spec of a toolbelt: what was defined and declared for it so far.

    With `pin_tools` the tools of its servers are held to the definitions that were accepted.

    Raises:
        BadSetting: the name is no text.
    """
    toolbelt = optional(name, "name", _MAKE) or DEFAULT_TOOLBELT
    spec: dict[str, Any] = {
        "standard_tools": dict(ctx.get(f"toolbelt_{toolbelt}") or {}),
        "mcp_servers": list(ctx.get(f"mcp_servers_{toolbelt}") or []),
    }
    return {**spec, "pin_tools": True} if pin_tools else spec


def servers_in(agent: Mapping[str, Any]) -> tuple[str, ...]:
    """The servers an agent may use, each once, in the order they were declared."""
    names = cast(list[str], agent.get("enabled_mcp_servers") or [])
    return tuple(dict.fromkeys(names))
