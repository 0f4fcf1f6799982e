"""The best tool for what somebody wants, tools page by page, and calls by one name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import anyio.to_thread

from ..catalog.groups import ToolChoice
from ..core.errors import BadSetting, UnknownTool
from ..core.names import did_you_mean
from ..core.patterns import fits, names_of
from ..core.results import OnProgress, ToolResult
from ..core.tools import JsonObject, Tool, ToolKey
from ..search.found import SelectedTool
from ..search.preferences import Preferences
from .engine import Engine
from .planning import UsableTools, calls_asked_for, choice_of, usable_tools
from .preferences import preferred
from .search import listed_tools
from .toolbox import search_for

_ALTERNATIVES = 4
_MOST_NAMED = 5


async def select_tool(
    engine: Engine,
    request: str,
    choice: ToolChoice | None = None,
    preferences: Preferences | None = None,
    alternatives: int = _ALTERNATIVES,
) -> SelectedTool | None:
    """The tool that fits best of those that may be used, and so many others; None if none does."""
    usable = await usable_tools(engine, choice, preferences)
    return await select_among(engine, usable, request, preferences, alternatives)


async def select_named(
    engine: Engine, request: str, names: Sequence[str] = ()
) -> SelectedTool | None:
    """As `select_tool`, for sources and groups that are named."""
    return await select_tool(engine, request, choice_of(engine, names))


async def select_among(
    engine: Engine,
    usable: UsableTools,
    request: str,
    preferences: Preferences | None = None,
    alternatives: int = _ALTERNATIVES,
) -> SelectedTool | None:
    """As `select_tool`, among tools that were found already."""
    search = search_for(engine, preferred(engine, preferences))
    found = await search(request, usable.tools, 1 + max(alternatives, 0))
    if not found:
        return None
    best = found[0]
    asks = calls_asked_for(engine, best.tool, usable.rulings.get(best.tool.key))
    return SelectedTool(best.tool, best.confidence, (*best.reasons, *asks), tuple(found[1:]))


async def tools_page(
    engine: Engine,
    names: Sequence[str] = (),
    *,
    named: str = "",
    usable: bool = False,
    limit: int | None = None,
    offset: int = 0,
) -> list[Tool]:
    """Tools of these sources and groups, or of all, in the order of the settings.

    Only those whose name is like the pattern `named`, or that an agent may use now. Sources that
    cannot be used offer nothing.

    Raises:
        UnknownServer, SettingsError: there is none of that name, or it cannot be used.
        BadSetting: `named` is no pattern, or a number is below 0.
    """
    if offset < 0 or (limit is not None and limit < 0):
        raise BadSetting("`limit` and `offset` count tools: they cannot be below 0.")
    choice = choice_of(engine, names)
    if usable:
        found = dict((await usable_tools(engine, choice)).tools)
    else:
        entries, _ = await listed_tools(engine, choice)
        found = {key: x.require() for key, x in entries.items()}
    # In a thread: it is a pattern of somebody, for thousands of names.
    keys = await anyio.to_thread.run_sync(keys_like, found, named)
    end = None if limit is None else offset + limit
    return [found[x] for x in keys[offset:end]]


async def execute_tool(
    engine: Engine,
    tool: str | ToolKey | Tool,
    arguments: JsonObject | None = None,
    *,
    timeout_seconds: float | None = None,
    on_progress: OnProgress | None = None,
    meta: JsonObject | None = None,
) -> ToolResult:
    """Call a tool by its key, by `server/tool`, or by its name where only one server has it.

    Raises:
        UnknownTool: there is none of that name, or several.
    """
    server, name = await _placed(engine, tool)
    return await engine.call_tool(
        server, name, arguments, timeout_seconds=timeout_seconds, on_progress=on_progress, meta=meta
    )


async def _placed(engine: Engine, tool: str | ToolKey | Tool) -> tuple[str, str]:
    """The server of a tool, and its name there."""
    if not isinstance(tool, str):
        key = tool.key if isinstance(tool, Tool) else tool
        return key.source, key.name
    for server, name in _ways_to_part(tool):
        if server in engine.settings.sources or server in engine.settings.problems:
            return server, name
    entries, _ = await listed_tools(engine)
    having = [key for key in entries if key.name == tool]
    if len(having) == 1:
        return having[0].source, tool
    known = [str(x) for x in entries]
    if having:
        which = " or ".join(repr(str(x)) for x in having[:_MOST_NAMED])
        raise UnknownTool(f"Several servers have a tool {tool!r}. Write which is meant: {which}.")
    hint = did_you_mean(tool, known) or "Write `server/tool`."
    raise UnknownTool(f"No server has a tool {tool!r}. {hint}")


def _ways_to_part(name: str) -> Iterator[tuple[str, str]]:
    """A name as server and tool, the longest server first: both may have a slash in them."""
    parts = name.split("/")
    for count in range(len(parts) - 1, 0, -1):
        yield "/".join(parts[:count]), "/".join(parts[count:])


def keys_like(keys: Iterable[ToolKey], pattern: str) -> list[ToolKey]:
    """Those whose tool or `server/tool` is called like that; all where there is no pattern.

    Raises:
        BadSetting: it is no pattern.
    """
    if not pattern:
        return list(keys)
    try:
        fit = fits(pattern)
    except ValueError as cause:
        raise BadSetting(f"{pattern!r} is no pattern for names: {cause}.") from cause
    return [x for x in keys if any(map(fit, names_of(x)))]
