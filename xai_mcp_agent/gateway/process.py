"""The process that keeps the servers of a settings file for other programs of this user.

It listens at two sockets in its folder, see `sources.warm`: `mcp.sock` speaks MCP as lines of JSON,
one session per connection; `admin.sock` speaks HTTP. The first line of a connection may be a
request of our own: `{"server": NAME}` for one server alone, `{"status": true}` or `{"stop": true}`.
The process ends on SIGTERM, on request, or after a while without clients.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import socket
import time
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Generator
from contextlib import AbstractAsyncContextManager, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import anyio
from anyio.abc import TaskGroup

from ..bridge.faces import Bridge
from ..bridge.operations import Operations
from ..core.errors import XaiMcpError
from ..core.json import JsonObject
from ..secrets.private_files import (
    close_lock,
    close_to_others,
    make_private_folder,
    open_private,
    take_lock,
)
from ..sources.process import MAX_LINE_BYTES
from ..sources.relay import peer_uid
from ..sources.warm import WARM_VARIABLE, WarmPlace, facts_of

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

logger = logging.getLogger(__name__)

IDLE_SECONDS = 600

Serve: TypeAlias = Callable[[Any, Any, str], Awaitable[None]]
"""Serves MCP over two SDK streams: everything, or one server by its name."""

_CHECK_SECONDS = 5.0  # interval for checking the clock and the size of the log
_MAX_LOG_BYTES = 1_000_000
_LOCK_SECONDS = 1.0
_LOCK_POLL_SECONDS = 0.02
_SHUTDOWN_SECONDS = 2  # grace period for HTTP requests in flight


class AlreadyRunning(XaiMcpError):
    """Another process already keeps the servers of these settings."""


@dataclass(frozen=True)
class Services:
    """Services of the process: MCP at one socket, an application at the other."""

    mcp: Serve
    admin: ASGIApp | None = None


OpenServices: TypeAlias = Callable[[Operations], AbstractAsyncContextManager[Services]]
"""Opens the services for the length of a block on the bridge's loop."""


def keep_servers(
    place: WarmPlace,
    open_bridge: Callable[[], Bridge],
    open_services: OpenServices,
    idle_seconds: float = IDLE_SECONDS,
    ready: Callable[[], None] = lambda: None,
) -> None:
    """Run the process that keeps the servers, in the main thread; `ready` is called once.

    Raises:
        AlreadyRunning: there is one.
        OSError: its folder cannot be used.
    """
    os.environ.pop(WARM_VARIABLE, None)  # this process has the servers itself
    with _own_folder(place), open_bridge() as bridge:
        process = _Process(place, idle_seconds, ready)

        def end(*_: object) -> None:
            bridge.aio.portal.post(process.stop.set)

        signal.signal(signal.SIGTERM, end)
        signal.signal(signal.SIGINT, end)
        bridge.run(process.run, open_services)


@contextmanager
def _own_folder(place: WarmPlace) -> Generator[None]:
    """Own the folder within the block; remove leftovers of a killed process first."""
    lock = _lock(place)
    sockets = place.socket, place.admin_socket
    try:
        _remove(*sockets)
        facts = {**facts_of(place), "since": datetime.now().astimezone().isoformat("T", "seconds")}
        os.ftruncate(lock, 0)
        os.write(lock, json.dumps(facts).encode())
        yield
        _remove(place.log)  # after a failure it holds the reason
    finally:
        _remove(*sockets, place.lock)
        with suppress(OSError):
            place.folder.rmdir()
        close_lock(lock)


def _lock(place: WarmPlace) -> int:
    """Lock the lock file and return it."""
    until = time.monotonic() + _LOCK_SECONDS
    while True:
        make_private_folder(place.folder)
        close_to_others(place.folder)
        file = open_private(place.lock, os.O_RDWR | os.O_CREAT)
        # A process that ends removes the file; a lock on a removed file does not count.
        if take_lock(file) and _is_file(place.lock, file):
            return file
        os.close(file)
        if time.monotonic() > until:
            raise AlreadyRunning(f"Another process keeps the servers of {place.settings}.")
        time.sleep(_LOCK_POLL_SECONDS)


def _is_file(path: os.PathLike[str], file: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(file))
    except FileNotFoundError:
        return False


class _Process:
    """Sockets of the process, used on the bridge's loop."""

    def __init__(self, place: WarmPlace, idle_seconds: float, ready: Callable[[], None]) -> None:
        self.stop = anyio.Event()
        self._place = place
        self._idle_seconds = idle_seconds
        self._ready = ready
        self._connections = self._sessions = 0
        self._idle_since = time.monotonic()

    async def run(self, operations: Operations, open_services: OpenServices) -> None:
        """Serve at both sockets until the end."""
        self._operations = operations
        async with open_services(operations) as self._services, anyio.create_task_group() as tasks:
            web = None
            if self._services.admin is not None:
                web = self._web_server(self._services.admin)
                tasks.start_soon(web.serve, [_private_socket(self._place.admin_socket)])
            with _private_socket(self._place.socket) as listening:
                async with anyio.create_task_group() as connections:
                    connections.start_soon(self._accept, listening, connections)
                    self._ready()
                    await self._wait_until_idle()
                    connections.cancel_scope.cancel()
            if web is not None:
                web.should_exit = True

    async def _wait_until_idle(self) -> None:
        while not self.stop.is_set():
            remaining = self._idle_since + self._idle_seconds - time.monotonic()
            if not self._connections and remaining <= 0:
                return
            self._trim_log()
            pause = min(_CHECK_SECONDS, max(remaining, self._idle_seconds / 2))
            with anyio.move_on_after(pause):
                await self.stop.wait()

    def _trim_log(self) -> None:
        """Empty the log if it is too long."""
        with suppress(OSError):  # stderr is not a file
            if _is_file(self._place.log, 2) and os.fstat(2).st_size > _MAX_LOG_BYTES:
                os.ftruncate(2, 0)

    @contextmanager
    def _count_connection(self) -> Generator[None]:
        self._connections += 1
        try:
            yield
        finally:
            self._connections -= 1
            self._idle_since = time.monotonic()

    async def _accept(self, listening: socket.socket, connections: TaskGroup) -> None:
        while True:
            connection, _ = await asyncio.get_running_loop().sock_accept(listening)
            connections.start_soon(self._serve_connection, connection)

    async def _serve_connection(self, connection: socket.socket) -> None:
        """Serve one connection; its errors do not affect the others."""
        with connection:
            if not is_ours(connection):
                logger.warning("Refused a connection of another user.")
                return
            # anyio's stream would make a call take a tenth longer.
            reader, writer = await asyncio.open_unix_connection(
                sock=connection, limit=MAX_LINE_BYTES
            )
            try:
                with self._count_connection():
                    await self._handle(reader, writer)
            except Exception as reason:  # noqa: BLE001 - for instance the client has disconnected
                logger.debug("A connection ended: %r", reason)
            finally:
                writer.close()

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not (first := await reader.readline()):
            return  # the client only checked that the process lives
        request = _request_in(first)
        if request is None:
            await self._session(_lines(first, reader), writer, "")
            return
        answer = await self._answer(request)
        writer.write(json.dumps(answer).encode() + b"\n")
        await writer.drain()
        if "stop" in request:
            self.stop.set()
        elif "server" in request and "ok" in answer:
            await self._session(reader, writer, request["server"])

    async def _session(
        self, lines: AsyncIterable[bytes], writer: asyncio.StreamWriter, server: str
    ) -> None:
        from .lines import LineReader, LineWriter  # heavy, loaded for the first client

        self._sessions += 1
        try:
            await self._services.mcp(LineReader(aiter(lines)), LineWriter(writer), server)
        finally:
            self._sessions -= 1

    async def _answer(self, request: JsonObject) -> JsonObject:
        if "status" in request:
            return {"ok": True, **await self._status()}
        if "server" in request:
            failed = await self._operations.wait_for(request["server"])
            if failed:
                return {"error": str(failed[request["server"]])}
        return {"ok": True}

    async def _status(self) -> JsonObject:
        servers = await self._operations.servers()
        return {
            "connections": self._sessions,
            "idle_seconds": self._idle_seconds,
            "servers": [{"name": x.name, "state": x.state, "tools": x.tool_count} for x in servers],
        }

    def _web_server(self, app: ASGIApp) -> Any:
        import uvicorn

        async def app_with_count(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                await app(scope, receive, send)
                return
            with self._count_connection():
                await app(scope, receive, send)

        return uvicorn.Server(
            uvicorn.Config(
                app_with_count, log_config=None, timeout_graceful_shutdown=_SHUTDOWN_SECONDS
            )
        )


async def _lines(first: bytes, reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """Yield a line that was read already, and the lines after it."""
    yield first
    async for line in reader:
        yield line


def is_ours(connection: socket.socket) -> bool:
    """Return whether the other end is a process of this user."""
    return peer_uid(connection) == os.getuid()


def _request_in(line: bytes) -> JsonObject | None:
    """Return a request of our own; None for a message of MCP or anything else."""
    try:
        value: Any = json.loads(line)
    except ValueError:
        return None
    is_ours = isinstance(value, dict) and {"server", "status", "stop"} & value.keys()
    return cast(JsonObject, value) if is_ours and "jsonrpc" not in value else None


def _private_socket(path: os.PathLike[str]) -> socket.socket:
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(os.fspath(path))
    os.chmod(path, 0o600)
    listening.listen()
    listening.setblocking(False)
    return listening


def _remove(*files: Any) -> None:
    for file in files:
        file.unlink(missing_ok=True)
