"""The fault server behind a URL: Streamable HTTP in both eras, and the older SSE.

It runs in threads of this process, can be stopped as if it had been killed, and started again on
the same port. What is to go wrong is a function, set for a method:

    with fault_http(era="modern") as peer:
        peer.faults["tools/call"] = refuse(500, "out of memory")
"""

from __future__ import annotations

import errno
import json
import queue
import socket
import ssl
import time
import uuid
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from typing import Any, TypeAlias

from .fault_server import FOR_EVER_SECONDS, FaultServer
from .http_service import ThreadHandler, ThreadServer

_POLL_SECONDS = 0.02
_FREE_SECONDS = 20.0
_STREAM_END = object()
JSON, STREAM = "application/json", "text/event-stream"


Fault: TypeAlias = Callable[[Any, dict[str, Any]], None]
"""Answers, or does not answer, a request in place of the server."""


class FaultHttp:
    """One server that may be stopped and started again.

    With sessions `initialize` opens one; with a standing stream a GET opens one.
    `requests` are the headers of all POSTs, `methods` and `paths` those of each.
    Without a `port` it gets one of its own, and keeps it until `close`.
    """

    def __init__(
        self,
        *,
        sessions: bool = False,
        standing: bool = False,
        tls: ssl.SSLContext | None = None,
        port: int = 0,
        **options: Any,
    ) -> None:
        self.faults: dict[str, Fault] = {}
        self.requests: list[dict[str, str]] = []
        self.methods: list[str] = []
        self.paths: list[str] = []
        self.peer = FaultServer(options)
        self.with_sessions = sessions
        self.with_standing_stream = standing
        self._tls = tls
        # Bound, and nobody listens: while the server is stopped its port is refused, and not given
        # to somebody else.
        self._place = socket.socket()
        self._place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._place.bind(("127.0.0.1", port))
        self._port = self._place.getsockname()[1]
        self._server: ThreadServer | None = None
        self.start()

    @property
    def url(self) -> str:
        """The address of its endpoint."""
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self._port}/mcp"

    @property
    def sse_url(self) -> str:
        """The address of its endpoint of the older kind."""
        return f"http://127.0.0.1:{self._port}/sse"

    def entry(self, **more: Any) -> dict[str, Any]:
        """Return its entry in a settings file."""
        return {"url": self.url, **more}

    def start(self) -> None:
        """Listen again on the same port, without the old sessions, unless it listens already."""
        if self._server is not None:
            return
        self.sessions: set[str] = set()
        self.streams: list[queue.SimpleQueue[Any]] = []
        self.connections: list[socket.socket] = []
        self._server = self._new_server()

    def _new_server(self) -> ThreadServer:
        """Open the port, which a fork of this process may still hold until it runs its program."""
        until = time.monotonic() + _FREE_SECONDS
        while True:
            try:
                return ThreadServer(("127.0.0.1", self._port), _Handler, self, self._tls)
            except OSError as error:
                if error.errno != errno.EADDRINUSE or time.monotonic() > until:
                    raise
                time.sleep(_POLL_SECONDS)

    def stop(self) -> None:
        """Cut all connections and stop listening, as if it had been killed."""
        if self._server is None:
            return
        server, self._server = self._server, None
        server.stop()
        for connection in self.connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self.end_streams()

    def close(self) -> None:
        """Stop for good."""
        self.stop()
        self._place.close()

    def say(self, message: dict[str, Any]) -> None:
        """Send a message on every open stream."""
        for stream in list(self.streams):
            stream.put(message)

    def end_streams(self) -> None:
        """End every open stream, politely."""
        for stream in list(self.streams):
            stream.put(_STREAM_END)


class _Handler(ThreadHandler):
    def setup(self) -> None:
        super().setup()
        self.owner = self.server.owner
        self.owner.connections.append(self.connection)

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.owner.paths.append(self.path)
        self.owner.methods.append(message.get("method", "(answer)"))
        self.owner.requests.append({k.lower(): v for k, v in self.headers.items()})
        usual = self.owner.faults.get("*", _Handler.answer_well)
        self.owner.faults.get(message.get("method", ""), usual)(self, message)

    def answer_well(self, message: dict[str, Any]) -> None:
        """Answer a POST as a healthy server would."""
        if self.path == "/sse/messages":
            self.answer(202)
            for answer in self.owner.peer.handle(message):
                self.owner.say(answer)
        elif self._has_lost_session(message):
            self.answer(404, b"Session not found", "text/plain")
        elif message.get("method") == "subscriptions/listen":
            self._stream(list(self.owner.peer.handle(message)))
        else:
            self.answer_message(message)

    def do_GET(self) -> None:
        self.owner.faults.get("GET", _Handler.stream_well)(self, {})

    def stream_well(self, _message: dict[str, Any]) -> None:
        """Answer a GET as a healthy server would."""
        if self.path == "/sse":
            self.open_stream()
        elif self.owner.with_standing_stream:
            self._stream([])
        else:
            self.answer(405)

    def open_stream(self, endpoint: str = "/sse/messages") -> None:
        """Open the stream of the older kind."""
        self._stream([f"event: endpoint\ndata: {endpoint}\n\n".encode()])

    def do_DELETE(self) -> None:
        self.owner.faults.get("DELETE", lambda *_: self.answer(200))(self, {})

    def answer(self, status: int, body: bytes = b"", kind: str = "", **headers: str) -> None:
        """Answer with this."""
        self.head(status, len(body), **headers, **({"content_type": kind} if kind else {}))
        self.wfile.write(body)

    def answer_message(self, message: dict[str, Any]) -> None:
        """Answer as a healthy server would."""
        answers = list(self.owner.peer.handle(message))
        headers: dict[str, str] = {}
        if message.get("method") == "initialize" and self.owner.with_sessions:
            session = uuid.uuid4().hex
            self.owner.sessions.add(session)
            headers["mcp_session_id"] = session
        if not answers:
            self.answer(202)
        elif len(answers) == 1:
            self.answer(200, _encode(answers[0]), JSON, **headers)
        else:
            events = b"".join(_event(x) for x in answers)
            self.answer(200, events, STREAM, **headers)

    def _has_lost_session(self, message: dict[str, Any]) -> bool:
        if message.get("method") in ("initialize", "server/discover"):
            return False
        has_one = self.headers.get("mcp-session-id") in self.owner.sessions
        return self.owner.with_sessions and not has_one

    def _stream(self, first: list[Any]) -> None:
        self.head(content_type=STREAM, transfer_encoding="chunked")
        events: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.owner.streams.append(events)
        for message in first:
            events.put(message)
        with suppress(queue.Empty, OSError):
            while (message := events.get(timeout=FOR_EVER_SECONDS)) is not _STREAM_END:
                data = message if isinstance(message, bytes) else _event(message)
                self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self.wfile.write(b"0\r\n\r\n")
        with suppress(ValueError):
            self.owner.streams.remove(events)


def _encode(answer: Any) -> bytes:
    return answer if isinstance(answer, bytes) else json.dumps(answer).encode()


def _event(message: Any) -> bytes:
    return b"event: message\ndata: %s\n\n" % _encode(message)


@contextmanager
def fault_http(**options: Any) -> Generator[FaultHttp]:
    """Yield a running server for the length of the block."""
    peer = FaultHttp(**options)
    try:
        yield peer
    finally:
        peer.close()
