"""A call of a client through the gateway, beside an echo of the SDK's server with nothing behind.

The clients write and read lines by hand, so that what is measured is the servers. Behind each
gateway stands the same server of our own, which answers at once. fastmcp's proxy, where its
environment is there (see `benchmarks.peers`), stands before the same one.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO
from unittest import mock

from xai_mcp_agent.core.json import JsonObject
from xai_mcp_agent.sources import warm

from .peers.environments import CACHE
from .rows import Row, ratio, size

_RAW = str(Path(__file__).with_name("peers") / "raw_server.py")
_ECHO = str(Path(__file__).with_name("echo_server.py"))
_CALLS = size(100, 5)
_ROUNDS = size(15, 1)
_READY_SECONDS = 30.0
_SOCKET_TARGET, _PROXY_TARGET = 1.25, 0.5
_CLIENT = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "0"},
}
_SERVE = "from xai_mcp_agent.cli.main import run; run()"
_PROXY = """
import sys
from fastmcp.server import create_proxy
echo = {"command": sys.executable, "args": ["-I", "-S", sys.argv[1], "{}"]}
create_proxy({"mcpServers": {"echo": echo}}).run(show_banner=False)
"""


class LineClient:
    """A client of the handshake era, over lines to read and lines to write."""

    def __init__(self, lines: IO[bytes], writer: IO[bytes]) -> None:
        self._lines, self._writer = lines, writer
        self._number = 0
        self.ask("initialize", _CLIENT)
        self._send({"method": "notifications/initialized"})
        deadline = time.monotonic() + _READY_SECONDS
        while not (names := self._names()):
            assert time.monotonic() < deadline, "it lists no tools"
        self._tool = names[0]

    def calls(self) -> None:
        """Call the tool again and again."""
        for _ in range(_CALLS):
            answer = self.ask("tools/call", {"name": self._tool, "arguments": {"text": "hello"}})
            assert answer["content"][0]["text"] == "hello", answer

    def ask(self, method: str, params: JsonObject) -> JsonObject:
        """The result of a request."""
        self._number += 1
        self._send({"id": self._number, "method": method, "params": params})
        while True:
            answer = json.loads(self._lines.readline())
            if answer.get("id") == self._number:
                return answer["result"]

    def _names(self) -> list[str]:
        return [x["name"] for x in self.ask("tools/list", {})["tools"] if "echo" in x["name"]]

    def _send(self, message: JsonObject) -> None:
        self._writer.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self._writer.flush()


def _process(command: Sequence[str], stack: ExitStack) -> LineClient:
    process = stack.enter_context(
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
    )
    stack.callback(process.kill)
    assert process.stdin is not None
    assert process.stdout is not None
    return LineClient(process.stdout, process.stdin)


def _socket(path: Path, stack: ExitStack) -> LineClient:
    connection = stack.enter_context(socket.socket(socket.AF_UNIX))
    connection.connect(str(path))
    lines = stack.enter_context(connection.makefile("rb"))
    return LineClient(lines, stack.enter_context(connection.makefile("wb")))


def rows() -> Iterator[Row]:
    """Measure over the socket, then over stdio, then against the proxy."""
    with tempfile.TemporaryDirectory(prefix="gateway-", ignore_cleanup_errors=True) as name:
        file = Path(name) / "mcp_settings.json"
        entry = {"command": sys.executable, "args": ["-I", "-S", _RAW, "{}"]}
        file.write_text(json.dumps({"mcpServers": {"echo": entry}}), encoding="utf-8")
        own = {"XDG_RUNTIME_DIR": name, "XDG_STATE_HOME": name, "XAI_MCP_TRUST": "1"}
        with mock.patch.dict(os.environ, own), ExitStack() as stack:
            yield from _measure(file, stack)


def _measure(file: Path, stack: ExitStack) -> Iterator[Row]:
    def calls_of(client: LineClient) -> Callable[[], None]:
        client.calls()  # warm
        return client.calls

    bare = calls_of(_process([sys.executable, _ECHO], stack))
    place = warm.place_of(file)
    warm.ensure(place)
    stack.callback(warm.ask, place, stop=True)
    value, spread = ratio(calls_of(_socket(place.socket, stack)), bare, _ROUNDS)
    yield Row("a call through the gateway's socket / an SDK server's echo", value, "x",
              _SOCKET_TARGET, spread)  # fmt: skip
    value, spread = ratio(calls_of(_process(place.relay, stack)), bare, _ROUNDS)
    yield Row("a call through the relay to that socket / the same echo", value, "x", None, spread)
    serve = [sys.executable, "-c", _SERVE, "serve", "--stdio", "--settings", str(file)]
    stdio = calls_of(_process(serve, stack))
    value, spread = ratio(stdio, bare, _ROUNDS)
    yield Row("a call through the gateway over stdio / the same echo", value, "x", None, spread)
    python = CACHE / "fastmcp" / "bin" / "python"
    if python.exists():
        proxy = calls_of(_process([str(python), "-c", _PROXY, _RAW], stack))
        value, spread = ratio(stdio, proxy, _ROUNDS)
        yield Row("a call through the gateway over stdio / fastmcp's proxy", value, "x",
                  _PROXY_TARGET, spread)  # fmt: skip
