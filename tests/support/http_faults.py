"""Faults of a server behind a URL, each a function that is set in `FaultHttp.faults`.

They refuse, break off, or answer too slowly, too long or wrongly, and stop when the client is gone.
"""

from __future__ import annotations

import json
import socket
import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any

from xai_mcp_agent import Bridge

from .bridges import bridge_with
from .fault_http import JSON, STREAM, Fault, FaultHttp, fault_http
from .fault_server import FOR_EVER_SECONDS

_MIB = 1024 * 1024


def refuse(status: int, body: str = "", kind: str = "text/plain", **headers: str) -> Fault:
    """Answer with this status and body."""
    return lambda handler, _: handler.answer(status, body.encode(), kind, **headers)


def first(times: int, fault: Fault) -> Fault:
    """Apply the fault so many times for each server; then answer as usual."""
    counts: Counter[FaultHttp] = Counter()

    def answer(handler: Any, message: dict[str, Any]) -> None:
        counts[handler.owner] += 1
        (fault if counts[handler.owner] <= times else _healthy)(handler, message)

    return answer


def _healthy(handler: Any, message: dict[str, Any]) -> None:
    (handler.answer_well if message else handler.stream_well)(message)


def drop(handler: Any, _message: dict[str, Any]) -> None:
    """Close the connection without an answer."""
    handler.close_connection = True
    handler.connection.shutdown(socket.SHUT_RDWR)


def cut_short(handler: Any, message: dict[str, Any]) -> None:
    """Begin a JSON answer and close the connection in its middle."""
    handler.head(length=1000, content_type=JSON)
    handler.wfile.write(b'{"jsonrpc": "2.0", "id": %d, "result"' % message["id"])
    drop(handler, message)


def cut_stream(handler: Any, message: dict[str, Any]) -> None:
    """Begin an event stream and close the connection before the answer."""
    handler.head(content_type=STREAM, transfer_encoding="chunked")
    drop(handler, message)


class Hang:
    """Does not answer, until the client gives up; `was_called` is set once a request has come."""

    def __init__(self) -> None:
        self.was_called = threading.Event()

    def __call__(self, handler: Any, _message: dict[str, Any]) -> None:
        self.was_called.set()
        _client_left(handler, FOR_EVER_SECONDS)
        handler.close_connection = True


@contextmanager
def connected(
    era: str = "modern", tools: list[Any] | None = None, **entry: Any
) -> Generator[tuple[FaultHttp, Bridge]]:
    """Yield a server behind a URL, and a bridge that has listed its tools."""
    with (
        fault_http(era=era, sessions=era == "legacy", tools=tools) as peer,
        bridge_with(it=peer.entry(**entry)) as bridge,
    ):
        bridge.list_tools("it")
        yield peer, bridge


def call(bridge: Bridge, text: str = "fine", **more: Any) -> str:
    """Call the tool `echo`; return its text."""
    return bridge.call_tool("it", "echo", {"text": text}, **more).text


def right_answer(peer: FaultHttp, message: dict[str, Any]) -> bytes:
    """Return the right answer, as JSON."""
    (answer,) = peer.peer.handle(message)
    return json.dumps(answer).encode()


def event(data: bytes, *fields: bytes) -> bytes:
    """Return one event of a stream."""
    return b"".join(field + b"\n" for field in (*fields, b"data: " + data)) + b"\n"


def pieces_fault(pieces: Callable[[Any, dict[str, Any]], Iterator[bytes]], kind: str) -> Fault:
    """Answer with these pieces, until they end or the client has gone."""

    def pour(handler: Any, message: dict[str, Any]) -> None:
        handler.head(content_type=kind)
        with suppress(OSError):
            for piece in pieces(handler, message):
                handler.wfile.write(piece)

    return pour


def dripping(seconds: float) -> Fault:
    """Answer right, a byte at a time."""

    def pieces(handler: Any, message: dict[str, Any]) -> Iterator[bytes]:
        data = right_answer(handler.owner, message)
        for byte in data:
            if _client_left(handler, seconds):
                return
            yield bytes([byte])

    return pieces_fault(pieces, JSON)


def chattering() -> Fault:
    """Answer with a stream of comments, for ever."""

    def pieces(handler: Any, _message: dict[str, Any]) -> Iterator[bytes]:
        while not _client_left(handler, 0.01):
            yield b": still here\n\n"

    return pieces_fault(pieces, STREAM)


def raw(data: bytes) -> Fault:
    """Answer with these bytes, head included, and close the connection."""

    def answer(handler: Any, message: dict[str, Any]) -> None:
        with suppress(OSError):
            handler.connection.sendall(data)
        drop(handler, message)

    return answer


def continuing(handler: Any, _message: dict[str, Any]) -> None:
    """Answer `100 Continue` for ever, which is no answer yet."""
    handler.close_connection = True
    handler.connection.settimeout(FOR_EVER_SECONDS)
    many = b"HTTP/1.1 100 Continue\r\n\r\n" * 100
    with suppress(OSError):
        while True:
            handler.connection.sendall(many)
            time.sleep(0.01)


def questions(method: str, times: int) -> Fault:
    """Send so many requests to the client on a stream, and never answer."""

    def pieces(handler: Any, _message: dict[str, Any]) -> Iterator[bytes]:
        for number in range(times):
            request = {"jsonrpc": "2.0", "id": f"s{number}", "method": method, "params": {}}
            yield event(json.dumps(request).encode())
        _client_left(handler, FOR_EVER_SECONDS)

    return pieces_fault(pieces, STREAM)


def only_sse(peer: FaultHttp, status: int) -> None:
    """Refuse a POST to the URL, and open a stream of the older kind there."""
    peer.faults["*"] = lambda handler, message: (
        handler.answer(status) if handler.path == "/mcp" else handler.answer_well(message)
    )
    peer.faults["GET"] = lambda handler, _: handler.open_stream()


def endpoint_elsewhere(handler: Any, _message: Any) -> None:
    """Open a stream of the older kind that leads to another server."""
    handler._stream([b"event: endpoint\ndata: http://elsewhere.invalid/in\n\n"])


def in_small_pieces(handler: Any, message: dict[str, Any]) -> None:
    """Answer right, in chunks of one byte and with a header in two parts."""
    data = right_answer(handler.owner, message)
    handler.head(content_type=JSON, transfer_encoding="chunked")
    for byte in data:
        handler.wfile.write(b"1\r\n%c\r\n" % byte)
    handler.wfile.write(b"0\r\n\r\n")


def with_length(more: int) -> Fault:
    """Answer right, with a `Content-Length` that is wrong by so much."""

    def answer(handler: Any, message: dict[str, Any]) -> None:
        data = right_answer(handler.owner, message)
        handler.head(length=len(data) + more, content_type=JSON)
        handler.wfile.write(data)
        drop(handler, message)

    return answer


def large_event(mib: int) -> Fault:
    """Answer on a stream with a text of so many MiB."""
    block = b"x" * _MIB

    def pieces(_handler: Any, message: dict[str, Any]) -> Iterator[bytes]:
        yield b'data: {"jsonrpc": "2.0", "id": %d, "result": {"content": ' % message["id"]
        yield b'[{"type": "text", "text": "'
        for _ in range(mib):
            yield block
        yield b'"}]}}\n\n'

    return pieces_fault(pieces, STREAM)


def gzip_bomb(mib: int, encoding: str = "gzip") -> Fault:
    """Answer with zeros that unpack to so many MiB."""
    return lambda handler, _: handler.answer(
        200, _zeros(mib, encoding), JSON, content_encoding=encoding
    )


@cache
def _zeros(mib: int, encoding: str) -> bytes:
    # Piece by piece: others in this process are measured meanwhile.
    packer = zlib.compressobj(1, wbits=31 if encoding == "gzip" else 15)
    block = b"0" * _MIB
    return b"".join([*(packer.compress(block) for _ in range(mib)), packer.flush()])


class Resumable:
    """Breaks a stream off `breaks` times; a GET that names the last event goes on after it.

    `resumed` are the headers `Last-Event-ID` of these requests.
    """

    def __init__(self, peer: FaultHttp, breaks: int = 1, retry_ms: int = 20) -> None:
        self.resumed: list[str] = []
        self._remaining_breaks = breaks
        self._retry = b"retry: %d" % retry_ms
        self._answer = b""
        peer.faults["tools/call"] = self._first
        peer.faults["GET"] = self._next

    def _first(self, handler: Any, message: dict[str, Any]) -> None:
        self._answer = right_answer(handler.owner, message)
        self._go_on(handler)

    def _next(self, handler: Any, _message: dict[str, Any]) -> None:
        last = handler.headers.get("last-event-id")
        if last is None:
            handler.answer(405)
            return
        self.resumed.append(last)
        self._go_on(handler)

    def _go_on(self, handler: Any) -> None:
        handler.head(content_type=STREAM)
        name = b"id: %d" % len(self.resumed)
        if self._remaining_breaks <= 0:
            handler.wfile.write(event(self._answer, name))
            return
        self._remaining_breaks -= 1
        handler.wfile.write(event(b"", name, self._retry))


class ClosesIdle:
    """Answers well, and closes each connection with the next request on it, before reading it."""

    def __init__(self) -> None:
        self._connections: set[Any] = set()  # the objects, because a number may be used again
        self._lock = threading.Lock()

    def __call__(self, handler: Any, message: dict[str, Any]) -> None:
        with self._lock:
            is_second = handler in self._connections
            self._connections.add(handler)
        if is_second:
            drop(handler, message)
        else:
            handler.answer_well(message)


def _client_left(handler: Any, seconds: float) -> bool:
    """Wait so long, or until the client closes the connection."""
    handler.connection.settimeout(seconds)
    try:
        return handler.connection.recv(1) == b""
    except TimeoutError:
        return False
    except OSError:
        return True
    finally:
        with suppress(OSError):
            handler.connection.settimeout(None)


def reset(handler: Any, _message: dict[str, Any]) -> None:
    """Close the connection as a killed process does, with a reset."""
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
    handler.close_connection = True
    handler.connection.close()
