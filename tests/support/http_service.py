"""A service behind HTTP, in threads of this process: a function for each path answers."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeAlias

_POLL_SECONDS = 0.02


@dataclass(frozen=True)
class Got:
    """A request as it arrived."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Said:
    """An answer. With `pieces` it has no length, and ends where they end or the client goes."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    pieces: Iterator[bytes] | None = None
    reason: str | None = None


Reply: TypeAlias = Callable[[Got], Said]


def as_json(value: Any, status: int = 200, **headers: str) -> Said:
    """An answer in JSON."""
    told = {"content-type": "application/json"}
    told |= {name.replace("_", "-"): x for name, x in headers.items()}
    return Said(status, json.dumps(value).encode(), told)


class HttpService:
    """`replies` by path, `*` for all others; `got` are the requests so far."""

    def __init__(self, port: int = 0, host: str = "127.0.0.1") -> None:
        self.replies: dict[str, Reply] = {}
        self.got: list[Got] = []
        self._server = _Server((host, port), _Handler)
        self._server.owner = self
        serve = self._server.serve_forever
        threading.Thread(target=serve, args=[_POLL_SECONDS], daemon=True).start()

    @property
    def url(self) -> str:
        """Its base URL."""
        return f"http://{self._server.server_address[0]}:{self.port}"

    @property
    def port(self) -> int:
        """Where it listens."""
        return self._server.server_port

    @property
    def last(self) -> Got:
        """The last request."""
        return self.got[-1]

    def reply(self, got: Got) -> Said:
        """What is answered to a request."""
        self.got.append(got)
        reply = self.replies.get(got.path) or self.replies.get("*")
        return reply(got) if reply else Said(404, b"no such path")

    def close(self) -> None:
        """Listen no more."""
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def http_service(port: int = 0, host: str = "127.0.0.1") -> Generator[HttpService]:
    """One that is closed at the end; at a free port, if none is given."""
    service = HttpService(port, host)
    try:
        yield service
    finally:
        service.close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    owner: HttpService

    def handle_error(self, *_: Any) -> None:
        """Connections are cut on purpose here."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else an answer in pieces waits for 40 milliseconds
    server: _Server

    def _answer(self) -> None:
        path, _, query = self.path.partition("?")
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        headers = {name.lower(): text for name, text in self.headers.items()}
        said = self.server.owner.reply(Got(self.command, path, query, headers, body))
        self.send_response(said.status, said.reason)
        for name, text in said.headers.items():
            self.send_header(name, text)
        if said.pieces is not None:
            self._pour(said.pieces)
            return
        if "content-length" not in said.headers and said.status != 204:
            self.send_header("content-length", str(len(said.body)))
        self.end_headers()
        self.wfile.write(said.body)

    def _pour(self, pieces: Iterator[bytes]) -> None:
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        with suppress(OSError):
            for piece in pieces:
                self.wfile.write(piece)

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = do_HEAD = do_QUERY = _answer

    def log_message(self, *_: Any) -> None:
        """Nothing on stderr."""
