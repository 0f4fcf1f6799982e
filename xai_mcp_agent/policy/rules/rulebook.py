"""All rules together: words are derived until none is new, then the strongest rule decides.

Deny is stronger than ask, that than a limit, that than allow; what is preferred changes rankings
only. The order in which rules are written says nothing. A condition on what is not known does not
hold; a rule that waits for nothing else is told as one that may.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from ...core.approval import RuleWord, Ruling
from ...core.patterns import guard
from ...secrets.secrets import Mask, masked_and_cut
from ...settings.rules import CERTAIN, DERIVED, Condition, Rule
from .conditions import Test, Words
from .facts import OF_OTHERS, Facts

_OF_STORE = f"store{OF_OTHERS}"
_MOST_QUICK = 2_000  # values that are held against conditions: some milliseconds
_STRENGTH: tuple[RuleWord, ...] = ("", "allow", "ask", "deny")
_SHARED = ("server", "kind", "agent", "toolbelt")  # what many calls have in common
_MOST_SHARED = 1_000
_NO_WORDS = Words()
_VERBS = {"deny": "does not allow it", "ask": "has it asked for", "allow": "allows it"}


@dataclass(frozen=True)
class _Ready:
    """A rule with its tests."""

    rule: Rule
    when: tuple[Test, ...]
    unless: tuple[Test, ...]

    @staticmethod
    def of(rule: Rule) -> _Ready:
        return _Ready(rule, _tests(rule.when), _tests(rule.unless))

    @cached_property
    def tests(self) -> tuple[Test, ...]:
        return (*self.when, *self.unless)

    @cached_property
    def tool_patterns(self) -> tuple[str, ...]:
        """Patterns of which one must fit the tool for it to apply; none where that need not be."""
        for condition in self.rule.when:
            are_patterns = all(x.how == "fits" and not x.negated for x in condition.checks)
            if condition.field == "tool" and are_patterns:
                return tuple(x.what for x in condition.checks)
        return ()

    def may_be_about(self, facts: Facts) -> bool:
        """Whether it may apply, as far as what many calls have in common says."""
        return all(
            x.holds(facts, _NO_WORDS, every=False) or x.holds(facts, _NO_WORDS, every=True)
            for x in self.when
            if x.field in _SHARED
        )

    def applies(self, facts: Facts, words: Words, *, every: bool = False) -> bool | None:
        """Whether what it says follows. It is excepted only where `every` value is."""
        holds = _all(x.holds(facts, words, every=every) for x in self.when)
        if holds is False or not self.unless:
            return holds
        excepted = _all(x.holds(facts, words, every=True) for x in self.unless)
        return _all((holds, None if excepted is None else not excepted))

    def why(self, facts: Facts, mask: Mask) -> str:
        told = ", and ".join(x.told(facts, mask) for x in self.when)
        own = f"{self.rule.because} " if self.rule.because else ""
        return f"{own}({told})" if own and told else own.strip() or told or "it is for all calls"


class RuleBook:
    """The rules of some settings. `mask` hides secrets in reasons."""

    def __init__(self, rules: Sequence[Rule], mask: Mask) -> None:
        self.rules = tuple(rules)
        self._mask = mask
        ready = [_Ready.of(x) for x in rules]
        self._deriving = [x for x in ready if x.rule.derived]
        self._deciding = [x for x in ready if not x.rule.derived]
        # Asked together whether one of them may be about a tool at all: there may be thousands.
        self._about_tools = guard(*(y for x in self._deciding for y in x.tool_patterns))
        self._of_shared: dict[Hashable, list[_Ready]] = {}
        self.limits = {x.name: x.limit for x in rules if x.limit is not None}
        self.asks_for_places = any(x.asks_for_a_place for one in ready for x in one.tests)

    def __bool__(self) -> bool:
        return bool(self._deciding)

    @cached_property
    def hides(self) -> bool:
        """Whether there is a rule that may deny a tool before anything is known of a call."""
        fields = {*CERTAIN, DERIVED}
        return any(
            x.rule.word == "deny" and all(y.field in fields for y in x.when) for x in self._deciding
        )

    def is_quick(self, facts: Facts) -> bool:
        """Whether it takes no time to say what follows: few rules, few values, and no files."""
        if self.asks_for_places:
            return False
        rounds = len(self._deciding) + len(self._deriving) * (1 + len(self._deriving))
        return rounds * facts.values_up_to(_MOST_QUICK // rounds) <= _MOST_QUICK

    def ruling(self, facts: Facts) -> Ruling:
        """What the strongest rule says of this call."""
        words = self._derived(facts)
        strongest, limits = Ruling(), list[str]()
        prefer, preferring = 0.0, list[str]()
        perhaps: list[Ruling] = []
        is_named = any(map(self._about_tools, facts.known("tool") or ()))
        for one in self._about(facts):
            rule = one.rule
            if one.tool_patterns and not is_named:
                continue
            # What lets calls through must be so of each value; what holds them, of one.
            applies = one.applies(facts, words, every=rule.word == "allow")
            if applies is None and rule.word in ("ask", "deny"):
                perhaps.append(self._said(one, "it depends on the call"))
            if not applies:
                continue
            if rule.limit is not None:
                limits.append(rule.name)
            elif rule.prefer:
                prefer += rule.prefer
                preferring.append(rule.name)
            elif (rank(rule.word), strongest.rule) > (rank(strongest.word), rule.name):
                strongest = self._said(one, one.why(facts, self._mask))
        return Ruling(
            strongest.word, strongest.rule, strongest.why, words.one, tuple(limits), prefer,
            tuple(preferring), tuple(perhaps),
        )  # fmt: skip

    def _about(self, facts: Facts) -> list[_Ready]:
        """The rules that may say something of such a call: few are about every server and agent."""
        shared = tuple(map(facts.known, _SHARED))
        if shared not in self._of_shared:
            if len(self._of_shared) >= _MOST_SHARED:
                self._of_shared.clear()
            rules = [x for x in self._deciding if x.may_be_about(facts)]
            self._of_shared[shared] = rules
        return self._of_shared[shared]

    def _said(self, one: _Ready, why: str) -> Ruling:
        return Ruling(one.rule.word, one.rule.name, masked_and_cut(why, self._mask))

    def _derived(self, facts: Facts) -> Words:
        """The words that follow, and those that follow from these; each round adds one, or ends."""
        words = Words()
        while (new := self._with_next(facts, words)) != words:
            words = new
        return words

    def _with_next(self, facts: Facts, words: Words) -> Words:
        one, one_perhaps = {*words.one}, {*words.one_perhaps}
        every, every_perhaps = {*words.every}, {*words.every_perhaps}
        for ready in self._deriving:
            word = ready.rule.derived
            for is_every, known, perhaps in (False, one, one_perhaps), (True, every, every_perhaps):
                if word not in known:
                    applies = ready.applies(facts, words, every=is_every)
                    known |= {word} if applies else set()
                    perhaps |= set() if applies is False else {word}
        return Words(*map(frozenset, (one, one_perhaps, every, every_perhaps)))


class RuleBooks:
    """The rules of the settings and those of the store, which may only hold calls.

    Neither knows the words of the other: else the store could say the word that lets through.
    """

    def __init__(self, own: RuleBook, stored: RuleBook) -> None:
        self._own = own
        self._stored = stored
        self.rules = (*own.rules, *stored.rules)
        self.limits = {**stored.limits, **own.limits}
        self.hides = own.hides or stored.hides

    def __bool__(self) -> bool:
        return bool(self._own) or bool(self._stored)

    def is_quick(self, facts: Facts) -> bool:
        """Whether it takes no time to say what follows."""
        return all(x.is_quick(facts) for x in (self._own, self._stored) if x)

    def ruling(self, facts: Facts) -> Ruling:
        """What the strongest rule says of this call."""
        if not self._stored:
            return self._own.ruling(facts)
        stored = self._stored.ruling(replace(facts, own=_OF_STORE, _found={}))
        return _joined(self._own.ruling(facts), stored)


def _joined(own: Ruling, stored: Ruling) -> Ruling:
    strongest = stored if rank(stored.word) > rank(own.word) else own
    return Ruling(
        strongest.word, strongest.rule, strongest.why,
        own.words | {_OF_STORE + x for x in stored.words}, own.limits + stored.limits,
        own.prefer + stored.prefer, own.preferred_by + stored.preferred_by,
        own.perhaps + stored.perhaps,
    )  # fmt: skip


def rank(word: RuleWord) -> int:
    """How strong a word is."""
    return _STRENGTH.index(word)


def reason(ruling: Ruling) -> str:
    """What a ruling says and why, in a few words for a person."""
    said = f"the rule {ruling.rule!r} {_VERBS.get(ruling.word, 'says nothing')}"
    return f"{said}, because {ruling.why}" if ruling.why else said


def _tests(conditions: Iterable[Condition]) -> tuple[Test, ...]:
    return tuple(Test.of(x) for x in conditions)


def _all(found: Iterable[bool | None]) -> bool | None:
    """False if any is, else not known if any is not, else true."""
    is_unknown = False
    for one in found:
        if one is False:
            return False
        is_unknown |= one is None
    return None if is_unknown else True
