"""Toolbelts as the canvas collects them in `ctx` (spec 1): drawn tools, and names of sources."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast

from ..bridge.engine import Engine
from ..core.errors import BadSetting, SettingsError, UnknownServer
from ..core.kinds import ACP, BUILTIN, FUNCTIONS, MCP, WORKFLOW, SourceKind
from ..core.tools import JsonObject
from ..settings.builtin import ALL_BUILTIN_TOOLS, BuiltinSettings
from ..settings.document import Place
from ..settings.entry import SourceSettings
from ..settings.interpolation import Variables
from ..settings.models import Settings
from ..sources.canvas import DRAWN_TIMEOUT_SECONDS, DrawnTool
from .lease import bridge_of
from .ports import mapping, optional, positive, required, toolbelt_on
from .ports import names as names_on
from .preferences import preferences_for

_DEFINE, _MAKE = "AgentDefineTool", "AgentMakeToolbelt"


@dataclass(frozen=True)
class SourceChoice:
    """How sources of one kind get into toolbelts: by which node, and under which keys.

    `key` is that of a toolbelt's spec, and with the toolbelt's name that of `ctx`; `agent_key`
    that of an agent.
    """

    kind: SourceKind
    node: str
    port: str
    key: str
    agent_key: str


_SERVERS = SourceChoice(
    MCP, "AgentUseMCPTools", "server_name", "mcp_servers", "enabled_mcp_servers"
)
_FUNCTIONS = SourceChoice(
    FUNCTIONS, "AgentUseFunctions", "functions_name", "function_sources", "enabled_functions"
)
_AGENTS = SourceChoice(
    ACP, "AgentUseAgents", "remote_agent", "remote_agents", "enabled_remote_agents"
)
_BUILTIN = SourceChoice(
    BUILTIN, "AgentUseBuiltinTools", "builtin_name", "builtin_sources", "enabled_builtin"
)
WORKFLOWS = SourceChoice(
    WORKFLOW, "AgentUseWorkflow", "workflow", "workflow_sources", "enabled_workflows"
)
CHOICES = (_SERVERS, _FUNCTIONS, _AGENTS, _BUILTIN, WORKFLOWS)


def define_tool(
    ctx: Any,
    toolbelt: str | None,
    name: str,
    description: str,
    run: Callable[[Any, str, JsonObject | None], Any],
    parameters: Mapping[str, Any] | None = None,
    timeout_seconds: Any = None,
) -> None:
    """Add a drawn tool to a toolbelt. See `DrawnTool` for what is not text.

    Raises:
        BadSetting: no name, `parameters` that are no dict, or another tool of that name in the
            toolbelt. The same `run` may be added again.
    """
    name = required(name, "tool_name", _DEFINE)
    text = optional(description, "description", _DEFINE)
    wanted = mapping(parameters, "parameters", _DEFINE, wire='names and types, `"city": "string"`,')
    belt = toolbelt_on(toolbelt, "for_toolbelt", _DEFINE)
    tools = ctx.setdefault(f"toolbelt_{belt}", {})
    if name in tools and getattr(tools[name], "run", None) != run:
        raise BadSetting(
            f"Two tools of the toolbelt {belt!r} are called {name!r}. "
            "Change the `tool_name` of one AgentDefineTool, or its `for_toolbelt`."
        )
    seconds = positive(timeout_seconds, "timeout_seconds", _DEFINE) or DRAWN_TIMEOUT_SECONDS
    tools[name] = DrawnTool(name, text, run, wanted or None, seconds)


def use_server(ctx: Any, server: str, toolbelt: str | None) -> None:
    """Add an MCP server to a toolbelt, and begin to connect it in the background.

    What is wrong with the server itself is told when an agent needs it; the agent goes on without.

    Raises:
        UnknownServer: the settings have no server of that name; says which they have.
        SettingsError: the settings file cannot be read at all.
        BadSetting: no name.
    """
    use_source(ctx, _SERVERS, server, toolbelt)


def use_functions(ctx: Any, name: str, toolbelt: str | None) -> None:
    """The same as `use_server`, for a file of functions."""
    use_source(ctx, _FUNCTIONS, name, toolbelt)


def use_agent(ctx: Any, name: str, toolbelt: str | None) -> None:
    """The same as `use_server`, for an agent of others."""
    use_source(ctx, _AGENTS, name, toolbelt)


def use_builtin_tools(
    ctx: Any, tools: Any, workspace: Any, name: Any, toolbelt: str | None
) -> None:
    """Add built-in tools to a toolbelt: `tools` by name, or those of an entry of the settings.

    `tools` is a list, or a text with commas. The workspace is relative to the settings file.

    Raises:
        BadSetting: no tools, one that there is not, or one that needs a workspace without it.
        UnknownServer: the settings have no entry of that name.
    """
    wanted = names_on(tools, "tools", _BUILTIN.node)
    entry = optional(name, _BUILTIN.port, _BUILTIN.node)
    if bool(wanted) == bool(entry):
        problem = f"{_BUILTIN.node} needs `tools` or `{_BUILTIN.port}`, and not both:"
        fix = f"set `tools` to some of {', '.join(ALL_BUILTIN_TOOLS)}."
        raise BadSetting(f"{problem} {fix}")
    if entry:
        return use_source(ctx, _BUILTIN, entry, toolbelt)
    folder = optional(workspace, "workspace", _BUILTIN.node)
    given = {"tools": wanted, "workspace": folder}
    try:
        add_source(ctx, _BUILTIN, BuiltinSettings, BUILTIN.name, given, toolbelt)
    except SettingsError as wrong:
        raise BadSetting(f"{_BUILTIN.node}: {wrong.problem} {wrong.fix}") from None


def use_source(ctx: Any, choice: SourceChoice, source: str, toolbelt: str | None) -> None:
    """The same as `use_server`, for a source of any kind that the settings have."""
    source = required(source, choice.port, choice.node)
    belt = toolbelt_on(toolbelt, "toolbelt_name", choice.node)
    bridge = bridge_of(ctx)
    with suppress(SettingsError):  # it disables that source; AgentRun says so and goes on without
        _require(bridge.settings, source, choice.kind)
    _declare(ctx, choice, source, belt)


def add_source(
    ctx: Any,
    choice: SourceChoice,
    cls: type[SourceSettings],
    name: str,
    entry: Mapping[str, Any],
    toolbelt: str | None,
) -> str:
    """Add a source that the settings do not have to a toolbelt, and begin to connect it.

    `entry` is what would stand in the settings file, for that class. Its name there may be taken:
    the one it has in this run is given back.

    Raises:
        SettingsError: something in the entry is wrong; names the node and the key.
    """
    belt = toolbelt_on(toolbelt, "toolbelt_name", choice.node)
    bridge = bridge_of(ctx)
    folder = os.path.dirname(bridge.settings.file) or os.getcwd()
    variables = Variables(os.environ, folder, bridge.settings.secrets)
    given = {key: value for key, value in entry.items() if value not in (None, "")}
    source = cls.read(name, given, Place(choice.node), variables)
    name = bridge.run(Engine.add_source, source)
    _declare(ctx, choice, name, belt)
    return name


def _declare(ctx: Any, choice: SourceChoice, source: str, belt: str) -> None:
    names = ctx.setdefault(f"{choice.key}_{belt}", [])
    if source not in names:
        names.append(source)
    bridge_of(ctx).run(Engine.start, [source])


def _require(settings: Settings, source: str, kind: SourceKind) -> None:
    try:
        settings.source(source, kind)
    except UnknownServer as reason:
        nodes = [x.node for x in CHOICES if x.kind == settings.kind_of(source)]
        if not nodes:
            raise
        text = f"{reason} The node for what stands there is {nodes[0]}."
        raise UnknownServer(text, reason.server, reason.known) from None


def make_toolbelt(ctx: Any, name: str | None, pin_tools: Any = False) -> dict[str, Any]:
    """The spec of a toolbelt: what was defined, declared and preferred for it so far.

    With `pin_tools` the tools of its sources are held to the definitions that were accepted.

    Raises:
        BadSetting: the name is no text.
    """
    toolbelt = toolbelt_on(name, "name", _MAKE)
    drawn = dict(ctx.get(f"toolbelt_{toolbelt}") or {})
    spec: dict[str, Any] = {"toolbelt": toolbelt, "standard_tools": drawn}
    for choice in CHOICES:
        names = list(ctx.get(f"{choice.key}_{toolbelt}") or [])
        if names or choice is _SERVERS:
            spec[choice.key] = names
    spec |= preferences_for(ctx, toolbelt)
    return {**spec, "pin_tools": True} if pin_tools else spec


def sources_in(agent: Mapping[str, Any]) -> tuple[str, ...]:
    """The sources an agent may use, each once: servers first, in the order they were declared."""
    lists = [cast(list[str], agent.get(x.agent_key) or []) for x in CHOICES]
    return tuple(dict.fromkeys(name for names in lists for name in names))
