"""A call of a client through the gateway, beside an echo of the SDK's server with nothing behind.

The clients write and read lines by hand, so that only the servers are measured. Each gateway
has the same small server behind it, which answers at once; so has fastmcp's proxy, if there is its
environment (see `benchmarks.peers`).
"""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from tests.support.processes import wait_until

from .echo import COMMAND, LineClient, client_of, warm_server
from .peers.environments import CACHE
from .rows import Row, compare, size

_RAW = str(Path(__file__).with_name("peers") / "raw_server.py")
_CALLS = size(100, 5)
_ROUNDS = size(15, 1)
_READY_SECONDS = 30.0
_SOCKET_TARGET, _PROXY_TARGET = 1.25, 0.5
_SERVE = "from xai_mcp_agent.cli.main import run; run()"
_PROXY = """
import sys
from fastmcp.server import create_proxy
echo = {"command": sys.executable, "args": ["-I", "-S", sys.argv[1], "{}"]}
create_proxy({"mcpServers": {"echo": echo}}).run(show_banner=False)
"""


def rows() -> Iterator[Row]:
    """Measure over the socket, then over stdio, then against the proxy."""
    entry = {"command": sys.executable, "args": ["-I", "-S", _RAW, "{}"]}
    with warm_server(entry) as (settings, place), ExitStack() as stack:

        def calls_over_stdio(command: Sequence[str]) -> Callable[[], None]:
            return _calls(stack.enter_context(client_of(command)))

        bare = calls_over_stdio(COMMAND)
        over_socket = _calls(_connect(place.socket, stack))
        what = "a call through the gateway's socket / an SDK server's echo"
        yield compare(what, over_socket, bare, _ROUNDS, _SOCKET_TARGET)
        relay = calls_over_stdio(place.relay)
        what = "a call through the relay to that socket / the same echo"
        yield compare(what, relay, bare, _ROUNDS)
        serve = ["-c", _SERVE, "serve", "--stdio", "--settings", str(settings)]
        stdio = calls_over_stdio([sys.executable, *serve])
        what = "a call through the gateway over stdio / the same echo"
        yield compare(what, stdio, bare, _ROUNDS)
        python = CACHE / "fastmcp" / "bin" / "python"
        if python.exists():
            proxy = calls_over_stdio([str(python), "-c", _PROXY, _RAW])
            what = "a call through the gateway over stdio / fastmcp's proxy"
            yield compare(what, stdio, proxy, _ROUNDS, _PROXY_TARGET)


def _connect(path: Path, stack: ExitStack) -> LineClient:
    connection = stack.enter_context(socket.socket(socket.AF_UNIX))
    connection.connect(str(path))
    reader = stack.enter_context(connection.makefile("rb"))
    return LineClient(reader, stack.enter_context(connection.makefile("wb")))


def _calls(client: LineClient) -> Callable[[], None]:
    """Return a function that calls the echo many times; the first round is already done."""

    def echo_tools() -> list[str]:
        tools = client.request("tools/list", {})["tools"]
        return [x["name"] for x in tools if "echo" in x["name"]]

    client.wait_until_ready()
    wait_until(lambda: bool(echo_tools()), "the echo is listed", _READY_SECONDS)
    call = {"name": echo_tools()[0], "arguments": {"text": "hello"}}

    def make_calls() -> None:
        for _ in range(_CALLS):
            answer = client.request("tools/call", call)
            assert answer["content"][0]["text"] == "hello", answer

    make_calls()
    return make_calls
