"""A remote agent on loopback whose answers come from a test, right or wrong.

with odd_agent() as (agent, bridge):
    agent.answers(task=DONE)
    bridge.call_tool("it", "do", {"message": "x"})
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from typing import Any, TypeAlias

from xai_mcp_agent import Bridge

from .http_service import HttpService, Received, Reply, as_json, http_service

# Status, headers, and the body: whole, or in pieces of a stream.
Answer: TypeAlias = tuple[int, dict[str, str], bytes | Iterable[bytes]]
JSON, EVENTS = {"content-type": "application/json"}, {"content-type": "text/event-stream"}


class OddAgent:
    """An agent whose `reply` is an answer, or a function of the JSON-RPC request."""

    def __init__(self, http: HttpService, **card: Any) -> None:
        self.url = http.url
        face = {"url": f"{http.url}/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
        self.card: dict[str, Any] = {
            "name": "Odd", "supportedInterfaces": [face],
            "skills": [{"id": "do", "description": "Does."}], **card,
        }  # fmt: skip
        self.requests: list[dict[str, Any]] = []
        self.reply: Answer | Callable[[dict[str, Any]], Answer] = (500, {}, b"")
        self._http = http
        http.replies["*"] = self._respond

    @property
    def paths(self) -> list[str]:
        """The paths of all requests so far."""
        return [x.path for x in self._http.got]

    def answers(self, **result: Any) -> None:
        """Answer every request with this result."""
        self.reply = lambda request: ok(request, result)

    def streams(self, *pieces: dict[str, Any] | bytes) -> None:
        """Answer every request with these updates on a stream; bytes are sent as they are."""
        self.reply = lambda request: (
            200, EVENTS, (x if isinstance(x, bytes) else event(request, **x) for x in pieces)
        )  # fmt: skip

    def _respond(self, got: Received) -> Reply:
        if got.method == "GET":
            return as_json(self.card)
        self.requests.append(json.loads(got.body))
        reply = self.reply(self.requests[-1]) if callable(self.reply) else self.reply
        status, headers, body = reply
        if isinstance(body, bytes):
            return Reply(status, body, headers)
        return Reply(status, headers=headers, pieces=body)


def ok(request: dict[str, Any], result: Any) -> Answer:
    body = {"jsonrpc": "2.0", "id": request.get("id"), "result": result}
    return 200, JSON, json.dumps(body).encode()


def event(request: dict[str, Any], **result: Any) -> bytes:
    body = {"jsonrpc": "2.0", "id": request.get("id"), "result": result}
    return f"data: {json.dumps(body)}\n\n".encode()


@contextmanager
def odd_agent(
    *, streams: bool = False, name_here: str = "it", **card: Any
) -> Generator[tuple[OddAgent, Bridge]]:
    """Yield the agent, and a bridge that has it under this name."""
    with http_service() as http:
        agent = OddAgent(http, **{"capabilities": {"streaming": streams}, **card})
        entry = {"url": agent.url, "bearer": "tok-secret-1234", "timeout": 20}
        with Bridge({"agents": {name_here: entry}}, store="memory") as bridge:
            yield agent, bridge


TASK = {"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_WORKING"}}
DONE = {
    **TASK,
    "status": {"state": "TASK_STATE_COMPLETED"},
    "artifacts": [{"artifactId": "a", "parts": [{"text": "done"}]}],
}
