"""Toolbelts as the canvas collects them in `ctx` (spec 1): drawn tools, and names of sources."""

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
from ..settings.sources import ALL_BUILTIN_TOOLS, BuiltinSettings
from ..sources.canvas import DRAWN_TIMEOUT_SECONDS, DrawnTool
from .lease import add_to_run, bridge_of
from .ports import mapping, names, optional, positive, required, toolbelt_on
from .preferences import preferences_for
from .workshop.run import watch

_DEFINE, _MAKE, _TOOLS = "AgentDefineTool", "AgentMakeToolbelt", "AgentUseTools"
GROUPS, FILTERS = "tool_groups", "tool_filters"
"""Of a toolbelt's spec; with the toolbelt's name, of `ctx`. An agent has the latter too."""
REQUIRED = "required_sources"
"""Of a toolbelt's spec, and of an agent; with the toolbelt's name, of `ctx`."""
APPROVAL = "approval"
"""Of a toolbelt's spec: words for patterns of tools."""
PLANNING_TOOLS = "planning_tools"
"""Of a toolbelt's spec, and of an agent: whether it has the tools for choosing and planning."""
ENABLED_GROUPS = "enabled_groups"
_WIRE_FILTER = 'Wire the toolbelt_spec of AgentMakeToolbelt, or {"only": [...], "except": [...]}.'


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
    AGENT, "AgentUseAgents", "remote_agent", "remote_agents", "enabled_remote_agents"
)
_BUILTIN = SourceChoice(
    BUILTIN, "AgentUseBuiltinTools", "builtin_name", "builtin_sources", "enabled_builtin"
)
SERVICES = SourceChoice(
    OPENAPI, "AgentUseOpenAPI", "service_name", "openapi_services", "enabled_openapi"
)
WORKFLOWS = SourceChoice(
    WORKFLOW, "AgentUseWorkflow", "workflow", "workflow_sources", "enabled_workflows"
)
MADE = "made_toolbelts"
"""In `ctx`: the names of the toolbelts that were made in this run."""
CHOICES = (_SERVERS, _FUNCTIONS, SERVICES, _AGENTS, _BUILTIN, WORKFLOWS)


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


def use_server(
    ctx: Any,
    server: str,
    toolbelt: str | None,
    tools: Any = None,
    except_tools: Any = None,
    is_required: Any = False,
) -> None:
    """Add an MCP server to a toolbelt, and begin to connect it in the background.

    `tools` and `except_tools` say which of its tools: see `filter_on`. What is wrong with the
    server itself is told when an agent needs it; the agent goes on without, unless `is_required`.

    Raises:
        UnknownServer: the settings have no server of that name; says which they have.
        SettingsError: the settings file cannot be read at all.
        BadSetting: no name, or names of tools that are none.
    """
    use_source(ctx, _SERVERS, server, toolbelt, tools, except_tools, is_required)


def use_functions(
    ctx: Any,
    name: str,
    toolbelt: str | None,
    tools: Any = None,
    except_tools: Any = None,
    is_required: Any = False,
) -> None:
    """The same as `use_server`, for a file of functions."""
    use_source(ctx, _FUNCTIONS, name, toolbelt, tools, except_tools, is_required)


def use_agent(
    ctx: Any,
    name: str,
    toolbelt: str | None,
    tools: Any = None,
    except_tools: Any = None,
    is_required: Any = False,
) -> None:
    """The same as `use_server`, for an agent of others."""
    use_source(ctx, _AGENTS, name, toolbelt, tools, except_tools, is_required)


def use_builtin_tools(
    ctx: Any,
    tools: Any,
    workspace: Any,
    name: Any,
    toolbelt: str | None,
    except_tools: Any = None,
    is_required: Any = False,
) -> None:
    """Add built-in tools to a toolbelt: `tools` by name, or those of an entry of the settings.

    `tools` is a list, or a text with commas; of `except_tools` see `filter_on`. The workspace is
    relative to the settings file.

    Raises:
        BadSetting: no tools, one that there is not, or one that needs a workspace without it.
        UnknownServer: the settings have no entry of that name.
    """
    wanted = names(tools, "tools", _BUILTIN.node)
    entry = optional(name, _BUILTIN.port, _BUILTIN.node)
    if bool(wanted) == bool(entry):
        problem = f"{_BUILTIN.node} needs `tools` or `{_BUILTIN.port}`, and not both:"
        fix = f"set `tools` to some of {', '.join(ALL_BUILTIN_TOOLS)}."
        raise BadSetting(f"{problem} {fix}")
    if entry:
        use_source(ctx, _BUILTIN, entry, toolbelt, None, except_tools, is_required)
        return
    folder = optional(workspace, "workspace", _BUILTIN.node)
    given = {"tools": wanted, "workspace": folder}
    add_source(
        ctx, _BUILTIN, BuiltinSettings, BUILTIN.name, given, toolbelt, None, except_tools,
        is_required,
    )  # fmt: skip


def use_tools(
    ctx: Any,
    name: str,
    toolbelt: str | None,
    tools: Any = None,
    except_tools: Any = None,
    is_required: Any = False,
) -> None:
    """The same for a group of the settings, or a source of any kind.

    Raises:
        SettingsError: something is wrong in the group, too.
    """
    name = required(name, "group_name", _TOOLS)
    belt = toolbelt_on(toolbelt, "toolbelt_name", _TOOLS)
    settings = bridge_of(ctx).settings
    if settings.group(name) is None:
        choice = _choice_for(settings, name)
        use_source(ctx, choice, name, belt, tools, except_tools, is_required)
        return
    chosen = filter_on(tools, except_tools, _TOOLS)
    _join_filter(ctx, belt, name, chosen, is_first=_listed(ctx, f"{GROUPS}_{belt}", name))
    if is_required:
        _listed(ctx, f"{REQUIRED}_{belt}", name)
    bridge = bridge_of(ctx)
    bridge.start(*bridge.aio.operations.choice([name]).all_sources)


def _choice_for(settings: Settings, name: str) -> SourceChoice:
    """How a source of that name gets into toolbelts.

    Raises:
        UnknownServer: there is no such source and no such group.
    """
    kind = settings.kind_of(name)
    found = next((x for x in CHOICES if x.kind == kind), None)
    if found is None:
        known = [*settings.group_names, *settings.names]
        hint = did_you_mean(name, known) or f"Known: {', '.join(known) or 'none'}."
        raise UnknownServer(
            f"No group and no source {name!r} in {settings.file or 'any settings file'}. {hint} "
            "Correct `group_name`, or add it under `groups`.",
            name,
            known,
        )
    return found


def filter_on(tools: Any, except_tools: Any, node: str) -> ToolFilter:
    """What the ports say: all tools, or only `tools`; of these not `except_tools`.

    Each are names, perhaps with `*`: a list, or a text with commas. An empty list on `tools` takes
    none, as one that a node before found nothing for.

    Raises:
        BadSetting: one of them is something else.
    """
    only = tuple(names(tools, "tools", node))
    is_all = not only and not isinstance(tools, list | tuple)
    without = tuple(names(except_tools, "except_tools", node))
    return ToolFilter(None if is_all else only, without)


def use_source(
    ctx: Any,
    choice: SourceChoice,
    source: str,
    toolbelt: str | None,
    tools: Any = None,
    except_tools: Any = None,
    is_required: Any = False,
) -> None:
    """The same as `use_server`, for a source of any kind that the settings have."""
    source = required(source, choice.port, choice.node)
    belt = toolbelt_on(toolbelt, "toolbelt_name", choice.node)
    chosen = filter_on(tools, except_tools, choice.node)
    bridge = bridge_of(ctx)
    with suppress(SettingsError):  # it disables that source; AgentRun says so and goes on without
        _require(bridge.settings, source, choice.kind)
    _declare(ctx, choice, source, belt, chosen, is_required)


def add_source(
    ctx: Any,
    choice: SourceChoice,
    cls: type[SourceSettings],
    name: str,
    entry: Mapping[str, Any],
    toolbelt: str | None,
    tools: Any = None,
    except_tools: Any = None,
    is_required: Any = False,
) -> str:
    """Add a source that the settings do not have to a toolbelt, and begin to connect it.

    `entry` is what would stand in the settings file, for that class. Its name there may be taken:
    the one it has in this run is given back.

    Raises:
        BadSetting: something in the entry is wrong; names the node and the key.
        SettingsError: the settings file cannot be read.
    """
    belt = toolbelt_on(toolbelt, "toolbelt_name", choice.node)
    chosen = filter_on(tools, except_tools, choice.node)
    bridge = bridge_of(ctx)
    folder = os.path.dirname(bridge.settings.file) or os.getcwd()
    variables = Variables(os.environ, folder, bridge.settings.secrets)
    given = {key: value for key, value in entry.items() if value not in (None, "")}
    try:
        source = cls.read(name, given, Place(choice.node), variables)
    except SettingsError as wrong:  # it stands on a port of the node
        raise BadSetting(str(wrong)) from None
    # Another node, or another run at the same time, may have the same with other arguments.
    name = add_to_run(ctx, source)
    _declare(ctx, choice, name, belt, chosen, is_required)
    return name


def _declare(
    ctx: Any, choice: SourceChoice, source: str, belt: str, chosen: ToolFilter, is_required: Any
) -> None:
    is_first = _listed(ctx, f"{choice.key}_{belt}", source)
    if is_required:
        _listed(ctx, f"{REQUIRED}_{belt}", source)
    _join_filter(ctx, belt, source, chosen, is_first=is_first)
    bridge_of(ctx).start(source)


def _listed(ctx: Any, key: str, name: str) -> bool:
    """Put a name into a list of `ctx`; whether it was not there before."""
    known = ctx.setdefault(key, [])
    if name in known:
        return False
    known.append(name)
    return True


def _join_filter(ctx: Any, belt: str, name: str, chosen: ToolFilter, *, is_first: bool) -> None:
    """With what other nodes take of the same: what one takes, if none leaves it out."""
    filters: dict[str, JsonObject] = ctx.setdefault(f"{FILTERS}_{belt}", {})
    if not is_first:
        chosen = filter_in(filters.get(name, {}), FILTERS).joined(chosen)
    filters[name] = {"only": _or_none(chosen.only), "except": list(chosen.without)}


def _or_none(patterns: tuple[str, ...] | None) -> list[str] | None:
    return None if patterns is None else list(patterns)


def filter_in(written: Any, where: str) -> ToolFilter:
    """A filter as a toolbelt's spec has it.

    Raises:
        BadSetting: it is none; as another one it could let in what nobody wants.
    """
    if not isinstance(written, Mapping):
        raise BadSetting(f"`{where}` has something in it that is no dict. {_WIRE_FILTER}")
    given = cast(Mapping[str, Any], written)
    if wrong := [x for x in given if x not in ("only", "except")]:
        raise BadSetting(f"`{where}` has the unknown key {wrong[0]!r}. {_WIRE_FILTER}")
    only, without = given.get("only"), given.get("except")
    return ToolFilter(
        None if only is None else tuple(names(only, where, _MAKE)),
        tuple(names(without, where, _MAKE)),
    )


def _require(settings: Settings, source: str, kind: SourceKind) -> None:
    try:
        settings.source(source, kind)
    except UnknownServer as reason:
        nodes = [x.node for x in CHOICES if x.kind == settings.kind_of(source)]
        nodes += [_TOOLS] if source in settings.group_names else []
        if not nodes:
            raise
        text = f"{reason} The node for what stands there is {nodes[0]}."
        raise UnknownServer(text, reason.server, reason.known) from None


def make_toolbelt(
    ctx: Any,
    name: str | None,
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
    toolbelt = toolbelt_on(name, "name", _MAKE)
    ctx[MADE] = [*(x for x in ctx.get(MADE) or () if x != toolbelt), toolbelt]
    drawn = dict(ctx.get(f"toolbelt_{toolbelt}") or {})
    spec: dict[str, Any] = {"toolbelt": toolbelt, "standard_tools": drawn}
    for choice in CHOICES:
        declared = list(ctx.get(f"{choice.key}_{toolbelt}") or [])
        if declared or choice is _SERVERS:
            spec[choice.key] = declared
    if groups := list(ctx.get(f"{GROUPS}_{toolbelt}") or []):
        spec[GROUPS] = groups
    joined = cast(Mapping[str, Any], ctx.get(f"{FILTERS}_{toolbelt}") or {})
    filters = {name: x for name, x in joined.items() if filter_in(x, FILTERS) != EVERYTHING}
    if filters:
        spec[FILTERS] = filters
    if needed := list(ctx.get(f"{REQUIRED}_{toolbelt}") or []):
        spec[REQUIRED] = needed
    spec |= preferences_for(ctx, toolbelt)
    if words := approval_in(approval, APPROVAL, _MAKE):
        spec[APPROVAL] = words
    if planning_tools:
        spec[PLANNING_TOOLS] = True
    lock: DefinitionLock = "first" if lock_first else bool(lock_tools)
    return {**spec, "lock_tools": lock} if lock else spec


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
    lists = [cast(list[str], agent.get(x.agent_key) or []) for x in CHOICES]
    sources = (name for declared in lists for name in declared)
    filters: Mapping[str, Any] = agent.get(FILTERS) or {}
    found = {name: filter_in(x, FILTERS) for name, x in filters.items()}
    return context.choice((*sources, *(agent.get(ENABLED_GROUPS) or ())), found)
