"""Finding tools: list them, search, select, explain; and what of them an agent may use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import anyio.to_thread

from ...agent.toolsets import AgentTools
from ...catalog.entry import CatalogEntry, ToolListing
from ...catalog.groups import ToolChoice
from ...core.approval import Ruling
from ...core.calls import DefinitionLock
from ...core.errors import BadSetting
from ...core.examples import example_arguments
from ...core.patterns import fits, names_of
from ...core.tools import META, Tool, ToolKey
from ...search.found import ExplainedTool, FoundTool, FoundTools, SelectedTool
from ...search.meta_tools import DEFAULT_RESULTS
from ...search.preferences import Preferences
from ...search.ranking import RankedTools, Ranking
from ...search.selector import Selection
from ..rules import ranking_rules
from ..toolbox import SourceToolset, agent_tools, search_for
from .tools import Tools

_RECORD_SECONDS = 3.0  # for the history to say since when a tool is known
_TRUSTED = 1.1  # as in a ranking
_ALTERNATIVES = 4


@dataclass(frozen=True, slots=True)
class UsableTools:
    """The tools that an agent may use, by key, and what rules say of calls of each.

    `weights` are those of tools that somebody prefers or trusts; `failed` tells why other sources
    cannot be used.
    """

    tools: Mapping[ToolKey, Tool]
    rulings: Mapping[ToolKey, Ruling] = field(default_factory=dict[ToolKey, Ruling])
    weights: Mapping[ToolKey, float] = field(default_factory=dict[ToolKey, float])
    failed: Mapping[str, str] = field(default_factory=dict[str, str])


class Search(Tools):
    """Finding tools, for a person or a program: no agent is needed."""

    async def list_tools(
        self,
        *servers: str,
        named: str = "",
        usable: bool = False,
        limit: int | None = None,
        offset: int = 0,
    ) -> list[Tool]:
        """The tools of these servers and groups, or of all; at most `limit`, after `offset` others.

        Only those whose name is like the pattern `named`, and with `usable` those that agents may
        use now. Where more is asked for than all tools of one server, those that cannot be started
        offer nothing.

        Raises:
            UnknownServer, SettingsError, SourceFailed: it cannot be used; the message says why.
            BadSetting: `named` is no pattern, or a number is below 0.
        """
        is_all = not (named or usable or offset) and limit is None
        if is_all and len(servers) == 1 and self.settings.group(servers[0]) is None:
            return list(await self.tools_of(servers[0]))
        listing = await self.tool_listing(
            *servers, named=named, usable=usable, limit=limit, offset=offset
        )
        return [x.require() for x in listing.entries]

    async def tool_listing(
        self,
        *servers: str,
        named: str = "",
        usable: bool = False,
        limit: int | None = None,
        offset: int = 0,
    ) -> ToolListing:
        """The same with all that is known of each tool, and why servers have none.

        Raises:
            UnknownServer, SettingsError: a name that cannot be used; the message says why.
            BadSetting: as `list_tools`.
        """
        if offset < 0 or (limit is not None and limit < 0):
            raise BadSetting("`limit` and `offset` count tools: they cannot be below 0.")
        choice = self.choice_of(servers)
        entries, failed = await self.listed(choice)
        keys = _keys_like(entries, named)
        if usable:
            allowed = (await self.usable_tools(choice)).tools
            keys = [x for x in keys if x in allowed]
        end = None if limit is None else offset + limit
        page = [entries[x] for x in keys[offset:end]]
        notes = () if choice is None else self._notes_on(choice)
        trouble = self.engine.decisions.why_unknown()
        return ToolListing(page, len(keys), failed, notes, trouble)

    def _notes_on(self, choice: ToolChoice) -> Sequence[str]:
        if not choice.groups:
            return ()
        catalog = self.engine.catalog
        tools = [x for name in choice.all_sources for x in catalog.tools(name)]
        return choice.describe_unmatched(tools)

    async def search_tools(self, query: str, *servers: str, limit: int = 10) -> RankedTools[Tool]:
        """The tools that fit what somebody wants to do, best first, with scores and reasons.

        Of these servers, or of all, connected for it; those that cannot be used offer nothing.
        What the settings block is not found. The `note` of the list says what the search had to do
        without, such as tools that are not prepared for a search by meaning yet.
        """
        hits = await self.find_tools(query, *servers, limit=limit)
        return RankedTools((x.ranked for x in hits.tools), hits.note)

    async def find_tools(
        self,
        query: str,
        *servers: str,
        limit: int = 10,
        choice: ToolChoice | None = None,
        preferences: Preferences | None = None,
    ) -> FoundTools:
        """`search_tools` with all that is known of each tool, and why servers were not searched.

        In place of names, a `choice` of tools; what the `preferences` block is not found either.
        """
        wanted = self.preferences(preferences)
        entries, failed = await self.listed(self.choice(servers) if servers else choice)
        tools = {key: x.require() for key, x in entries.items() if not wanted.is_blocked(key)}
        ranking = Ranking(wanted, ranking_rules(self.engine.rules, self.caller))
        ranked = await self.engine.search.search(query, tools, limit, ranking)
        hits = tuple(FoundTool(entries[x.tool.key], x) for x in ranked)
        return FoundTools(hits, failed, ranked.note)

    async def select_tool(self, request: str, *servers: str) -> SelectedTool | None:
        """The tool that fits best what somebody wants to do, or None; see `SelectedTool`.

        Of these servers and groups, or of all, only tools that agents may use now.

        Raises:
            UnknownServer, SettingsError: a name that cannot be used.
        """
        usable = await self.usable_tools(self.choice_of(servers))
        return await self.select_among(usable, request)

    async def select_among(
        self,
        usable: UsableTools,
        request: str,
        preferences: Preferences | None = None,
        alternatives: int = _ALTERNATIVES,
    ) -> SelectedTool | None:
        """As `select_tool`, among these tools."""
        search = search_for(self, self.preferences(preferences))
        ranked = await search(request, usable.tools, 1 + max(alternatives, 0))
        if not ranked:
            return None
        best = ranked[0]
        asks = self.calls_asked_for(best.tool, usable.rulings.get(best.tool.key))
        return SelectedTool(best.tool, best.confidence, (*best.reasons, *asks), tuple(ranked[1:]))

    async def select_tools(
        self, question: str, budget_tokens: int | None = None
    ) -> tuple[Selection, tuple[str, ...]]:
        """What a request would show of the tools of all servers, after a search for this question.

        And a line for each server that cannot be used.
        """
        sources = SourceToolset(self, self.choice(self.settings.usable), {})
        tools, _ = agent_tools(self, [sources], budget_tokens=budget_tokens)
        left_out = await sources.connect(_tell_nobody)
        problems = tuple(map(str, self.settings.problems.values()))
        return await self.selection_of(tools, question), (*problems, *left_out)

    async def selection_of(
        self, tools: AgentTools, question: str, preferences: Preferences | None = None
    ) -> Selection:
        """What a request would show of an agent's tools, after a search for the question if any."""
        available = await tools.available()
        among = {x.tool.key: x.tool for x in available.definitions if x.tool.key.kind != META.name}
        keys: list[ToolKey] = []
        if question.strip():
            search = search_for(self, self.preferences(preferences))
            hits = await search(question, among, DEFAULT_RESULTS)
            keys = [x.tool.key for x in reversed(hits)]  # the best is the last to give way
        return tools.selector.select(available.definitions, keys)

    async def explain_tool(self, server: str, tool: str) -> ExplainedTool:
        """All there is to know of one tool, with an example call; its server is connected for it.

        Raises:
            UnknownServer, UnknownTool: there is none of that name; the message has the nearest.
            SourceFailed: the server cannot be used.
        """
        listed = await self.tool(server, tool)
        await self.engine.decisions.read()
        await self.engine.catalog.read(listed.source, _RECORD_SECONDS)
        # In a thread: a stranger's schema.
        example = await anyio.to_thread.run_sync(example_arguments, listed.input_schema)
        return ExplainedTool(self.entry(listed), example)

    async def usable_tools(
        self,
        choice: ToolChoice | None = None,
        preferences: Preferences | None = None,
        own: Sequence[Tool] = (),
    ) -> UsableTools:
        """The tools of a choice, or of all, that agents may use now, and `own` ones.

        All are connected for it. Left out is what is switched off, held back until a person accepts
        it, blocked by the settings or the `preferences`, or denied whatever the arguments are: as
        for an agent, whoever the caller is.
        """
        wanted = self.preferences(preferences)
        tools, failed = await self.connected(choice)
        decisions = self.engine.decisions
        await decisions.read()
        for name in tools:
            if lock := self.lock_of(name):
                await self.engine.catalog.digest_all(tools[name])
                tools[name] = [x for x in tools[name] if not self._is_held(x, lock)]
        left = {
            x.key: x
            for x in (tool for several in (*tools.values(), own) for tool in several)
            if not decisions.is_off(x.key) and not wanted.is_blocked(x.key)
        }
        return await self.allowed(left, wanted, failed)

    async def allowed(
        self,
        tools: Mapping[ToolKey, Tool],
        preferences: Preferences,
        failed: Mapping[str, str] | None = None,
    ) -> UsableTools:
        """These tools without what is denied, with what rules and preferences count for each."""
        rulings = await self.engine.rulings.of(tools, self.caller)
        left = {
            key: x for key, x in tools.items() if self._verdict(x, rulings.get(key))[0] != "deny"
        }
        weighed = ((key, _weight(key, rulings.get(key), preferences)) for key in left)
        weights = {key: weight for key, weight in weighed if weight != 1.0}
        return UsableTools(left, rulings, weights, failed or {})

    def calls_asked_for(self, tool: Tool, ruling: Ruling | None) -> Iterator[str]:
        """What a person should know of an agent's calls of a tool before there is one."""
        word, reason = self._verdict(tool, ruling)
        if word == "ask":
            yield f"an agent's call of it is asked for: {reason}"
        for one in ruling.perhaps if ruling is not None else ():
            does = "deny it" if one.word == "deny" else "have it asked for"
            yield f"the rule {one.rule!r} may {does}"

    def _verdict(self, tool: Tool, ruling: Ruling | None) -> tuple[str, str]:
        """What counts for an agent's calls of a tool: `allow`, `ask` or `deny`, and why."""
        if ruling is not None and ruling.word == "deny":
            return "deny", ruling.why
        verdict = self.engine.approvals.verdict(tool, self.caller, ruling or Ruling())
        return verdict.word, verdict.reason

    def _is_held(self, tool: Tool, lock: DefinitionLock) -> bool:
        return self.engine.decisions.marked(CatalogEntry(tool.key, tool), lock).is_held


def _weight(key: ToolKey, ruling: Ruling | None, preferences: Preferences) -> float:
    weight = 1.0 + ruling.prefer if ruling is not None else 1.0
    return max(0.0, weight * (_TRUSTED if preferences.is_trusted(key) else 1.0))


def _tell_nobody(_: tuple[str, ...]) -> None:
    """Nobody looks at what is waited for."""


def _keys_like(keys: Iterable[ToolKey], pattern: str) -> list[ToolKey]:
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
