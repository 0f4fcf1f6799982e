"""The echo server of the benchmarks, and clients that speak to it line by line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any
from unittest import mock

from tests.support.processes import free_port, listening_process
from xai_mcp_agent import Bridge
from xai_mcp_agent.core.json import JsonObject
from xai_mcp_agent.sources import warm

SERVER = str(Path(__file__).with_name("echo_server.py"))
COMMAND = [sys.executable, SERVER]
ENTRY: dict[str, Any] = {"command": sys.executable, "args": [SERVER]}
_END_SECONDS = 10.0


@contextmanager
def http_server() -> Iterator[str]:
    """Run the server behind a URL for the length of the block."""
    port = free_port()
    with listening_process([*COMMAND, str(port)], port):
        yield f"http://127.0.0.1:{port}/mcp"


def echo_calls(bridge: Bridge, count: int, tool: str = "echo") -> Callable[[], None]:
    """Return a function that makes so many calls, one after the other, as a node does."""

    def call() -> None:
        for _ in range(count):
            bridge.call_tool("echo", tool, {"text": "hello"})

    return call


@contextmanager
def warm_server(entry: JsonObject) -> Iterator[tuple[Path, warm.Place]]:
    """Yield settings with this server, and the process that keeps it running for clients."""
    with tempfile.TemporaryDirectory(prefix="warm-", ignore_cleanup_errors=True) as folder:
        settings = Path(folder) / "mcp_settings.json"
        settings.write_text(json.dumps({"mcpServers": {"echo": entry}}), encoding="utf-8")
        own = {"XDG_RUNTIME_DIR": folder, "XDG_STATE_HOME": folder, "XAI_MCP_TRUST": "1"}
        with mock.patch.dict(os.environ, own):
            place = warm.place_of(settings)
            warm.ensure(place)
            try:
                yield settings, place
            finally:
                warm.ask(place, stop=True)


class LineClient:
    """A client of the handshake era at the lowest cost: it only writes and reads lines."""

    def __init__(self, reader: IO[bytes], writer: IO[bytes]) -> None:
        self._reader, self._writer = reader, writer
        self._number = 0
        client = {"name": "bench", "version": "0"}
        params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}
        self._send_request("initialize", params)

    def wait_until_ready(self) -> None:
        """Wait for the answer to `initialize`, which has been sent, and confirm it."""
        self._read_result()
        self._send({"method": "notifications/initialized"})

    def request(self, method: str, params: JsonObject) -> JsonObject:
        """Return the result of a request."""
        self._send_request(method, params)
        return self._read_result()

    def _send_request(self, method: str, params: JsonObject) -> None:
        self._number += 1
        self._send({"id": self._number, "method": method, "params": params})

    def _send(self, message: JsonObject) -> None:
        self._writer.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self._writer.flush()

    def _read_result(self) -> JsonObject:
        while True:
            answer = json.loads(self._reader.readline())
            if answer.get("id") == self._number:
                return answer["result"]


@contextmanager
def client_of(command: Sequence[str]) -> Iterator[LineClient]:
    """Start a server and a client of it; at the end of the block the server ends."""
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield LineClient(process.stdout, process.stdin)
            process.stdin.close()
            process.wait(_END_SECONDS)
        finally:
            process.kill()
