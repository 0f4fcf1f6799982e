"""All tools of one agent during one run: those it is handed, and those of its sources."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from math import inf
from typing import TypeAlias

import anyio
import anyio.to_thread

from ..agent.discovery import DiscoveryToolset, Search
from ..agent.results import ResultPages
from ..agent.state import RunState
from ..agent.toolsets import (
    AgentTools,
    Available,
    CombinedToolset,
    EnabledToolset,
    PinnedToolset,
    RenamedToolset,
    Toolset,
    Wrapper,
)
from ..catalog.groups import ToolChoice
from ..core.errors import DefinitionChanged, NotAccepted, NotApproved, SourceFailed, XaiMcpError
from ..core.invocation import ToolInvocation
from ..core.names import listed, may_be_of
from ..core.results import ToolResult
from ..core.tools import Tool, ToolKey
from ..policy.breaker import BreakerNews
from ..policy.review import Review
from ..search.budget import BudgetSelector
from ..search.preferences import Preferences
from ..search.ranking import Ranked, Ranking
from ..settings.sections import BUDGET_VARIABLE
from .engine import Engine
from .pins import RunPins
from .preferences import preferred
from .ruled import RuledToolset, ranking_rules

logger = logging.getLogger(__name__)

# A server that took longer than the first to fail gets only the second at each later run: one that
# hangs does not cost its whole limit again. One that failed at once may have been mended since, and
# is waited for as at first.
_SLOW_SECONDS, _SECOND_CHANCE_SECONDS = 2.0, 1.0
_LATE = "it is not ready yet; its tools come as soon as it is."
_MOST_NAMES = 5
_FILTERED_AT_ONCE = 100  # tools, on the event loop: milliseconds, with dozens of patterns
_OWN = "drawn and built-in tools"
_UNDECIDED = (
    "{}: left out, because it cannot be looked up which tools a person has switched off. {}"
)
AskAvailable: TypeAlias = Callable[[], Awaitable[Available]]
"""Tells what an agent may call now."""

_BLOCKED = "The tool {!r} is blocked by the preferences of a person. Use another one."
_CHANGED = (
    "The tool {!r} was not called: the server {!r} has changed its definition, and a person has to "
    "accept that first. Go on without it, or say that you need it."
)
_NOT_ACCEPTED = (
    "The tool {!r} was not called: a person has to accept first what the server {!r} says of it. "
    "Go on without it, or say that you need it."
)


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a server could not be used when an agent waited for it, and whether that took long.

    `is_late`: the agent did not wait to the end.
    """

    reason: XaiMcpError
    was_slow: bool
    is_late: bool = False


class SourceToolset(Toolset):
    """The tools of an agent's sources. Used on the bridge's loop.

    `failed_before` has the sources that failed when they were waited for earlier in the same
    workflow, and why; it is kept up to date for the next run.
    """

    def __init__(
        self, engine: Engine, sources: Sequence[str], failed_before: dict[str, Failure]
    ) -> None:
        self._engine = engine
        self._sources = tuple(sources)
        self._failed = failed_before
        self._listed: list[tuple[Tool, ...]] = []
        self._tools: Sequence[Tool] = ()

    async def connect(
        self,
        tell: Callable[[tuple[str, ...]], None],
        wait_seconds: float = inf,
        required: Collection[str] = (),
    ) -> tuple[str, ...]:
        """Wait for all sources at once, each to its own limit; what is left out, and why.

        Once one can be used and the `required` ones are ready or have failed, the next of the
        others is waited for no longer than `wait_seconds`. Those that are late, and such as took
        long to fail before, join when they are ready; a required one gets its whole limit each
        time. `tell` is given the names of those still missing, at first and whenever there are
        fewer.
        """
        async with anyio.create_task_group() as reading:
            reading.start_soon(self._engine.decisions.read)
            for name in await self._late_ones(tell, wait_seconds, required):
                self._failed[name] = Failure(SourceFailed(name, _LATE), True, is_late=True)
        return self._told()

    async def _late_ones(
        self,
        tell: Callable[[tuple[str, ...]], None],
        wait_seconds: float,
        required: Collection[str],
    ) -> Sequence[str]:
        missing = list(self._sources)

        async def connect(name: str) -> None:
            await self._connect(name, is_required=name in required)
            missing.remove(name)
            tell(tuple(missing))
            has_one = any(x not in missing and x not in self._failed for x in self._sources)
            if has_one and not any(x in required for x in missing):
                enough.deadline = anyio.current_time() + wait_seconds

        tell(tuple(missing))
        with anyio.CancelScope() as enough:
            async with anyio.create_task_group() as connecting:
                for name in self._sources:
                    connecting.start_soon(connect, name)
        tell(())
        return missing

    def _told(self) -> tuple[str, ...]:
        """A line for each that cannot be used, and one for all that may be soon."""
        for name in self._late():
            status = self._engine.pool.statuses().get(name)
            if status is not None and status.error:  # known since it was waited for
                why = SourceFailed(name, status.error, status.next_step, status.stderr_tail)
                self._failed[name] = Failure(why, was_slow=True)
        late = self._late()
        failed = {x: self._failed[x].reason for x in self._sources if x in self._failed}
        left_out = {x: why for x, why in failed.items() if x not in late} | self._undecided()
        lines = dict.fromkeys(str(why) for why in left_out.values())
        return (*lines, _all_late(late)) if late else tuple(lines)

    def _late(self) -> list[str]:
        return [x for x in self._sources if x in self._failed and self._failed[x].is_late]

    async def tools(self) -> Sequence[Tool]:
        """Those that exist now. Listings whose time is over are made anew first."""
        engine, catalog = self._engine, self._engine.catalog
        running = engine.pool.running()
        ready = [x for x in self._sources if x in running and running[x].state == "ready"]
        await engine.pool.ready(ready, engine.caller)
        await engine.decisions.read()
        await engine.take_first(ready)
        listed = [catalog.tools(name) for name in self._sources]
        if list(map(id, listed)) != list(map(id, self._listed)):
            self._listed, self._tools = listed, tuple(chain.from_iterable(listed))
        return self._tools

    def why_none(self, source: str) -> str:
        """Why the source has no tools for the agent; empty if it has some."""
        if self._engine.decisions.why_unknown():
            return _UNDECIDED.format(source, self._engine.decisions.why_unknown())
        failure = None if self._engine.catalog.tools(source) else self._failed.get(source)
        return str(failure.reason) if failure else ""

    async def call(self, invocation: ToolInvocation) -> ToolResult:
        """Have the tool's source make the call."""
        return await self._engine.perform(invocation)

    def instructions(self) -> Mapping[str, str]:
        """What the sources say of how they want to be used."""
        words = {name: self._engine.catalog.instructions(name) for name in self._sources}
        return {name: text for name, text in words.items() if text}

    def source_names(self) -> Sequence[str]:
        """Those of the agent."""
        return self._sources

    def why_not(self, name: str) -> str:
        """That its source failed, or is not one of this agent's."""
        known = dict.fromkeys((*self._sources, *self._engine.settings.sources))
        # The longest first: `git_hub_search` is no tool of `git`, if there is a `git_hub`.
        for source in sorted(known, key=len, reverse=True):
            if source in self._sources and may_be_of(name, source):
                failure = None if self._engine.catalog.tools(source) else self._failed.get(source)
                why = f"The tool {name!r} cannot be used now. "
                return f"{why}{failure.reason}" if failure else ""
            if source not in self._sources and self._offers(source, name):
                return (
                    f"The tool {name!r} belongs to the server {source!r}, which is not enabled "
                    "for this agent. Use another tool."
                )
        return ""

    def _undecided(self) -> dict[str, XaiMcpError]:
        """All of them, where nobody can say what was switched off, with the same reason."""
        if not (why := self._engine.decisions.why_unknown()):
            return {}
        reason = _UNDECIDED.format(", ".join((_OWN, *self._sources)), why)
        return dict.fromkeys(("", *self._sources), XaiMcpError(reason))

    async def _connect(self, name: str, *, is_required: bool) -> None:
        before, started = self._failed.get(name), anyio.current_time()
        is_second = before is not None and before.was_slow and not is_required
        with anyio.move_on_after(_SECOND_CHANCE_SECONDS if is_second else None):
            reason = (await self._engine.connect([name])).get(name)
            was_slow = anyio.current_time() - started > _SLOW_SECONDS
            self._failed.pop(name, None)
            if reason is not None:
                # Without the frames it came through, which must not live as long as the workflow.
                self._failed[name] = Failure(reason.with_traceback(None), was_slow)

    def _offers(self, source: str, shown_name: str) -> bool:
        own_name = shown_name.removeprefix(f"{source}_")
        catalog = self._engine.catalog
        if any(catalog.named(source, x) is not None for x in (own_name, shown_name)):
            return True
        return may_be_of(shown_name, source) and not catalog.tools(source)


def _all_late(names: Sequence[str]) -> str:
    return f"not ready yet, used as soon as they are: {listed(names, _MOST_NAMES)}"


class ChosenToolset(Wrapper):
    """Of the tools of its sources those that a toolbelt has: of groups, or what a filter takes."""

    def __init__(self, inner: SourceToolset, choice: ToolChoice) -> None:
        super().__init__(inner)
        self._choice = choice
        self._given: Sequence[Tool] | None = None
        self._chosen: Sequence[Tool] = ()
        self._sources: set[str] = set()

    async def tools(self) -> Sequence[Tool]:
        """Those that are in it now; the same object as long as they are the same."""
        tools = await self._inner.tools()
        if self._choice.is_everything:
            return tools
        if tools is not self._given:
            chosen = await self._filtered(tools)
            self._given = tools
            if chosen != self._chosen:
                self._chosen, self._sources = chosen, {x.source for x in chosen}
        return self._chosen

    def instructions(self) -> Mapping[str, str]:
        """Those of the sources that have a tool in it."""
        told = super().instructions()
        if self._choice.is_everything:
            return told
        return {name: x for name, x in told.items() if name in self._sources}

    def why_not(self, name: str) -> str:
        """That it is left out, if its source has it."""
        out = (x for x in self._given or () if name in (x.name, f"{x.source}_{x.name}"))
        if any(not self._choice.has(x) for x in out):
            return f"The tool {name!r} is not among the tools of this agent. Use another one."
        return super().why_not(name)

    async def _filtered(self, tools: Sequence[Tool]) -> Sequence[Tool]:
        # Many in a thread: dozens of patterns for thousands of tools take a while.
        if len(tools) > _FILTERED_AT_ONCE:
            return await anyio.to_thread.run_sync(self._filter, tools)
        return self._filter(tools)

    def _filter(self, tools: Sequence[Tool]) -> Sequence[Tool]:
        return tuple(x for x in tools if self._choice.has(x))


class RecordedToolset(Wrapper):
    """Has what is new written down before anybody is shown it: a crash loses nothing shown."""

    def __init__(self, inner: Toolset, engine: Engine) -> None:
        super().__init__(inner)
        self._engine = engine
        self._shown: Sequence[Tool] = ()

    async def tools(self) -> Sequence[Tool]:
        """Those of the inner one, once they are in the history."""
        tools = await self._inner.tools()
        if tools is not self._shown:
            self._shown = tools
            await self._engine.flush.wait()
        return tools


class CheckedToolset(Wrapper):
    """Sends every call through the call pipeline.

    `tell` is given what the person in front of the run must know: what changed in a pinned tool,
    and that a source is not called any more, or again.
    The model reads nothing of what a server says of it now: that may be meant to mislead.
    """

    def __init__(self, inner: Toolset, engine: Engine, tell: Callable[[str], None]) -> None:
        super().__init__(inner)
        self._engine = engine
        self._tell = tell
        self._told: set[str] = set()
        self._breaker_news = BreakerNews(engine.breakers)

    async def call(self, invocation: ToolInvocation) -> ToolResult:
        """Call a tool, if every step of the pipeline lets it through."""
        try:
            return await self._engine.calls.run(invocation, self._inner.call)
        except NotAccepted as refused:
            tool = invocation.tool
            is_itself = (tool.source, tool.name) == (refused.server, refused.tool)
            name = invocation.name if is_itself else f"{refused.server}.{refused.tool}"
            if (told := str(refused)) not in self._told:
                self._told.add(told)
                self._tell(told)
            words = _CHANGED if isinstance(refused, DefinitionChanged) else _NOT_ACCEPTED
            raise XaiMcpError(words.format(name, refused.server)) from None
        except NotApproved as refused:
            if (told := str(refused)) and told not in self._told:
                self._told.add(told)
                self._tell(told)
            raise XaiMcpError(refused.for_model) from None
        finally:
            if news := self._breaker_news.of(invocation.tool.source):
                self._tell(news)


def agent_tools(
    engine: Engine,
    parts: Sequence[Toolset],
    *,
    tell: Callable[[str], None] = logger.warning,
    state: RunState | None = None,
    kept: Mapping[str, str] | None = None,
    preferences: Preferences | None = None,
    budget_tokens: int | None = None,
    shown_review: Callable[[Review], str] | None = None,
    choosing: Callable[[AskAvailable], Toolset] | None = None,
) -> tuple[AgentTools, ResultPages]:
    """The tools of an agent, and the pages that its run fills; `state`: of a run that goes on.

    `kept` are long results that its conversation brings along, by their ids.

    What people switched off is left out, or may have, as long as nobody had `engine.decisions`
    read; what the engine's caller or the settings pin is shown as it was accepted; with
    `shown_review`, which puts it into words, the person in front of the run may accept what is new.
    What the `preferences` or the settings block is left out. Every call goes through the call
    pipeline. A request shows what fits `budget_tokens`, or the settings' budget. `choosing`
    makes a toolset of what is available: see `planning_toolset`.
    """
    decisions, wanted = engine.decisions, preferred(engine, preferences)

    def why_off(key: ToolKey) -> str:
        return decisions.why_off(key) or (_BLOCKED if wanted.is_blocked(key) else "")

    def usable_name(key: ToolKey) -> str:
        return "" if why_off(key) else tools.shown_name(key)

    def version() -> object:
        return decisions.version

    pages = ResultPages(usable_name, {**(kept or {}), **(state.kept if state else {})})
    discovery = DiscoveryToolset(search_for(engine, wanted), lambda: tools.available())
    own = [choosing(lambda: tools.available())] if choosing else []
    combined = CombinedToolset(*parts, pages, discovery, *own)
    engine.record_static(combined.known())

    def wrap(renamed: RenamedToolset) -> Toolset:
        enabled = EnabledToolset(renamed, why_off, version)
        ruled = RuledToolset(enabled, engine.rules, engine.caller, renamed.shown_name)
        pins = RunPins(engine, tell, shown_review)
        as_accepted = PinnedToolset(ruled, pins, renamed.shown_name)
        return CheckedToolset(RecordedToolset(as_accepted, engine), engine, tell)

    budget = budget_tokens or engine.settings.search.budget_tokens
    for note in () if budget_tokens else engine.settings.notes:
        if note.startswith(BUDGET_VARIABLE):
            tell(note)
    selector = BudgetSelector(budget, wanted.is_pinned)
    names = state.names if state else ()
    learn = partial(engine.usage.learn, engine.caller.toolbelt)
    learn_run = partial(engine.learned.learn_run, engine.caller.toolbelt)
    tools = AgentTools(
        combined, engine.definitions, wrap, names, selector=selector, learn=learn,
        learn_run=learn_run,
    )  # fmt: skip
    return tools, pages


def search_for(engine: Engine, wanted: Preferences) -> Search:
    """The search as the engine's caller has it: with what its toolbelt was used for."""
    ranking = Ranking(wanted, ranking_rules(engine.rules, engine.caller))
    toolbelt = engine.caller.toolbelt
    engine.usage.follow(toolbelt)

    async def search(
        query: str, among: Mapping[ToolKey, Tool], limit: int
    ) -> Sequence[Ranked[Tool]]:
        remembered = await engine.usage.remembered(toolbelt)
        return await engine.search.search(query, among, limit, ranking, remembered)

    return search
