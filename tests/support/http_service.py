"""A service behind HTTP, in threads of this process: a function for each path answers."""

from __future__ import annotations

import json
import random
import socket
import ssl
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:  # a server of the soak has the standard library only
    import pytest


class ThreadServer(ThreadingHTTPServer):
    """Serves in threads; nobody looks again and again whether it is to stop: it is woken."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 200  # of five, hundred at once lose some on a busy machine
    timeout = 1.0  # where a socket that is shut down wakes nobody

    def __init__(
        self,
        address: tuple[str, int],
        handler: type[BaseHTTPRequestHandler],
        owner: Any,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        super().__init__(address, handler)
        self.owner = owner
        if tls is not None:
            # The handshake is made in the connection's own thread, by its first read.
            self.socket = tls.wrap_socket(
                self.socket, server_side=True, do_handshake_on_connect=False
            )
        self.connections = 0
        self._is_open = True
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while self._is_open:
            self.handle_request()

    def process_request(self, request: Any, client_address: Any) -> None:
        self.connections += 1
        super().process_request(request, client_address)

    def stop(self) -> None:
        """Listen no more; connections stay."""
        self._is_open = False
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self.server_close()

    def handle_error(self, *_: Any) -> None:
        """Connections are cut on purpose here."""


@dataclass(frozen=True)
class Received:
    """A request as it arrived."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class BrokenOff:
    """Pieces of an answer whose connection breaks off after the first."""

    piece: bytes

    def __iter__(self) -> Iterator[bytes]:
        yield self.piece
        raise ConnectionAbortedError


@dataclass(frozen=True)
class Reply:
    """An answer. With `pieces` it is sent in chunks until they end, or the client goes.

    With a length among the headers they are sent as they are; where they raise an OSError, the
    connection breaks off.
    """

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    pieces: Iterable[bytes] | None = None
    reason: str | None = None


Handler: TypeAlias = Callable[[Received], Reply]


def as_json(value: Any, status: int = 200, **headers: str) -> Reply:
    """Return an answer in JSON."""
    usual = {"content-type": "application/json"}
    return Reply(status, json.dumps(value).encode(), usual | as_headers(headers))


def as_headers(names: Mapping[str, str]) -> dict[str, str]:
    """Return headers with the names of keywords."""
    return {name.replace("_", "-"): text for name, text in names.items()}


def redirect(location: str, status: int = 302, **headers: str) -> Reply:
    """Return a redirect to this address."""
    return Reply(status, b"", {"location": location, **headers})


_NOTHING_THERE = Reply(404, b"no such path")


class HttpService:
    """`replies` by path, each a reply or a function; `*` for all others; `got` are the requests."""

    def __init__(self, port: int = 0, host: str = "127.0.0.1") -> None:
        self.replies: dict[str, Handler | Reply] = {}
        self.got: list[Received] = []
        self._server = ThreadServer((host, port), _Handler, self)

    @property
    def url(self) -> str:
        """Its base URL."""
        return f"http://{self._server.server_address[0]}:{self.port}"

    @property
    def port(self) -> int:
        """Where it listens."""
        return self._server.server_port

    @property
    def connections(self) -> int:
        """How many were made so far."""
        return self._server.connections

    @property
    def last(self) -> Received:
        """The last request."""
        return self.got[-1]

    def reply(self, got: Received) -> Reply:
        """What is answered to a request."""
        self.got.append(got)
        reply = self.replies.get(got.path) or self.replies.get("*") or _NOTHING_THERE
        return reply if isinstance(reply, Reply) else reply(got)

    def close(self) -> None:
        """Listen no more."""
        self._server.stop()


def shared_port() -> int:
    """A port that is free at every address; no connection takes it, as those below 32,768."""
    while True:
        port = random.randrange(20_000, 32_000)
        with socket.socket() as trial, suppress(OSError):
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.bind(("", port))
            return port


@contextmanager
def http_service(port: int = 0, host: str = "127.0.0.1") -> Generator[HttpService]:
    """One that is closed at the end; at a free port, if none is given."""
    service = HttpService(port, host)
    try:
        yield service
    finally:
        service.close()


class ThreadHandler(BaseHTTPRequestHandler):
    """Answers the requests of a connection, and says nothing on the screen."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else an answer in pieces waits for 40 milliseconds
    server: ThreadServer

    def head(
        self, status: int = 200, length: int | None = None, reason: str | None = None,
        **headers: str,
    ) -> None:  # fmt: skip
        """Send the head of an answer. Without a length it ends with the connection."""
        self.send_response(status, reason)
        self.close_connection = length is None
        usual = {"connection": "close"} if length is None else {"content-length": str(length)}
        for name, text in (usual | as_headers(headers)).items():
            self.send_header(name, text)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


class _Handler(ThreadHandler):
    def _answer(self) -> None:
        path, _, query = self.path.partition("?")
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        headers = {name.lower(): text for name, text in self.headers.items()}
        reply = self.server.owner.reply(Received(self.command, path, query, headers, body))
        if reply.pieces is None:
            length = len(reply.body) if reply.status != 204 else None
            self.head(reply.status, length, reply.reason, **reply.headers)
            self.wfile.write(reply.body)
            return
        is_whole = "content-length" in reply.headers
        coding = {} if is_whole else {"transfer_encoding": "chunked"}
        self.head(reply.status, **coding, **reply.headers)
        with suppress(OSError):
            for piece in filter(None, reply.pieces):
                self.wfile.write(piece if is_whole else b"%x\r\n%s\r\n" % (len(piece), piece))
            self.wfile.write(b"" if is_whole else b"0\r\n\r\n")

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = do_HEAD = do_QUERY = _answer


def use_proxy(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    """Have the environment name this proxy for all hosts."""
    for name in ("HTTP_PROXY", "ALL_PROXY"):
        for one in (name, name.lower()):
            monkeypatch.setenv(one, url)
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)


def resolve(monkeypatch: pytest.MonkeyPatch, name: str, *addresses: str) -> None:
    """Look `name` up at these addresses, one after the other, and at the last from then on."""
    real, upcoming = socket.getaddrinfo, chain(addresses, repeat(addresses[-1]))

    def look_up(host: Any, *rest: Any, **more: Any) -> Any:
        text = host.decode() if isinstance(host, bytes) else host
        return real(next(upcoming) if text == name else host, *rest, **more)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
