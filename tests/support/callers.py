"""Several callers of one bridge, at the same time, each with a host of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import anyio

from xai_mcp_agent import Answer, Bridge, Question, SourceError
from xai_mcp_agent.bridge.operations import Operations
from xai_mcp_agent.core.approval import ApprovalAnswer, ApprovalRequest
from xai_mcp_agent.core.calls import Caller
from xai_mcp_agent.core.questions import SamplingMessage, SamplingReply, SamplingRequest
from xai_mcp_agent.core.results import TextPart

_NO_LIMITS: Mapping[int, float] = {}


class Answering:
    """A host that answers in its own name, and keeps the questions."""

    why_nobody = ""

    def __init__(self, name: str) -> None:
        self.name = name
        self.questions: list[str] = []

    async def answer(self, question: Question) -> Answer:
        """Answer with its name as the colour."""
        self.questions.append(question.message)
        await anyio.sleep(0)
        return Answer.accepted({"colour": self.name})

    async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:
        """Approve nothing."""
        return ApprovalAnswer.nobody("only questions are answered here")

    async def sample(self, request: SamplingRequest) -> SamplingReply:
        """Reply with its name."""
        match request.messages:
            case (SamplingMessage(_, (TextPart(text),)),):
                self.questions.append(text)
        await anyio.sleep(0)
        return SamplingReply(self.name, "scripted")


def at_once(
    bridge: Bridge,
    *calls: tuple[Any, str, str, dict[str, Any]],
    limits: Mapping[int, float] = _NO_LIMITS,
) -> list[Any]:
    """Make calls (host, server, tool, arguments) at the same time; return results and errors."""

    async def go(operations: Operations) -> list[Any]:
        results: list[Any] = [None] * len(calls)

        async def call(number: int) -> None:
            host, server, tool, arguments = calls[number]
            one = operations.for_caller(Caller("agent", f"agent{number}", host=host))
            try:
                results[number] = await one.call_tool(
                    server, tool, arguments, timeout_seconds=limits.get(number)
                )
            except SourceError as error:
                results[number] = error

        async with anyio.create_task_group() as tasks:
            for number in range(len(calls)):
                tasks.start_soon(call, number)
        return results

    return bridge.run(go)
