"""Answers to a person's questions: what comes next, what is wired wrongly, why this tool."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..core.approval import Ruling
from ..core.tools import ToolKey

if TYPE_CHECKING:
    from ..search.found import FoundTool
    from .plan import Plan, PlannedCall, Source
    from .suggestions import Suggestion
    from .wires import WireProblem


@dataclass(frozen=True, slots=True)
class Suggested:
    """Tools that may come next, the best first; and the servers that cannot be used, and why."""

    tools: Sequence[Suggestion]
    failed: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class NamedCall:
    """A call to be checked, of a tool by its names; without a `source` nothing is known of it.

    The calls in its `arguments` are places in the list of all; see `WiredCall`.
    """

    source: str
    tool: str
    arguments: Mapping[str, Source | None]
    is_open: bool = False
    problem: str = ""


def named_calls(plan: Plan) -> list[NamedCall]:
    """The calls of a plan, to be checked.

    Raises:
        BadPlan: one of them does not say whose tool it is.
    """
    from .plan import tool_of

    return [NamedCall(*tool_of(x), x.arguments) for x in plan.calls]


@dataclass(frozen=True, slots=True)
class CheckedCalls:
    """What is wrong with calls, and how many were checked, of how many."""

    problems: Sequence[WireProblem]
    checked: int
    of: int


@dataclass(frozen=True, slots=True)
class ExplainedChoice:
    """Why a tool is chosen for a request, or is not.

    `place` is that in a search, from 1 on, or 0 if it is not found; `ahead` are those before it.
    `step` is that of the plan, from 1 on, or 0. `barred` says why it cannot be chosen at all.
    """

    key: ToolKey
    request: str
    place: int
    found: FoundTool | None
    ahead: Sequence[FoundTool]
    step: int
    call: PlannedCall | None
    steps: Sequence[str]
    ruling: Ruling
    barred: Sequence[str]

    @property
    def is_chosen(self) -> bool:
        """Whether a search gives it first, or a plan has it."""
        return not self.barred and (self.place == 1 or self.step > 0)
