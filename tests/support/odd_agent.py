"""A remote agent whose answers are written by a test, whatever they are, on loopback.

with odd_agent() as (agent, bridge):
    agent.answers(task=DONE)
    bridge.call_tool("it", "do", {"message": "x"})
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeAlias

from xai_mcp_agent import Bridge

# Status, headers, and the body: whole, or in pieces of a stream.
Answer: TypeAlias = tuple[int, dict[str, str], bytes | Iterator[bytes]]
JSON, EVENTS = {"content-type": "application/json"}, {"content-type": "text/event-stream"}


class OddAgent:
    """An agent whose answers are a function of the JSON-RPC request."""

    def __init__(self) -> None:
        self.url = ""
        self.card: dict[str, Any] = {}
        self.asked: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.reply: Callable[[dict[str, Any]], Answer] = lambda _: (500, {}, b"")

    def answers(self, **result: Any) -> None:
        """Answer every request with this result."""
        self.reply = lambda asked: ok(asked, result)


def ok(asked: dict[str, Any], result: Any) -> Answer:
    body = {"jsonrpc": "2.0", "id": asked.get("id"), "result": result}
    return 200, JSON, json.dumps(body).encode()


def event(asked: dict[str, Any], **result: Any) -> bytes:
    body = {"jsonrpc": "2.0", "id": asked.get("id"), "result": result}
    return f"data: {json.dumps(body)}\n\n".encode()


@contextmanager
def odd_agent(
    *, streams: bool = False, name_here: str = "it", **card: Any
) -> Generator[tuple[OddAgent, Bridge]]:
    """The agent, and a bridge that has it under this name."""
    agent = OddAgent()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # else an answer in pieces waits for 40 milliseconds

        def do_GET(self) -> None:
            agent.paths.append(self.path)
            self._send(200, JSON, json.dumps(agent.card).encode())

        def do_POST(self) -> None:
            agent.paths.append(self.path)
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            agent.asked.append(asked)
            self._send(*agent.reply(asked))

        def _send(self, status: int, headers: dict[str, str], body: Any) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            if isinstance(body, bytes):
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
                return
            self.send_header("connection", "close")
            self.end_headers()
            for piece in body:
                self.wfile.write(piece)
                self.wfile.flush()
            self.close_connection = True

        def log_message(self, *_: Any) -> None:
            """Nothing is printed."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    agent.url = f"http://127.0.0.1:{server.server_address[1]}"
    face = {"url": f"{agent.url}/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
    agent.card = {
        "name": "Odd",
        "supportedInterfaces": [face],
        "capabilities": {"streaming": streams},
        "skills": [{"id": "do", "description": "Does."}],
        **card,
    }
    entry = {"url": agent.url, "bearer": "tok-secret-1234", "timeout": 20}
    try:
        with Bridge({"agents": {name_here: entry}}, store="memory") as bridge:
            yield agent, bridge
    finally:
        server.shutdown()
        server.server_close()
        thread.join(20)


TASK = {"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_WORKING"}}
DONE = {
    **TASK,
    "status": {"state": "TASK_STATE_COMPLETED"},
    "artifacts": [{"artifactId": "a", "parts": [{"text": "done"}]}],
}
