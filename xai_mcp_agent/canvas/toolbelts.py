"""Toolbelts as the canvas collects them in `ctx`: drawn tools, and names of sources.

Keys of `ctx`, each followed by the toolbelt's name: `toolbelt_` for the drawn tools, `mcp_servers_`
for the names of MCP servers, `sources_` for all other sources and groups, `tool_filters_` for the
choice of their tools, and `required_sources_` for sources without which a run fails.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from ..bridge.context import OperationContext
from ..catalog.groups import EVERYTHING, ToolChoice, ToolFilter
from ..core.calls import DefinitionLock
from ..core.errors import BadSetting
from ..core.json import JsonObject
from ..search.preferences import Preferences
from ..settings.approval import ApprovalWord, read_words, words_in_text
from ..sources.canvas import DRAWN_TIMEOUT_SECONDS, DrawnTool
from .ports import DEFAULT_TOOLBELT, flag, mapping, names, optional
from .workshop.run import watch

_MAKE = "AgentMakeToolbelt"
SERVERS, SOURCES = "mcp_servers", "sources"
"""Keys of a toolbelt's spec; with the toolbelt's name, of `ctx`; after `enabled_`, of an agent."""
FILTERS, REQUIRED = "tool_filters", "required_sources"
"""The same; of an agent without a prefix."""
PLANNING_TOOLS = "planning_tools"
"""Key of a toolbelt's spec and of an agent: whether it has the tools for choosing and planning."""
IS_IMPLICIT = "is_implicit"
"""The same: whether no wire leads from an AgentMakeToolbelt."""
TOOLBELTS = "made_toolbelts"
"""Key of `ctx`: the names of the toolbelts that were made in this run."""
_PREFERENCES = "always_shown_tools", "blocked_tools", "trusted_tools"
# The lists of a toolbelt's spec that it has only if they are not empty.
_LISTS = (SOURCES, REQUIRED, *_PREFERENCES)


@dataclass(frozen=True)
class SourceChoice:
    """A node's use of a source: for which toolbelt, which tools, and whether it is required."""

    toolbelt: str = DEFAULT_TOOLBELT
    tools: ToolFilter = EVERYTHING
    is_required: bool = False

    @classmethod
    def of(cls, ports: Mapping[str, Any]) -> SourceChoice:
        """Read the ports. An empty list on `tools` means no tools."""
        belt = ports.get("toolbelt_name") or DEFAULT_TOOLBELT
        return cls(belt, _filter_of(ports), bool(ports.get("required")))


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


def add_to_toolbelt(ctx: Any, key: str, name: str, choice: SourceChoice) -> None:
    """Add a source or group to the toolbelt of the choice; `key` is `SERVERS` or `SOURCES`.

    If several nodes add it, the toolbelt has what one of them takes and none excludes.
    """
    belt, tools = choice.toolbelt, choice.tools
    filters: dict[str, ToolFilter] = ctx.setdefault(f"{FILTERS}_{belt}", {})
    if name in ctx.get(f"{key}_{belt}", ()):
        tools = filters.pop(name, EVERYTHING).joined(tools)
    if tools != EVERYTHING:
        filters[name] = tools
    for each in (key, REQUIRED) if choice.is_required else (key,):
        _append(ctx, each, belt, [name])


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
        "approval": approval_in(approval, "approval", _MAKE),
        PLANNING_TOOLS: bool(planning_tools),
        "lock_tools": lock,
    }
    return {**collect_spec(ctx, toolbelt), **{key: value for key, value in more.items() if value}}


def collect_spec(ctx: Any, toolbelt: str) -> dict[str, Any]:
    """Return a toolbelt's spec as far as earlier nodes have set it."""
    filters: Mapping[str, ToolFilter] = ctx.get(f"{FILTERS}_{toolbelt}") or {}
    more = {
        FILTERS: {name: _filter_as_json(x) for name, x in filters.items()},
        **{key: list(ctx.get(f"{key}_{toolbelt}") or []) for key in _LISTS},
    }
    return {
        "toolbelt": toolbelt,
        "standard_tools": dict(ctx.get(f"toolbelt_{toolbelt}") or {}),
        SERVERS: list(ctx.get(f"{SERVERS}_{toolbelt}") or []),
        **{key: value for key, value in more.items() if value},
    }


def tools_in(spec: Any, port: str, node: str) -> dict[str, Any]:
    """Return the entries of a toolbelt's spec, under the agent's keys.

    Raises:
        BadSetting: the value on that port is not a toolbelt's spec.
    """
    values = mapping(spec, port, node)
    return {
        key_of_agent: read(values.get(key), f"{port}.{key}", node)
        for key, (key_of_agent, read) in _SPEC.items()
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
    return context.choice([name for names in lists for name in names], agent.get(FILTERS))


def prefer_tools(
    ctx: Any,
    trusted: list[str] | None = None,
    blocked: list[str] | None = None,
    always_shown: list[str] | None = None,
    toolbelt_name: str = "",
) -> None:
    """Rank tools first in a search, remove them, or always show them.

    Each argument is a list of patterns, see `Preferences`.
    """
    belt = toolbelt_name or DEFAULT_TOOLBELT
    for key, patterns in zip(_PREFERENCES, (always_shown, blocked, trusted), strict=True):
        _append(ctx, key, belt, patterns or [])


def preferences_of(agent: Mapping[str, Any]) -> Preferences:
    """Return the preferences of an agent's toolbelt."""
    always_shown, blocked, trusted = (tuple(agent.get(key) or ()) for key in _PREFERENCES)
    return Preferences(always_shown, blocked, trusted)


def _append(ctx: Any, key: str, toolbelt: str, entries: list[str]) -> None:
    """Add the new ones of these entries to a list of `ctx`."""
    before = ctx.get(f"{key}_{toolbelt}", [])
    ctx[f"{key}_{toolbelt}"] = list(dict.fromkeys((*before, *entries)))


def _filter_of(ports: Mapping[str, Any]) -> ToolFilter:
    only, without = ports.get("tools"), ports.get("except_tools")
    return ToolFilter(None if only is None else tuple(only), tuple(without or ()))


def _filter_as_json(tools: ToolFilter) -> JsonObject:
    """Return a filter as the ports of its node have it."""
    ports: JsonObject = {} if tools.only is None else {"tools": list(tools.only)}
    return {**ports, "except_tools": list(tools.without)} if tools.without else ports


def _filters(value: Any, port: str, node: str) -> dict[str, ToolFilter]:
    """Return the filters in a spec. To guess what another key means could let in tools."""
    filters = dict[str, ToolFilter]()
    for name, entry in mapping(value, port, node).items():
        place = f"{port}.{name}"
        ports = mapping(entry, place, node)
        if not isinstance(entry, Mapping):  # None, or an empty text
            raise BadSetting(f"`{place}` of {node} is empty. Write `tools` in it, or leave it out.")
        for key in ports:
            if key not in ("tools", "except_tools"):
                raise BadSetting(
                    f"`{place}` of {node} has the key {key!r}. Write `tools` or `except_tools`."
                )
        filters[name] = _filter_of({x: names(y, f"{place}.{x}", node) for x, y in ports.items()})
    return filters


def _lock(value: Any, _port: str, _node: str) -> DefinitionLock:
    return "first" if value == "first" else bool(value)


_SPEC: Mapping[str, tuple[str, Callable[[Any, str, str], Any]]] = {
    "toolbelt": ("toolbelt_name", optional),
    "standard_tools": ("agent_toolbelt", mapping),
    SERVERS: (f"enabled_{SERVERS}", names),
    SOURCES: (f"enabled_{SOURCES}", names),
    FILTERS: (FILTERS, _filters),
    REQUIRED: (REQUIRED, names),
    **{key: (key, names) for key in _PREFERENCES},
    "approval": ("tool_approval", approval_in),
    "lock_tools": ("lock_tools", _lock),
    PLANNING_TOOLS: (PLANNING_TOOLS, flag),
    IS_IMPLICIT: (IS_IMPLICIT, flag),
}
"""The keys of a toolbelt's spec, each with the agent's key and how it is read."""
