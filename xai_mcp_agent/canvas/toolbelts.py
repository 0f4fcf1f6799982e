"""Toolbelts as the canvas collects them in `ctx`: drawn tools, and names of sources.

In `ctx`, with the toolbelt's name: `toolbelt_` the drawn tools, `mcp_servers_` the names of MCP
servers, `sources_` those of all other sources and of groups, `tool_filters_` which of their tools,
and `required_sources_` those without which a run fails.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast

from ..bridge.context import Context
from ..catalog.groups import EVERYTHING, ToolChoice, ToolFilter
from ..core.calls import DefinitionLock
from ..core.errors import BadSetting, SettingsError, UnknownServer
from ..core.json import JsonObject
from ..core.names import did_you_mean
from ..core.tools import AGENT, BUILTIN, FUNCTIONS, MCP, OPENAPI, WORKFLOW, SourceKind
from ..settings.approval import ApprovalWord, read_words, words_in_text
from ..settings.document import Place
from ..settings.entry import SourceSettings
from ..settings.interpolation import Variables
from ..settings.models import Settings
from ..sources.canvas import DRAWN_TIMEOUT_SECONDS, DrawnTool
from .lease import add_to_run, bridge_of
from .ports import DEFAULT_TOOLBELT, inputs, names, optional
from .preferences import preferences_for
from .workshop.run import watch

_DEFINE, _MAKE, _ANY = "AgentDefineTool", "AgentMakeToolbelt", "AgentUseTools"
SERVERS, SOURCES = "mcp_servers", "sources"
"""Of a toolbelt's spec; with the toolbelt's name, of `ctx`. Of an agent, after `enabled_`."""
FILTERS, REQUIRED = "tool_filters", "required_sources"
"""The same; of an agent as they are."""
APPROVAL = "approval"
"""Of a toolbelt's spec: words for patterns of tools."""
PLANNING_TOOLS = "planning_tools"
"""Of a toolbelt's spec, and of an agent: whether it has the tools for choosing and planning."""
MADE = "made_toolbelts"
"""In `ctx`: the names of the toolbelts that were made in this run."""
_WIRE_FILTER = 'Wire the toolbelt_spec of AgentMakeToolbelt, or {"only": [...], "except": [...]}.'

# The node for sources of each kind, and its port with their name.
_NODES: dict[SourceKind, tuple[str, str]] = {
    MCP: ("AgentUseMCPTools", "server_name"),
    FUNCTIONS: ("AgentUseFunctions", "functions_name"),
    OPENAPI: ("AgentUseOpenAPI", "service_name"),
    AGENT: ("AgentUseAgents", "remote_agent"),
    BUILTIN: ("AgentUseBuiltinTools", "builtin_name"),
    WORKFLOW: ("AgentUseWorkflow", "workflow"),
}
_KINDS = {node: kind for kind, (node, _) in _NODES.items()}


@dataclass(frozen=True)
class Chosen:
    """What a node takes of a source: for which toolbelt, which tools, and whether it needs them."""

    toolbelt: str = DEFAULT_TOOLBELT
    tools: ToolFilter = EVERYTHING
    is_required: bool = False

    @classmethod
    def of(cls, ports: Mapping[str, Any]) -> Chosen:
        """What the ports say. An empty list on `tools` takes none of them."""
        only = ports.get("tools")
        tools = ToolFilter(
            None if only is None else tuple(only), tuple(ports.get("except_tools") or ())
        )
        belt = ports.get("toolbelt_name") or DEFAULT_TOOLBELT
        return cls(belt, tools, bool(ports.get("required")))


def define_tool(
    ctx: Any,
    for_toolbelt: str | None,
    tool_name: str,
    description: str,
    run: Callable[[Any, str, JsonObject | None], Any],
    parameters: Mapping[str, Any] | None = None,
    timeout_seconds: float | None = None,
) -> None:
    """Add a drawn tool to a toolbelt. See `DrawnTool` for what is not text.

    Raises:
        BadSetting: another tool of that name is in the toolbelt. The same `run` may be added again.
    """
    belt = for_toolbelt or DEFAULT_TOOLBELT
    tools = ctx.setdefault(f"toolbelt_{belt}", {})
    if tool_name in tools and getattr(tools[tool_name], "run", None) != run:
        raise BadSetting(
            f"Two tools of the toolbelt {belt!r} are called {tool_name!r}. "
            "Change the `tool_name` of one AgentDefineTool, or its `for_toolbelt`."
        )
    seconds = timeout_seconds or DRAWN_TIMEOUT_SECONDS
    tools[tool_name] = DrawnTool(
        tool_name, description, run, dict(parameters or {}) or None, seconds
    )


def use(ctx: Any, node: Any) -> None:
    """Give a toolbelt the source that a node names, and begin to connect it in the background.

    What is wrong with the source itself is reported when an agent needs it; the agent goes on
    without, unless the node says that it is required.

    Raises:
        UnknownServer: the settings have no source of that name; says which they have.
        SettingsError: the settings file cannot be read at all.
        BadSetting: a value of the wrong kind.
    """
    ports, kind = inputs(node), _KINDS.get(type(node).__name__)
    port = _NODES[kind][1] if kind else "group_name"
    use_source(ctx, kind, ports[port], Chosen.of(ports))


def use_server(ctx: Any, server: str, toolbelt: str | None = None) -> None:
    """The same for all tools of an MCP server."""
    use_source(ctx, MCP, server, Chosen(toolbelt or DEFAULT_TOOLBELT))


def use_source(ctx: Any, kind: SourceKind | None, name: str, chosen: Chosen) -> None:
    """The same for a source of one kind, or, without a kind, for a source or a group of any."""
    settings = bridge_of(ctx).settings
    if kind:
        with suppress(SettingsError):  # it disables that source; AgentRun says so
            _require(settings, name, kind)
    elif settings.group(name) is None:
        kind = settings.kind_of(name)
        if kind is None:
            raise _no_source(settings, name)
    _declare(ctx, kind, name, chosen)


def add_source(
    ctx: Any,
    kind: SourceKind,
    cls: type[SourceSettings],
    name: str,
    entry: Mapping[str, Any],
    chosen: Chosen,
) -> str:
    """Add a source that the settings do not have to a toolbelt, and begin to connect it.

    `entry` is what would stand in the settings file, for that class. Its name there may be taken:
    the one it has in this run is given back.

    Raises:
        BadSetting: something in the entry is wrong; names the node and the key.
        SettingsError: the settings file cannot be read.
    """
    settings = bridge_of(ctx).settings
    folder = os.path.dirname(settings.file) or os.getcwd()
    variables = Variables({**settings.env, **os.environ}, folder, settings.secrets)
    values = {key: value for key, value in entry.items() if value not in (None, "")}
    try:
        source = cls.read(name, values, Place(_NODES[kind][0]), variables)
    except SettingsError as wrong:  # it stands on a port of the node
        raise BadSetting(str(wrong)) from None
    # Another node, or another run at the same time, may have the same with other arguments.
    name = add_to_run(ctx, source)
    _declare(ctx, kind, name, chosen)
    return name


def _declare(ctx: Any, kind: SourceKind | None, name: str, chosen: Chosen) -> None:
    """A source, or without a kind a group, is in the toolbelt now, and begins to connect."""
    belt, bridge = chosen.toolbelt, bridge_of(ctx)
    is_first = _listed(ctx, f"{SERVERS if kind == MCP else SOURCES}_{belt}", name)
    if chosen.is_required:
        _listed(ctx, f"{REQUIRED}_{belt}", name)
    _join_filter(ctx, belt, name, chosen.tools, is_first=is_first)
    bridge.start(*([name] if kind else bridge.aio.operations.choice([name]).all_sources))


def _listed(ctx: Any, key: str, name: str) -> bool:
    """Put a name into a list of `ctx`; whether it was not there before."""
    listed = ctx.setdefault(key, [])
    if name in listed:
        return False
    listed.append(name)
    return True


def _join_filter(ctx: Any, belt: str, name: str, tools: ToolFilter, *, is_first: bool) -> None:
    """With what other nodes take of the same: what one takes, if none leaves it out."""
    filters: dict[str, JsonObject] = ctx.setdefault(f"{FILTERS}_{belt}", {})
    if not is_first:
        tools = filter_in(filters.get(name, {}), FILTERS).joined(tools)
    only = None if tools.only is None else list(tools.only)
    filters[name] = {"only": only, "except": list(tools.without)}


def filter_in(written: Any, where: str) -> ToolFilter:
    """A filter as a toolbelt's spec has it.

    Raises:
        BadSetting: it is none; as another one it could let in what nobody wants.
    """
    if not isinstance(written, Mapping):
        raise BadSetting(f"`{where}` has something in it that is no dict. {_WIRE_FILTER}")
    values = cast(Mapping[str, Any], written)
    if wrong := [x for x in values if x not in ("only", "except")]:
        raise BadSetting(f"`{where}` has the unknown key {wrong[0]!r}. {_WIRE_FILTER}")
    only, without = values.get("only"), values.get("except")
    return ToolFilter(
        None if only is None else tuple(names(only, where, _MAKE)),
        tuple(names(without, where, _MAKE)),
    )


def _require(settings: Settings, source: str, kind: SourceKind) -> None:
    try:
        settings.source(source, kind)
    except UnknownServer as reason:
        other = settings.kind_of(source)
        node = _NODES[other][0] if other in _NODES else ""
        node = node or (_ANY if source in settings.group_names else "")
        if not node:
            raise
        text = f"{reason} The node for what stands there is {node}."
        raise UnknownServer(text, reason.server, reason.known) from None


def _no_source(settings: Settings, name: str) -> UnknownServer:
    known = [*settings.group_names, *settings.names]
    hint = did_you_mean(name, known) or f"Known: {', '.join(known) or 'none'}."
    return UnknownServer(
        f"No group and no source {name!r} in {settings.file or 'any settings file'}. {hint} "
        "Correct `group_name`, or add it under `groups`.",
        name,
        known,
    )


def make_toolbelt(
    ctx: Any,
    name: Any = None,
    lock_tools: Any = False,
    lock_first: Any = False,
    approval: Any = None,
    planning_tools: Any = False,
) -> dict[str, Any]:
    """The spec of a toolbelt: what was defined, declared and preferred for it so far.

    With `lock_tools` its sources are held to what was accepted of them; with `lock_first` too, and
    the first listing of each is accepted. `approval` says which calls are asked for: see
    `approval_in`. With `planning_tools` the agent has tools for choosing and planning, too.

    Raises:
        BadSetting: the name is no text, or `approval` is not what it should be.
    """
    watch(ctx)  # a lesson that has no agent yet has its goals, too
    toolbelt = optional(name, "name", _MAKE) or DEFAULT_TOOLBELT
    ctx[MADE] = [*(x for x in ctx.get(MADE) or () if x != toolbelt), toolbelt]
    lock: DefinitionLock = "first" if lock_first else bool(lock_tools)
    more = {
        APPROVAL: approval_in(approval, APPROVAL, _MAKE),
        PLANNING_TOOLS: bool(planning_tools),
        "lock_tools": lock,
    }
    return {**collected(ctx, toolbelt), **{key: value for key, value in more.items() if value}}


def collected(ctx: Any, toolbelt: str) -> dict[str, Any]:
    """The spec of a toolbelt as far as nodes before said something of it."""
    declared = cast(Mapping[str, Any], ctx.get(f"{FILTERS}_{toolbelt}") or {})
    more = {
        SOURCES: list(ctx.get(f"{SOURCES}_{toolbelt}") or []),
        FILTERS: {x: y for x, y in declared.items() if filter_in(y, FILTERS) != EVERYTHING},
        REQUIRED: list(ctx.get(f"{REQUIRED}_{toolbelt}") or []),
        **preferences_for(ctx, toolbelt),
    }
    return {
        "toolbelt": toolbelt,
        "standard_tools": dict(ctx.get(f"toolbelt_{toolbelt}") or {}),
        SERVERS: list(ctx.get(f"{SERVERS}_{toolbelt}") or []),
        **{key: value for key, value in more.items() if value},
    }


def declared_toolbelts(ctx: Any) -> list[str]:
    """The names of all toolbelts that something was drawn or declared for."""
    prefixes = ("toolbelt_", f"{SERVERS}_", f"{SOURCES}_")
    keys = [(str(key), x) for key, x in list(ctx.items()) if x]
    belts = [k.removeprefix(p) for k, _ in keys for p in prefixes if k.startswith(p)]
    return list(dict.fromkeys(belts))


def approval_in(written: Any, port: str, node: str) -> dict[str, ApprovalWord]:
    """Words for patterns of tools: a text such as `delete_*: ask, files: deny`, or a dict of them.

    Raises:
        BadSetting: it is something else; without it a call might not be asked for.
    """
    if not written:
        return {}
    try:
        return words_in_text(written) if isinstance(written, str) else read_words(written)
    except ValueError as why:
        fix = "Set it to `ask`, or to `delete_*: ask, files: deny`."
        raise BadSetting(f"`{port}` of {node}: {why} {fix}") from None


def tools_chosen(agent: Mapping[str, Any], context: Context) -> ToolChoice:
    """The tools of sources that an agent may use: servers first, in the order of declaration.

    Raises:
        SettingsError: something is wrong in one of its groups.
    """
    lists = [cast(list[str], agent.get(f"enabled_{x}") or []) for x in (SERVERS, SOURCES)]
    declared: Mapping[str, Any] = agent.get(FILTERS) or {}
    filters = {name: filter_in(x, FILTERS) for name, x in declared.items()}
    return context.choice([name for names in lists for name in names], filters)
