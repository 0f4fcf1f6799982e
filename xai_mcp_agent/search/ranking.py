"""The ranking pipeline: which tools fit what somebody wants, how surely, and why, in words.

Candidates, rules, blocked ones removed, trusted ones boosted, usage, the best of them.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeAlias, TypeVar, cast

from ..core.json import JsonObject
from ..core.tools import Tool, ToolKey
from .preferences import Preferences
from .remembered import NOTHING_REMEMBERED, Remembered
from .terms import terms
from .tools import ToolIndex, key_of

logger = logging.getLogger(__name__)

T = TypeVar("T", Tool, JsonObject)

# Rules and trust change the order of so many; the selection is the best of them.
_CANDIDATES, _LEAST_CANDIDATES = 2, 32
# A trusted tool comes before one that fits up to a tenth better, and not before the right one.
_TRUST = 1.1
# With these a confidence is about the share of right tools: on seven sets of labelled requests that
# was 0.04 below 0.1, 0.18 from 0.2, 0.40 from 0.4, 0.76 from 0.6, 0.91 from 0.8, 0.94 from 0.9 on.
_LEAD_POWER = 3
_ENOUGH_COVERED = 0.2  # of what is asked; tools for a whole task cover little more
_LEAST_COVERED = 0.2  # a tool that was found by its meaning may share no word


@dataclass(frozen=True, slots=True)
class Ranked(Generic[T]):
    """A tool that fits, with the reasons in words. The best one has the score 1.

    `confidence` is about the share of cases in which such a tool was the right one, 0 to 1: it
    grows with how far the tool is ahead of the best other one, and is less where even the best one
    has little of what was asked for. In one ranking it has the order of the scores.
    """

    tool: T
    score: float
    confidence: float
    reasons: tuple[str, ...]


class RankedTools(list[Ranked[T]]):
    """Tools that fit, best first. `note` says what the search had to do without; "" for nothing."""

    def __init__(self, tools: Iterable[Ranked[T]] = (), note: str = "") -> None:
        super().__init__(tools)
        self.note = note


Rule: TypeAlias = Callable[[str, Sequence[Ranked[Any]]], Sequence[Ranked[Any]]]
"""Given the query and the candidates, best first, it gives those that remain, with other scores
and reasons perhaps. Their order is that of their scores. It must be quick and may fail: then
it is left out, and that is told."""


class Ranking:
    """How tools are ranked for one agent. `tell` is told of rules that fail, of each once."""

    def __init__(
        self,
        preferences: Preferences | None = None,
        rules: Sequence[Rule] = (),
        tell: Callable[[str], None] = logger.warning,
    ) -> None:
        self._preferences = preferences or Preferences()
        self._rules = rules
        self._tell = tell
        self._failed: set[int] = set()

    def rank(
        self,
        index: ToolIndex[T],
        query: str,
        limit: int = 10,
        *,
        among: Collection[Hashable] | None = None,
        remembered: Remembered = NOTHING_REMEMBERED,
    ) -> list[Ranked[T]]:
        """The tools that fit best, best first, equals by their keys; only of those `among`."""
        most = max(_CANDIDATES * limit, _LEAST_CANDIDATES)
        found = self._usable(index, query, most, among, remembered)
        if len(found) < limit and len(index) > most:  # many are blocked: look at all
            found = self._usable(index, query, len(index), among, remembered)
        ordered = _ordered([self._trusted(x) for x in found])
        best = ordered[0].tool if ordered else None
        covered = index.covered(query, key_of(best), remembered) if best else 0.0
        ranked = _with_confidence(ordered, covered)[: max(limit, 0)]
        return [_with_usage(index, query, x, remembered) for x in ranked]

    def _usable(
        self,
        index: ToolIndex[T],
        query: str,
        most: int,
        among: Collection[Hashable] | None,
        remembered: Remembered,
    ) -> list[Ranked[T]]:
        hits = index.search(query, most, among=among, remembered=remembered)
        found: Sequence[Ranked[T]] = [Ranked(x.tool, x.score, 0.0, x.reasons) for x in hits]
        for number, rule in enumerate(self._rules):
            found = self._ruled(number, rule, query, found)
        return [x for x in found if not self._preferences.is_blocked(_named(x.tool))]

    def _ruled(
        self, number: int, rule: Rule, query: str, found: Sequence[Ranked[T]]
    ) -> Sequence[Ranked[T]]:
        try:
            remaining = _ordered(_checked(rule(query, tuple(found)), found))
        except Exception as reason:  # noqa: BLE001 - anybody's code; the search goes on without it
            if number not in self._failed:
                self._failed.add(number)
                name = getattr(rule, "__name__", type(rule).__name__)
                problem = f"{type(reason).__name__}: {reason}"
                self._tell(f"The rule {name!r} for ranking tools is left out: {problem}")
            return found
        return remaining

    def _trusted(self, ranked: Ranked[T]) -> Ranked[T]:
        if not self._preferences.is_trusted(_named(ranked.tool)):
            return ranked
        reasons = (*ranked.reasons, "trusted")
        return replace(ranked, score=ranked.score * _TRUST, reasons=reasons)


def _checked(given: Iterable[Any], before: Sequence[Ranked[T]]) -> list[Ranked[T]]:
    """What a rule gave, if it can be gone on with: no other tools than it was given."""
    left = {key_of(x.tool) for x in before}
    checked = list(given)
    for one in checked:
        if not isinstance(one, Ranked) or not 0 <= one.score < math.inf:
            raise TypeError(f"it gave {one!r:.100}, which is no ranked tool")
        if (key := key_of(cast(Ranked[T], one).tool)) not in left:
            raise ValueError(f"it gave {key!s:.100}, which it was not given, or twice")
        left.remove(key)
    return checked


def _ordered(found: Sequence[Ranked[T]]) -> list[Ranked[T]]:
    return sorted(found, key=lambda x: (-x.score, key_of(x.tool)))


def _with_usage(
    index: ToolIndex[T], query: str, ranked: Ranked[T], remembered: Remembered
) -> Ranked[T]:
    """With the reason that it was used for similar requests, which its score has already."""
    uses = remembered.uses_like(_named(ranked.tool), {*terms(query)}, index.rarity)
    if not uses:
        return ranked
    often = "once" if uses == 1 else f"{uses:,} times"
    requests = "a similar request" if uses == 1 else "similar requests"
    matched = [x for x in ranked.reasons if x != "trusted"]
    return replace(
        ranked,
        reasons=(*matched, f"used {often} for {requests}", *ranked.reasons[len(matched) :]),
    )


def _with_confidence(found: Sequence[Ranked[T]], covered: float) -> list[Ranked[T]]:
    best = max((x.score for x in found), default=0.0) or 1.0
    scores = [x.score / best for x in found]
    enough = max(min(covered / _ENOUGH_COVERED, 1.0), _LEAST_COVERED)
    return [
        replace(x, score=score, confidence=enough * _lead(score, scores[0 if n else 1 :]))
        for n, (x, score) in enumerate(zip(found, scores, strict=True))
    ]


def _lead(score: float, others: Sequence[float]) -> float:
    """1 for the only one, 0.5 for two that are equal."""
    own, other = score**_LEAD_POWER, max(others, default=0.0) ** _LEAD_POWER
    return own / (own + other) if own else 0.0


def _named(tool: Tool | JsonObject) -> ToolKey:
    """The key by which preferences and what is remembered know it; a dict is of no kind."""
    if isinstance(tool, Tool):
        return tool.key
    return ToolKey("", str(tool.get("server") or ""), str(tool.get("name") or ""))
