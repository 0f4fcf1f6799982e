"""The branch on_approval of AgentRun: drawn nodes that say whether a call may be made.

Whatever goes wrong in the branch, or gives no answer, is a no.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass

import anyio

from ..core.approval import (
    SCOPES,
    ApprovalAnswer,
    ApprovalRequest,
    ApprovalScope,
    approval_too_late,
    scope_of,
)
from ..core.calls import Host
from ..core.errors import BadSetting
from ..core.json import JsonObject
from ..core.questions import Answer, Question, SamplingReply, SamplingRequest

logger = logging.getLogger(__name__)

_BY = "the branch on_approval"


@dataclass
class _Asking:
    """One call that a branch is asked for in this thread."""

    answer: ApprovalScope | None = None


class _Open(threading.local):
    """Those of this thread, the innermost last: an agent in the branch may have one, too."""

    def __init__(self) -> None:
        self.asking: list[_Asking] = []


_open = _Open()


def collect_approval(run: Callable[[], None]) -> ApprovalScope | None:
    """Run the nodes of a branch, and return what they answered with `give_approval`."""
    asking = _Asking()
    _open.asking.append(asking)
    try:
        run()
    finally:
        _open.asking.pop()
    return asking.answer


def give_approval(answer: str) -> None:
    """Answer the call that waits. Of several answers no counts, else the last.

    Raises:
        BadSetting: no call waits, or it is no answer.
    """
    if not _open.asking:
        raise BadSetting("AgentApprove answers nothing here: draw it in on_approval of AgentRun.")
    scope = scope_of(answer.casefold())
    if scope is None:
        raise BadSetting(f"`answer` of AgentApprove must be one of {', '.join(SCOPES)}.")
    asking = _open.asking[-1]
    if asking.answer != "no":
        asking.answer = scope


def as_dict(request: ApprovalRequest) -> JsonObject:
    """What the branch reads of a call, as plain values."""
    names = ("server", "tool", "arguments", "description", "agent", "reason")
    said = {name: x for name, x in asdict(request.annotations).items() if x is not None}
    return {x: getattr(request, x) for x in names} | {"annotations": said, "title": request.title}


class BranchHost:
    """Has a branch approve, and the person of the run answer all else.

    `ask` runs the branch in the workflow's thread and gives what it answered.
    """

    def __init__(
        self, person: Host, ask: Callable[[ApprovalRequest], Awaitable[ApprovalScope | None]]
    ) -> None:
        self._person = person
        self._ask = ask

    @property
    def why_nobody(self) -> str:
        """Why there is nobody to answer questions; empty if there is."""
        return self._person.why_nobody

    async def answer(self, question: Question) -> Answer:
        """What the person says."""
        return await self._person.answer(question)

    async def sample(self, request: SamplingRequest) -> SamplingReply:
        """As the person's host."""
        return await self._person.sample(request)

    async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:
        """What the branch answers within the limit."""
        try:
            with anyio.fail_after(request.limit_seconds):
                scope = await self._ask(request)
        except TimeoutError:
            return approval_too_late(request)
        except Exception as cause:
            logger.exception("The branch on_approval raised")
            return ApprovalAnswer.no(f"{_BY} failed: {type(cause).__name__}: {cause}", _BY)
        if scope is None:
            return ApprovalAnswer.no(f"{_BY} gave no answer", _BY)
        return ApprovalAnswer(scope, f"{_BY} said no" if scope == "no" else "", by=_BY)
