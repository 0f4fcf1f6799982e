"""One tool call on its way through the pipeline: its caller, host and time limit."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias, TypeVar

from .approval import ApprovalAnswer, ApprovalRequest, Ruling, RunApprovals, RunFacts
from .errors import BadSetting
from .json import JsonObject
from .questions import Answer, Question, SamplingRefused, SamplingReply, SamplingRequest
from .results import OnProgress
from .tools import Tool

_SHORTEST_SECONDS = 0.1  # enough to send a request at all
_ASKS = frozenset(("elicitation", "sampling", "roots"))
_Limit = TypeVar("_Limit", float, float | None)


def remaining_seconds(limit: _Limit, spent_seconds: float) -> _Limit:
    """Return the rest of a call's limit, or None without a limit."""
    return limit if limit is None else max(limit - spent_seconds, _SHORTEST_SECONDS)


def check_limit(seconds: float | None) -> float | None:
    """Return the limit that a program passed, after checking it.

    Raises:
        BadSetting: it is not a number above 0.
    """
    is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if seconds is None or (is_number and 0 < seconds < math.inf):
        return seconds
    raise BadSetting(f"`timeout_seconds` is {seconds!r}. Give a number above 0, or None.")


NO_APPROVER = "no person is present"
NO_MODEL = "no agent makes this call, so there is no model to ask"


class Host(Protocol):
    """Answers questions of servers. Used on the bridge's event loop."""

    @property
    def why_nobody(self) -> str:
        """Why this host declines everything; empty if it can ask somebody."""
        ...

    async def answer(self, question: Question) -> Answer:
        """Get an answer to a question from a person or a program. Must not raise."""
        ...

    async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:
        """Ask whether a call may be made. Must not raise."""
        ...

    async def sample(self, request: SamplingRequest) -> SamplingReply:
        """Get a model's reply to a conversation.

        Raises:
            SamplingRefused: no model is asked; the message says why.
        """
        ...


Sampler: TypeAlias = Callable[[SamplingRequest], Awaitable[SamplingReply]]


class Nobody:
    """A host that declines everything; `reason` says why and what to do."""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    @property
    def why_nobody(self) -> str:
        """The reason."""
        return self._reason

    async def answer(self, question: Question) -> Answer:
        """Decline the question."""
        return Answer.declined(self._reason)

    async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:
        """Refuse the call."""
        return ApprovalAnswer.nobody(NO_APPROVER)

    async def sample(self, request: SamplingRequest) -> SamplingReply:
        """Raise SamplingRefused."""
        raise SamplingRefused(NO_MODEL)


CallerKind: TypeAlias = Literal["agent", "person", "program", "gateway"]
DefinitionLock: TypeAlias = bool | Literal["first"]
"""Whether a source must match its accepted definitions; `first` accepts its first listing."""


@dataclass(frozen=True, slots=True)
class FarClient:
    """Client of another program that calls through the gateway.

    `id` is the same for all its calls. `is_modern` means it speaks 2026-07-28, otherwise a protocol
    with a handshake. `capabilities` are as it declared them. `respond` sends it the requests of an
    input-required result as the server sent them, by key, and returns its responses; None if it
    cannot be asked that way. `log` receives log messages of the server during the call, as sent.
    """

    id: str
    is_modern: bool
    capabilities: JsonObject
    respond: Callable[[JsonObject], Awaitable[JsonObject]] | None = None
    log: Callable[[JsonObject], None] | None = None

    @property
    def can_be_asked(self) -> bool:
        """Whether a server may send it a request in the middle of a call."""
        return not _ASKS.isdisjoint(self.capabilities)


@dataclass(frozen=True, slots=True)
class Caller:
    """Caller of a tool: `name` is the agent's name, `run` the id of the agent's or node's run.

    `workflow` and `node` are its place on the canvas.

    `host` answers questions of servers during the call; None means the bridge's own host.
    `sampler` lends servers the model of the agent; without it the host is asked for one. With
    `locks` all its sources must match the accepted definitions, whatever the settings say.
    `approval` maps patterns of tools to words, see `settings.approval`; `approvals` are a person's
    approvals for this run, and `facts` the earlier calls of the run. `far` is set for callers of
    the gateway. Decisions, rules and approvals apply to callers that are `is_governed`: agents and
    clients of the gateway. A person or a program that calls directly needs no such guard.
    """

    kind: CallerKind
    name: str = ""
    toolbelt: str = ""
    run: str = ""
    host: Host | None = field(default=None, compare=False)
    sampler: Sampler | None = field(default=None, compare=False)
    locks: DefinitionLock = False
    approval: Mapping[str, str] = field(default_factory=dict[str, str], compare=False)
    approvals: RunApprovals = field(default_factory=RunApprovals, compare=False)
    facts: RunFacts = field(default_factory=RunFacts, compare=False)
    workflow: str = ""
    node: str = ""
    far: FarClient | None = field(default=None, compare=False)
    is_governed: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "is_governed", self.kind in ("agent", "gateway"))


PROGRAM = Caller("program")
NO_RULING = Ruling()


@dataclass(frozen=True, slots=True)
class ToolInvocation:
    """A call of `tool`, in the definition that its caller has read.

    `shown_name` is the caller's name for the tool, if it differs from the tool's own.
    `timeout_seconds` includes connecting; None means the source's own limit. `meta` is for programs
    at the server. `check` runs right before anything is sent, also over a new connection; an error
    from it ends the call. `ruling` is the decision of the rules. `call_id` is the model's.
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
        """The caller's name for the tool."""
        return self.shown_name or self.tool.name
