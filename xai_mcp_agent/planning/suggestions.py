"""The next tool after some calls: by the request, the history and the shapes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .flows import Flows

# Words count most; earlier sequences count by their number; shapes break ties.
_PLANNED, _WORDS, _FOLLOWED, _FLOW, _AGAIN = 0.7, 1.0, 2.2, 0.5, 0.35
_DOUBT = 2.0
_RECENT = 3  # last calls whose results count


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Tool that may come next. The best one has the score 1; `reasons` are in words."""

    tool: Any
    name: str
    score: float
    reasons: tuple[str, ...]


@dataclass(slots=True)
class _Scored:
    score: float = 0.0
    reasons: list[str] = field(default_factory=list[str])


class Suggester:
    """Collects scores for the next tool after some calls."""

    def __init__(self, flows: Flows, called: Sequence[Any]) -> None:
        self._flows, self._called = flows, called
        self._scores: dict[Any, _Scored] = {}

    def by_words(self, scored: Iterable[tuple[Any, float]]) -> None:
        """Add the ranking by the words of a request."""
        scores = list(scored)
        for key, score in scores:
            self._count(key, _WORDS * score / scores[0][1], "fits the request")

    def by_plan(self, planned: Sequence[Any]) -> None:
        """Add a plan for the request: its next calls first."""
        remaining = [x for x in dict.fromkeys(planned) if x not in self._called]
        for place, key in enumerate(remaining):
            self._count(key, _PLANNED / (1 + 0.2 * place), "is in the plan for the request")

    def by_history(self, followed: Mapping[Any, int]) -> None:
        """Add the tools that have followed the last call before, and how often."""
        times = sum(followed.values())
        for key, n in followed.items():
            reason = f"followed it {n} of {times} times"
            self._count(key, _FOLLOWED * n / (times + _DOUBT), reason, may_repeat=True)

    def by_flow(self) -> None:
        """Add tools that take an argument from the last results."""
        for key in dict.fromkeys(reversed(self._called[-_RECENT:])):
            producer = self._flows.ports(key)
            for flow in self._flows.consumers(producer):
                output = flow.field or "result"
                self._count(
                    flow.consumer, _FLOW * flow.score,
                    f"takes the {output!r} of {producer.name} as {flow.parameter!r}",
                )  # fmt: skip

    def best(self, limit: int) -> list[Suggestion]:
        """Return the best tools, each with its reasons."""
        scores = {key: x.score for key, x in self._scores.items()}
        ordered = sorted(scores, key=lambda x: (-scores[x], str(x)))[: max(limit, 0)]
        most = scores[ordered[0]] if ordered else 1.0
        return [
            Suggestion(
                key, self._flows.ports(key).name, scores[key] / most,
                tuple(dict.fromkeys(self._scores[key].reasons)),
            )
            for key in ordered
        ]  # fmt: skip

    def _count(self, key: Any, score: float, reason: str, *, may_repeat: bool = False) -> None:
        if key in self._called and not may_repeat:
            score *= _AGAIN
        if key in self._flows and score > 0:
            one = self._scores.setdefault(key, _Scored())
            one.score += score
            one.reasons.append(reason)
