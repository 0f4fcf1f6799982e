"""Toolbelts as the canvas collects them in `ctx`: drawn tools, and names of sources.

Keys of `ctx`, each followed by the toolbelt's name: `toolbelt_` for the drawn tools, `mcp_servers_`
for the names of MCP servers, `sources_` for all other sources and groups, `tool_filters_` for the
choice of their tools, and `required_sources_` for sources without which a run fails.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from ..bridge.context import OperationContext
from ..catalog.groups import EVERYTHING, ToolChoice, ToolFilter
from ..core.calls import DefinitionLock
from ..core.errors import BadSetting
from ..core.json import JsonObject
from ..search.preferences import Preferences
from ..settings.approval import ApprovalWord, read_words, words_in_text
from ..sources.canvas import DRAWN_TIMEOUT_SECONDS, DrawnTool
from .ports import DEFAULT_TOOLBELT, names, optional
from .workshop.run import watch

_MAKE = "AgentMakeToolbelt"
SERVERS, SOURCES = "mcp_servers", "sources"
"""Keys of a toolbelt's spec; with the toolbelt's name, of `ctx`; after `enabled_`, of an agent."""
FILTERS, REQUIRED = "tool_filters", "required_sources"
"""The same; of an agent without a prefix."""
APPROVAL = "approval"
"""Key of a toolbelt's spec: approval words for patterns of tools."""
PLANNING_TOOLS = "planning_tools"
"""Key of a toolbelt's spec and of an agent: whether it has the tools for choosing and planning."""
TOOLBELTS = "made_toolbelts"
"""Key of `ctx`: the names of the toolbelts that were made in this run."""
PREFERENCES = "always_shown_tools", "blocked_tools", "trusted_tools"
"""Keys of a toolbelt's spec and of an agent; with the toolbelt's name, of `ctx`."""
_WIRE_FILTER = 'Wire the toolbelt_spec of AgentMakeToolbelt, or {"only": [...], "except": [...]}.'


def define_tool(
    ctx: Any,
    for_toolbelt: str | None,
    tool_name: str,
    description: str,
    run: Callable[[Any, str, JsonObject | None], Any],
    parameters: Mapping[str, Any] | None = None,
    timeout_seconds: float | None = None,
) -> None:
    """Add a drawn tool to a toolbelt; see `DrawnTool`.

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


def filter_in(value: Any, where: str) -> ToolFilter:
    """Return a filter from a toolbelt's spec.

    Raises:
        BadSetting: it is not a filter; a guess could let in unwanted tools.
    """
    if not isinstance(value, Mapping):
        raise BadSetting(f"`{where}` contains something that is not a dict. {_WIRE_FILTER}")
    values = cast(Mapping[str, Any], value)
    if wrong := [x for x in values if x not in ("only", "except")]:
        raise BadSetting(f"`{where}` has the unknown key {wrong[0]!r}. {_WIRE_FILTER}")
    only, without = values.get("only"), values.get("except")
    return ToolFilter(
        None if only is None else tuple(names(only, where, _MAKE)),
        tuple(names(without, where, _MAKE)),
    )


def make_toolbelt(
    ctx: Any,
    name: Any = None,
    lock_tools: Any = False,
    lock_first: Any = False,
    approval: Any = None,
    planning_tools: Any = False,
) -> dict[str, Any]:
    """Return a toolbelt's spec: what was defined, declared and preferred for it so far.

    `lock_tools` holds its sources to their accepted definitions; `lock_first` also accepts the
    first listing of each. `approval` says which calls need approval: see `approval_in`.
    `planning_tools` also gives the agent the tools for choosing and planning.

    Raises:
        BadSetting: the name is not text, or `approval` is invalid.
    """
    watch(ctx)  # a lesson without an agent has goals too
    toolbelt = optional(name, "name", _MAKE) or DEFAULT_TOOLBELT
    ctx[TOOLBELTS] = [*(x for x in ctx.get(TOOLBELTS) or () if x != toolbelt), toolbelt]
    lock: DefinitionLock = "first" if lock_first else bool(lock_tools)
    more = {
        APPROVAL: approval_in(approval, APPROVAL, _MAKE),
        PLANNING_TOOLS: bool(planning_tools),
        "lock_tools": lock,
    }
    return {**collect_spec(ctx, toolbelt), **{key: value for key, value in more.items() if value}}


def collect_spec(ctx: Any, toolbelt: str) -> dict[str, Any]:
    """Return a toolbelt's spec as far as earlier nodes have set it."""
    filters = cast(Mapping[str, Any], ctx.get(f"{FILTERS}_{toolbelt}") or {})
    more = {
        SOURCES: list(ctx.get(f"{SOURCES}_{toolbelt}") or []),
        FILTERS: {x: y for x, y in filters.items() if filter_in(y, FILTERS) != EVERYTHING},
        REQUIRED: list(ctx.get(f"{REQUIRED}_{toolbelt}") or []),
        **{key: list(ctx.get(f"{key}_{toolbelt}") or []) for key in PREFERENCES},
    }
    return {
        "toolbelt": toolbelt,
        "standard_tools": dict(ctx.get(f"toolbelt_{toolbelt}") or {}),
        SERVERS: list(ctx.get(f"{SERVERS}_{toolbelt}") or []),
        **{key: value for key, value in more.items() if value},
    }


def declared_toolbelts(ctx: Any) -> list[str]:
    """Return the names of all toolbelts for which something was drawn or declared."""
    prefixes = ("toolbelt_", f"{SERVERS}_", f"{SOURCES}_")
    keys = [(str(key), x) for key, x in list(ctx.items()) if x]
    belts = [k.removeprefix(p) for k, _ in keys for p in prefixes if k.startswith(p)]
    return list(dict.fromkeys(belts))


def approval_in(value: Any, port: str, node: str) -> dict[str, ApprovalWord]:
    """Read approval words: a text such as `delete_*: ask, files: deny`, or a dict.

    Raises:
        BadSetting: it is something else; ignoring it could let a call run without approval.
    """
    if not value:
        return {}
    try:
        return words_in_text(value) if isinstance(value, str) else read_words(value)
    except ValueError as why:
        fix = "Set it to `ask`, or to `delete_*: ask, files: deny`."
        raise BadSetting(f"`{port}` of {node}: {why} {fix}") from None


def tool_choice(agent: Mapping[str, Any], context: OperationContext) -> ToolChoice:
    """Return the sources' tools that an agent may use: servers first, as they were declared.

    Raises:
        SettingsError: one of its groups is invalid.
    """
    lists = [cast(list[str], agent.get(f"enabled_{x}") or []) for x in (SERVERS, SOURCES)]
    specs: Mapping[str, Any] = agent.get(FILTERS) or {}
    filters = {name: filter_in(x, FILTERS) for name, x in specs.items()}
    return context.choice([name for names in lists for name in names], filters)


def prefer_tools(
    ctx: Any,
    trusted: Any = None,
    blocked: Any = None,
    always_shown: Any = None,
    toolbelt_name: str = "",
) -> None:
    """Rank tools first in a search, remove them, or always show them.

    Each argument is a list of patterns, see `Preferences`.
    """
    belt = toolbelt_name or DEFAULT_TOOLBELT
    for key, patterns in zip(PREFERENCES, (always_shown, blocked, trusted), strict=True):
        _add(ctx, key, belt, patterns or [])


def preferences_of(agent: Mapping[str, Any]) -> Preferences:
    """Return the preferences of an agent's toolbelt."""
    always_shown, blocked, trusted = (tuple(agent.get(key) or ()) for key in PREFERENCES)
    return Preferences(always_shown, blocked, trusted)


def _add(ctx: Any, key: str, toolbelt: str, patterns: list[str]) -> None:
    entries = ctx.setdefault(f"{key}_{toolbelt}", [])
    entries += [x for x in dict.fromkeys(patterns) if x not in entries]
