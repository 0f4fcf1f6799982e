"""A run of a plan as a file: another process goes on with it, and with what somebody answered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..agent.run_file import WaitingRun, answered
from ..agent.signed_file import RunFileError, Stamp, place_of, read_signed, write_signed
from ..core.approval import ApprovalScope, AwaitedCall
from ..planning.plan_run import PlanRun

_PLAN = "plan_run"


@dataclass(frozen=True, slots=True)
class WaitingPlan:
    """The run of a plan, as its `file` has it.

    Give the call that waits its answer with `answered`, and `write`; who runs the plan again with
    this file goes on.
    """

    file: Path
    run: PlanRun
    stamp: Stamp = field(default_factory=Stamp, compare=False, repr=False)

    @property
    def agent(self) -> str:
        """In whose name its calls are made."""
        return str(self.run.context.get("agent", ""))

    @property
    def calls(self) -> tuple[AwaitedCall, ...]:
        """The call that somebody has to approve, if one waits."""
        return () if self.run.awaiting is None else (self.run.awaiting,)

    def answered(
        self, number: int, answer: ApprovalScope, *, by: str = "the program", reason: str = ""
    ) -> WaitingPlan:
        """With an answer to the call that waits, which is the first: once, run, always or no.

        Raises:
            BadSetting: there is no such call, or no such answer.
        """
        calls = answered(dict(enumerate(self.calls)), number, answer, by=by, reason=reason)
        return replace(self, run=replace(self.run, awaiting=calls[0]))

    def write(self, mask: Callable[[str], str] = str) -> None:
        """Put it in the place of the file, readable by this user only.

        Nothing in it is hidden: what was given and found is needed to make the other calls.

        Raises:
            RunFileError: it cannot be written, or the run has gone on since it was read.
        """
        write_signed(self.file, {_PLAN: self.run.to_json()}, self.stamp)

    @staticmethod
    def read(file: str | Path) -> WaitingPlan:
        """The run that this file has.

        Raises:
            RunFileError: there is none, it is not one that this user's runs wrote, or it is an
                older copy of a run that has gone on since.
        """
        path = place_of(file)
        found, stamp = read_signed(path)
        if _PLAN not in found:
            raise RunFileError(f"In {path} waits a run of an agent, and none of a plan.")
        try:
            return WaitingPlan(path, PlanRun.from_json(found[_PLAN]), stamp)
        except (KeyError, TypeError, ValueError, AttributeError) as cause:
            raise RunFileError(
                f"{path} was written by another version of xai-mcp-agent: {cause!r}. Go on with it "
                "there, or delete it, and the plan begins anew."
            ) from cause


def read_waiting(file: str | Path) -> WaitingRun | WaitingPlan:
    """The run that this file has, of an agent or of a plan.

    Raises:
        RunFileError: there is none, or it is not one that this user's runs wrote.
    """
    is_plan = _PLAN in read_signed(place_of(file))[0]
    return WaitingPlan.read(file) if is_plan else WaitingRun.read(file)
