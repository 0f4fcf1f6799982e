"""The ranking pipeline: the tools for a request, with confidence and reasons in words.

Candidates, rules, blocked ones removed, trusted ones boosted, usage, the best of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from ..core.tools import Tool, ToolKey
from .preferences import Preferences
from .terms import terms
from .tools import Hit, ToolIndex
from .usage import NOTHING_REMEMBERED, Remembered

# Candidates whose order rules and trust change: so many times the limit, and at least so many.
_CANDIDATES, _MIN_CANDIDATES = 2, 32
# A trusted tool comes before one that fits up to a tenth better, and not before the right one.
TRUST = 1.1
# With these a confidence is about the share of right tools: on seven sets of labelled requests that
# was 0.04 below 0.1, 0.18 from 0.2, 0.40 from 0.4, 0.76 from 0.6, 0.91 from 0.8, 0.94 from 0.9 on.
_LEAD_POWER = 3
_FULL_COVERAGE = 0.2  # of a request's words; tools for a whole task cover little more
_MIN_FACTOR = 0.2  # a tool that was found by its meaning may share no word


@dataclass(frozen=True, slots=True)
class Ranked:
    """Tool that fits, with the reasons in words. The best one has the score 1.

    `confidence`, 0 to 1, is about the share of cases in which such a tool was the right one: it
    grows with the lead over the next tool, and falls if even the best covers little of the request.
    In one ranking it has the order of the scores.
    """

    tool: Tool
    score: float
    confidence: float
    reasons: tuple[str, ...]


class RankedTools(list[Ranked]):
    """Tools that fit, best first. `note` says what the search lacked, or is empty."""

    def __init__(self, tools: Iterable[Ranked] = (), note: str = "") -> None:
        super().__init__(tools)
        self.note = note


Prefer: TypeAlias = Callable[[Ranked], Ranked]
"""Returns a candidate with the score and the reasons that rules give it."""


@dataclass(frozen=True)
class Ranking:
    """The ranking of tools for one agent. Without rules about its tools, `prefer` is None."""

    preferences: Preferences = field(default_factory=Preferences)
    prefer: Prefer | None = None

    def rank(
        self,
        index: ToolIndex[Tool],
        query: str,
        limit: int = 10,
        *,
        among: Collection[ToolKey] | None = None,
        remembered: Remembered = NOTHING_REMEMBERED,
    ) -> list[Ranked]:
        """Return the best tools, best first, equals by their keys; only those `among`."""
        count = max(_CANDIDATES * limit, _MIN_CANDIDATES)
        hits = index.search(query, count, among=among, remembered=remembered)
        usable = self._usable(hits)
        if len(usable) < limit and len(hits) == count:  # many are blocked, so all are candidates
            hits = index.search(query, len(index), among=among, remembered=remembered)
            usable = self._usable(hits)
        by_trust = _order(replace(x, score=x.score * self._trust_in(x)) for x in usable)
        best = by_trust[0].tool if by_trust else None
        coverage = index.coverage(query, best.key, remembered) if best else 0.0
        ranked = _with_confidence(by_trust, coverage)[: max(limit, 0)]
        return [self._explain(index, query, x, remembered) for x in ranked]

    def _usable(self, hits: Iterable[Hit[Tool]]) -> list[Ranked]:
        usable = (x for x in hits if not self.preferences.is_blocked(x.tool.key))
        ranked = (Ranked(x.tool, x.score, 0.0, x.reasons) for x in usable)
        return list(ranked if self.prefer is None else map(self.prefer, ranked))

    def _trust_in(self, ranked: Ranked) -> float:
        return TRUST if self.preferences.is_trusted(ranked.tool.key) else 1.0

    def _explain(
        self, index: ToolIndex[Tool], query: str, ranked: Ranked, remembered: Remembered
    ) -> Ranked:
        """Add the reasons from its use for similar requests, and from trust."""
        reasons = [*ranked.reasons]
        uses = remembered.uses_like(ranked.tool.key, {*terms(query)}, index.rarity)
        if uses:
            often = "once" if uses == 1 else f"{uses:,} times"
            requests = "a similar request" if uses == 1 else "similar requests"
            reasons.append(f"used {often} for {requests}")
        if self._trust_in(ranked) > 1:
            reasons.append("trusted")
        return replace(ranked, reasons=tuple(reasons))


def _order(ranked: Iterable[Ranked]) -> list[Ranked]:
    return sorted(ranked, key=lambda x: (-x.score, x.tool.key))


def _with_confidence(ranked: Sequence[Ranked], coverage: float) -> list[Ranked]:
    best = max((x.score for x in ranked), default=0.0) or 1.0
    scores = [x.score / best for x in ranked]
    factor = max(min(coverage / _FULL_COVERAGE, 1.0), _MIN_FACTOR)
    return [
        replace(x, score=score, confidence=factor * _lead(score, scores[0 if n else 1 :]))
        for n, (x, score) in enumerate(zip(ranked, scores, strict=True))
    ]


def _lead(score: float, others: Sequence[float]) -> float:
    """Return 1 for a single candidate, 0.5 for two equal ones."""
    own, other = score**_LEAD_POWER, max(others, default=0.0) ** _LEAD_POWER
    return own / (own + other) if own else 0.0
