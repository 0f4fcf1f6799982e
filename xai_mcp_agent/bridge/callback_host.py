"""A Python program that answers what servers ask, through a function of its own."""

from __future__ import annotations

import logging

import anyio
import anyio.to_thread

from ..core.approval import (
    SCOPES,
    ApprovalAnswer,
    ApprovalRequest,
    Approver,
    approval_too_late,
    scope_of,
)
from ..core.elicitation import Answer, Answerer, Question, too_late
from ..core.host import NO_MODEL, Host, Nobody
from ..core.sampling import SamplingRefused, SamplingReply, SamplingRequest

logger = logging.getLogger(__name__)

_NOBODY = Nobody(
    "nobody can be asked where this was called from. Give `answer=` to the Bridge, run the "
    'workflow in a terminal, or set "elicitation": "defaults" for this server in the settings'
)


class CallbackHost:
    """Has functions answer, one question at a time, as far as there are any."""

    def __init__(self, answerer: Answerer | None, approver: Approver | None = None) -> None:
        self._answerer = answerer
        self._approver = approver
        self._one_at_a_time = anyio.Lock()

    @property
    def why_nobody(self) -> str:
        """Empty if the program answers."""
        return "" if self._answerer else _NOBODY.why_nobody

    async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:
        """What the function says. Where it raises, or takes too long, that is no."""
        if self._approver is None:
            return await _NOBODY.approve(request)
        try:
            with anyio.fail_after(request.limit_seconds):
                async with self._one_at_a_time:
                    said = await anyio.to_thread.run_sync(
                        self._approver, request, abandon_on_cancel=True
                    )
        except TimeoutError:
            return approval_too_late(request)
        except Exception as cause:
            logger.exception("The program's `approve` raised")
            return ApprovalAnswer.no(f"the program that approves raised {type(cause).__name__}")
        return _checked_approval(said)

    async def answer(self, question: Question) -> Answer:
        """What the function says. Where it raises, or takes too long, that is no answer."""
        if self._answerer is None:
            return await _NOBODY.answer(question)
        async with self._one_at_a_time:
            try:
                with anyio.fail_after(question.limit_seconds):
                    answer = await anyio.to_thread.run_sync(
                        self._answerer, question, abandon_on_cancel=True
                    )
            except TimeoutError:
                return too_late(question)
            except Exception as cause:
                logger.exception("The program's `answer` raised")
                return Answer.cancelled(f"the program that answers raised {type(cause).__name__}")
        return _checked(answer)

    async def sample(self, request: SamplingRequest) -> SamplingReply:
        """Refuse: a program has no model."""
        raise SamplingRefused(NO_MODEL)


def _checked(answer: object) -> Answer:
    if isinstance(answer, Answer):
        return answer
    given = type(answer).__name__
    logger.error("The program's `answer` gave a %s: return an `Answer`", given)
    return Answer.cancelled(f"the program that answers gave a {given}, not an Answer")


def _checked_approval(said: object) -> ApprovalAnswer:
    if isinstance(said, ApprovalAnswer) and scope_of(said.scope):
        return said
    if scope := scope_of(said):
        return ApprovalAnswer(scope, "the program said no" if scope == "no" else "")
    logger.error("The program's `approve` gave %r: return one of %s", said, ", ".join(SCOPES))
    return ApprovalAnswer.no("the program that approves gave something else than an answer")


def host_for(answerer: Answerer | None, approver: Approver | None = None) -> Host:
    """The host of a bridge: the program's functions, or nobody."""
    return CallbackHost(answerer, approver) if answerer or approver else _NOBODY
