"""All tools of one agent during one run: those it is handed, and those of its sources.

Four toolsets deep: those of sources and others, all of them combined under the names that models
read, what of them the agent may see, and the call pipeline.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
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
    FilteredToolset,
    Toolset,
    Wrapper,
)
from ..catalog.groups import ToolChoice
from ..core.calls import ToolInvocation
from ..core.errors import (
    DefinitionChanged,
    NotAccepted,
    NotApproved,
    RulesUnknown,
    SourceFailed,
    XaiMcpError,
)
from ..core.names import listed, may_be_of
from ..core.results import ToolResult
from ..core.shell import shown_command
from ..core.tools import Tool, ToolKey, digest_of
from ..history.diff.wording import plain
from ..policy.breaker import BreakerNews
from ..search.budget import BudgetSelector
from ..search.preferences import Preferences
from ..search.ranking import Ranked, Ranking
from ..settings.sections import BUDGET_VARIABLE
from .context import Context
from .engine import Engine
from .rules import ranking_rules

logger = logging.getLogger(__name__)

# A server that took longer than the first to fail gets only the second at each later run: one that
# hangs does not cost its whole limit again. One that failed at once may have been mended since, and
# is waited for as at first.
_SLOW_SECONDS, _SECOND_CHANCE_SECONDS = 2.0, 1.0
_LATE = "it is not ready yet; its tools come as soon as it is."
_MOST_NAMES = 5
_CHOSEN_AT_ONCE = 100  # tools, on the event loop: milliseconds, with dozens of patterns
_OWN = "drawn and built-in tools"
_UNDECIDED = (
    "{}: left out, because it cannot be looked up which tools a person has switched off. {}"
)
_HELD = (
    "The tool {!r} is held back: a person has to accept first what its server says of it. Go on "
    "without it, or say that you need it."
)
_NAME_CHARS = 60
AskAvailable: TypeAlias = Callable[[], Awaitable[Available]]
"""Tells what an agent may call now."""

AskToAccept: TypeAlias = Callable[[str], Awaitable[str]]
"""Has the person in front of a run accept what waits of a source; what they must know of it."""

_BLOCKED = "The tool {!r} is blocked by the preferences of a person. Use another one."
_DENIED = "The tool {{!r}} is not for this agent: {}. Use another one."
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
    """The tools of an agent's sources, as far as its toolbelt has them. Used on the bridge's loop.

    `failed_before` has the sources that failed when they were waited for earlier in the same
    workflow, and why; it is kept up to date for the next run.
    """

    def __init__(
        self, context: Context, choice: ToolChoice, failed_before: dict[str, Failure]
    ) -> None:
        self._context = context
        self._engine = context.engine
        self._choice = choice
        self._sources = choice.all_sources
        self._failed = failed_before
        self._listed: list[tuple[Tool, ...]] = []
        self._tools: Sequence[Tool] = ()
        self._left_out: Sequence[Tool] = ()

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
        return self._lines()

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

    def _lines(self) -> tuple[str, ...]:
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
        await engine.pool.ready(ready, self._context.caller)
        await engine.decisions.read()
        await self._context.accept_first(ready)
        listed = [catalog.tools(name) for name in self._sources]
        if list(map(id, listed)) != list(map(id, self._listed)):
            self._listed = listed
            await self._choose([x for tools in listed for x in tools])
        return self._tools

    async def _choose(self, tools: Sequence[Tool]) -> None:
        chosen, left_out = tools, list[Tool]()
        if not self._choice.is_everything:
            # Many in a thread: dozens of patterns for thousands of tools take a while.
            choose = partial(_parted, self._choice, tools)
            is_quick = len(tools) <= _CHOSEN_AT_ONCE
            chosen, left_out = choose() if is_quick else await anyio.to_thread.run_sync(choose)
        self._left_out = left_out
        if chosen != self._tools:  # else the same object, which is compared first
            self._tools = chosen

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
        """What the sources that have a tool in it say of how they want to be used."""
        names: Collection[str] = self._sources
        if not self._choice.is_everything:
            names = dict.fromkeys(x.source for x in self._tools)
        words = {x: self._engine.catalog.instructions(x) for x in self._sources if x in names}
        return {name: text for name, text in words.items() if text}

    def source_names(self) -> Sequence[str]:
        """Those of the agent."""
        return self._sources

    def why_not(self, name: str) -> str:
        """That it is left out, its source failed, or is not one of this agent's."""
        if any(name in (x.name, f"{x.source}_{x.name}") for x in self._left_out):
            return f"The tool {name!r} is not among the tools of this agent. Use another one."
        names = dict.fromkeys((*self._sources, *self._context.settings.sources))
        # The longest first: `git_hub_search` is no tool of `git`, if there is a `git_hub`.
        for source in sorted(names, key=len, reverse=True):
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
            reason = (await self._context.wait_for(name)).get(name)
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


def _parted(choice: ToolChoice, tools: Sequence[Tool]) -> tuple[list[Tool], list[Tool]]:
    """Those that a toolbelt has, and the others."""
    parted: tuple[list[Tool], list[Tool]] = [], []
    for tool in tools:
        parted[not choice.has(tool)].append(tool)
    return parted


def _all_late(names: Sequence[str]) -> str:
    return f"not ready yet, used as soon as they are: {listed(names, _MOST_NAMES)}"


class AgentFilter:
    """What an agent may see: not what is switched off, blocked, never allowed by a rule, or held
    back because nobody has accepted it.

    `tell` is given a line for the person, once for each source: that something of it waits to be
    accepted. With `ask_to_accept` the person is asked before, where nothing is accepted by itself.
    """

    def __init__(
        self,
        context: Context,
        preferences: Preferences,
        tell: Callable[[str], None],
        ask_to_accept: AskToAccept | None,
    ) -> None:
        self._context = context
        self._engine = context.engine
        self._decisions = context.engine.decisions
        self._preferences = preferences
        self._tell = tell
        self._ask_to_accept = ask_to_accept
        self._asked: set[str] = set()  # digests
        self._told: set[str] = set()  # sources
        self._held: dict[ToolKey, Tool] = {}  # that are not shown as they are now

    @property
    def version(self) -> object:
        """Another one after each decision, and when the rules are others."""
        return self._decisions.version, self._engine.rules.book

    async def prepare(self, tools: Sequence[Tool], *, is_new: bool) -> None:
        """Have at hand what is compared, and ask the person about what is held back."""
        with suppress(RulesUnknown):  # which is told where one of them is called
            await self._engine.rules.look()
        if not is_new:
            return
        locks = {x: self._context.lock_of(x) for x in {x.source for x in tools}}
        await self._engine.catalog.digest_all([x for x in tools if locks[x.source]])
        for source in sorted(x for x, lock in locks.items() if lock is True):
            await self._ask(source, [x for x in tools if x.source == source])

    def why_off(self, key: ToolKey) -> str:
        """Why a person does not want it to be used, with a place for its name; empty if not so."""
        blocked = _BLOCKED if self._preferences.is_blocked(key) else ""
        return self._decisions.why_off(key) or blocked

    def keep(self, tool: Tool) -> Tool | str:
        """The tool as it was accepted, where its source is held to that; or why it is not shown."""
        self._held.pop(tool.key, None)
        if why := self.why_off(tool.key):
            return why
        if why := self._engine.rules.why_never(tool, self._context.caller):
            return _DENIED.format(why.replace("{", "{{").replace("}", "}}"))
        if not self._context.lock_of(tool.source):
            return tool
        accepted = self._decisions.as_accepted(tool)
        if accepted is not tool:
            self._held[tool.key] = tool
        return accepted or _HELD

    def keeps_instructions(self, source: str) -> bool:
        """Whether they were accepted, where the source is held to that."""
        is_held = self._context.lock_of(source)
        return not is_held or self._decisions.has_accepted_instructions(source)

    def notice(self, tools: Sequence[Tool], sources: Collection[str]) -> None:
        """Have the person know, if they do not yet, what is held back: all of it in one line."""
        held = [x.key for x in tools if self._held.get(x.key) is x] if self._held else []
        silent = [x for x in sources if not self.keeps_instructions(x)]
        waiting = dict.fromkeys((*(x.source for x in held), *silent))
        new = [x for x in waiting if x not in self._told]
        if new:
            self._told.update(new)
            lines = "; ".join(self._held_of(x, held, x in silent) for x in new)
            self._tell(f"Held back until you accept it: {lines}.")

    def _held_of(self, source: str, held: Collection[ToolKey], has_instructions: bool) -> str:
        names = [self._plain(x) for x in held if x.source == source]
        what = "1 tool" if len(names) == 1 else f"{len(names):,} tools"
        parts = [f"{what} ({listed(names, _MOST_NAMES)})"] if names else []
        parts += ["its instructions"] if has_instructions else []
        command = shown_command("xai-mcp-agent", "accept", source)
        return f"{source}: {' and '.join(parts)} (read it with `{command}`)"

    def _plain(self, key: ToolKey) -> str:
        name, like = plain(key.name, _NAME_CHARS), self._decisions.looks_like(key)
        return f"{name}, which looks like {plain(like, _NAME_CHARS)}" if like else name

    async def _ask(self, source: str, tools: Sequence[Tool]) -> None:
        """Have the person accept what waits of a source: once in a run for what it says now."""
        decisions, catalog = self._decisions, self._engine.catalog
        waiting = [catalog.digest(x) for x in tools if decisions.standing(x) != "accepted"]
        if not decisions.has_accepted_instructions(source):
            waiting.append(digest_of(catalog.instructions(source)))
        new, host = set(waiting) - self._asked, self._context.caller.host
        is_nobody = host is None or host.why_nobody or decisions.why_unknown()
        if new and not is_nobody and self._ask_to_accept is not None:
            self._asked |= new
            if trouble := await self._ask_to_accept(source):
                self._tell(trouble)


class CheckedToolset(Wrapper):
    """Sends every call through the call pipeline, and has what is new written down before anybody
    is shown it: a crash loses nothing shown.

    `tell` is given what the person in front of the run must know: what changed in a locked tool,
    and that a source is not called any more, or again.
    The model reads nothing of what a server says of it now: that may be meant to mislead.
    """

    def __init__(self, inner: FilteredToolset, engine: Engine, tell: Callable[[str], None]) -> None:
        super().__init__(inner)
        self._engine = engine
        self._tell = tell
        self._shown: Sequence[Tool] = ()
        self._told: set[str] = set()
        self._breaker_news = BreakerNews(engine.breakers)

    async def tools(self) -> Sequence[Tool]:
        """Those of the inner one, once they are in the history."""
        tools = await self._inner.tools()
        if tools is not self._shown:
            self._shown = tools
            await self._engine.flush()
        return tools

    async def call(self, invocation: ToolInvocation) -> ToolResult:
        """Call a tool, if every step of the pipeline lets it through."""
        try:
            return await self._engine.calls.run(invocation, self._inner.call)
        except NotAccepted as refused:
            tool = invocation.tool
            is_itself = (tool.source, tool.name) == (refused.server, refused.tool)
            name = invocation.name if is_itself else f"{refused.server}.{refused.tool}"
            self._tell_once(str(refused))
            words = _CHANGED if isinstance(refused, DefinitionChanged) else _NOT_ACCEPTED
            raise XaiMcpError(words.format(name, refused.server)) from None
        except NotApproved as refused:
            self._tell_once(str(refused))
            raise XaiMcpError(refused.for_model) from None
        finally:
            if news := self._breaker_news.of(invocation.tool.source):
                self._tell(news)

    def _tell_once(self, text: str) -> None:
        if text and text not in self._told:
            self._told.add(text)
            self._tell(text)


def agent_tools(
    context: Context,
    parts: Sequence[Toolset],
    *,
    tell: Callable[[str], None] = logger.warning,
    state: RunState | None = None,
    kept: Mapping[str, str] | None = None,
    preferences: Preferences | None = None,
    budget_tokens: int | None = None,
    ask_to_accept: AskToAccept | None = None,
    choosing: Callable[[AskAvailable], Toolset] | None = None,
) -> tuple[AgentTools, ResultPages]:
    """The tools of an agent, and the pages that its run fills; `state`: of a run that goes on.

    `kept` are long results that its conversation brings along, by their ids.

    What people switched off is left out, or may have, as long as nobody had `decisions` read; see
    `AgentFilter` for what else is, and for `ask_to_accept`. A request shows what fits
    `budget_tokens`, or the settings' budget. `choosing` makes a toolset of what is available: see
    `planning_toolset`.
    """
    engine, wanted = context.engine, context.preferences(preferences)
    filter_ = AgentFilter(context, wanted, tell, ask_to_accept)

    def usable_name(key: ToolKey) -> str:
        return "" if filter_.why_off(key) else tools.shown_name(key)

    def wrap(combined: CombinedToolset) -> Toolset:
        return CheckedToolset(FilteredToolset(combined, filter_), engine, tell)

    names = state.names if state else ()
    pages = ResultPages(usable_name, {**(kept or {}), **(state.kept if state else {})})
    discovery = DiscoveryToolset(search_for(context, wanted), lambda: tools.available())
    own = [choosing(lambda: tools.available())] if choosing else []
    combined = CombinedToolset(*parts, pages, discovery, *own, names=names)
    engine.record_static(combined.known())

    budget = budget_tokens or context.settings.search.budget_tokens
    for note in () if budget_tokens else context.settings.notes:
        if note.startswith(BUDGET_VARIABLE):
            tell(note)
    selector = BudgetSelector(budget, wanted.is_always_shown)
    learn = partial(engine.usage.learn, context.caller.toolbelt)
    learn_run = partial(engine.learned.learn_run, context.caller.toolbelt)
    tools = AgentTools(
        combined, engine.definitions, wrap, names, selector=selector, learn=learn,
        learn_run=learn_run,
    )  # fmt: skip
    return tools, pages


def search_for(context: Context, wanted: Preferences) -> Search:
    """The search as the caller has it: with what its toolbelt was used for."""
    engine = context.engine
    ranking = Ranking(wanted, ranking_rules(engine.rules, context.caller))
    toolbelt = context.caller.toolbelt
    engine.usage.follow(toolbelt)

    async def search(
        query: str, among: Mapping[ToolKey, Tool], limit: int
    ) -> Sequence[Ranked[Tool]]:
        remembered = await engine.usage.remembered(toolbelt)
        return await engine.search.search(query, among, limit, ranking, remembered)

    return search
