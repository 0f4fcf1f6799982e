"""Finding tools: list, search, select and explain them; and which of them an agent may use."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING

import anyio.to_thread

from ...catalog.entry import CatalogEntry, ToolListing
from ...catalog.groups import ToolChoice
from ...core.errors import BadSetting
from ...core.patterns import fits, names_of
from ...core.results import tools_of_features
from ...core.schemas import example_arguments
from ...core.tools import META, Tool, ToolKey
from ...search.meta_tools import DEFAULT_RESULTS
from ...search.preferences import Preferences
from ...search.ranking import TRUST
from ...search.results import ExplainedTool, FoundTool, FoundTools, SelectedTool
from .tools import ToolOperations

if TYPE_CHECKING:
    from ...search.selector import Selection

_RECORD_SECONDS = 3.0  # limit for the history to return a tool's record
_ALTERNATIVES = 4


@dataclass(frozen=True, slots=True)
class UsableTools:
    """Tools that an agent may use, by key.

    `weights` are factors of preferred or trusted tools; `failed` says why other sources cannot be
    used.
    """

    tools: Mapping[ToolKey, Tool]
    weights: Mapping[ToolKey, float] = field(default_factory=dict[ToolKey, float])
    failed: Mapping[str, str] = field(default_factory=dict[str, str])


class SearchOperations(ToolOperations):
    """Search without an agent, for a person or a program."""

    async def list_tools(
        self,
        *servers: str,
        named: str = "",
        usable: bool = False,
        limit: int | None = None,
        offset: int = 0,
    ) -> ToolListing:
        """Return the tools of these servers and groups, or all; at most `limit`, from `offset` on.

        `named` is a pattern of names; with `usable`, only those that agents may use now. `failed`
        of the list says why other servers have none.

        Raises:
            UnknownServer, SettingsError: a name cannot be used; the message says why.
            SourceFailed: the only named server cannot be used.
            BadSetting: `named` is not a pattern, or a number is below 0.
        """
        if offset < 0 or (limit is not None and limit < 0):
            raise BadSetting("`limit` and `offset` count tools: they cannot be below 0.")
        choice = self.choice_of(servers)
        if len(servers) == 1 and choice is not None and not choice.groups:
            await self.tools_of(servers[0])
        tools, failed = await self.tools_by_source(choice)
        entries = await self.entries(tools)
        keys = _keys_like(entries, named)
        if usable:
            now_usable = (await self.usable_among([*chain(*tools.values())])).tools
            keys = [x for x in keys if x in now_usable]
        end = None if limit is None else offset + limit
        page = [entries[x] for x in keys[offset:end]]
        notes = () if choice is None else self._notes_on(choice, failed)
        trouble = self.engine.decisions.why_unknown()
        return ToolListing(page, len(keys), failed, notes, trouble)

    def _notes_on(self, choice: ToolChoice, failed: Collection[str]) -> Sequence[str]:
        if not choice.groups:
            return ()
        tools = [x for name in choice.all_sources for x in self.catalog.tools(name)]
        return choice.describe_unmatched(tools, failed)

    async def search_tools(
        self,
        query: str,
        *servers: str,
        limit: int = 10,
        choice: ToolChoice | None = None,
        preferences: Preferences | None = None,
        kinds: Collection[str] = ("tool",),
    ) -> FoundTools:
        """Return the tools for what somebody wants to do, best first, with scores and reasons.

        It searches these servers, or a `choice` of tools, or all, connecting them if needed. Tools
        that the settings or the `preferences` block are not included. `failed` of the list says why
        servers were not searched; `note` says what the search lacked, such as tools that are not
        prepared for a search by meaning yet. `kinds` are tool, prompt and resource: each result
        has the form of a tool, with its own kind.

        Raises:
            BadSetting: there is no such kind.
        """
        if unknown := set(kinds) - {"tool", "prompt", "resource"}:
            raise BadSetting(f"{min(unknown)!r} is no kind: write tool, prompt or resource.")
        preferences = self.preferences(preferences)
        choice = self.choice(servers) if servers else choice
        entries, failed = await self.list_entries(choice)
        search = self.engine.search
        if features := set(kinds) - {"tool"}:
            search, entries = self.engine.wide_search, entries if "tool" in kinds else {}
            names = self.settings.usable if choice is None else choice.all_sources
            entries |= self._feature_entries((x for x in names if x not in failed), features)
        tools = {key: x.require() for key, x in entries.items() if not preferences.is_blocked(key)}
        ranking = self.ranking(preferences)
        ranked = await search.search(query, tools, limit, ranking)
        results = (
            FoundTool(x.tool, x.score, x.confidence, x.reasons, entries[x.tool.key]) for x in ranked
        )
        return FoundTools(results, failed, ranked.note)

    def _feature_entries(
        self, sources: Iterable[str], kinds: Collection[str]
    ) -> dict[ToolKey, CatalogEntry]:
        inventories = [x for x in map(self.catalog.inventory, sources) if x is not None]
        features = [(x.source, x.prompts) for x in inventories if "prompt" in kinds]
        features += [(x.source, x.resources) for x in inventories if "resource" in kinds]
        tools = [tool for source, some in features for tool in tools_of_features(source, some)]
        return {x.key: self.catalog.entry_of(x) for x in tools}

    async def select_tool(self, request: str, *servers: str) -> SelectedTool | None:
        """Return the tool that fits a request best, or None; see `SelectedTool`.

        It chooses from these servers and groups, or all, and only tools that agents may use now.

        Raises:
            UnknownServer, SettingsError: a name cannot be used.
        """
        usable = await self.usable_tools(self.choice_of(servers))
        return await self.select_among(usable, request)

    async def select_among(
        self,
        usable: UsableTools,
        request: str,
        preferences: Preferences | None = None,
    ) -> SelectedTool | None:
        """Like `select_tool`, among these tools."""
        search = self.search_for(self.preferences(preferences))
        ranked = await search(request, usable.tools, 1 + _ALTERNATIVES)
        if not ranked:
            return None
        best = ranked[0]
        approval = self.approval_notes(best.tool)
        return SelectedTool(
            best.tool, best.confidence, (*best.reasons, *approval), tuple(ranked[1:])
        )

    async def select_tools(
        self, question: str, budget_tokens: int | None = None
    ) -> tuple[Selection, tuple[str, ...]]:
        """Return the tools of all servers that a request shows after a search for a question.

        The second value has a line for each server that cannot be used.
        """
        # Imported here: an agent's modules, which most programs do not need.
        from ..source_toolset import SourceToolset
        from ..toolbox import agent_tools

        sources = SourceToolset(self, self.choice(self.settings.usable), {})
        tools, _ = agent_tools(self, [sources], budget_tokens=budget_tokens)
        missing = await sources.connect(_show_nothing)
        available = await tools.available()
        among = {x.tool.key: x.tool for x in available.definitions if x.tool.key.kind != META.name}
        keys: list[ToolKey] = []
        if question.strip():
            hits = await self.search_for(self.preferences())(question, among, DEFAULT_RESULTS)
            keys = [x.tool.key for x in reversed(hits)]  # the best is the last to be left out
        selection = tools.selector.select(available.definitions, keys)
        return selection, (*map(str, self.settings.problems.values()), *missing)

    async def explain_tool(self, server: str, tool: str) -> ExplainedTool:
        """Return one tool with its entry and an example call, connecting its server if needed.

        Raises:
            UnknownServer, UnknownTool: there is none of that name; the message has the nearest.
            SourceFailed: the server cannot be used.
        """
        listed = await self.tool(server, tool)
        await self.engine.decisions.read()
        await self.catalog.read(listed.source, _RECORD_SECONDS)
        # In a thread: the schema of a server may be large.
        example = await anyio.to_thread.run_sync(example_arguments, listed.input_schema)
        return ExplainedTool(self.entry(listed), example)

    async def usable_tools(
        self,
        choice: ToolChoice | None = None,
        preferences: Preferences | None = None,
        own: Sequence[Tool] = (),
    ) -> UsableTools:
        """Return the tools of a choice, or all, that agents may use now, and `own` ones.

        All sources are connected. Tools are left out that are switched off, not accepted yet,
        blocked by the settings or the `preferences`, or denied with any arguments: as for an agent,
        whoever the caller is.
        """
        tools, failed = await self.tools_by_source(choice)
        return await self.usable_among((*chain(*tools.values()), *own), preferences, failed)

    async def usable_among(
        self,
        tools: Sequence[Tool],
        preferences: Preferences | None = None,
        failed: Mapping[str, str] | None = None,
    ) -> UsableTools:
        """Like `usable_tools`, among these tools."""
        engine, preferences = self.engine, self.preferences(preferences)
        await engine.decisions.read()
        await self.catalog.digest_all(x for x in tools if self.lock_of(x.source))
        await engine.rules.prepare(tools, self.caller)
        if trouble := engine.decisions.why_unknown():
            failed = {**(failed or {}), **{x.source: trouble for x in tools if x.source}}
        usable = {x.key: x for x in tools if not any(self.obstacles(x, preferences))}
        weights = dict[ToolKey, float]()
        for key, tool in usable.items():
            trust = TRUST if preferences.is_trusted(key) else 1.0
            weight = max(0.0, (1.0 + engine.rules.ruling(tool, self.caller).prefer) * trust)
            if weight != 1.0:
                weights[key] = weight
        return UsableTools(usable, weights, failed or {})

    def approval_notes(self, tool: Tool) -> Iterator[str]:
        """Yield whether a person is asked about an agent's calls of a tool, and why."""
        verdict = self.verdict_on(tool)
        if verdict.word == "ask":
            yield f"an agent's call of it needs approval: {verdict.reason}"
        for one in verdict.ruling.perhaps:
            does = "deny it" if one.word == "deny" else "require approval"
            yield f"the rule {one.rule!r} may {does}"


def _show_nothing(_: tuple[str, ...]) -> None:
    """Show nothing."""


def _keys_like(keys: Iterable[ToolKey], pattern: str) -> list[ToolKey]:
    """Return the keys whose `tool` or `server/tool` matches the pattern; all without a pattern.

    Raises:
        BadSetting: the pattern is wrong.
    """
    if not pattern:
        return list(keys)
    try:
        fit = fits(pattern)
    except ValueError as cause:
        raise BadSetting(f"{pattern!r} is no pattern for names: {cause}.") from cause
    return [x for x in keys if any(map(fit, names_of(x)))]
