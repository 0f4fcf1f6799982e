"""Rules where tools are chosen: what is never allowed is not offered, what is preferred ranks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, cast

import anyio.to_thread

from ..agent.toolsets import Toolset, Wrapper
from ..core.errors import RulesUnknown
from ..core.invocation import Caller
from ..core.ruling import Ruling
from ..core.tools import JsonObject, Tool, ToolKey
from ..policy.rules.gate import RuleGate
from ..policy.rules.rulebook import RuleBooks
from ..search.ranking import Ranked, Rule

_MOST_CALLERS = 20  # whose rulings are kept
_MOST_KEPT = 100_000  # tools, also such as went meanwhile


class RuledToolset(Wrapper):
    """Leaves out what no rule would ever let this caller call."""

    def __init__(
        self, inner: Toolset, gate: RuleGate, caller: Caller, shown_name: Callable[[ToolKey], str]
    ) -> None:
        super().__init__(inner)
        self._shown_name = shown_name
        self._gate = gate
        self._caller = caller
        self._book: RuleBooks | None = None
        self._given: Sequence[Tool] | None = None
        self._left: Sequence[Tool] = ()
        self._why: Mapping[ToolKey, str] = {}

    async def tools(self) -> Sequence[Tool]:
        """The others; the same object as long as they are the same."""
        tools = await self._inner.tools()
        with suppress(RulesUnknown):  # which is told where one of them is called
            await self._gate.look()
        book = self._gate.book
        if not book.hides:
            self._why = {}
            return tools
        if tools is not self._given or book is not self._book:
            self._book = book
            # In a thread: many rules for thousands of tools take a while.
            never = await anyio.to_thread.run_sync(self._never, tools)
            self._why = never
            self._left = tuple(x for x in tools if x.key not in never) if never else tools
            self._given = tools
        return self._left

    def why_not(self, name: str) -> str:
        """Which rule it is, if it is one."""
        denied = self._why.items()
        why = next((why for x, why in denied if name in (x.name, self._shown_name(x))), "")
        told = f"The tool {name!r} is not for this agent: {why}. Use another one." if why else ""
        return told or super().why_not(name)

    def _never(self, tools: Sequence[Tool]) -> dict[ToolKey, str]:
        ruled = ((x.key, self._gate.why_never(x, self._caller)) for x in tools)
        return {key: why for key, why in ruled if why}


class KeptRulings:
    """What rules say of tools before anything is known of a call: kept while both are the same."""

    def __init__(self, gate: RuleGate) -> None:
        self._gate = gate
        self._kept: dict[tuple[str, str], dict[ToolKey, tuple[Tool, Ruling]]] = {}
        self._book: RuleBooks | None = None

    async def of(self, tools: Mapping[ToolKey, Tool], caller: Caller) -> Mapping[ToolKey, Ruling]:
        """By key; nothing where there are no rules. As for an agent, whoever the caller is."""
        await self._gate.look()
        if not self._gate.book:
            return {}
        who = replace(caller, kind="agent")
        # In a thread: many rules for thousands of tools take a while.
        return await anyio.to_thread.run_sync(self._of, tools, who)

    def _of(self, tools: Mapping[ToolKey, Tool], caller: Caller) -> Mapping[ToolKey, Ruling]:
        book = self._gate.book
        if self._book is not book or len(self._kept) > _MOST_CALLERS:
            self._book, self._kept = book, {}
        known = self._kept.get((caller.name, caller.toolbelt), {})
        known = known if len(known) < _MOST_KEPT else {}
        found = {key: self._ruled(known.get(key), x, caller) for key, x in tools.items()}
        self._kept[caller.name, caller.toolbelt] = {**known, **found}
        return {key: ruling for key, (_, ruling) in found.items()}

    def _ruled(
        self, known: tuple[Tool, Ruling] | None, tool: Tool, caller: Caller
    ) -> tuple[Tool, Ruling]:
        if known is not None and known[0] is tool:
            return known
        return tool, self._gate.book.ruling(self._gate.facts(tool, caller))


def ranking_rules(gate: RuleGate, caller: Caller) -> Sequence[Rule]:
    """How the rules of a person move tools in a ranking: by what they prefer."""
    if not gate.may_prefer:
        return ()

    def preferred(query: str, found: Sequence[Ranked[Any]]) -> Sequence[Ranked[Any]]:
        return [_moved(x, gate, caller) for x in found]

    return (preferred,)


def _moved(ranked: Ranked[Any], gate: RuleGate, caller: Caller) -> Ranked[Any]:
    tool = cast(Tool | JsonObject, ranked.tool)
    if not isinstance(tool, Tool):
        return ranked
    ruling = gate.book.ruling(gate.facts(tool, caller))
    if not ruling.prefer:
        return ranked
    verb = "preferred" if ruling.prefer > 0 else "put behind others"
    reasons = (*ranked.reasons, f"{verb} by the rule {', '.join(ruling.preferred_by)!r}")
    return replace(ranked, score=max(0.0, ranked.score * (1 + ruling.prefer)), reasons=reasons)
