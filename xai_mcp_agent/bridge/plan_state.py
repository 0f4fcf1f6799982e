"""The run of a plan in a file, so that another process can go on with it."""

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

    Answer the call that waits with `answered`, and `write`; running the plan again with this file
    goes on.
    """

    file: Path
    run: PlanRun
    stamp: Stamp = field(default_factory=Stamp, compare=False, repr=False)

    @property
    def agent(self) -> str:
        """The name of the agent that makes its calls."""
        return str(self.run.context.get("agent", ""))

    @property
    def calls(self) -> tuple[AwaitedCall, ...]:
        """The call that waits to be approved, if there is one."""
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
        """Replace the file, readable by this user only.

        Nothing in it is masked: the other calls need the arguments and results.

        Raises:
            RunFileError: it cannot be written, or the run has gone on since it was read.
        """
        write_signed(self.file, {_PLAN: self.run.to_json()}, self.stamp)

    @staticmethod
    def read(file: str | Path) -> WaitingPlan:
        """Read the run of a file.

        Raises:
            RunFileError: there is none, no run of this user wrote it, or it is an older copy of a
                run that has gone on since.
        """
        path = place_of(file)
        content, stamp = read_signed(path)
        if _PLAN not in content:
            raise RunFileError(f"{path} holds the run of an agent, not of a plan.")
        try:
            return WaitingPlan(path, PlanRun.from_json(content[_PLAN]), stamp)
        except (KeyError, TypeError, ValueError, AttributeError) as cause:
            raise RunFileError(
                f"{path} was written by another version of xai-mcp-agent: {cause!r}. Go on with it "
                "there, or delete it, and the plan begins anew."
            ) from cause


def read_waiting(file: str | Path) -> WaitingRun | WaitingPlan:
    """Read the run of a file, of an agent or of a plan.

    Raises:
        RunFileError: there is none, or no run of this user wrote it.
    """
    is_plan = _PLAN in read_signed(place_of(file))[0]
    return WaitingPlan.read(file) if is_plan else WaitingRun.read(file)
