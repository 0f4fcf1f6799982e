"""The tools of one agent, connected and ready for its run: the same on the canvas and in Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf

from anyio import to_thread

from ..agent.results import ResultPages
from ..agent.state import RunState
from ..agent.toolsets import AgentTools, CombinedToolset, Toolset
from ..catalog.groups import ToolChoice
from ..core.names import did_you_mean
from ..planning.plans import Plan
from ..policy.review import Review
from ..search.preferences import Preferences
from .engine import Engine
from .planning_tools import planning_toolset
from .preferences import preferred
from .toolbox import ChosenToolset, Failure, SourceToolset, agent_tools

_SUGGESTED_OF = 1_000  # of more names, to look for the nearest takes longer than it is worth


@dataclass(frozen=True)
class WantedTools:
    """What an agent is given: tools of sources and groups, and `own` ones, such as drawn ones.

    `failed` are the sources that failed when they were waited for earlier, and why; it is kept up
    to date. Without `budget_tokens` that of the settings counts. With `plan_words`, which puts a
    plan into words for a model, it has the tools to plan with, too.
    """

    choice: ToolChoice
    own: Sequence[Toolset] = ()
    preferences: Preferences = field(default_factory=Preferences)
    budget_tokens: int | None = None
    failed: dict[str, Failure] = field(default_factory=dict[str, Failure])
    plan_words: Callable[[Plan], str] | None = None


@dataclass(frozen=True)
class Listener:
    """Who hears of the tools of a run. `tell` gets what a person must know.

    `show_waiting` gets the names of the sources that are waited for; with `shown_review`, which
    puts it into words, the person in front of the run may accept what is new of pinned ones.
    """

    tell: Callable[[str], None]
    show_waiting: Callable[[tuple[str, ...]], None]
    shown_review: Callable[[Review], str] | None = None


async def ready_tools(
    engine: Engine,
    wanted: WantedTools,
    listener: Listener,
    *,
    grace_seconds: float = inf,
    state: RunState | None = None,
    kept: Mapping[str, str] | None = None,
) -> tuple[AgentTools, ResultPages, tuple[str, ...]]:
    """The agent's tools, as far as its sources can be used, and what is left out and why.

    Once one can be used, the others are waited for until `grace_seconds` are over. `state` is that
    of a run that goes on, `kept` are long results that its conversation brings along.
    """
    sources = SourceToolset(engine, wanted.choice.all_sources, wanted.failed)
    parts = [*wanted.own, ChosenToolset(sources, wanted.choice)]
    words = wanted.plan_words
    choosing = words and partial(planning_toolset, engine, words, wanted.preferences)
    tools, pages = agent_tools(
        engine,
        parts,
        tell=listener.tell,
        state=state,
        kept=kept,
        preferences=wanted.preferences,
        budget_tokens=wanted.budget_tokens,
        shown_review=listener.shown_review,
        choosing=choosing,
    )
    left_out = await sources.connect(listener.show_waiting, grace_seconds)
    if not left_out:  # else what they name may be there, and is not known
        await _tell_idle(engine, wanted, CombinedToolset(*parts), listener)
        await _tell_unknown(wanted.choice, sources, listener)
    return tools, pages, left_out


async def _tell_idle(
    engine: Engine, wanted: WantedTools, tools: Toolset, listener: Listener
) -> None:
    """Have a person know which of their patterns name no tool: they may be misspelled."""
    own, sources = wanted.preferences, wanted.choice.all_sources
    if own == Preferences():
        return
    keys = [x.key for x in await tools.tools()]
    groups = engine.settings.search.groups
    with_groups = replace(own, groups=groups, sets=preferred(engine).sets)
    # Beside the loop: each pattern may have to be held against thousands of names.
    if idle := await to_thread.run_sync(with_groups.idle, keys, sources):
        listener.tell(_nothing_named(idle, [*sources, *(x.name for x in keys)]))


async def _tell_unknown(choice: ToolChoice, sources: Toolset, listener: Listener) -> None:
    """Have a person know which names of groups and filters there are no sources and tools for."""
    if choice.is_everything:
        return
    tools = await sources.tools()
    for line in await to_thread.run_sync(choice.told, tools):
        listener.tell(line)


def _nothing_named(patterns: Iterable[str], known: list[str]) -> str:
    """A line about patterns that name no tool and no server."""
    given = tuple(patterns)
    hints = [did_you_mean(x, known[:_SUGGESTED_OF]) for x in given]
    hint = f" {hints[0]}" if len(given) == 1 and hints[0] else ""
    named = ", ".join(map(repr, given))
    return f"Pinned, trusted or blocked, but no tool or server of this agent: {named}.{hint}"
