"""uvicorn in a thread of the tests."""

from __future__ import annotations

import inspect
import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import uvicorn

from .processes import wait_until

_STOP_SECONDS = 30.0


@contextmanager
def serving(app: Any) -> Generator[str]:
    """Serve a web application for the length of the block; yield its address.

    `app` may be a method that returns one for the address.
    """
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        # asyncio does not see that it is TCP: each answer in pieces would wait for 40 milliseconds.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # Critical only: a dropped connection is what a test asked for, not news.
        config = uvicorn.Config(
            app(address) if inspect.ismethod(app) else app,
            log_level="critical", timeout_graceful_shutdown=1,
        )  # fmt: skip
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
        thread.start()
        wait_until(lambda: server.started, "the web server has started")
        try:
            yield address
        finally:
            server.should_exit = True
            thread.join(_STOP_SECONDS)
            assert not thread.is_alive(), "the web server did not stop"
