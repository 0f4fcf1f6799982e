"""Rules for agents' calls: derive words until none is new, then the strongest rule wins.

Deny is stronger than ask, ask than a limit, a limit than allow; `prefer` changes rankings only. The
order in which rules are written does not matter.
"""

from __future__ import annotations

import time
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property, partial
from typing import TypeAlias

import anyio
import anyio.to_thread

from ..core.approval import RuleWord, Ruling
from ..core.calls import NO_RULING, Caller, ToolInvocation
from ..core.errors import RuleDenied, RulesUnknown, StoreFailed
from ..core.json import JsonObject
from ..core.patterns import is_wild, looks, names_of, pieces
from ..core.tools import META, Tool, ToolKey
from ..secrets.secrets import Mask, masked_and_cut
from ..settings.approval import ApprovalWord
from ..settings.conditions import CERTAIN, DERIVED
from ..settings.rules import Limit, Rule
from .conditions import Facts, Test, Words


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

_OF_STORE = "store:"  # prefix of words that rules of the store derive
_MAX_TOOLS = 50_000  # tools to keep certain facts about, for all agents
_QUICK_TOOLS = 100  # so many are ruled on the event loop in milliseconds
_STRENGTH: tuple[RuleWord, ...] = ("", "allow", "ask", "deny")
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


@dataclass(frozen=True, slots=True, eq=False)
class _OpenRule:
    """A rule about a tool, with the conditions that depend on the call.

    Its certain conditions hold for a rule that `holds` calls back, or for one that `lets` them
    through.
    """

    rule: Rule
    prefix: str
    when: tuple[Test, ...]
    unless: tuple[Test, ...]
    holds: bool
    lets: bool

    def applies(self, facts: Facts, words: Words, *, every: bool, unknown: bool) -> bool:
        """Return whether it applies. An exception must hold for every value."""
        if not (self.lets if every else self.holds):
            return False
        if not all(x.holds(facts, words, every=every, unknown=unknown) for x in self.when):
            return False
        excepts = (x.holds(facts, words, every=True, unknown=not unknown) for x in self.unless)
        return not self.unless or not all(excepts)


_OpenRules: TypeAlias = tuple[_OpenRule, ...]


class _Ready:
    """A compiled rule, with its certain tests kept apart.

    The words that it derives and reads have this `prefix`.
    """

    def __init__(self, rule: Rule, prefix: str = "") -> None:
        self.rule = rule
        self.prefix = prefix
        self._when = [Test.of(x, prefix) for x in rule.when]
        self._certain = [x for x in self._when if x.is_certain]
        unless = [Test.of(x, prefix) for x in rule.unless]
        self._certain_unless = [x for x in unless if x.is_certain]
        self._unless = tuple(x for x in unless if not x.is_certain)
        self._open: dict[tuple[bool, bool, bool], _OpenRule] = {}
        self._may_let = rule.word == "allow" or bool(rule.derived)
        self._may_hold = rule.word != "allow"

    def open(self, facts: Facts) -> _OpenRule | None:
        """Return the rule for calls with these certain facts; None if it applies to none of them.

        Tools for which the rule is the same share one object.
        """
        lets = self._may_let and self._is_about(facts, every=True)
        holds = self._may_hold and self._is_about(facts, every=False)
        if not (lets or holds):
            return None
        excepts = all(x.holds(facts, _no_words, every=True) for x in self._certain_unless)
        if self._certain_unless and excepts and not self._unless:
            return None
        if (key := (holds, lets, excepts)) not in self._open:
            when = tuple(x for x in self._when if not x.is_certain)
            unless = self._unless if excepts else ()
            self._open[key] = _OpenRule(self.rule, self.prefix, when, unless, holds, lets)
        return self._open[key]

    def _is_about(self, facts: Facts, *, every: bool) -> bool:
        return all(x.holds(facts, _no_words, every=every) for x in self._certain)

    def named(self, field: str) -> tuple[str, ...]:
        """Return the patterns of which this field must match one; empty if there are none."""
        for condition in self.rule.when:
            are_patterns = all(x.how == "fits" and not x.negated for x in condition.checks)
            if condition.field == field and are_patterns:
                return tuple(x.what for x in condition.checks)
        return ()

    def why(self, facts: Facts, mask: Mask) -> str:
        conditions = ", and ".join(x.describe(facts, mask) for x in self._when)
        because = self.rule.because
        if because and conditions:
            return f"{because} ({conditions})"
        return because or conditions or "it is about all calls"


class _Index:
    """An index of rules by pieces of the tool names that they apply to."""

    def __init__(self, rules: Sequence[_Ready]) -> None:
        self._rules = rules
        self._of_piece = defaultdict[str, set[int]](set)
        for number, one in enumerate(rules):
            for piece in self._pieces(one):
                self._of_piece[piece].add(number)

    def about(self, tool: ToolKey) -> list[_Ready]:
        """Return the rules that may apply to a tool."""
        look = "".join(looks(names_of(tool)))
        numbers = set[int]().union(*(y for x, y in self._of_piece.items() if x in look))
        return [self._rules[x] for x in sorted(numbers)]

    def _pieces(self, one: _Ready) -> set[str]:
        """Return pieces of which a name must have one; for a derived word, its rules' pieces."""
        tools, words = one.named("tool"), one.named(DERIVED)
        if not tools and words and not any(map(is_wild, words)):
            derive = [x for x in self._rules if x.rule.derived in words and x.prefix == one.prefix]
            if not all(x.named("tool") for x in derive):
                return {""}
            tools = tuple(y for x in derive for y in x.named("tool"))
        elif not tools:
            return {""}
        return {y for x in tools for y in pieces(x)}


def _no_words(every: bool, unknown: bool) -> tuple[()]:
    return ()


class _Derived:
    """The words that rules derive from a call, with their prefixes; computed on demand."""

    def __init__(self, rules: Sequence[_OpenRule], facts: Facts) -> None:
        self._rules = [x for x in rules if x.rule.derived]
        self._facts = facts
        self._words: dict[tuple[bool, bool], set[str]] = {}

    def __call__(self, every: bool, unknown: bool) -> set[str]:
        key = every, unknown and not self._facts.is_of_a_call
        if key not in self._words:
            self._words[key] = self._derive(*key)
        return self._words[key]

    def _derive(self, every: bool, unknown: bool) -> set[str]:
        """Derive until no word is new. No word depends on the absence of another one."""
        words, size = set[str](), -1

        def so_far(every: bool, unknown: bool) -> set[str]:
            return words

        while len(words) > size:
            size = len(words)
            for one in self._rules:
                if one.applies(self._facts, so_far, every=every, unknown=unknown):
                    words.add(one.prefix + one.rule.derived)
        return words


class RuleBook:
    """The rules of the settings and of the store. `mask` hides secrets in reasons.

    Neither sees the other's words: the store could otherwise derive a word that lets calls through.
    Certain conditions are evaluated once for each version of a tool and each agent.
    """

    def __init__(self, rules: Sequence[Rule], mask: Mask, stored: Sequence[Rule] = ()) -> None:
        names = {x.name for x in rules}
        # Calls are counted by the name of a rule.
        apart = [
            replace(x, name=f"{x.name} (of the store)") if x.name in names else x for x in stored
        ]
        self.rules = (*rules, *apart)
        self.limits = {x.name: x.limit for x in self.rules if x.limit is not None}
        self._mask = mask
        ready = [*map(_Ready, rules), *(_Ready(x, _OF_STORE) for x in apart)]
        self._index = _Index(ready)
        self._by_name = {x.rule.name: x for x in ready}
        # The rules about a tool for an agent, and the rulings that they give on any call.
        self._of_tool: dict[tuple[ToolKey, str, str], tuple[Tool, _OpenRules]] = {}
        self._rulings: dict[_OpenRules, Ruling] = {}

    def __bool__(self) -> bool:
        return any(not x.derived for x in self.rules)

    @cached_property
    def hides(self) -> bool:
        """Whether a rule may deny a tool by certain facts alone."""
        fields = {*CERTAIN, DERIVED}
        return any(x.word == "deny" and all(y.field in fields for y in x.when) for x in self.rules)

    def ruling(self, facts: Facts) -> Ruling:
        """Return the ruling of the strongest rule on a call."""
        if not self.rules:
            return NO_RULING
        rules = self._about(facts)
        if facts.arguments is not None or facts.now is not None:
            return self._ruling(facts, rules)
        # Many tools share the same rules, which give the same ruling while no call is known.
        ruling = self._rulings.get(rules)
        if ruling is None:
            ruling = self._rulings[rules] = self._ruling(facts, rules)
        return ruling

    def _ruling(self, facts: Facts, about: Sequence[_OpenRule]) -> Ruling:
        words = _Derived(about, facts)
        strongest, limits, perhaps = Ruling(), list[str](), list[Ruling]()
        prefer, preferring = 0.0, list[str]()
        for one in about:
            rule = one.rule
            if rule.derived:
                continue
            # A rule that lets through must hold for each value, a rule that holds back for one
            # value.
            applies = partial(one.applies, facts, words, every=rule.word == "allow")
            if not applies(unknown=False):
                is_held = rule.word in ("ask", "deny") and not facts.is_of_a_call
                if is_held and applies(unknown=True):
                    perhaps.append(Ruling(rule.word, rule.name, "it depends on the call"))
            elif rule.limit is not None:
                limits.append(rule.name)
            elif rule.prefer:
                prefer += rule.prefer
                preferring.append(rule.name)
            elif (rank(rule.word), strongest.rule) > (rank(strongest.word), rule.name):
                strongest = Ruling(rule.word, rule.name)
        if strongest.rule:
            why = self._by_name[strongest.rule].why(facts, self._mask)
            strongest = replace(strongest, why=masked_and_cut(why, self._mask))
        return replace(
            strongest, words=frozenset(words(False, False)), limits=tuple(limits), prefer=prefer,
            preferred_by=tuple(preferring), perhaps=tuple(perhaps),
        )  # fmt: skip

    def _about(self, facts: Facts) -> _OpenRules:
        """Return the rules that may apply to a call, judged by certain facts."""
        tool, caller = facts.tool, facts.caller
        key = tool.key, caller.name, caller.toolbelt
        listed, rules = self._of_tool.get(key, (None, ()))
        if listed is not tool:
            if len(self._of_tool) >= _MAX_TOOLS:
                self._of_tool.clear()
                self._rulings.clear()
            certain = Facts(tool, caller)
            opened = (x.open(certain) for x in self._index.about(tool.key))
            rules = tuple(x for x in opened if x is not None)
            self._of_tool[key] = tool, rules
        return rules


def rank(word: RuleWord) -> int:
    """Return the strength of a word."""
    return _STRENGTH.index(word)


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
        self._used = defaultdict[str, deque[float]](deque)
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

    async def look(self) -> None:
        """Read the rules of the store if they are unknown; raises as `read`."""
        if self._stored is None:
            await self.read()

    async def prepare(self, tools: Iterable[Tool], caller: Caller) -> None:
        """Compute the rulings on these tools, in a thread if there are many.

        Raises:
            RulesUnknown: the rules of the store count, but cannot be read.
        """
        await self.look()
        tools = list(tools)
        if self.book and len(tools) > _QUICK_TOOLS:
            await anyio.to_thread.run_sync(self._rule, tools, caller)

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
            await self.look()
        except RulesUnknown as why:
            refusal = _UNKNOWN.format(invocation.name)
            raise RuleDenied(tool.source, tool.name, refusal, str(why)) from why
        if not self.book:
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
            used = counted[name] if limit.period == "run" else self._count_lately(name, limit)
            if used >= limit.most:
                why = _LIMIT.format(invocation.name, name, limit.words)
                raise RuleDenied(tool.source, tool.name, why)
        for name, limit in limits.items():
            counted[name] += 1
            if limit.period != "run":
                self._used[name].append(time.monotonic())
        return invocation

    def why_never(self, tool: Tool, caller: Caller) -> str:
        """Return why the caller may never call this tool; empty if it may."""
        if not self.book.hides or not _is_ruled(tool, caller):
            return ""
        ruling = self.ruling(tool, caller)
        return reason(ruling) if ruling.word == "deny" else ""

    def _rule(self, tools: Iterable[Tool], caller: Caller) -> None:
        for tool in tools:
            self.ruling(tool, caller)

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
                if len(seconds[name]) > self._count_lately(name, self.book.limits[name]):
                    self._used[name] = deque(sorted(seconds[name]))
            self._is_today_counted = True

    def _count_lately(self, name: str, limit: Limit) -> int:
        used, begin = self._used[name], time.monotonic() - _SECONDS[limit.period]
        while used and used[0] <= begin:
            used.popleft()
        return len(used)


def _is_ruled(tool: Tool, caller: Caller) -> bool:
    return caller.is_governed and tool.key.kind != META.name
