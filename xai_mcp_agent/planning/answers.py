"""Answers about plans: tools that may come next, wrong wires, why a tool is chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..core.approval import Ruling
from ..core.tools import ToolKey
from .plan import Plan, PlannedCall, Source, tool_of

if TYPE_CHECKING:
    from ..search.results import FoundTool
    from .suggestions import Suggestion
    from .wires import WireProblem


@dataclass(frozen=True, slots=True)
class SuggestedTools:
    """Tools that may come next, the best first, and why servers could not be used."""

    tools: Sequence[Suggestion]
    failed: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class CallToCheck:
    """Call to check, with its tool's names; without a `source` the tool is unknown.

    Calls in its `arguments` are positions in the whole list; see `WiredCall`.
    """

    source: str
    tool: str
    arguments: Mapping[str, Source | None]
    is_open: bool = False
    problem: str = ""


def calls_to_check(plan: Plan) -> list[CallToCheck]:
    """Return the calls of a plan to check.

    Raises:
        BadPlan: a call does not name its server.
    """
    return [CallToCheck(*tool_of(x), x.arguments) for x in plan.calls]


@dataclass(frozen=True, slots=True)
class WireReport:
    """Problems of calls, the number of `checked` calls, and `of` how many."""

    problems: Sequence[WireProblem]
    checked: int
    of: int


@dataclass(frozen=True, slots=True)
class ExplainedChoice:
    """Why a tool is chosen for a request, or is not.

    `place` is its rank in a search from 1, or 0 without a match; `ahead` are the tools before it.
    `step` is its step in the plan from 1, or 0. `barred` are reasons why it can never be chosen.
    """

    key: ToolKey
    request: str
    place: int
    match: FoundTool | None
    ahead: Sequence[FoundTool]
    step: int
    call: PlannedCall | None
    steps: Sequence[str]
    ruling: Ruling
    barred: Sequence[str]

    @property
    def is_chosen(self) -> bool:
        """Return whether a search ranks it first, or a plan contains it."""
        return not self.barred and (self.place == 1 or self.step > 0)
