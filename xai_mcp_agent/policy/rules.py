"""Steps of a call that apply the rules: denied calls are refused, limited ones are counted."""

from __future__ import annotations

import time
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TypeAlias

import anyio
import anyio.to_thread

from ..core.approval import Ruling
from ..core.calls import Caller, ToolInvocation
from ..core.errors import RuleDenied, RulesUnknown, StoreFailed
from ..core.json import JsonObject
from ..core.tools import META, Tool
from ..secrets.secrets import Mask
from ..settings.approval import ApprovalWord
from ..settings.rules import Limit, Rule
from .conditions import Facts
from .rulebook import RuleBook


@dataclass(frozen=True, slots=True)
class PastCall:
    """A call that an agent made, in any process."""

    tool: Tool
    caller: Caller
    time: datetime


CallsOfToday: TypeAlias = Callable[[], Awaitable[Sequence[PastCall]]]
"""Reads the calls of the last 24 hours from the history; raises `StoreFailed`."""

ReadStored: TypeAlias = Callable[[], Awaitable[tuple[Rule, ...]]]
"""Reads the rules of the store; raises `RulesUnknown`."""

_VERBS = {"deny": "does not allow it", "ask": "asks first", "allow": "allows it"}
_SECONDS = {"minute": 60.0, "hour": 3600.0, "day": 86400.0}
_DENIED = "The tool {!r} was not called: {}. Do without it."
_LIMIT = "The tool {!r} was not called: the rule {!r} allows {}, which are used up. Do without it."
_UNCOUNTED = (
    "The tool {!r} was not called: its calls a day are limited, and cannot be counted now. Do "
    "without it, and say in your answer what was not done."
)
_UNKNOWN = (
    "The tool {!r} was not called: the rules of the store cannot be read. Do "
    "without it, and say in your answer what was not done."
)


@dataclass(frozen=True, slots=True)
class RuledTool:
    """The ruling on an agent's calls of a tool, and the word it gives together with approvals."""

    tool: Tool
    ruling: Ruling
    word: ApprovalWord
    reason: str


def reason(ruling: Ruling) -> str:
    """Return a ruling and its reason, in a few words for a person."""
    verdict = f"the rule {ruling.rule!r} {_VERBS.get(ruling.word, 'says nothing')}"
    return f"{verdict}, because {ruling.why}" if ruling.why else verdict


class RuleGate:
    """Steps of the call pipeline that apply the rules. Used on the bridge's loop.

    They apply to agents, not to a person or a program. `now` returns the local time. `read_stored`
    reads the rules of the store, if they count: while it fails, no agent calls anything.
    `calls_of_today` returns the calls that daily limits count. A change of rules replaces `book`.
    """

    def __init__(
        self,
        rules: tuple[Rule, ...],
        mask: Mask,
        now: Callable[[], datetime] = datetime.now,
        read_stored: ReadStored | None = None,
        calls_of_today: CallsOfToday | None = None,
    ) -> None:
        self.book = RuleBook(rules, mask)
        self._rules = rules
        self._mask = mask
        self._now = now
        self._read_stored = read_stored
        self._stored: tuple[Rule, ...] | None = () if read_stored is None else None
        self._reading = anyio.Lock()
        self._times = defaultdict[str, deque[float]](deque)
        self._calls_of_today = calls_of_today
        self._is_today_counted = calls_of_today is None

    @property
    def may_prefer(self) -> bool:
        """Whether a rule may change rankings."""
        return self._read_stored is not None or any(x.prefer for x in self.book.rules)

    async def read(self) -> None:
        """Read the rules of the store when a bridge opens, a run begins, or on refresh.

        Raises:
            RulesUnknown: the rules cannot be read.
        """
        if self._read_stored is None:
            return
        async with self._reading:
            before, self._stored = self._stored, None
            self._stored = await self._read_stored()
            if self._stored != before:
                self.book = RuleBook(self._rules, self._mask, self._stored)

    async def renew(self) -> None:
        """Read the rules and count today's calls again; the next call raises an error, if any."""
        self._is_today_counted = self._calls_of_today is None
        with suppress(RulesUnknown):
            await self.read()

    async def ensure_read(self) -> None:
        """Read the rules of the store if they are unknown; raises as `read`."""
        if self._stored is None:
            await self.read()

    async def prepare(self, tools: Collection[Tool], caller: Caller) -> None:
        """Compute the rulings on these tools in a thread: thousands take a while.

        Raises:
            RulesUnknown: the rules of the store count, but cannot be read.
        """
        await self.ensure_read()

        def rule_all() -> None:
            for tool in tools:
                self.ruling(tool, caller)

        if tools and self.book.rules:
            await anyio.to_thread.run_sync(rule_all)

    def ruling(self, tool: Tool, caller: Caller, arguments: JsonObject | None = None) -> Ruling:
        """Return the ruling on a call as if an agent made it, or on any call."""
        now = None if arguments is None else self._now()
        return self.book.ruling(Facts(tool, caller, arguments, now))

    async def judge(self, invocation: ToolInvocation) -> ToolInvocation:
        """Return the call with its ruling.

        Raises:
            RuleDenied: a rule denies the call.
        """
        tool, caller = invocation.tool, invocation.caller
        if not _is_ruled(tool, caller):
            return invocation
        try:
            await self.ensure_read()
        except RulesUnknown as why:
            refusal = _UNKNOWN.format(invocation.name)
            raise RuleDenied(tool.source, tool.name, refusal, str(why)) from why
        if not self.book.rules:
            return invocation
        # In a thread: a disk may be slow, and arguments may be large.
        ruling = await anyio.to_thread.run_sync(self.ruling, tool, caller, invocation.arguments)
        if ruling.word == "deny":
            why = _DENIED.format(invocation.name, reason(ruling))
            raise RuleDenied(tool.source, tool.name, why)
        return replace(invocation, ruling=ruling)

    async def count(self, invocation: ToolInvocation) -> ToolInvocation:
        """Count the call in its limits, if none of them is used up.

        Raises:
            RuleDenied: a limit is used up.
        """
        limits = {x: self.book.limits[x] for x in invocation.ruling.limits if x in self.book.limits}
        counted, tool = invocation.caller.facts.counted, invocation.tool
        if any(x.period == "day" for x in limits.values()):
            try:
                await self._count_today()
            except StoreFailed as why:
                words = _UNCOUNTED.format(invocation.name)
                raise RuleDenied(tool.source, tool.name, words, str(why)) from why
        for name, limit in limits.items():
            count = counted[name] if limit.period == "run" else self._count_recent(name, limit)
            if count >= limit.most:
                why = _LIMIT.format(invocation.name, name, limit.words)
                raise RuleDenied(tool.source, tool.name, why)
        for name, limit in limits.items():
            counted[name] += 1
            if limit.period != "run":
                self._times[name].append(time.monotonic())
        return invocation

    def why_never(self, tool: Tool, caller: Caller) -> str:
        """Return why the caller may never call this tool; empty if it may."""
        if not _is_ruled(tool, caller):
            return ""
        ruling = self.ruling(tool, caller)
        return reason(ruling) if ruling.word == "deny" else ""

    async def _count_today(self) -> None:
        """Take the counts of daily limits from the history, which has the calls of all processes.

        A rule with conditions of the call counts only calls of this process.
        """
        async with self._reading:
            if self._is_today_counted or self._calls_of_today is None:
                return
            calls = await self._calls_of_today()
            now, clock = datetime.now(UTC), time.monotonic()
            seconds = defaultdict[str, list[float]](list)
            for call in calls:
                for name in self.book.ruling(Facts(call.tool, call.caller)).limits:
                    seconds[name].append(clock - (now - call.time).total_seconds())
            for name in (x for x, limit in self.book.limits.items() if limit.period == "day"):
                # Running calls are not in the history yet.
                if len(seconds[name]) > self._count_recent(name, self.book.limits[name]):
                    self._times[name] = deque(sorted(seconds[name]))
            self._is_today_counted = True

    def _count_recent(self, name: str, limit: Limit) -> int:
        times, begin = self._times[name], time.monotonic() - _SECONDS[limit.period]
        while times and times[0] <= begin:
            times.popleft()
        return len(times)


def _is_ruled(tool: Tool, caller: Caller) -> bool:
    return caller.is_governed and tool.key.kind != META.name
