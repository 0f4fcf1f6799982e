"""A service with agents behind the REST interface of BeeAI's older ACP, small and in a thread.

    with acp_service() as service:
        settings = {"agents": {"it": {"url": service.url, "protocol": "acp"}}}

What an agent does is the first word of the message. `inputs_only`: the service is of the first
versions, which wanted `inputs`. `service.canceled` names the runs that were canceled; `agents` is
what it lists, `made` the parts of a run that was told `made`.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any

AGENTS = [
    {"name": "echo", "description": "Says what it was told.", "metadata": {"tags": ["text"]}},
    {"name": "travel agent", "description": "Books\x1b[2J travels."},
    {"no": "name"},
    "no object",
]


class AcpService:
    """What a test sees of the service."""

    def __init__(self, inputs_only: bool) -> None:
        self.inputs_only = inputs_only
        self.url = ""
        self.asked: list[dict[str, Any]] = []
        self.agents: list[Any] = AGENTS
        self.made: list[Any] = []
        self.canceled: list[str] = []
        self.runs: dict[str, dict[str, Any]] = {}
        self._ids = count(1)

    def answer(self, method: str, path: str, sent: Any) -> tuple[int, Any]:
        """The status and the JSON for a request."""
        parts = path.partition("?")[0].strip("/").split("/")
        match method, *parts:
            case "GET", "agents":
                return 200, {"agents": self.agents}
            case "POST", "runs":
                return self._start(sent)
            case "GET", "runs", run_id if run_id in self.runs:
                return 200, self._next(self.runs[run_id])
            case "POST", "runs", run_id if run_id in self.runs:
                text = sent["await_resume"]["message"]["parts"][0]["content"]
                return 202, self._done(self.runs[run_id], f"thanks for {text}")
            case "POST", "runs", run_id, "cancel":
                self.canceled.append(run_id)
                return 202, self.runs[run_id] | {"status": "cancelling"}
        return 404, {"code": "not_found", "message": f"Nothing at {path}"}

    def _start(self, sent: dict[str, Any]) -> tuple[int, Any]:
        given = sent.get("inputs" if self.inputs_only else "input")
        if given is None:
            return 422, {"detail": [{"msg": "Field required"}]}
        self.asked.append(sent)
        run: dict[str, Any] = {
            "run_id": f"run-{next(self._ids)}",
            "agent_name": sent["agent_name"],
            "session_id": sent.get("session_id") or "session-1",
            "status": "created",
            "output": [],
            "text": given[0]["parts"][0]["content"],
            "given": given[0]["parts"],
        }
        self.runs[run["run_id"]] = run
        return 202, run

    def _next(self, run: dict[str, Any]) -> dict[str, Any]:
        """The run as it is the next time somebody looks."""
        word = run["text"].partition(" ")[0]
        if run["status"] == "created":
            run["status"] = "in-progress"
        elif run["status"] == "in-progress" and word == "ask":
            question = {"parts": [{"content_type": "text/plain", "content": "Which colour?"}]}
            run |= {"status": "awaiting", "await_request": {"type": "message", "message": question}}
        elif run["status"] == "in-progress" and word == "fail":
            run |= {"status": "failed", "error": {"code": "server_error", "message": "no soup"}}
        elif run["status"] == "in-progress" and word == "data":
            self._done(run, run["text"], run["given"][1:])
        elif run["status"] == "in-progress" and word == "made":
            run |= {"status": "completed", "output": [{"role": "agent", "parts": self.made}]}
        elif run["status"] == "in-progress" and word != "forever":
            self._done(run, run["text"])
        return run

    def _done(self, run: dict[str, Any], text: str, more: Any = ()) -> dict[str, Any]:
        parts = [{"content_type": "text/plain", "content": text}, *more]
        run |= {"status": "completed", "output": [{"role": "agent", "parts": parts}]}
        return run


@contextmanager
def acp_service(*, inputs_only: bool = False) -> Generator[AcpService]:
    """Serve for the length of the block."""
    service = AcpService(inputs_only)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # else an answer in pieces waits for 40 milliseconds

        def _answer(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            sent = json.loads(self.rfile.read(length)) if length else None
            status, found = service.answer(self.command, self.path, sent)
            body = json.dumps(found).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = _answer

        def log_message(self, *_: Any) -> None:
            """Nothing is printed."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    service.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield service
    finally:
        server.shutdown()
        server.server_close()
        thread.join(20)
