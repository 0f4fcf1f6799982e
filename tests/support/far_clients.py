"""Far clients for tests: clients of another program that call through a gateway."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from tests.support.callers import Answering
from xai_mcp_agent import Bridge
from xai_mcp_agent.bridge.operations import Operations
from xai_mcp_agent.core.calls import Caller, FarClient, Host
from xai_mcp_agent.core.json import JsonObject

T = TypeVar("T")

ABLE: JsonObject = {"elicitation": {"form": {}}, "sampling": {}, "roots": {}}


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
