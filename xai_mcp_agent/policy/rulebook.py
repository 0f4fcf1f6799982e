"""Rules for agents' calls, compiled: derive words until none is new, then the strongest rule wins.

Deny is stronger than ask, ask than a limit, a limit than allow; `prefer` changes rankings only. The
order in which rules are written does not matter.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TypeAlias

from ..core.approval import RuleWord, Ruling
from ..core.calls import NO_RULING
from ..core.patterns import is_wild, looks, names_of, pieces
from ..core.tools import Tool, ToolKey
from ..secrets.secrets import Mask, masked_and_cut
from ..settings.conditions import CERTAIN, DERIVED
from ..settings.rules import Rule
from .conditions import Facts, Test, Words

_OF_STORE = "store:"  # prefix of words that rules of the store derive
_MAX_TOOLS = 50_000  # tools to keep certain facts about, for all agents
_STRENGTH: tuple[RuleWord, ...] = ("", "allow", "ask", "deny")


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
