"""Rules for agents' calls, compiled: derive words until none is new, then the strongest rule wins.

Deny is stronger than ask, ask than a limit, a limit than allow; `prefer` changes rankings only. The
order in which rules are written does not matter.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from ..core.approval import Ruling
from ..core.calls import NO_RULING
from ..core.tools import Tool, ToolKey
from ..secrets.secrets import Mask, mask_and_cut
from ..settings.rules import Rule
from .conditions import CallWords, Facts, Test

_OF_STORE = "store:"  # prefix of words that rules of the store derive
_MAX_TOOLS = 50_000  # tools to keep rulings for, for all agents
_STRENGTH = ("allow", "ask", "deny")


class _CompiledRule:
    """A rule with its tests; the words that it derives and reads have the `prefix`."""

    def __init__(self, rule: Rule, prefix: str = "") -> None:
        self.rule = rule
        self.word = prefix + rule.derived if rule.derived else ""
        self._when = [Test(x, prefix, strict=False) for x in rule.when]
        self._strictly_when = [Test(x, prefix, strict=True) for x in rule.when]
        self._unless = [Test(x, prefix, strict=True) for x in rule.unless]

    def applies(
        self, facts: Facts, words: CallWords | None, *, strict: bool = False, unknown: bool = False
    ) -> bool:
        """Return whether it applies; see `Test`. Its exceptions are always strict."""
        when = self._strictly_when if strict or self.rule.word == "allow" else self._when
        if not all(x.holds(facts, words, unknown=unknown) for x in when):
            return False
        excepts = (x.holds(facts, words, unknown=not unknown) for x in self._unless)
        return not self._unless or not all(excepts)

    def why(self, facts: Facts, mask: Mask) -> str:
        conditions = ", and ".join(x.describe(facts, mask) for x in self._when)
        because = self.rule.because
        if because and conditions:
            return f"{because} ({conditions})"
        return because or conditions or "it is about all calls"


class _DerivedWords:
    """The words that rules derive from a call, with their prefixes; computed on demand."""

    def __init__(self, rules: Sequence[_CompiledRule], facts: Facts) -> None:
        self._rules = [x for x in rules if x.word]
        self._facts = facts
        self._words: dict[tuple[bool, bool], set[str]] = {}

    def __call__(self, *, strict: bool, unknown: bool) -> Collection[str]:
        key = strict, unknown and self._facts.arguments is None
        if key in self._words:
            return self._words[key]  # perhaps still growing: then a rule asks for the words so far
        words, size = self._words.setdefault(key, set()), -1
        # No word depends on the absence of another one, so the order of rules does not matter.
        while len(words) > size:
            size = len(words)
            words |= {
                x.word
                for x in self._rules
                if x.applies(self._facts, self, strict=strict, unknown=key[1])
            }
        return words


class RuleBook:
    """The rules of the settings and of the store. `mask` hides secrets in reasons.

    Neither sees the other's words: the store could otherwise derive a word that lets calls through.
    The ruling on any call of a tool by an agent is computed once for each version of the tool.
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
        self._compiled = [*map(_CompiledRule, rules), *(_CompiledRule(x, _OF_STORE) for x in apart)]
        # By tool, agent and toolbelt: the rules that may apply to a call, and the ruling on any.
        self._of_tool: dict[
            tuple[ToolKey, str, str], tuple[Tool, Sequence[_CompiledRule], Ruling]
        ] = {}

    def ruling(self, facts: Facts) -> Ruling:
        """Return the ruling of the strongest rule on a call."""
        if not self.rules:
            return NO_RULING
        rules, ruling = self._of_any_call(facts.tool, facts)
        return ruling if facts.arguments is None else self._judge(rules, facts)

    def _of_any_call(self, tool: Tool, facts: Facts) -> tuple[Sequence[_CompiledRule], Ruling]:
        """Return the rules that may apply to a call of a tool, and the ruling on any call."""
        caller = facts.caller
        key = tool.key, caller.name, caller.toolbelt
        listed, rules, ruling = self._of_tool.get(key, (None, (), NO_RULING))
        if listed is not tool:
            if len(self._of_tool) >= _MAX_TOOLS:
                self._of_tool.clear()
            certain = Facts(tool, caller)
            rules = [x for x in self._compiled if x.applies(certain, None, unknown=True)]
            ruling = self._judge(rules, certain)
            self._of_tool[key] = tool, rules, ruling
        return rules, ruling

    def _judge(self, rules: Sequence[_CompiledRule], facts: Facts) -> Ruling:
        words = _DerivedWords(rules, facts)
        applying, perhaps = list[_CompiledRule](), list[Ruling]()
        for compiled in (x for x in rules if not x.word):
            rule, holds_back = compiled.rule, compiled.rule.word in ("ask", "deny")
            if compiled.applies(facts, words):
                applying.append(compiled)
            elif (
                facts.arguments is None
                and holds_back
                and compiled.applies(facts, words, unknown=True)
            ):
                perhaps.append(Ruling(rule.word, rule.name, "it depends on the call"))
        deciding = [x for x in applying if x.rule.word]
        strongest = min(
            deciding, key=lambda x: (-_STRENGTH.index(x.rule.word), x.rule.name), default=None
        )
        preferring = [x.rule for x in applying if x.rule.prefer]
        ruling = Ruling(
            words=frozenset(words(strict=False, unknown=False)),
            limits=tuple(x.rule.name for x in applying if x.rule.limit is not None),
            prefer=sum((x.prefer for x in preferring), 0.0),
            preferred_by=tuple(x.name for x in preferring),
            perhaps=tuple(perhaps),
        )
        if strongest is None:
            return ruling
        why = mask_and_cut(strongest.why(facts, self._mask), self._mask)
        return replace(ruling, word=strongest.rule.word, rule=strongest.rule.name, why=why)
