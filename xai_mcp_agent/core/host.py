"""Who answers what a source asks during a call: a person, a program, a model."""

from __future__ import annotations

from typing import Protocol

from .approval import ApprovalAnswer, ApprovalRequest
from .elicitation import Answer, Question
from .sampling import SamplingRefused, SamplingReply, SamplingRequest

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
