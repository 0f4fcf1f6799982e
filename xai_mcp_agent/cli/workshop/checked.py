"""What came of checking a lesson."""

from __future__ import annotations

from dataclasses import dataclass

from ...canvas.lessons.goals import Judged


@dataclass(frozen=True)
class Problem:
    """Why a run did not come to its end: a sentence for a learner, and the original last lines."""

    sentence: str
    lines: tuple[str, ...] = ()


@dataclass(frozen=True)
class Checked:
    """A lesson that was checked. `notes` tell which file it was; `output` is what it printed.

    It was not run where nothing of it was changed, neither by the learner (`is_untouched`) nor
    since it was checked (`is_from_before`). `is_passing`: it may come out otherwise next time.
    """

    folder: str
    lesson: str
    workflow: str | None
    goals: tuple[Judged, ...]
    problem: Problem | None = None
    notes: tuple[str, ...] = ()
    output: str | None = None
    seconds: float = 0.0
    is_untouched: bool = False
    is_from_before: bool = False
    is_passing: bool = False

    @property
    def met_count(self) -> int:
        """How many goals are met."""
        return sum(x.is_met for x in self.goals)

    @property
    def is_done(self) -> bool:
        """Whether all are."""
        return self.met_count == len(self.goals)
