"""Several callers of one bridge, at the same time: agents with hosts of their own, and far clients.

Far clients are clients of another program that call through a gateway.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import Any, TypeVar

import anyio

from xai_mcp_agent import Answer, Bridge, Question, SourceError
from xai_mcp_agent.bridge.operations import Operations
from xai_mcp_agent.core.approval import ApprovalAnswer, ApprovalRequest
from xai_mcp_agent.core.calls import Caller, FarClient, Host
from xai_mcp_agent.core.json import JsonObject
from xai_mcp_agent.core.questions import SamplingMessage, SamplingReply, SamplingRequest
from xai_mcp_agent.core.results import TextPart

T = TypeVar("T")
ABLE: JsonObject = {"elicitation": {"form": {}}, "sampling": {}, "roots": {}}
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


class Responding:
    """Answers raw requests in its own name; keeps them and all log messages."""

    def __init__(self, name: str, error: Exception | None = None) -> None:
        self.name, self._error = name, error
        self.requests: list[JsonObject] = []
        self.log_messages: list[JsonObject] = []

    async def __call__(self, requests: JsonObject) -> JsonObject:
        """Answer each request with its name as the colour."""
        self.requests.append(requests)
        if self._error is not None:
            raise self._error
        answer = {"action": "accept", "content": {"colour": self.name}}
        return dict.fromkeys(requests, answer)


def far_client(
    name: str,
    *,
    is_modern: bool = True,
    respond: Responding | None = None,
    able: JsonObject = ABLE,
    host: Host | None = None,
) -> Caller:
    """Return the caller for a far client of this name."""
    log = None if respond is None else respond.log_messages.append
    answers = respond if is_modern else None
    far = FarClient(name, is_modern, able, respond=answers, log=log)
    return Caller("gateway", name, host=host or Answering(name), far=far)


def of_caller(
    bridge: Bridge, caller: Caller, do: Callable[[Operations], Coroutine[Any, Any, T]]
) -> T:
    """Do something as this caller, on the bridge's loop."""

    async def go(operations: Operations) -> T:
        return await do(operations.for_caller(caller))

    return bridge.run(go)
