"""An engine as one caller uses it: the base of all operations and of agents' toolsets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from ..catalog.entry import CatalogEntry
from ..catalog.groups import ToolChoice, ToolFilter, ToolGroup
from ..core.calls import PROGRAM, Caller, DefinitionLock, ToolInvocation
from ..core.errors import BadSetting, SettingsError, UnknownServer, UnknownTool, XaiMcpError
from ..core.json import JsonObject
from ..core.names import did_you_mean
from ..core.patterns import globs, guard
from ..core.results import ToolResult
from ..core.shell import shell_command
from ..core.tools import STATIC, SourceKind, Tool, ToolKey
from ..policy.rules import RuledTool, RuleGate, reason
from ..search.preferences import Preferences
from ..search.ranking import Ranked, Ranking
from ..settings.entry import SourceSettings
from ..steps.references import CANVAS_SOURCE
from .engine import Engine
from .pipeline import Perform

if TYPE_CHECKING:
    from ..agent.meta_tools import Search


@dataclass(frozen=True)
class OwnTools:
    """Tools of the caller, called `canvas/name` in plans, and the function that calls them."""

    tools: tuple[Tool, ...]
    perform: Perform

    def tool(self, name: str) -> Tool:
        """Return a tool by its name.

        Raises:
            UnknownTool: there is none; the message has the nearest.
        """
        tool = next((x for x in self.tools if x.name == name), None)
        if tool is None:
            hint = did_you_mean(name, [x.name for x in self.tools])
            raise UnknownTool(
                f"No tool {name!r} is drawn in this workflow, or it is not in the toolbelt. "
                f"{hint or 'Draw it, from AgentDefineTool on.'}"
            )
        return tool


class Obstacle(NamedTuple):
    """Why no agent may use a tool, in words that fit after "it is", and more about it."""

    words: str
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.words}{self.detail}"


class _OwnSettings(SourceSettings):
    kind: ClassVar[SourceKind] = STATIC
    noun: ClassVar[str] = "tool"


class OperationContext:
    """An engine, the caller, and the caller's `own` tools.

    The own tools are the source `canvas`, unless the settings have one of that name.
    """

    def __init__(
        self, engine: Engine, caller: Caller = PROGRAM, own: OwnTools | None = None
    ) -> None:
        self.engine = engine
        self.catalog = engine.catalog
        self.caller = caller
        self.own = None if CANVAS_SOURCE in engine.settings.names else own
        self.settings = settings = engine.settings
        if self.own is not None:
            canvas = _OwnSettings(name=CANVAS_SOURCE, transport="canvas", secrets=settings.secrets)
            sources = {**settings.sources.copy(), CANVAS_SOURCE: canvas}
            self.settings = replace(settings, sources=sources)

    def mask(self, text: str) -> str:
        """Return a text without the secrets of the settings, for files and messages."""
        return self.engine.recorder.mask(text)

    def start_sources(
        self, names: Iterable[str], *, is_anew: bool = False
    ) -> dict[str, XaiMcpError]:
        """Start to connect these sources, without waiting; return the errors of unusable ones.

        `is_anew`: their circuit breakers are reset.
        """
        errors: dict[str, XaiMcpError] = {}
        for name in names:
            if is_anew:
                self.engine.breakers.reset(name)
            try:
                self.engine.pool.start(name)
            except (UnknownServer, SettingsError) as reason:
                # The traceback's frames hold this dict, and the dict the run.
                errors[name] = reason.with_traceback(None)
        return errors

    async def wait_for(self, *names: str) -> dict[str, XaiMcpError]:
        """Wait for these servers, each up to its own limit; return the errors of failed ones."""
        sources = [x for x in names if self.own is None or x != CANVAS_SOURCE]
        errors = self.start_sources(sources)
        results = await self.engine.pool.ready((x for x in sources if x not in errors), self.caller)
        await self.accept_first(name for name, error in results.items() if error is None)
        return errors | {name: error for name, error in results.items() if error}

    async def tools_of(self, source: str) -> tuple[Tool, ...]:
        """Return the source's tools, connecting it first if needed."""
        inventory = await self.engine.pool.start(source).ready(self.caller)
        await self.accept_first([source])
        return inventory.tools

    def entry(self, tool: Tool) -> CatalogEntry:
        """Return the tool with its decisions, as of the last `decisions.read`."""
        lock = self.lock_of(tool.source)
        return self.engine.decisions.with_decisions(self.catalog.entry_of(tool), lock)

    async def tool(self, server: str, name: str) -> Tool:
        """Return one tool of a server, connecting it if needed.

        Raises:
            UnknownServer, SettingsError, SourceFailed: it cannot be used; the message says why.
            UnknownTool: it has no tool of that name; the message has the nearest.
        """
        if self.own is not None and server == CANVAS_SOURCE:
            return self.own.tool(name)
        return await self.engine.find_tool(server, name, None, self.caller)

    async def call(self, invocation: ToolInvocation) -> ToolResult:
        """Call a source's tool, or the caller's own; see `CallPipeline`."""
        own = None if invocation.tool.source else self.own
        perform = self.engine.perform if own is None else own.perform
        return await self.engine.calls.run(invocation, perform)

    async def accept_first(self, names: Iterable[str]) -> None:
        """Accept the first listing of sources with `"lock": "first"`."""
        for name in names:
            if self.lock_of(name) == "first":
                await self.engine.decisions.take_first(name)

    def lock_of(self, source: str) -> DefinitionLock:
        """Return whether the settings or the caller lock the source to its accepted definitions."""
        return self.engine.lock_of(source, self.caller)

    def choice(
        self, names: Iterable[str], filters: Mapping[str, ToolFilter] | None = None
    ) -> ToolChoice:
        """Return the choice of these sources and groups, with filters by name.

        Groups have no tools of sources that a run added: those belong to one toolbelt.

        Raises:
            SettingsError: one of the groups is wrong.
        """
        groups = {name: self.settings.group(name) for name in dict.fromkeys(names)}
        kinds = self._kinds()
        tool_groups = tuple(ToolGroup(x, kinds) for x in groups.values() if x is not None)
        sources = tuple(name for name, group in groups.items() if group is None)
        return ToolChoice(sources, tool_groups, filters or {})

    def choice_of(self, names: Iterable[str]) -> ToolChoice | None:
        """Return the choice of names that a person wrote, or None without names.

        Raises:
            UnknownServer, SettingsError: there is none of that name, or it cannot be used.
        """
        names = list(names)
        for name in names:
            if self.settings.group(name) is None:
                self.settings.source(name)
        return self.choice(names) if names else None

    def preferences(self, own: Preferences | None = None) -> Preferences:
        """Return the preferences of the settings, joined with a toolbelt's `own`.

        Raises:
            SettingsError: a blocked group is wrong.
            BadSetting: a pattern of `blocked` is wrong.
        """
        search = self.settings.search
        of_settings = Preferences(
            search.always_shown, search.blocked, search.trusted, search.groups
        )
        joined = of_settings.merge(own or Preferences())
        try:
            guard(*joined.all_blocked)
        except ValueError as why:
            raise BadSetting(f"A pattern of `blocked` is wrong: {why}. Correct it.") from None
        is_blocked = globs(joined.all_blocked)
        for name in self.settings.groups.problems:
            if is_blocked(name):
                self.settings.group(name)
        return replace(joined, sets=self._group_tests())

    def _group_tests(self) -> dict[str, Callable[[ToolKey], bool]]:
        kinds = self._kinds()
        groups = self.settings.groups.groups.values()
        return {x.name: partial(self._is_in, ToolGroup(x, kinds)) for x in groups}

    def _is_in(self, group: ToolGroup, key: ToolKey) -> bool:
        tool = self.catalog.get(key)
        return tool is not None and group.has(tool)

    def _kinds(self) -> dict[str, str]:
        """Return the kinds of the file's enabled sources, by name."""
        sources = self.settings.of_file.items()
        return {name: x.kind.name for name, x in sources if not x.disabled}

    def ranking(self, preferences: Preferences) -> Ranking:
        """Return the order of search results, by preferences and rules."""
        gate = self.engine.rules
        prefer = partial(_by_rules, gate=gate, caller=self.caller) if gate.may_prefer else None
        return Ranking(preferences, prefer)

    def search_for(self, preferences: Preferences) -> Search:
        """Return the caller's search, which knows its toolbelt's past uses."""
        engine, toolbelt = self.engine, self.caller.toolbelt
        ranking = self.ranking(preferences)
        engine.usage.follow(toolbelt)

        async def search(query: str, among: Mapping[ToolKey, Tool], limit: int) -> Sequence[Ranked]:
            uses = await engine.usage.remembered(toolbelt)
            return await engine.search.search(query, among, limit, ranking, uses)

        return search

    def verdict_on(
        self, tool: Tool, caller: Caller | None = None, arguments: JsonObject | None = None
    ) -> RuledTool:
        """Return what rules and approvals say of an agent's call; without arguments, of any call.

        The default caller is that of this context.
        """
        caller = caller or self.caller
        ruling = self.engine.rules.ruling(tool, caller, arguments)
        if ruling.word == "deny":
            return RuledTool(tool, ruling, "deny", reason(ruling))
        verdict = self.engine.approvals.verdict(tool, caller, ruling)
        return RuledTool(tool, ruling, verdict.word, verdict.reason)

    def obstacles(self, tool: Tool, preferences: Preferences) -> Iterator[Obstacle]:
        """Yield every reason why no agent may use a tool now."""
        if self.engine.decisions.why_unknown():
            yield Obstacle("perhaps switched off", ": the decisions about it cannot be read")
        elif self.engine.decisions.is_off(tool.key):
            yield Obstacle("switched off")
        if preferences.is_blocked(tool.key):
            yield Obstacle("blocked")
        if self.lock_of(tool.source) and self.entry(tool).is_held:
            command = shell_command("xai-mcp-agent", "tools", "accept", tool.source)
            yield Obstacle("held back until somebody accepts it", f" (read it with `{command}`)")
        verdict = self.verdict_on(tool)
        ruling = verdict.ruling
        if ruling.word == "deny":
            because = f", because {ruling.why}" if ruling.why else ""
            yield Obstacle(f"denied by the rule {ruling.rule!r}", because)
        elif verdict.word == "deny":
            yield Obstacle("denied by `approval`")

    def is_denied(self, tool: Tool) -> bool:
        """Return whether `approval` of settings or toolbelt denies every call of the tool."""
        return self.engine.approvals.verdict(tool, self.caller).word == "deny"


def _by_rules(ranked: Ranked, gate: RuleGate, caller: Caller) -> Ranked:
    """Return a result with its score moved by the rules that prefer its tool."""
    ruling = gate.ruling(ranked.tool, caller)
    if not ruling.prefer:
        return ranked
    verb = "preferred" if ruling.prefer > 0 else "put behind others"
    reasons = (*ranked.reasons, f"{verb} by the rule {', '.join(ruling.preferred_by)!r}")
    return replace(ranked, score=max(0.0, ranked.score * (1 + ruling.prefer)), reasons=reasons)
