"""What rules say of a call, and what of a run they are told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from .tools import JsonObject, ToolKey

RuleWord: TypeAlias = Literal["", "allow", "ask", "deny"]
"""Empty: no rule says anything."""


@dataclass(frozen=True, slots=True)
class Ruling:
    """What the strongest rule says, which one that is, and why, in words.

    `words` are those that rules derived of the call. `limits` are the rules that count it. `prefer`
    moves a tool in rankings. `perhaps` are rules that may deny it or have it asked for, depending
    on what is not known yet, such as its arguments.
    """

    word: RuleWord = ""
    rule: str = ""
    why: str = ""
    words: frozenset[str] = frozenset()
    limits: tuple[str, ...] = ()
    prefer: float = 0.0
    preferred_by: tuple[str, ...] = ()
    perhaps: tuple[Ruling, ...] = ()


@dataclass(slots=True)
class RunFacts:
    """What happened in one run, as far as rules ask for it: which tools, and never their results.

    `was` are the words that rules derived of calls that were sent; `counted` is how often a rule's
    limit was used.
    """

    succeeded: set[ToolKey] = field(default_factory=set[ToolKey])
    failed: set[ToolKey] = field(default_factory=set[ToolKey])
    was: set[str] = field(default_factory=set[str])
    counted: Counter[str] = field(default_factory=Counter[str])

    def ended(self, tool: ToolKey, words: Iterable[str], *, is_error: bool) -> None:
        """A call was made."""
        (self.failed if is_error else self.succeeded).add(tool)
        self.was.update(words)

    def to_json(self) -> JsonObject:
        """For a file; `from_json` reads it back."""
        return {
            "succeeded": sorted([x.kind, x.source, x.name] for x in self.succeeded),
            "failed": sorted([x.kind, x.source, x.name] for x in self.failed),
            "was": sorted(self.was),
            "counted": dict(self.counted),
        }

    @staticmethod
    def from_json(value: JsonObject) -> RunFacts:
        """The facts that were written so.

        Raises:
            KeyError, TypeError, ValueError: they are none.
        """
        succeeded, failed = ({ToolKey(*x) for x in value[y]} for y in ("succeeded", "failed"))
        return RunFacts(succeeded, failed, set(value["was"]), Counter(value["counted"]))

    def go_on_from(self, before: RunFacts) -> None:
        """What was so when the run was left is still so. Of two counts the higher one is true."""
        self.succeeded |= before.succeeded
        self.failed |= before.failed
        self.was |= before.was
        self.counted |= before.counted
