"""uvicorn in a thread of the tests: it says when it is ready, and stops at once.

Tests start hundreds of these. As it is, uvicorn looks ten times a second whether to stop, and then
waits for a tenth of a second in any case.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import anyio
import uvicorn

_START_SECONDS = 60.0  # bounds the wait for uvicorn; it takes a hundredth of a second
_STOP_SECONDS = 30.0
_CLOSE_SECONDS = 0.1  # for connections that are open at the end, as long as uvicorn would wait
_LOOK_SECONDS = 0.002


@contextmanager
def run_in_thread(
    app: Any, listening: socket.socket, on_close: Callable[[], None] | None = None
) -> Generator[None]:
    """Serve the application for the length of the block; then call `on_close` on its loop."""
    # asyncio does not see that it is TCP: each answer in pieces would wait for 40 milliseconds.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    server = _Server(app)
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    thread.start()
    try:
        if not server.ready.wait(_START_SECONDS):
            raise RuntimeError("the web server did not start")
        yield
    finally:
        server.stop(on_close)
        thread.join(_STOP_SECONDS)
        if thread.is_alive():
            raise RuntimeError("the web server did not stop")


class _Server(uvicorn.Server):
    def __init__(self, app: Any) -> None:
        # Critical only: a dropped connection is what a test asked for, not news.
        config = uvicorn.Config(app, log_level="critical")
        super().__init__(config)
        self.ready = threading.Event()
        self._stopping = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)
        self.ready.set()

    async def main_loop(self) -> None:
        await self._stopping.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for server in self.servers:
            server.close()
        for listening in sockets or []:
            listening.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        # A client that keeps its connection open must not keep the test waiting.
        with anyio.move_on_after(_CLOSE_SECONDS):
            while self.server_state.connections:
                await anyio.sleep(_LOOK_SECONDS)

    def stop(self, on_close: Callable[[], None] | None) -> None:
        self.should_exit = True
        if self._loop is not None:
            if on_close is not None:
                self._loop.call_soon_threadsafe(on_close)
            self._loop.call_soon_threadsafe(self._stopping.set)
