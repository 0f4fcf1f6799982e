"""What drawn nodes return: the output of a tool, and the answer of the branch on_approval.

A tool may run another agent with drawn tools of its own, and several threads may use tools with one
`ctx`; so an output belongs to the innermost use in progress in its thread.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import anyio

from ..core.approval import (
    SCOPES,
    ApprovalAnswer,
    ApprovalRequest,
    ApprovalScope,
    approval_too_late,
    scope_of,
)
from ..core.errors import BadSetting
from ..core.json import JsonObject

logger = logging.getLogger(__name__)

# Nodes of other libraries, such as xai-agent, leave outputs there: they count if nothing else is
# given.
_KEY = "tool_output"
_BY = "the branch on_approval"


@dataclass
class _Use:
    """One use of a drawn tool."""

    ctx: Any
    output: Any = None


class _Innermost(threading.local):
    """What this thread's nodes answer. A loop's timers would keep a context variable."""

    use: _Use | None = None
    approvals: list[ApprovalScope] | None = None


_innermost = _Innermost()


def collect_output(ctx: Any, run: Callable[[], None]) -> Any:
    """Run the nodes of a drawn tool, and return their output from `give_output`, or None."""
    use, before = _Use(ctx), ctx.pop(_KEY, None)
    outer, _innermost.use = _innermost.use, use
    try:
        run()
    finally:
        _innermost.use = outer
        foreign = ctx.pop(_KEY, None)
        if before is not None:
            ctx[_KEY] = before
    return foreign if use.output is None else use.output


def give_output(ctx: Any, values: Sequence[Any]) -> None:
    """Set the output of the running drawn tool: one value, or several as a list."""
    output = values[0] if len(values) == 1 else (list(values) or None)
    use = _innermost.use
    if use is not None and use.ctx is ctx:
        use.output = output
    else:  # for a tool that is not ours, or runs in another thread
        ctx[_KEY] = output


def collect_approval(run: Callable[[], None]) -> ApprovalScope | None:
    """Run the nodes of a branch, and return their answer; of several, a no counts, else the last.

    They answer by `give_approval`.
    """
    answers = list[ApprovalScope]()
    outer, _innermost.approvals = _innermost.approvals, answers
    try:
        run()
    finally:
        _innermost.approvals = outer
    if "no" in answers:
        return "no"
    return answers[-1] if answers else None


def give_approval(answer: str) -> None:
    """Answer the waiting call.

    Raises:
        BadSetting: no call waits, or the answer is unknown.
    """
    answers, scope = _innermost.approvals, scope_of(answer.casefold())
    if answers is None:
        raise BadSetting("AgentApprove answers nothing here: draw it in on_approval of AgentRun.")
    if scope is None:
        raise BadSetting(f"`answer` of AgentApprove must be one of {', '.join(SCOPES)}.")
    answers.append(scope)


async def branch_answer(
    request: ApprovalRequest, ask: Callable[[], Awaitable[ApprovalScope | None]]
) -> ApprovalAnswer:
    """Return a branch's answer within the limit; any error in the branch is a no."""
    try:
        with anyio.fail_after(request.limit_seconds):
            scope = await ask()
    except TimeoutError:
        return approval_too_late(request)
    except Exception as cause:
        logger.exception("The branch on_approval raised")
        return ApprovalAnswer.no(f"{_BY} failed: {type(cause).__name__}: {cause}", _BY)
    if scope is None:
        return ApprovalAnswer.no(f"{_BY} gave no answer", _BY)
    return ApprovalAnswer(scope, f"{_BY} said no" if scope == "no" else "", by=_BY)


def as_dict(request: ApprovalRequest) -> JsonObject:
    """Return the request as plain values for the branch."""
    names = ("server", "tool", "arguments", "description", "agent", "reason")
    claims = {name: x for name, x in asdict(request.annotations).items() if x is not None}
    return {x: getattr(request, x) for x in names} | {"annotations": claims, "title": request.title}
