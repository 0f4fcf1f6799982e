"""Host that calls functions of the program, for questions of servers and for approvals."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

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
from ..core.calls import Nobody
from ..core.errors import PROGRAM_ERRORS
from ..core.questions import Answer, Answerer, Question, too_late

logger = logging.getLogger(__name__)

A = TypeVar("A")

_BY = "the program"
_NOBODY = (
    "nobody is there to answer. Give `answer=` to the Bridge, run the "
    'workflow in a terminal, or set "elicitation": "defaults" for this server in the settings'
)


class _CallbackFailed(Exception):
    """A function of the program raised an error of this type."""


class CallbackHost(Nobody):
    """Asks the program's functions, one question at a time; declines what it has none for."""

    def __init__(self, answerer: Answerer | None, approver: Approver | None = None) -> None:
        super().__init__("" if answerer else _NOBODY)
        self._answerer = answerer
        self._approver = approver
        self._one_at_a_time = anyio.Lock()

    async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:
        """Return the function's answer; a no if it raises or takes too long."""
        if self._approver is None:
            return await super().approve(request)
        try:
            answer = await self._call(self._approver, request, request.limit_seconds)
        except TimeoutError:
            return approval_too_late(request)
        except _CallbackFailed as failure:
            return ApprovalAnswer.no(f"the program that approves raised {failure}")
        return _check_approval(answer)

    async def answer(self, question: Question) -> Answer:
        """Return the function's answer; cancelled if it raises or takes too long."""
        if self._answerer is None:
            return await super().answer(question)
        try:
            answer = await self._call(self._answerer, question, question.limit_seconds)
        except TimeoutError:
            return too_late(question)
        except _CallbackFailed as failure:
            return Answer.cancelled(f"the program that answers raised {failure}")
        return _check_answer(answer)

    async def _call(self, function: Callable[[A], object], request: A, seconds: float) -> object:
        """Call the function in a thread when its turn comes; the wait counts, too.

        Raises:
            TimeoutError: it takes longer than the limit.
            _CallbackFailed: it raised an error.
        """
        with anyio.fail_after(seconds):
            async with self._one_at_a_time:
                try:
                    return await anyio.to_thread.run_sync(function, request, abandon_on_cancel=True)
                except PROGRAM_ERRORS as cause:
                    logger.exception("The program's `answer` or `approve` raised")
                    raise _CallbackFailed(type(cause).__name__) from cause


def _check_answer(answer: object) -> Answer:
    if isinstance(answer, Answer):
        return answer
    kind = type(answer).__name__
    logger.error("The program's `answer` returned a %s: return an `Answer`", kind)
    return Answer.cancelled(f"the program that answers returned a {kind}, not an Answer")


def _check_approval(answer: object) -> ApprovalAnswer:
    if isinstance(answer, ApprovalAnswer) and scope_of(answer.scope):
        return replace(answer, by=answer.by or _BY)
    if scope := scope_of(answer):
        return ApprovalAnswer(scope, "the program said no" if scope == "no" else "", by=_BY)
    logger.error("The program's `approve` returned %r: return one of %s", answer, ", ".join(SCOPES))
    return ApprovalAnswer.no("the program that approves returned something other than an answer")
