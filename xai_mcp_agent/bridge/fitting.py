"""What comes next, what is wired wrongly, and why a tool is chosen: questions without a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import anyio.to_thread

from ..catalog.groups import ToolChoice
from ..core.errors import BadSetting, UnknownTool
from ..core.names import did_you_mean
from ..core.ruling import Ruling
from ..core.tools import ToolKey
from ..planning.answered import CheckedCalls, ExplainedChoice, NamedCall, Suggested
from ..planning.plans import Plan
from ..policy.rules.rulebook import reason
from ..search.preferences import Preferences
from .engine import Engine
from .planning import UsableTools, planned, usable_tools
from .preferences import preferred
from .refresh import marked_tool
from .search import find_tools

if TYPE_CHECKING:
    from ..planning.wires import WiredCall, WireProblem

_LOOKED_AT = 50  # tools that fit a request, of which somebody may ask why
_AHEAD = 3


async def suggest_tools(
    engine: Engine,
    after: Sequence[str],
    request: str = "",
    limit: int = 5,
    choice: ToolChoice | None = None,
    preferences: Preferences | None = None,
) -> Suggested:
    """The tools that may come next after some, each `server/tool`, or a name that only one has.

    Raises:
        UnknownTool: one of them is not there, or may not be used.
        BadSetting: neither tools nor a request are given, so anything may come next.
    """
    if not after and not request.strip():
        raise BadSetting("Anything may come next. Name the tools before it, or say what is wanted.")
    usable = await usable_tools(engine, choice, preferences)
    names = _Names(usable.tools)
    keys = [names.key(x) for x in after]
    found = await planned(
        engine, usable, lambda x: x.next_tools(keys, request.strip() or None, limit)
    )
    return Suggested(found, usable.failed)


def named_calls(plan: Plan) -> list[NamedCall]:
    """The calls of a plan, as they are checked.

    Raises:
        BadPlan: it is not said whose tool one of them is.
    """
    from ..planning.step_values import tool_of

    return [NamedCall(*tool_of(x), x.arguments) for x in plan.calls]


async def check_wires(engine: Engine, calls: Sequence[NamedCall]) -> CheckedCalls:
    """What is wrong with calls as they are connected, before any is made. Starts their servers.

    What nobody declares is not held against anybody: no problem is no promise.
    """
    usable = await usable_tools(engine)
    # In a thread: what each of thousands of calls may have meant takes a while.
    wired, problems = await anyio.to_thread.run_sync(_wired, engine, usable, calls)
    problems += await planned(engine, usable, lambda x: x.wire_problems(wired))
    known = sum(x.tool in usable.tools for x in wired)
    return CheckedCalls(sorted(problems, key=lambda x: x.call), known, len(calls))


async def explain_choice(
    engine: Engine,
    request: str,
    server: str,
    tool: str,
    choice: ToolChoice | None = None,
    preferences: Preferences | None = None,
) -> ExplainedChoice:
    """Why a tool is chosen for a request, by a search and by a plan; or what keeps it from it.

    Raises:
        UnknownServer, UnknownTool: there is none of that name; the message has the nearest.
        SourceFailed: the server cannot be used.
    """
    key = (await engine.tool(server, tool)).key
    hits = (await find_tools(engine, request, _LOOKED_AT, choice, preferences)).tools
    places = [x.entry.key for x in hits]
    place = places.index(key) + 1 if key in places else 0
    usable = await usable_tools(engine, choice, preferences)
    plan = await planned(engine, usable, lambda x: x.plan(request))
    step = next((n for n, x in enumerate(plan.calls, 1) if x.tool == key), 0)
    rulings = await engine.rulings.of({key: await engine.tool(server, tool)}, engine.caller)
    ruling = rulings.get(key, Ruling())
    return ExplainedChoice(
        key, request, place, hits[place - 1] if place else None,
        hits[: min(place - 1 if place else _AHEAD, _AHEAD)],
        step, plan.calls[step - 1] if step else None, [x.name for x in plan.calls],
        ruling, await _barred(engine, key, ruling, choice, preferences),
    )  # fmt: skip


async def _barred(
    engine: Engine, key: ToolKey, ruling: Ruling, choice: ToolChoice | None,
    preferences: Preferences | None,
) -> list[str]:  # fmt: skip
    await engine.decisions.read()
    entry = marked_tool(engine, await engine.tool(key.source, key.name))
    found: list[str] = []
    if not entry.is_enabled:
        found.append("it is switched off")
    if entry.is_held:
        found.append("its definition was not accepted yet")
    if preferred(engine, preferences).is_blocked(key):
        found.append("it is blocked")
    if choice is not None and not choice.has(entry.require()):
        found.append("the toolbelt does not have it")
    if ruling.word == "deny":
        found.append(reason(ruling))
    return found


def _wired(
    engine: Engine, usable: UsableTools, calls: Sequence[NamedCall]
) -> tuple[list[WiredCall], list[WireProblem]]:
    """The calls with the keys of their tools, and what is wrong where one has none."""
    from ..planning.wires import WiredCall, WireProblem

    names = _Names(usable.tools)
    wired: list[WiredCall] = []
    problems: list[WireProblem] = []
    for number, call in enumerate(calls):
        key = ToolKey("", "", "") if not call.source else names.named(call.source, call.tool)
        if call.problem:
            problems.append(WireProblem(number, "", f"it cannot be checked: {call.problem}"))
        elif key is None and (why := usable.failed.get(call.source)):
            problems.append(WireProblem(number, "", f"its server cannot be used: {why}"))
        elif key is None and not _is_drawn(engine, call.source):
            problems.append(WireProblem(number, "", names.why_not(f"{call.source}/{call.tool}")))
        wired.append(WiredCall(key if call.source else None, call.arguments, call.is_open))
    return wired, problems


def _is_drawn(engine: Engine, source: str) -> bool:
    return source == "canvas" and source not in engine.settings.sources


class _Names:
    """Tools by what people call them."""

    def __init__(self, tools: Mapping[ToolKey, Any]) -> None:
        self._by_names = {(x.source, x.name): x for x in tools}
        self._by_name: dict[str, list[ToolKey]] = {}
        for key in tools:
            self._by_name.setdefault(key.name, []).append(key)

    def named(self, source: str, tool: str) -> ToolKey | None:
        """The tool of a source."""
        return self._by_names.get((source, tool))

    def key(self, name: str) -> ToolKey:
        """The tool that is called so, with its server or without.

        Raises:
            UnknownTool: none is, or several are.
        """
        for at, char in enumerate(name):  # names of servers and tools may have slashes
            if char == "/" and (found := self.named(name[:at], name[at + 1 :])):
                return found
        keys = self._by_name.get(name, [])
        if len(keys) == 1:
            return keys[0]
        if keys:
            servers = ", ".join(f"{x.source}/{x.name}" for x in keys)
            raise UnknownTool(f"Several servers have a tool {name!r}. Name one: {servers}.")
        raise UnknownTool(self.why_not(name))

    def why_not(self, name: str) -> str:
        """What is said of a name that no tool has."""
        known = (f"{source}/{tool}" for source, tool in self._by_names)
        return f"No tool {name!r} can be used. {did_you_mean(name, known)}".rstrip()
