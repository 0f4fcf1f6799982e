"""A run that waits for approvals, as a file: another process goes on with it, with the answers.

See `signed_file` for how it is kept.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..core.approval import ApprovalAnswer, ApprovalScope, AwaitedCall, RunFacts, scope_of
from ..core.errors import BadSetting
from ..core.json import JsonObject
from ..core.tools import ToolKey
from ..secrets.redactor import redact_json
from .conversation import BadConversation
from .signed_file import RunFileError, Stamp, place_of, read_signed, write_signed
from .state import RunState

_HIDDEN = ("given", "said", "thought", "thinking", "kept", "made")
"""What of a state may quote secrets, and is not needed to make a call."""

Granted = tuple[tuple[ToolKey, str], ...]
"""Tools that were approved for the length of the run, with the digests of what was shown."""


@dataclass(frozen=True, slots=True)
class WaitingRun:
    """A run of `agent` that waits, as its `file` has it; `calls` are what it waits for.

    `asked` is the digest of the conversation that it was given, `facts` are what rules ask of the
    run. Give each call its answer with `answered`, and `write`; the workflow that is run again goes
    on with it.
    """

    file: Path
    agent: str
    asked: str
    state: RunState
    granted: Granted = ()
    facts: RunFacts = field(default_factory=RunFacts)
    stamp: Stamp = field(default_factory=Stamp, compare=False, repr=False)

    @property
    def calls(self) -> tuple[AwaitedCall, ...]:
        """What somebody has to approve, in order; each with its answer, once there is one."""
        return tuple(self.state.awaiting[x] for x in sorted(self.state.awaiting))

    def answered(
        self, number: int, answer: ApprovalScope, *, by: str = "the program", reason: str = ""
    ) -> WaitingRun:
        """With an answer to one of the calls, counted from 1: once, run, always or no.

        Raises:
            BadSetting: there is no such call, or no such answer.
        """
        awaiting = answered(self.state.awaiting, number, answer, by=by, reason=reason)
        return replace(self, state=replace(self.state, awaiting=awaiting))

    def write(self, mask: Callable[[str], str] = str) -> None:
        """Put it in the place of the file, readable by this user only.

        `mask` hides secrets in what was said. The arguments of calls stay as they are: they are
        needed to make them.

        Raises:
            RunFileError: it cannot be written, or the run has gone on since it was read.
        """
        run: JsonObject = {
            "agent": self.agent,
            "asked": self.asked,
            "granted": [[x.kind, x.source, x.name, digest] for x, digest in self.granted],
            "facts": self.facts.to_json(),
            "state": _masked(self.state.to_json(), mask),
        }
        write_signed(self.file, run, self.stamp)

    @staticmethod
    def read(file: str | Path) -> WaitingRun:
        """The run that this file has.

        Raises:
            RunFileError: there is none, it is not one that this user's runs wrote, or it is an
                older copy of a run that has gone on since.
        """
        path = place_of(file)
        run, stamp = read_signed(path)
        try:
            granted = tuple((ToolKey(*key), digest) for *key, digest in run["granted"])
            state, facts = RunState.from_json(run["state"]), RunFacts.from_json(run["facts"])
            return WaitingRun(path, run["agent"], run["asked"], state, granted, facts, stamp)
        except (KeyError, TypeError, ValueError, AttributeError, BadConversation) as cause:
            raise RunFileError(
                f"{path} was written by another version of xai-mcp-agent: {cause!r}. Go on with it "
                "there, or delete it, and the run begins anew."
            ) from cause


def answered(
    awaiting: Mapping[int, AwaitedCall],
    number: int,
    answer: ApprovalScope,
    *,
    by: str = "the program",
    reason: str = "",
) -> dict[int, AwaitedCall]:
    """Calls that wait, by their places, with an answer to one of them, counted from 1.

    Raises:
        BadSetting: there is no such call, or no such answer.
    """
    places = sorted(awaiting)
    scope = scope_of(answer)
    if scope is None or not 1 <= number <= len(places):
        raise BadSetting(
            f"There is no call {number} with an answer {answer!r}. The calls are 1 to "
            f"{len(places)}; answers are once, run, always, no."
        )
    place = places[number - 1]
    call = replace(awaiting[place], answer=ApprovalAnswer(scope, reason, by=by))
    return {**awaiting, place: call}


def _masked(state: JsonObject, mask: Callable[[str], str]) -> JsonObject:
    hidden = {x: json.loads(redact_json(json.dumps(state[x], default=str), mask)) for x in _HIDDEN}
    return {**state, **hidden}
