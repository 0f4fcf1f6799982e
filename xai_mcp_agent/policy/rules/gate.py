"""Rules in the call pipeline: a call is denied, marked as asked for, or counted."""

from __future__ import annotations

import time
from collections import defaultdict, deque
from collections.abc import Callable, Container
from dataclasses import replace
from datetime import datetime
from functools import partial

import anyio.to_thread

from ...core.calls import Caller, ToolInvocation
from ...core.errors import RuleDenied, RulesUnknown
from ...core.json import JsonObject
from ...core.tools import META, Tool
from ...secrets.secrets import Mask
from ...settings.rules import Limit, Rule
from .facts import Facts
from .rulebook import RuleBook, RuleBooks, reason
from .stored import StoredRules

_DENIED = "The tool {!r} was not called: {}. Do without it."
_LIMIT = (
    "The tool {!r} was not called: the rule {!r} allows {}, and that is used up. Do without it."
)
_UNKNOWN = (
    "The tool {!r} was not called: it is held to rules of the store, and these cannot be read. Do "
    "without it, and say in your answer what was not done."
)
_SECONDS = {"minute": 60.0, "hour": 3600.0, "day": 86400.0}


class RuleGate:
    """What the rules of some settings say of calls of agents. Used on the bridge's loop.

    A person or a program that calls a tool by hand knows what it does. `now` tells the local time.
    `stored` are the rules of the store, where they count; `book` is another object once they are
    others.
    """

    def __init__(
        self,
        rules: tuple[Rule, ...],
        mask: Mask,
        now: Callable[[], datetime] = datetime.now,
        stored: StoredRules | None = None,
    ) -> None:
        self._own = RuleBook(rules, mask)
        self._mask = mask
        self._now = now
        self._stored = stored
        self._known = stored.rules if stored else ()
        self.book = RuleBooks(self._own, RuleBook((), mask))
        self._used = defaultdict[str, deque[float]](deque)

    @property
    def may_prefer(self) -> bool:
        """Whether there may be a rule that moves tools in rankings."""
        return self._stored is not None or any(x.prefer for x in self.book.rules)

    async def look(self) -> None:
        """Have the book hold the rules that the store has now.

        Raises:
            RulesUnknown: they count, and cannot be read.
        """
        if self._stored is None:
            return
        await self._stored.look()
        if self._stored.rules is not self._known:
            self._known = self._stored.rules
            taken = {x.name for x in self._own.rules}
            rules = [_named_apart(x, taken) for x in self._known]
            self.book = RuleBooks(self._own, RuleBook(rules, self._mask))

    def facts(self, tool: Tool, caller: Caller, arguments: JsonObject | None = None) -> Facts:
        """Of a call that is made now; without arguments, of any call of this tool."""
        return Facts(tool, caller, arguments, None if arguments is None else self._now())

    async def judge(self, invocation: ToolInvocation) -> ToolInvocation:
        """The call with what the rules say of it.

        Raises:
            RuleDenied: it may not be made.
        """
        tool = invocation.tool
        if not _is_ruled(tool, invocation.caller):
            return invocation
        await self._look_for(invocation)
        if not self.book:
            return invocation
        facts = self.facts(tool, invocation.caller, invocation.arguments)
        judge = partial(self.book.ruling, facts)
        # Else in a thread: a disk may be slow, and a model may send a book.
        is_quick = self.book.is_quick(facts)
        ruling = judge() if is_quick else await anyio.to_thread.run_sync(judge)
        if ruling.word == "deny":
            why = _DENIED.format(invocation.name, reason(ruling))
            raise RuleDenied(tool.source, tool.name, why)
        return replace(invocation, ruling=ruling)

    async def count(self, invocation: ToolInvocation) -> ToolInvocation:
        """Take the call from the limits that count it, if all of them have one left.

        Raises:
            RuleDenied: one has none.
        """
        # Of the store's some may be gone since the call was judged.
        known = self.book.limits
        limits = [(x, known[x]) for x in invocation.ruling.limits if x in known]
        facts, tool = invocation.caller.facts, invocation.tool
        for name, limit in limits:
            used = facts.counted[name] if limit.period == "run" else self._lately(name, limit)
            if used >= limit.most:
                why = _LIMIT.format(invocation.name, name, limit.words)
                raise RuleDenied(tool.source, tool.name, why)
        for name, limit in limits:
            facts.counted[name] += 1
            if limit.period != "run":
                self._used[name].append(time.monotonic())
        return invocation

    def why_never(self, tool: Tool, caller: Caller) -> str:
        """Why no call of this tool is allowed to the caller, whatever its arguments; or empty."""
        if not self.book.hides or not _is_ruled(tool, caller):
            return ""
        ruling = self.book.ruling(self.facts(tool, caller))
        return reason(ruling) if ruling.word == "deny" else ""

    async def _look_for(self, invocation: ToolInvocation) -> None:
        try:
            await self.look()
        except RulesUnknown as why:
            tool = invocation.tool
            told = _UNKNOWN.format(invocation.name)
            raise RuleDenied(tool.source, tool.name, told, str(why)) from why

    def _lately(self, name: str, limit: Limit) -> int:
        used, begin = self._used[name], time.monotonic() - _SECONDS[limit.period]
        while used and used[0] <= begin:
            used.popleft()
        return len(used)


def _named_apart(rule: Rule, taken: Container[str]) -> Rule:
    """The rule with a name that none of the settings has: calls are counted by it."""
    return replace(rule, name=f"{rule.name} (of the store)") if rule.name in taken else rule


def _is_ruled(tool: Tool, caller: Caller) -> bool:
    return caller.kind == "agent" and tool.key.kind != META.name
