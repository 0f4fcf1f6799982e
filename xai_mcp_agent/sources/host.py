"""Whoever makes a call, as far as a source may ask something of it meanwhile.

The bridge hands each source a host for when it knows no better, and says with `hosting` who makes
the calls of a task and of those it starts.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

from ..core.questions import Answer, Question
from ..core.sampling import SamplingRefused, SamplingReply, SamplingRequest

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

    async def sample(self, request: SamplingRequest) -> SamplingReply:
        """Have a model go on with a conversation.

        Raises:
            SamplingRefused: no model is asked, and why.
        """
        ...


_caller: ContextVar[Host | None] = ContextVar("caller", default=None)


@contextmanager
def hosting(host: Host | None) -> Generator[None]:
    """The calls that begin within the block, in this task and those it starts, are this host's.

    None: it is not known whose they are.
    """
    token = _caller.set(host)
    try:
        yield
    finally:
        _caller.reset(token)


def caller() -> Host | None:
    """Whoever makes the calls of this task, if that was said."""
    return _caller.get()


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

    async def sample(self, request: SamplingRequest) -> SamplingReply:
        """Refuse."""
        raise SamplingRefused(NO_MODEL)
