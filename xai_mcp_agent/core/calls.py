"""One tool call on its way through the pipeline: who makes it, who answers, its time limit."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias, TypeVar

from .approval import ApprovalAnswer, ApprovalRequest, Ruling, RunApprovals, RunFacts
from .errors import BadSetting
from .json import JsonObject
from .questions import Answer, Question, SamplingRefused, SamplingReply, SamplingRequest
from .results import OnProgress
from .tools import Tool

_SHORTEST_SECONDS = 0.1  # enough to ask at all
_Limit = TypeVar("_Limit", float, float | None)


def left_of(limit: _Limit, spent_seconds: float) -> _Limit:
    """What is left of a call's limit; without one there is none."""
    return limit if limit is None else max(limit - spent_seconds, _SHORTEST_SECONDS)


def checked_limit(seconds: float | None) -> float | None:
    """A limit as a program gives it.

    Raises:
        BadSetting: it is no number above 0.
    """
    is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if seconds is None or (is_number and 0 < seconds < math.inf):
        return seconds
    raise BadSetting(f"`timeout_seconds` is {seconds!r}. Give a number above 0, or None.")


NO_APPROVER = "nobody sits in front of it"
NO_MODEL = "no agent makes this call, so there is no model to ask"


class Host(Protocol):
    """Answers what servers ask. Used on the bridge's event loop."""

    @property
    def why_nobody(self) -> str:
        """Why there is nobody to be asked, so that all is declined; empty if there is somebody."""
        ...

    async def answer(self, question: Question) -> Answer:
        """Have a question answered, by a person or a program. Must not raise."""
        ...

    async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:
        """Have somebody say whether a call may be made. Must not raise."""
        ...

    async def sample(self, request: SamplingRequest) -> SamplingReply:
        """Have a model go on with a conversation.

        Raises:
            SamplingRefused: no model is asked, and why.
        """
        ...


class Nobody:
    """A host with nobody behind it; `reason` says so and what to do."""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    @property
    def why_nobody(self) -> str:
        """The reason."""
        return self._reason

    async def answer(self, question: Question) -> Answer:
        """Decline."""
        return Answer.declined(self._reason)

    async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:
        """Approve nothing."""
        return ApprovalAnswer.nobody(NO_APPROVER)

    async def sample(self, request: SamplingRequest) -> SamplingReply:
        """Refuse."""
        raise SamplingRefused(NO_MODEL)


CallerKind: TypeAlias = Literal["agent", "person", "program", "gateway"]
DefinitionLock: TypeAlias = bool | Literal["first"]
"""Whether a source is held to what was accepted of it; `first` accepts its first listing."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who makes a call. `name` is that of the agent, `run` the id of the agent's or the node's run.

    `workflow` and `node` say where on the canvas it is made.

    `host` answers what a server asks meanwhile; None: the bridge's own does. With `locks` all
    sources that it uses are held to what was accepted, also where the settings do not want that.
    `approval` has words for patterns of tools, see `settings.approval`; `approvals` is what a
    person approved meanwhile, `facts` what happened in the run.
    """

    kind: CallerKind
    name: str = ""
    toolbelt: str = ""
    run: str = ""
    host: Host | None = field(default=None, compare=False)
    locks: DefinitionLock = False
    approval: Mapping[str, str] = field(default_factory=dict[str, str], compare=False)
    approvals: RunApprovals = field(default_factory=RunApprovals, compare=False)
    facts: RunFacts = field(default_factory=RunFacts, compare=False)
    workflow: str = ""
    node: str = ""


PROGRAM = Caller("program")
NO_RULING = Ruling()


@dataclass(frozen=True, slots=True)
class ToolInvocation:
    """A call of `tool`, as whoever calls it has read of it.

    `shown_name` is what the caller calls the tool, if that is not its own name. `timeout_seconds`
    covers connecting too; None: the source's own limit. `meta` goes along for programs at the far
    side. `check` is called right before anything is sent, also over a new connection; what it
    raises ends the call. `ruling` is what rules say of it. `call_id` is that of the model's call.
    """

    tool: Tool
    arguments: JsonObject
    caller: Caller = PROGRAM
    shown_name: str = ""
    timeout_seconds: float | None = None
    on_progress: OnProgress | None = None
    meta: JsonObject | None = None
    check: Callable[[], None] | None = None
    ruling: Ruling = NO_RULING
    call_id: str = ""

    @property
    def name(self) -> str:
        """What the caller calls the tool."""
        return self.shown_name or self.tool.name
