"""The tools of one agent, connected and ready for its run: the same on the canvas and in Python."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf
from typing import Any

from anyio import to_thread

from ..agent.results import ResultPages
from ..agent.state import RunState
from ..agent.toolsets import AgentTools, CombinedToolset, Toolset
from ..catalog.groups import ToolChoice
from ..core.calls import ToolInvocation
from ..core.errors import BadSetting, LockFailed, NoTools, XaiMcpError
from ..core.names import did_you_mean, listed
from ..core.results import ToolResult
from ..core.shell import shown_command
from ..core.tools import STATIC, Tool, ToolKey
from ..planning.plans import Plan
from ..policy.review import Review
from ..search.preferences import Preferences
from ..settings.sources import FunctionSettings
from ..sources.functions.calling import FunctionCalls
from ..sources.functions.function import Function
from .context import is_of_person
from .operations import Operations
from .planning_tools import planning_toolset
from .source_toolset import Failure, SourceToolset
from .toolbox import agent_tools

_SUGGESTED_OF = 1_000  # of more names, to look for the nearest takes longer than it is worth
_MOST_NAMES = 5
_ASKER = "a locked server"
_FUNCTIONS = "functions of the program"


@dataclass(frozen=True)
class ToolSpec:
    """What an agent is given: tools of sources and groups, and `own` ones, such as drawn ones.

    `failed` are the sources that failed when they were waited for earlier, and why; it is kept up
    to date. Without `budget_tokens` that of the settings counts. With `plan_words`, which puts a
    plan into words for a model, it has the tools to plan with, too. `required` names sources and
    groups of which it must have a tool, beside those whose entry says so.
    """

    choice: ToolChoice
    own: Sequence[Toolset] = ()
    preferences: Preferences = field(default_factory=Preferences)
    budget_tokens: int | None = None
    failed: dict[str, Failure] = field(default_factory=dict[str, Failure])
    plan_words: Callable[[Plan], str] | None = None
    required: Collection[str] = ()


@dataclass(frozen=True)
class ReadyTools:
    """The tools of a run, and the pages that it fills; what is left out, and why.

    `no_tools`: why a run of an agent that needs its sources cannot be made.
    """

    tools: AgentTools
    pages: ResultPages
    left_out: tuple[str, ...]
    no_tools: NoTools | None


@dataclass(frozen=True)
class Listener:
    """Who hears of the tools of a run. `tell` gets what a person must know.

    `show_waiting` gets the names of the sources that are waited for; with `shown_review`, which
    puts it into words, the person in front of the run may accept what is new of locked ones.
    """

    tell: Callable[[str], None]
    show_waiting: Callable[[tuple[str, ...]], None]
    shown_review: Callable[[Review], str] | None = None


async def ready_tools(
    operations: Operations,
    spec: ToolSpec,
    listener: Listener,
    *,
    wait_seconds: float = inf,
    state: RunState | None = None,
    kept: Mapping[str, str] | None = None,
) -> ReadyTools:
    """The agent's tools, as far as its sources can be used.

    All sources are waited for to their own limit, or those that are not required as
    `SourceToolset.connect` says. `state` is that of a run that goes on, `kept` are long results
    that its conversation brings along.
    """
    await operations.engine.rules.renew()
    choice = spec.choice
    sources = SourceToolset(operations, choice, spec.failed)
    parts = [*spec.own, sources]
    words, shown = spec.plan_words, listener.shown_review
    planning = words and partial(planning_toolset, operations, words, spec.preferences)
    tools, pages = agent_tools(
        operations,
        parts,
        tell=listener.tell,
        state=state,
        kept=kept,
        preferences=spec.preferences,
        budget_tokens=spec.budget_tokens,
        ask_to_accept=shown and partial(_ask_to_accept, operations, shown),
        planning=planning,
    )
    required = _required(operations, spec)
    needed = {x for name in required for x in choice.sources_of(name)}
    left_out = await sources.connect(listener.show_waiting, wait_seconds, needed)
    if not left_out:  # else what they name may be there, and is not known
        await _tell_idle(operations, spec, CombinedToolset(*parts), listener)
        await _tell_unknown(operations, spec.choice, listener)
    offered = [x.tool for x in (await tools.available()).definitions]

    def has_usable(is_wanted: Callable[[Tool], bool]) -> bool:
        return any(is_wanted(x) and not operations.is_denied(x) for x in offered)

    without = [x for x in required if not has_usable(choice.part(x))]
    if not without and not has_usable(is_of_person):
        without = [*choice.sources, *(x.name for x in choice.groups)]
    why = _no_tools(operations, spec, sources, required, without) if without else None
    return ReadyTools(tools, pages, left_out, why)


def _required(operations: Operations, spec: ToolSpec) -> list[str]:
    of_settings = (x for x in spec.choice.all_sources if x in operations.settings.required)
    return list(dict.fromkeys((*spec.required, *of_settings)))


async def _ask_to_accept(
    operations: Operations, shown: Callable[[Review], str], source: str
) -> str:
    """See `AskToAccept`."""
    try:
        _, why = await operations.ask_to_accept(_ASKER, source, (), shown)
    except LockFailed as reason:  # it counts for this run
        return str(reason)
    except XaiMcpError as reason:  # what it says cannot be known, so it is held back
        why = str(reason)
    return f"{source}: nothing was accepted: {why}." if why else ""


def _no_tools(
    operations: Operations,
    spec: ToolSpec,
    sources: SourceToolset,
    required: Collection[str],
    without: Sequence[str],
) -> NoTools:
    lacking = listed(without, _MOST_NAMES)
    problem = "No tool of this agent can be used, so its model was not asked."
    if any(x in required for x in without):
        problem = f"Required, but without a tool that can be used: {lacking}. No model was asked."
    affected = dict.fromkeys(x for name in without for x in spec.choice.sources_of(name))
    reasons = [sources.why_none(x) or _why_unusable(operations, spec, x) for x in affected]
    empty = (x for x in spec.choice.groups if x.name in without and not x.sources)
    for group in empty:
        reasons += [*group.describe_unknown(), *group.describe_unmatched(())]
    return NoTools(problem, tuple(dict.fromkeys(reasons)))


def _why_unusable(operations: Operations, spec: ToolSpec, source: str) -> str:
    """Why none of the tools that a source has can be used by the agent."""
    engine, preferences = operations.engine, operations.preferences(spec.preferences)

    def why(tool: Tool) -> str:
        if not spec.choice.has(tool):
            return "not in the toolbelt"
        if engine.decisions.is_off(tool.key):
            return "switched off"
        if preferences.is_blocked(tool.key):
            return "blocked"
        if engine.rulings.why_never(tool, operations.caller):
            return "denied by a rule"
        if operations.is_denied(tool):
            return "denied by `approval`"
        return "held back until somebody accepts it"

    counts = Counter(map(why, engine.catalog.tools(source)))
    reasons = ", ".join(f"{number:,} {words}" for words, number in counts.items())
    command = shown_command("xai-mcp-agent", "tools", source)
    step = f"\n  Next step: `{command}` shows each of them." if reasons else ""
    return f"{source}: none of its tools can be used: {reasons or 'it has none'}.{step}"


async def _tell_idle(
    operations: Operations, spec: ToolSpec, tools: Toolset, listener: Listener
) -> None:
    """Have a person know which of their patterns name no tool: they may be misspelled."""
    own, sources = spec.preferences, spec.choice.all_sources
    if own == Preferences():
        return
    keys = [x.key for x in await tools.tools()]
    groups = operations.settings.search.groups
    with_groups = replace(own, groups=groups, sets=operations.preferences().sets)
    # Beside the loop: each pattern may have to be held against thousands of names.
    if idle := await to_thread.run_sync(with_groups.idle, keys, sources):
        listener.tell(_nothing_named(idle, [*sources, *(x.name for x in keys)]))


async def _tell_unknown(operations: Operations, choice: ToolChoice, listener: Listener) -> None:
    """Have a person know which names of groups and filters there are no sources and tools for."""
    if choice.is_everything:
        return
    tools = [x for name in choice.all_sources for x in operations.engine.catalog.tools(name)]
    for line in await to_thread.run_sync(choice.describe_unmatched, tools):
        listener.tell(line)


def _nothing_named(patterns: Iterable[str], names: list[str]) -> str:
    """A line about patterns that name no tool and no server."""
    unmatched = tuple(patterns)
    hints = [did_you_mean(x, names[:_SUGGESTED_OF]) for x in unmatched]
    hint = f" {hints[0]}" if len(unmatched) == 1 and hints[0] else ""
    listing = ", ".join(map(repr, unmatched))
    return (
        f"Always shown, trusted or blocked, but no tool or server of this agent: {listing}.{hint}"
    )


class FunctionToolset(Toolset):
    """The functions, each called in a thread of its own, and given the usual limit.

    Raises:
        BadSetting: one of them can be no tool, or two have one name.
    """

    def __init__(self, functions: Sequence[Callable[..., Any]], mask: Callable[[str], str]) -> None:
        self._functions = _by_name(functions)
        self._tools = tuple(x.tool for x in self._functions.values())
        self._calls = FunctionCalls(FunctionSettings(name=_FUNCTIONS), mask)

    async def tools(self) -> Sequence[Tool]:
        """All of them."""
        return self._tools

    def known(self) -> Sequence[Tool]:
        """All of them."""
        return self._tools

    async def call(self, invocation: ToolInvocation) -> ToolResult:
        """Call one of them; see `FunctionCalls.call`."""

        async def ready(_: float) -> Mapping[str, Function]:
            return self._functions

        return await self._calls.call(invocation, ready)


def _by_name(functions: Sequence[Callable[..., Any]]) -> dict[str, Function]:
    by_name: dict[str, Function] = {}
    for run in functions:
        function = _function(run)
        if function.tool.name in by_name:
            raise BadSetting(
                f"Two functions of the agent are called {function.tool.name!r}. Rename one."
            )
        by_name[function.tool.name] = function
    return by_name


def _function(run: Callable[..., Any]) -> Function:
    name = getattr(run, "__name__", "")
    if not name.isidentifier():
        raise BadSetting(f"{run!r} has no name to call it by. Write it with `def`.")
    try:
        file = inspect.getsourcefile(inspect.unwrap(run)) or ""
        return Function.of(ToolKey(STATIC.name, "", name), file, run)
    except Exception as cause:
        # Pydantic and Python raise of every kind here: of annotations that a person wrote.
        raise BadSetting(f"The function {name!r} cannot be a tool: {cause}") from cause
