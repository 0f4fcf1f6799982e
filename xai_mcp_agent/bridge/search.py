"""Finding tools of servers, and explaining one, for a person or a program: no agent is needed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import anyio.to_thread

from ..agent.toolsets import AgentTools
from ..catalog.entry import CatalogEntry
from ..catalog.groups import ToolChoice
from ..core.errors import XaiMcpError
from ..core.examples import example_arguments
from ..core.kinds import META
from ..core.tools import Tool, ToolKey
from ..search.found import ExplainedTool, FoundTool, FoundTools
from ..search.meta_tools import DEFAULT_RESULTS
from ..search.preferences import Preferences
from ..search.ranking import RankedTools, Ranking
from ..search.selector import Selection
from .engine import Engine
from .preferences import preferred
from .refresh import marked_tool
from .ruled import ranking_rules
from .toolbox import SourceToolset, agent_tools, search_for

_RECORD_SECONDS = 3.0  # for the history to say since when a tool is known


async def find_tools(
    engine: Engine,
    query: str,
    limit: int = 10,
    choice: ToolChoice | None = None,
    preferences: Preferences | None = None,
) -> FoundTools:
    """The tools of these sources and groups, or of all, that fit what somebody wants to do.

    All are connected for it; what cannot be is told of, and the others are searched. What the
    settings or the `preferences` block is not found.
    """
    wanted = preferred(engine, preferences)
    entries, failed = await listed_tools(engine, choice)
    tools = {key: x.require() for key, x in entries.items() if not wanted.is_blocked(key)}
    ranking = Ranking(wanted, ranking_rules(engine.rules, engine.caller))
    ranked = await engine.search.search(query, tools, limit, ranking)
    found = tuple(FoundTool(entries[x.tool.key], x) for x in ranked)
    return FoundTools(found, failed, ranked.note)


async def ranked_tools(
    engine: Engine, query: str, limit: int, servers: Iterable[str] | None = None
) -> RankedTools[Tool]:
    """The same as plain values, without what could not be searched."""
    choice = None if servers is None else engine.choice(servers)
    found = await find_tools(engine, query, limit, choice)
    return RankedTools((x.ranked for x in found.tools), found.note)


async def select_tools(
    engine: Engine, question: str, budget_tokens: int | None = None
) -> tuple[Selection, tuple[str, ...]]:
    """What a request would show of the tools of all servers, after a search for this question.

    And a line for each server that cannot be used.
    """
    sources = SourceToolset(engine, engine.settings.usable, {})
    tools, _ = agent_tools(engine, [sources], budget_tokens=budget_tokens)
    left_out = await sources.connect(lambda _: None)
    problems = tuple(map(str, engine.settings.problems.values()))
    return await selection_for(engine, tools, question), (*problems, *left_out)


async def selection_for(
    engine: Engine, tools: AgentTools, question: str, preferences: Preferences | None = None
) -> Selection:
    """What a request would show of an agent's tools, after a search for this question if any."""
    available = await tools.available()
    known = {x.tool.key: x.tool for x in available.definitions if x.tool.key.kind != META.name}
    found: list[ToolKey] = []
    if question.strip():
        search = search_for(engine, preferred(engine, preferences))
        hits = await search(question, known, DEFAULT_RESULTS)
        found = [x.tool.key for x in reversed(hits)]  # the best is the last to give way
    return tools.selector.select(available.definitions, found)


async def explain_tool(engine: Engine, server: str, tool: str) -> ExplainedTool:
    """All there is to know of one tool; its server is connected for it.

    Raises:
        UnknownServer, UnknownTool: there is none of that name; the message has the nearest.
        SourceFailed: the server cannot be used.
    """
    found = await engine.tool(server, tool)
    await engine.decisions.read()
    await engine.catalog.read(found.source, _RECORD_SECONDS)
    # In a thread: schemas are strangers' words.
    example = await anyio.to_thread.run_sync(example_arguments, found.input_schema)
    return ExplainedTool(marked_tool(engine, found), example)


async def listed_tools(
    engine: Engine, choice: ToolChoice | None = None
) -> tuple[dict[ToolKey, CatalogEntry], dict[str, str]]:
    """The tools of a choice, or all, their sources connected for it; and why others have none."""
    found, failed = await connected_tools(engine, choice)
    await engine.decisions.read()
    entries: dict[ToolKey, CatalogEntry] = {}
    for tools in found.values():
        await engine.catalog.digest_all(tools)
        entries |= {x.key: marked_tool(engine, x) for x in tools}
    return entries, failed


async def connected_tools(
    engine: Engine, choice: ToolChoice | None = None
) -> tuple[dict[str, Sequence[Tool]], dict[str, str]]:
    """The same as plain tools, by their sources: nothing is looked up of what was decided."""
    names = list(engine.settings.usable if choice is None else choice.all_sources)
    problems = engine.settings.problems if choice is None else {}
    failed = {name: str(reason) for name, reason in problems.items()}
    failed |= {name: str(reason) for name, reason in (await engine.connect(names)).items()}
    found: dict[str, Sequence[Tool]] = {}
    for name in (x for x in names if x not in failed):
        try:
            listed = await engine.list_tools(name)
        except XaiMcpError as reason:
            failed[name] = str(reason)
            continue
        # In a thread: dozens of patterns for thousands of tools take a while.
        found[name] = await anyio.to_thread.run_sync(_taken, choice, listed) if choice else listed
    return found, failed


def _taken(choice: ToolChoice, listed: Sequence[Tool]) -> list[Tool]:
    return [x for x in listed if choice.has(x)]
