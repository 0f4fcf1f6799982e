"""A tool call through the bridge against the same call on a bare `mcp.Client` in its own loop.

One at a time: a plain thread calls `Bridge.call_tool` again and again, as a node does;
the bare client awaits one call after another. 32 in flight: a plain thread starts 32 calls
and waits for all of them; the bare client gathers 32. Both speak to one server of their own,
started from the same file, and take turns.

A workflow cannot call a client in its loop: whatever it uses has to go from its thread to the
loop's and back, and in one interpreter each waits for the other to let go. What that costs
anybody is in the row about a bare client behind anyio's portal, called from a plain thread.

The target is ours: a call may cost a twentieth more than on the bare client, that hop included.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

from anyio.from_thread import start_blocking_portal
from mcp import Client, StdioServerParameters

from xai_mcp_agent import Bridge
from xai_mcp_agent.bridge.operations import Operations

from .rows import Row, ratio, size

_SERVER = str(Path(__file__).with_name("echo_server.py"))
_CALLS = size(96, 32)  # in each round; a multiple of what is in flight
_IN_FLIGHT = 32
_ROUNDS = size(15, 1)
_TARGET = 1.05
_START_SECONDS = 20.0


def rows() -> Iterator[Row]:
    """Measure over stdio, then over HTTP."""
    stdio = StdioServerParameters(command=sys.executable, args=[_SERVER])
    yield from _measure("stdio", stdio, stdio_server())
    with http_server() as one, http_server() as other:
        yield from _measure("HTTP", one, {"url": other})


def stdio_server() -> dict[str, Any]:
    """Return the settings entry of the server, as a child process."""
    return {"command": sys.executable, "args": [_SERVER]}


def _measure(name: str, target: Any, settings: dict[str, Any]) -> Iterator[Row]:
    with _bare(target) as run, Bridge({"mcpServers": {"echo": settings}}) as bridge:
        bridge.connect(wait=True)
        pairs = (
            ("one at a time", _one_by_one(bridge), lambda: run(_bare_one_by_one)),
            (f"{_IN_FLIGHT} in flight", _together(bridge), lambda: run(_bare_together)),
        )
        for how, ours, bare in pairs:
            ours(), bare()  # warm
            value, spread = ratio(ours, bare, _ROUNDS)
            yield Row(
                f"a call over {name}, {how}, bridge / bare client", value, "x", _TARGET, spread
            )
        with _behind_a_portal(target) as calls:
            value, spread = ratio(calls, pairs[0][2], _ROUNDS)
            yield Row("the same, bare client behind a portal / bare", value, "x", None, spread)


def _one_by_one(bridge: Bridge) -> Callable[[], None]:
    def calls() -> None:
        for _ in range(_CALLS):
            bridge.call_tool("echo", "echo", {"text": "hello"})

    return calls


def _together(bridge: Bridge) -> Callable[[], None]:
    def calls() -> None:
        for _ in range(_CALLS // _IN_FLIGHT):
            started = [
                bridge.submit(Operations.call_tool, "echo", "echo", {"text": "hello"})
                for _ in range(_IN_FLIGHT)
            ]
            for one in started:
                one.result()

    return calls


async def _bare_one_by_one(client: Client) -> None:
    for _ in range(_CALLS):
        await client.call_tool("echo", {"text": "hello"})


async def _bare_together(client: Client) -> None:
    for _ in range(_CALLS // _IN_FLIGHT):
        calls = (client.call_tool("echo", {"text": "hello"}) for _ in range(_IN_FLIGHT))
        await asyncio.gather(*calls)


Job = Callable[[Client], Coroutine[Any, Any, None]]


@contextlib.contextmanager
def _bare(target: Any) -> Iterator[Callable[[Job], None]]:
    """A connected bare client, and a way to run a job with it on its own loop."""
    with asyncio.Runner() as runner:
        connected: asyncio.Future[Client] = runner.get_loop().create_future()
        done = asyncio.Event()

        async def own() -> None:
            async with Client(target) as client:
                await client.list_tools()  # as every user of tools does
                connected.set_result(client)
                await done.wait()

        async def begin() -> tuple[asyncio.Task[None], Client]:
            return asyncio.create_task(own()), await connected

        async def end() -> None:
            done.set()
            await task

        task, client = runner.run(begin())
        try:
            yield lambda job: runner.run(job(client))
        finally:
            runner.run(end())


@contextlib.contextmanager
def _behind_a_portal(target: Any) -> Iterator[Callable[[], None]]:
    """A bare client in a loop of its own thread, called from this one."""
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(Client(target)) as client,
    ):
        portal.call(client.list_tools)

        def calls() -> None:
            for _ in range(_CALLS):
                portal.call(client.call_tool, "echo", {"text": "hello"})

        yield calls


@contextlib.contextmanager
def http_server() -> Iterator[str]:
    """The address of such a server, for the length of the block."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen([sys.executable, _SERVER, str(port)], stderr=subprocess.DEVNULL)
    try:
        _wait_for(port)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        process.wait(10)


def _wait_for(port: int) -> None:
    until = time.monotonic() + _START_SECONDS
    while time.monotonic() < until:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)
    raise TimeoutError(f"nothing listens on port {port}")
