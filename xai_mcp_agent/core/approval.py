"""Approvals of calls: requests to a person, their answers, and rulings of the rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Literal, TypeAlias

from .errors import XaiMcpError
from .json import JsonObject
from .questions import ANSWER_SECONDS
from .tools import ToolAnnotations, ToolKey

if TYPE_CHECKING:
    import anyio
    from pydantic import TypeAdapter

ApprovalScope: TypeAlias = Literal["once", "run", "always", "no"]
"""once: this call. run: this tool until the run ends. always: never ask again. no: refused."""

SCOPES: tuple[ApprovalScope, ...] = ("once", "run", "always", "no")


def scope_of(word: object) -> ApprovalScope | None:
    """Return the scope that this word names, or None for any other word."""
    return next((scope for scope in SCOPES if scope == word), None)


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """A call that waits for a person: `tool` of `server` (empty for a drawn tool).

    `arguments` are complete, with secrets hidden. `description` and `annotations` come from the
    server and are not to be trusted. `agent` wants to make the call, `reason` says why the person
    is asked. After `limit_seconds` the answer is no.
    """

    server: str
    tool: str
    arguments: JsonObject
    description: str = ""
    annotations: ToolAnnotations = field(default_factory=ToolAnnotations)
    agent: str = ""
    reason: str = ""
    limit_seconds: float = ANSWER_SECONDS

    @property
    def title(self) -> str:
        """One line that names the call."""
        return f"{self.agent or 'An agent'} wants to call {self.full_name}"

    @property
    def full_name(self) -> str:
        """The tool and its server."""
        return f"{self.tool} of {self.server}" if self.server else self.tool


@dataclass(frozen=True, slots=True)
class ApprovalAnswer:
    """A person's answer. `run` and `always` apply to this definition, with any arguments.

    `reason` says why the answer is no. `was_asked` is False if no person was there. `by` says who
    answered, and where.
    """

    scope: ApprovalScope
    reason: str = ""
    was_asked: bool = True
    by: str = ""

    @staticmethod
    def no(reason: str, by: str = "") -> ApprovalAnswer:
        """Return a refusal."""
        return ApprovalAnswer("no", reason, by=by)

    @staticmethod
    def nobody(reason: str) -> ApprovalAnswer:
        """Return a refusal because no person is there to ask."""
        return ApprovalAnswer("no", reason, was_asked=False)


def approval_too_late(request: ApprovalRequest) -> ApprovalAnswer:
    """Return the refusal for a request that timed out."""
    return ApprovalAnswer.no(f"nobody answered within {request.limit_seconds:g} s")


Approver: TypeAlias = Callable[[ApprovalRequest], ApprovalAnswer | ApprovalScope]
"""Decides whether a call may be made. It runs in a thread of its own, so it may block."""


@dataclass(frozen=True, slots=True)
class AwaitedCall:
    """A call that waits for an approval, with the `answer` once there is one.

    `definition` is the digest of the tool in `request`; `arguments` is the digest of the arguments
    as sent, secrets included.
    """

    request: ApprovalRequest
    key: ToolKey
    definition: str
    arguments: str
    answer: ApprovalAnswer | None = None

    def decides(self, call: AwaitedCall) -> bool:
        """Return whether the answer covers this call; a no also covers a changed definition."""
        if self.answer is None or (self.key, self.arguments) != (call.key, call.arguments):
            return False
        return self.answer.scope == "no" or self.definition == call.definition


class ApprovalAwaited(XaiMcpError):
    """The call was not made and nothing was sent: its run waits until a person approves it."""

    def __init__(self, call: AwaitedCall) -> None:
        super().__init__(f"{call.request.title}, which waits for an approval. Nothing was sent.")
        self.call = call


@dataclass(slots=True)
class RunApprovals:
    """Approvals of a run: tools, each with the digest that the person saw.

    The agents of a run may share `granted`. `answers` come from before the run was resumed.
    With `waits` the run can end and be resumed: the call raises `ApprovalAwaited` if no person is
    there, or always with `asks_nobody`.
    """

    granted: set[tuple[ToolKey, str]] = field(default_factory=set[tuple[ToolKey, str]])
    answers: list[AwaitedCall] = field(default_factory=list[AwaitedCall])
    waits: bool = False
    asks_nobody: bool = False
    _asking: anyio.Lock | None = None

    def take(self, call: AwaitedCall) -> ApprovalAnswer | None:
        """Take the earlier answer to this call; each answer counts once."""
        match = next((x for x in self.answers if x.decides(call)), None)
        if match is None:
            return None
        self.answers.remove(match)
        return match.answer

    @property
    def asking(self) -> anyio.Lock:
        """Lock that keeps a run to one approval request at a time."""
        if self._asking is None:
            import anyio  # here because reading settings loads this module

            self._asking = anyio.Lock()
        return self._asking


RuleWord: TypeAlias = Literal["", "allow", "ask", "deny"]
"""Empty: no rule applies."""


@dataclass(frozen=True, slots=True)
class Ruling:
    """Decision of the strongest rule about a call, and the reason in words.

    `words` are the words that rules set for the call. `limits` are the rules that count it.
    `prefer` moves a tool in rankings. `perhaps` are rules that may deny the call or ask for
    approval, depending on facts that are not available yet, such as its arguments.
    """

    word: RuleWord = ""
    rule: str = ""
    why: str = ""
    words: frozenset[str] = frozenset()
    limits: tuple[str, ...] = ()
    prefer: float = 0.0
    preferred_by: tuple[str, ...] = ()
    perhaps: tuple[Ruling, ...] = ()


@dataclass(slots=True)
class RunFacts:
    """Facts of one run that rules test: the called tools, never their results.

    `was` are the words that rules set for calls that were sent; `counted` maps each limit to its
    number of calls.
    """

    succeeded: set[ToolKey] = field(default_factory=set[ToolKey])
    failed: set[ToolKey] = field(default_factory=set[ToolKey])
    was: set[str] = field(default_factory=set[str])
    counted: Counter[str] = field(default_factory=Counter[str])

    def record_call(self, tool: ToolKey, words: Iterable[str], *, is_error: bool) -> None:
        """Record a call that was made."""
        (self.failed if is_error else self.succeeded).add(tool)
        self.was.update(words)

    def to_json(self) -> JsonObject:
        """Return the facts as JSON, for `from_json`."""
        return _facts_adapter().dump_python(self, mode="json")

    @staticmethod
    def from_json(value: JsonObject) -> RunFacts:
        """Read the facts that `to_json` returned.

        Raises:
            ValueError: the value is something else.
        """
        return _facts_adapter().validate_python(value)

    def merge(self, before: RunFacts) -> None:
        """Add the facts from before the run was resumed; of two counts, keep the higher one."""
        self.succeeded |= before.succeeded
        self.failed |= before.failed
        self.was |= before.was
        self.counted |= before.counted


@cache
def _facts_adapter() -> TypeAdapter[RunFacts]:
    # Imported here because few runs are read from a file.
    from pydantic import TypeAdapter

    return TypeAdapter(RunFacts)
