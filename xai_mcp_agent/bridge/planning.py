"""Plans over the tools of a bridge: which may be used, and how they fit together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

import anyio.to_thread

from ..agent.models.base import Model
from ..agent.models.registry import model_named
from ..catalog.entry import CatalogEntry
from ..catalog.groups import ToolChoice
from ..core.invocation import Pin
from ..core.ruling import Ruling
from ..core.tools import Tool, ToolKey
from ..planning.live import Teaching
from ..planning.plan_file import BadPlan
from ..planning.plans import Plan
from ..search.preferences import Preferences
from ..search.usage import DEFAULT_TOOLBELT
from .advising import MODEL_SECONDS, asked_once
from .engine import Engine
from .preferences import preferred
from .run_memory import NOTHING_LEARNED, Remembered, bring_up_to_date
from .search import connected_tools

if TYPE_CHECKING:
    from ..planning.planner import Planner

T = TypeVar("T")

_TRUSTED = 1.1  # as in a ranking
_OFFLINE = "offline rules"
_STANDS = "{} was asked for a plan, and this rough one stands: {}"
_RULES_ALONE = "the offline model has no plan but this one: it follows rules"


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
    engine: Engine,
    choice: ToolChoice | None = None,
    preferences: Preferences | None = None,
    own: Sequence[Tool] = (),
) -> UsableTools:
    """The tools of these sources and groups, or of all, that may be used now, and `own` ones.

    All are connected for it. Left out is what is switched off, held back until a person accepts
    it, blocked by the settings or the `preferences`, or denied whatever the arguments are: a plan
    is made as for an agent, whoever the engine's caller is.
    """
    wanted = preferred(engine, preferences)
    found, failed = await connected_tools(engine, choice)
    await engine.decisions.read()
    for name in found:
        if pin := engine.pin_of(name, engine.caller):
            await engine.catalog.digest_all(found[name])
            found[name] = [x for x in found[name] if not _is_held(engine, x, pin)]
    decided = engine.decisions

    def left() -> dict[ToolKey, Tool]:
        tools = (x for of_source in (*found.values(), own) for x in of_source)
        return {
            x.key: x for x in tools if not decided.is_off(x.key) and not wanted.is_blocked(x.key)
        }

    # In a thread: patterns for thousands of tools take a while.
    return await allowed(engine, await anyio.to_thread.run_sync(left), wanted, failed)


def _is_held(engine: Engine, tool: Tool, pin: Pin) -> bool:
    return engine.decisions.marked(CatalogEntry(tool.key, tool), pin).is_held


async def allowed(
    engine: Engine,
    tools: Mapping[ToolKey, Tool],
    preferences: Preferences,
    failed: Mapping[str, str] | None = None,
) -> UsableTools:
    """These tools without what is denied, with what rules and preferences count for each."""
    rulings = await engine.rulings.of(tools, engine.caller)

    def choose() -> UsableTools:
        left = {
            key: x for key, x in tools.items() if _verdict(engine, x, rulings.get(key))[0] != "deny"
        }
        weighed = ((key, _weight(key, rulings.get(key), preferences)) for key in left)
        weights = {key: weight for key, weight in weighed if weight != 1.0}
        return UsableTools(left, rulings, weights, failed or {})

    return await anyio.to_thread.run_sync(choose)


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
    """As `with_planner`, for tools that were found already.

    It knows what runs with the caller's toolbelt taught, or all runs where it has none.
    """
    whose = engine.caller
    toolbelt = whose.toolbelt or (DEFAULT_TOOLBELT if whose.kind == "agent" else None)
    known = await engine.learned.remembered(toolbelt)

    def teach(planner: Planner, before: Remembered | None) -> Teaching:
        return bring_up_to_date(planner, known, before or NOTHING_LEARNED)

    return await engine.planners.use(
        usable.tools, do, memory=toolbelt, teach=teach, weights=usable.weights
    )


async def plan_tools(
    engine: Engine,
    request: str,
    choice: ToolChoice | None = None,
    preferences: Preferences | None = None,
    *,
    own: Sequence[Tool] = (),
    model: Model | None = None,
    limit_seconds: float = MODEL_SECONDS,
) -> Plan:
    """The calls that a request asks for, of the tools of these sources and groups, or of all.

    `own` are tools besides, such as drawn ones, which are no source's.

    A `model` is asked once; where it fails, or says what cannot be, the rough plan stands, and its
    `reasons` say so. They also tell which sources cannot be used.
    """
    usable = await usable_tools(engine, choice, preferences, own)
    plan = await plan_among(engine, usable, request, model, limit_seconds)
    return replace(plan, reasons=(*plan.reasons, *usable.failed.values()))


async def plan_among(
    engine: Engine,
    usable: UsableTools,
    request: str,
    model: Model | None = None,
    limit_seconds: float = MODEL_SECONDS,
) -> Plan:
    """As `plan_tools`, among tools that were found already; not which sources cannot be used."""
    plan = await planned(engine, usable, lambda x: x.plan(request))
    if model is not None and usable.tools:
        plan = await _advised(engine, usable, plan, model, limit_seconds)
    calls = tuple(
        replace(x, reasons=(*x.reasons, *calls_asked_for(engine, tool, ruling)))
        for x in plan.calls
        for tool, ruling in [(usable.tools[x.tool], usable.rulings.get(x.tool))]
    )
    return replace(plan, calls=calls)


async def plan_with(
    engine: Engine, request: str, names: Sequence[str] = (), model: str = "", base_url: str = ""
) -> Plan:
    """As `plan_tools`, for sources, groups and a model that are named; see `model_named`.

    Raises:
        UnknownProvider: the model's provider wants a model's name. And what `choice_of` raises.
    """
    plan, failed = await plan_and_failures(engine, request, names, model, base_url)
    return replace(plan, reasons=(*plan.reasons, *failed.values()))


async def plan_and_failures(
    engine: Engine, request: str, names: Sequence[str] = (), model: str = "", base_url: str = ""
) -> tuple[Plan, Mapping[str, str]]:
    """As `plan_with`; which sources cannot be used, and why, stands beside the plan."""
    choice = choice_of(engine, names)
    asked = model_named(model, base_url=base_url) if model else None
    try:
        usable = await usable_tools(engine, choice)
        return await plan_among(engine, usable, request, asked), usable.failed
    finally:
        if asked is not None:
            await asked.aclose()


def choice_of(engine: Engine, names: Sequence[str]) -> ToolChoice | None:
    """The tools of sources and groups that somebody names; None where they name none.

    Raises:
        UnknownServer, SettingsError: there is none of that name, or it cannot be used.
    """
    for name in names:
        if engine.settings.group(name) is None:
            engine.settings.source(name)
    return engine.choice(names) if names else None


async def _advised(
    engine: Engine, usable: UsableTools, rough: Plan, model: Model, limit_seconds: float
) -> Plan:
    if model.name == _OFFLINE:
        return replace(rough, reasons=(*rough.reasons, _RULES_ALONE))
    request = rough.request
    question = await planned(engine, usable, lambda x: x.question(request))
    mask = engine.recorder.mask
    answer, why = await asked_once(model, question, limit_seconds, mask)
    if not why:
        try:
            plan = await planned(engine, usable, lambda x: x.checked(request, answer))
            return replace(plan, reasons=(f"planned by {model.name}", *plan.reasons))
        except BadPlan as reason:
            why = str(reason)
    stands = mask(_STANDS.format(model.name, why))
    return replace(rough, reasons=(*rough.reasons, stands))


def calls_asked_for(engine: Engine, tool: Tool, ruling: Ruling | None) -> Iterator[str]:
    """What a person should know of an agent's calls of a tool before there is one."""
    word, reason = _verdict(engine, tool, ruling)
    if word == "ask":
        yield f"an agent's call of it is asked for: {reason}"
    for one in ruling.perhaps if ruling is not None else ():
        does = "deny it" if one.word == "deny" else "have it asked for"
        yield f"the rule {one.rule!r} may {does}"


def _verdict(engine: Engine, tool: Tool, ruling: Ruling | None) -> tuple[str, str]:
    """What counts for an agent's calls of a tool: `allow`, `ask` or `deny`, and why."""
    if ruling is not None and ruling.word == "deny":
        return "deny", ruling.why
    verdict = engine.approvals.verdict(tool, engine.caller, ruling or Ruling())
    return verdict.word, verdict.reason


def _weight(key: ToolKey, ruling: Ruling | None, preferences: Preferences) -> float:
    weight = 1.0 + ruling.prefer if ruling is not None else 1.0
    return max(0.0, weight * (_TRUSTED if preferences.is_trusted(key) else 1.0))
