"""Which tool may come next after some calls: by the request, by what followed, by shapes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .flows import Flows

# Words say most; what followed before says as much as it was seen; shapes tell between equals.
_PLANNED, _WORDS, _FOLLOWED, _FLOW, _AGAIN = 0.7, 1.0, 2.2, 0.5, 0.35
_DOUBT = 2.0
_RECENT = 3  # calls whose results are looked at


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A tool that may come next. The best one has the score 1; `reasons` are words."""

    tool: Any
    name: str
    score: float
    reasons: tuple[str, ...]


@dataclass(slots=True)
class _Scored:
    score: float = 0.0
    reasons: list[str] = field(default_factory=list[str])


class Suggester:
    """Suggests the next tool after some calls."""

    def __init__(self, flows: Flows, called: Sequence[Any]) -> None:
        self._flows, self._called = flows, called
        self._found: dict[Any, _Scored] = {}

    def by_words(self, scored: Iterable[tuple[Any, float]]) -> None:
        """Count what a request says."""
        listed = list(scored)
        for key, score in listed:
            self._count(key, _WORDS * score / listed[0][1], "fits the request")

    def by_plan(self, planned: Sequence[Any]) -> None:
        """Count a plan for the request: what it has next, first."""
        left = [x for x in dict.fromkeys(planned) if x not in self._called]
        for place, key in enumerate(left):
            self._count(key, _PLANNED / (1 + 0.2 * place), "is in the plan for the request")

    def by_history(self, followed: Mapping[Any, int]) -> None:
        """Count what followed the last call before, and how often."""
        times = sum(followed.values())
        for key, n in followed.items():
            reason = f"followed it {n} of {times} times"
            self._count(key, _FOLLOWED * n / (times + _DOUBT), reason, may_repeat=True)

    def by_flow(self) -> None:
        """Count what takes something that the last calls give."""
        for key in dict.fromkeys(reversed(self._called[-_RECENT:])):
            producer = self._flows.ports(key)
            for flow in self._flows.consumers(producer):
                what = flow.field or "result"
                self._count(
                    flow.consumer, _FLOW * flow.score,
                    f"takes the {what!r} of {producer.name} as {flow.parameter!r}",
                )  # fmt: skip

    def best(self, limit: int) -> list[Suggestion]:
        """The best of all, each with its reasons."""
        scores = {key: x.score for key, x in self._found.items()}
        ordered = sorted(scores, key=lambda x: (-scores[x], str(x)))[: max(limit, 0)]
        most = scores[ordered[0]] if ordered else 1.0
        return [
            Suggestion(
                key, self._flows.ports(key).name, scores[key] / most,
                tuple(dict.fromkeys(self._found[key].reasons)),
            )
            for key in ordered
        ]  # fmt: skip

    def _count(self, key: Any, score: float, reason: str, *, may_repeat: bool = False) -> None:
        if key in self._called and not may_repeat:
            score *= _AGAIN
        if key in self._flows and score > 0:
            one = self._found.setdefault(key, _Scored())
            one.score += score
            one.reasons.append(reason)
