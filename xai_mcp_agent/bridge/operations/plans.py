"""Planning: the calls that a request needs, what may come next, and wires that do not fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import anyio
import anyio.to_thread

from ...catalog.groups import ToolChoice
from ...core.errors import BadSetting, ModelAnswerInvalid, ModelError, StoreFailed
from ...core.tools import Tool, ToolKey
from ...planning.answers import (
    CallToCheck,
    ExplainedChoice,
    SuggestedTools,
    WireReport,
    calls_to_check,
)
from ...planning.plan import Plan
from ...search.preferences import Preferences
from ...steps.references import CANVAS_SOURCE
from .history import StoreQueries
from .search import SearchOperations, UsableTools
from .tools import ToolNames

if TYPE_CHECKING:
    from ...agent.models.base import Model
    from ...planning.planner import Planner
    from ...planning.wires import WiredCall, WireProblem

T = TypeVar("T")

MODEL_SECONDS = 120.0
"""Limit for a model that makes a plan; after it the rough plan stands."""
_OFFLINE = "offline rules"
_STANDS = "{} could not make a plan, so this is a draft without it: {}"
_RULES_ALONE = "the offline model follows rules and cannot make another plan"
_EXPLAINED_RESULTS = 50  # results of a search, among which a tool may be explained
_AHEAD = 3


class PlanOperations(SearchOperations, StoreQueries):
    """Planning with the tools that agents may use now."""

    async def plan_tools(
        self,
        request: str,
        *servers: str,
        model: str | Model = "",
        base_url: str = "",
        choice: ToolChoice | None = None,
        preferences: Preferences | None = None,
        own: Sequence[Tool] = (),
        limit_seconds: float = MODEL_SECONDS,
    ) -> Plan:
        """Return the calls that a request asks for, each with the sources of its arguments.

        It uses the tools of these servers and groups, or of a `choice`, or all, that agents may use
        now, and `own` ones. Without a `model`, such as `openai:gpt-5-mini`, words and schemas make
        the plan. A model may correct its plan once; if it fails, or its plan stays impossible, the
        rough plan stands and says why. Nothing is called. `failed` of the plan says which servers
        cannot be used.

        Raises:
            UnknownServer, SettingsError: a name cannot be used.
            UnknownProvider: the model's provider wants a model's name.
        """
        from ...agent.models.choice import AgentModel  # most plans have no model

        choice = self.choice_of(servers) if servers else choice
        own_model = None
        if isinstance(model, str) and model:
            own_model = AgentModel.of(model, base_url).open(self.settings.env)
        planner = own_model if isinstance(model, str) else model
        try:
            usable = await self.usable_tools(choice, preferences, own)
            return await self.plan_among(usable, request, planner, limit_seconds)
        finally:
            if own_model is not None:
                await own_model.aclose()

    async def plan_among(
        self,
        usable: UsableTools,
        request: str,
        model: Model | None = None,
        limit_seconds: float = MODEL_SECONDS,
    ) -> Plan:
        """Like `plan_tools`, among these tools."""
        plan = await self.ask_planner(usable, lambda x: x.plan(request))
        if model is not None and usable.tools:
            plan = await self._plan_by_model(model, usable, plan, limit_seconds)
        calls = tuple(
            replace(x, reasons=(*x.reasons, *self.approval_notes(usable.tools[x.tool])))
            for x in plan.calls
        )
        return replace(plan, calls=calls, failed=usable.failed)

    async def suggest_tools(
        self,
        after: Sequence[str] = (),
        request: str = "",
        limit: int = 5,
        choice: ToolChoice | None = None,
        preferences: Preferences | None = None,
    ) -> SuggestedTools:
        """Return the tools that may come next, the best first, each with its reasons.

        `after` are the tools so far: `server/tool`, or a name that only one server has. It chooses
        from all tools that agents may use now, or from a `choice`, except those that the
        `preferences` block.

        Raises:
            UnknownTool: one of the tools so far does not exist, or may not be used.
            BadSetting: there are neither tools nor a request.
        """
        if not after and not request.strip():
            raise BadSetting("Anything may come next. Name the tools before it, or give a request.")
        usable = await self.usable_tools(choice, preferences)
        names = ToolNames(usable.tools)
        keys = [names.key(x) for x in after]
        words = request.strip() or None
        followers = await self._followers(keys[-1]) if keys else None
        tools = await self.ask_planner(
            usable, lambda x: x.next_tools(keys, words, limit, followers)
        )
        return SuggestedTools(tools, usable.failed)

    async def _followers(self, key: ToolKey) -> Mapping[ToolKey, int] | None:
        """Return how often each tool was called right after this one; None without a history."""
        try:
            return await self.look_up(lambda history: history.followers(key))
        except StoreFailed:
            return None

    async def check_wires(self, plan: Plan | Sequence[CallToCheck]) -> WireReport:
        """Return problems with the references between the calls of a plan; no call is made.

        It connects the servers. Without a schema nothing can be checked, so a call may fail even
        if no problem is reported.

        Raises:
            BadPlan: a call does not name its server.
        """
        return await self.check_among(await self.usable_tools(), plan)

    async def check_among(
        self, usable: UsableTools, plan: Plan | Sequence[CallToCheck]
    ) -> WireReport:
        """Like `check_wires`, against these tools."""
        calls = calls_to_check(plan) if isinstance(plan, Plan) else plan
        # In a thread: the nearest names for thousands of calls take a while.
        wired, problems = await anyio.to_thread.run_sync(self._wire, usable, calls)
        problems += await self.ask_planner(usable, lambda x: x.wire_problems(wired))
        count = sum(x.tool in usable.tools for x in wired)
        return WireReport(sorted(problems, key=lambda x: x.call), count, len(calls))

    async def explain_choice(
        self,
        request: str,
        server: str,
        tool: str,
        choice: ToolChoice | None = None,
        preferences: Preferences | None = None,
    ) -> ExplainedChoice:
        """Return why a search and a plan choose a tool for a request, or why they do not.

        Raises:
            UnknownServer, UnknownTool: there is none of that name; the message has the nearest.
            SourceFailed: the server cannot be used.
        """
        listed = await self.tool(server, tool)
        key = listed.key
        hits = await self.search_tools(
            request, limit=_EXPLAINED_RESULTS, choice=choice, preferences=preferences
        )
        places = [x.entry.key for x in hits]
        place = places.index(key) + 1 if key in places else 0
        usable = await self.usable_tools(choice, preferences)
        plan = await self.ask_planner(usable, lambda x: x.plan(request))
        step = next((n for n, x in enumerate(plan.calls, 1) if x.tool == key), 0)
        await self.engine.rules.prepare([listed], self.caller)
        obstacles = [f"it is {x}" for x in self.obstacles(listed, self.preferences(preferences))]
        if choice is not None and not choice.has(listed):
            obstacles.append("the toolbelt does not have it")
        return ExplainedChoice(
            key, request, place, hits[place - 1] if place else None,
            hits[: min(place - 1 if place else _AHEAD, _AHEAD)],
            step, plan.calls[step - 1] if step else None, [x.name for x in plan.calls],
            self.engine.rules.ruling(listed, self.caller), obstacles,
        )  # fmt: skip

    async def _plan_by_model(
        self, model: Model, usable: UsableTools, rough: Plan, limit_seconds: float
    ) -> Plan:
        """Return the plan of a model, or the rough plan with the reason why it stands."""
        if model.name == _OFFLINE:
            return replace(rough, reasons=(*rough.reasons, _RULES_ALONE))
        from ...agent.structured import ask_for_json

        request, mask = rough.request, self.mask
        advice = await self.ask_planner(usable, lambda x: x.advice(request))
        messages = ({"role": "user", "content": advice.question},)
        try:
            with anyio.fail_after(limit_seconds):
                answer = await ask_for_json(model, messages, advice.schema, advice.problems)
            plan = advice.plan(answer)
            return replace(plan, reasons=(f"planned by {model.name}", *plan.reasons))
        except ModelAnswerInvalid as invalid:
            why = "; ".join(invalid.problems)
        except ModelError as reason:
            why = str(reason)
        except TimeoutError:
            why = f"it did not answer within {limit_seconds:g} s"
        stands = mask(_STANDS.format(model.name, why))
        return replace(rough, reasons=(*rough.reasons, stands))

    async def ask_planner(self, usable: UsableTools, do: Callable[[Planner], T]) -> T:
        """Call `do` with a planner of these tools, in a thread; it must not keep it."""
        return await self.engine.planner.use(usable.tools, do, usable.weights)

    def _wire(
        self, usable: UsableTools, calls: Sequence[CallToCheck]
    ) -> tuple[list[WiredCall], list[WireProblem]]:
        """Return the calls with the keys of their tools, and problems of those without."""
        from ...planning.wires import WiredCall, WireProblem

        names = ToolNames(usable.tools)
        wired: list[WiredCall] = []
        problems: list[WireProblem] = []
        for number, call in enumerate(calls):
            key = ToolKey("", "", "") if not call.source else names.named(call.source, call.tool)
            if call.problem:
                problems.append(WireProblem(number, "", f"it cannot be checked: {call.problem}"))
            elif key is None and (why := usable.failed.get(call.source)):
                problems.append(WireProblem(number, "", f"its server cannot be used: {why}"))
            elif key is None and not self._is_canvas(call.source):
                problems.append(
                    WireProblem(number, "", names.why_not(f"{call.source}/{call.tool}"))
                )
            wired.append(WiredCall(key if call.source else None, call.arguments, call.is_open))
        return wired, problems

    def _is_canvas(self, source: str) -> bool:
        return source == CANVAS_SOURCE and source not in self.settings.sources
