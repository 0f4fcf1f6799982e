"""Plans over the tools of a bridge: which may be used, and how they fit together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

from ..catalog.groups import ToolChoice
from ..core.ruling import Ruling
from ..core.tools import Tool, ToolKey
from ..planning.plans import Plan
from ..search.preferences import Preferences
from .engine import Engine
from .preferences import preferred
from .search import listed_tools

if TYPE_CHECKING:
    from ..planning.planner import Planner

T = TypeVar("T")

_TRUSTED = 1.1  # as in a ranking


@dataclass(frozen=True, slots=True)
class UsableTools:
    """The tools that may be planned with, by key, and what rules say of calls of each.

    `weights` are those of tools that somebody prefers or trusts; `failed` tells why other sources
    cannot be used.
    """

    tools: Mapping[ToolKey, Tool]
    rulings: Mapping[ToolKey, Ruling] = field(default_factory=dict[ToolKey, Ruling])
    weights: Mapping[ToolKey, float] = field(default_factory=dict[ToolKey, float])
    failed: Mapping[str, str] = field(default_factory=dict[str, str])


async def usable_tools(
    engine: Engine, choice: ToolChoice | None = None, preferences: Preferences | None = None
) -> UsableTools:
    """The tools of these sources and groups, or of all, that may be used now.

    All are connected for it. Left out is what is switched off, held back until a person accepts
    it, blocked by the settings or the `preferences`, or denied by a rule whatever its arguments:
    a plan is chosen as for an agent, whoever the engine's caller is.
    """
    wanted = preferred(engine, preferences)
    entries, failed = await listed_tools(engine, choice)
    listed = {
        key: x.require()
        for key, x in entries.items()
        if x.is_enabled and not x.is_held and not wanted.is_blocked(key)
    }
    return await ruled(engine, listed, wanted, failed)


async def ruled(
    engine: Engine,
    tools: Mapping[ToolKey, Tool],
    preferences: Preferences,
    failed: Mapping[str, str] | None = None,
) -> UsableTools:
    """These tools without what rules deny, with what rules and preferences count for each."""
    rulings = await engine.rulings.of(tools, engine.caller)
    weights: dict[ToolKey, float] = {}
    left: dict[ToolKey, Tool] = {}
    for key, tool in tools.items():
        ruling = rulings.get(key)
        if ruling is not None and ruling.word == "deny":
            continue
        left[key] = tool
        weight = 1.0 + ruling.prefer if ruling is not None else 1.0
        weight *= _TRUSTED if preferences.is_trusted(key) else 1.0
        if weight != 1.0:
            weights[key] = max(0.0, weight)
    return UsableTools(left, rulings, weights, failed or {})


async def with_planner(
    engine: Engine,
    do: Callable[[Planner], T],
    choice: ToolChoice | None = None,
    preferences: Preferences | None = None,
) -> T:
    """What `do` gives with a planner of the usable tools; see `usable_tools`.

    It is called in the thread of planners, where it may take its time, and must not keep the
    planner: that is for one thread at a time, and follows the tools.
    """
    return await planned(engine, await usable_tools(engine, choice, preferences), do)


async def planned(engine: Engine, usable: UsableTools, do: Callable[[Planner], T]) -> T:
    """As `with_planner`, for tools that were found already."""
    memory = engine.caller.toolbelt
    return await engine.planners.use(usable.tools, do, memory=memory, weights=usable.weights)


async def plan_tools(
    engine: Engine,
    request: str,
    choice: ToolChoice | None = None,
    preferences: Preferences | None = None,
) -> Plan:
    """The calls that a request asks for, of these sources and groups or of all; made of words.

    What could not be searched is among its `reasons`.
    """
    usable = await usable_tools(engine, choice, preferences)
    plan = await planned(engine, usable, lambda x: x.plan(request))
    return replace(plan, reasons=(*plan.reasons, *usable.failed.values()))
