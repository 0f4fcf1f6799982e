"""Whether a person approves a call: what they are shown, and what they say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from .elicitation import ANSWER_SECONDS
from .tools import JsonObject, ToolAnnotations, ToolKey

if TYPE_CHECKING:
    import anyio

ApprovalScope: TypeAlias = Literal["once", "run", "always", "no"]
"""once: this call. run: this tool until the run ends. always: it is not asked again. no: none."""

SCOPES: tuple[ApprovalScope, ...] = ("once", "run", "always", "no")


_BY_WORD: dict[str, ApprovalScope] = {
    "once": "once", "run": "run", "always": "always", "no": "no",
}  # fmt: skip


def scope_of(word: object) -> ApprovalScope | None:
    """The scope that is said by this word; None if it is none of them."""
    return _BY_WORD.get(word) if isinstance(word, str) else None


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """A call that waits for a person: `tool` of `server`, which is empty for a drawn tool.

    `arguments` are all of them; secrets in them are hidden. `description` and `annotations` are
    what the server says of the tool: its own words, not to be trusted. `agent` wants to make the
    call, `reason` says why it is asked for. After `limit_seconds` the answer is no.
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
        """What is to be called, in a line."""
        whose = f" of {self.server}" if self.server else ""
        return f"{self.agent or 'An agent'} wants to call {self.tool}{whose}"


@dataclass(frozen=True, slots=True)
class ApprovalAnswer:
    """What was said. `run` and `always` hold for the tool as it was shown, with any arguments.

    `reason` is why it is no. Not `was_asked`: nobody was there.
    """

    scope: ApprovalScope
    reason: str = ""
    was_asked: bool = True

    @staticmethod
    def no(reason: str) -> ApprovalAnswer:
        """It is not to be called."""
        return ApprovalAnswer("no", reason)

    @staticmethod
    def nobody(reason: str) -> ApprovalAnswer:
        """There is nobody who could say anything."""
        return ApprovalAnswer("no", reason, was_asked=False)


def approval_too_late(request: ApprovalRequest) -> ApprovalAnswer:
    """What a request comes to whose time is over."""
    return ApprovalAnswer.no(f"nobody answered within {request.limit_seconds:g} s")


Approver: TypeAlias = Callable[[ApprovalRequest], ApprovalAnswer | ApprovalScope]
"""Says whether a call may be made. Called in a thread of its own: it may take its time."""


@dataclass(slots=True)
class RunApprovals:
    """What was approved for the length of a run: tools, each with the digest that was shown.

    `granted` may be shared by the agents of a run.
    """

    granted: set[tuple[ToolKey, str]] = field(default_factory=set[tuple[ToolKey, str]])
    _asking: anyio.Lock | None = None

    @property
    def asking(self) -> anyio.Lock:
        """Held by the one call for which a person is asked."""
        if self._asking is None:
            import anyio  # here, because reading settings loads this file

            self._asking = anyio.Lock()
        return self._asking
