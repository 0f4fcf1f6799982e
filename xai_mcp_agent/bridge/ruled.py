"""Rules where tools are chosen: what is never allowed is not offered, what is preferred ranks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import anyio.to_thread

from ..agent.toolsets import Toolset, Wrapper
from ..core.invocation import Caller
from ..core.tools import JsonObject, Tool, ToolKey
from ..policy.rules.gate import RuleGate
from ..search.ranking import Ranked, Rule


class RuledToolset(Wrapper):
    """Leaves out what no rule would ever let this caller call."""

    def __init__(
        self, inner: Toolset, gate: RuleGate, caller: Caller, shown_name: Callable[[ToolKey], str]
    ) -> None:
        super().__init__(inner)
        self._shown_name = shown_name
        self._gate = gate
        self._caller = caller
        self._given: Sequence[Tool] | None = None
        self._left: Sequence[Tool] = ()
        self._why: Mapping[ToolKey, str] = {}

    async def tools(self) -> Sequence[Tool]:
        """The others; the same object as long as they are the same."""
        tools = await self._inner.tools()
        if not self._gate.book.hides:
            return tools
        if tools is not self._given:
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


def ranking_rules(gate: RuleGate, caller: Caller) -> Sequence[Rule]:
    """How the rules of a person move tools in a ranking: by what they prefer."""
    if not any(x.prefer for x in gate.book.rules):
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
