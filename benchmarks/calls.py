"""A tool call through the bridge against the same call on a bare `mcp.Client` in its own loop.

One at a time: a plain thread calls `Bridge.call_tool` again and again, as a node does;
the bare client awaits one call after another. 32 in flight: a plain thread starts 32 calls
and waits for all of them; the bare client gathers 32. Each speaks to its own server, started from
the same file, and they take turns.

A workflow cannot call a client in its loop: each call goes from the workflow's thread to the loop's
and back, and in one interpreter each waits until the other lets go. The row about a bare client
behind anyio's portal, called from a plain thread, shows the cost of that for any library.

The target is ours: with that hop, a call may cost a twentieth more than on the bare client.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from anyio.from_thread import start_blocking_portal
from mcp import Client, StdioServerParameters

from xai_mcp_agent import Bridge
from xai_mcp_agent.bridge.operations import Operations

from .echo import ENTRY, SERVER, echo_calls, http_server
from .rows import Row, compare, size

_CALLS = size(96, 32)  # in each round; a multiple of what is in flight
_IN_FLIGHT = 32
_ROUNDS = size(15, 1)
_TARGET = 1.05
_ARGUMENTS = {"text": "hello"}


def rows() -> Iterator[Row]:
    """Measure over stdio, then over HTTP."""
    stdio = StdioServerParameters(command=sys.executable, args=[SERVER])
    yield from _measure("stdio", stdio, ENTRY)
    with http_server() as one, http_server() as other:
        yield from _measure("HTTP", one, {"url": other})


def _measure(transport: str, target: Any, entry: dict[str, Any]) -> Iterator[Row]:
    with _bare_client(target) as run, Bridge({"mcpServers": {"echo": entry}}) as bridge:
        bridge.connect(wait=True)
        one_by_one = partial(run, _await_one_by_one)
        pairs = (
            ("one at a time", echo_calls(bridge, _CALLS), one_by_one),
            (f"{_IN_FLIGHT} in flight", _calls_in_flight(bridge), partial(run, _gather_calls)),
        )
        for how, ours, bare in pairs:
            ours(), bare()  # warm
            what = f"a call over {transport}, {how}, bridge / bare client"
            yield compare(what, ours, bare, _ROUNDS, _TARGET)
        with _calls_behind_a_portal(target) as calls:
            what = "the same, bare client behind a portal / bare"
            yield compare(what, calls, one_by_one, _ROUNDS)


def _calls_in_flight(bridge: Bridge) -> Callable[[], None]:
    def call() -> None:
        for _ in range(_CALLS // _IN_FLIGHT):
            futures = [
                bridge.submit(Operations.call_tool, "echo", "echo", _ARGUMENTS)
                for _ in range(_IN_FLIGHT)
            ]
            for future in futures:
                future.result()

    return call


async def _await_one_by_one(client: Client) -> None:
    for _ in range(_CALLS):
        await client.call_tool("echo", _ARGUMENTS)


async def _gather_calls(client: Client) -> None:
    for _ in range(_CALLS // _IN_FLIGHT):
        await asyncio.gather(*(client.call_tool("echo", _ARGUMENTS) for _ in range(_IN_FLIGHT)))


Job = Callable[[Client], Coroutine[Any, Any, None]]


@contextmanager
def _bare_client(target: Any) -> Iterator[Callable[[Job], None]]:
    """Yield a function that runs a job with a connected bare client on its own loop."""
    with asyncio.Runner() as runner:
        connected: asyncio.Future[Client] = runner.get_loop().create_future()
        stop = asyncio.Event()

        async def own() -> None:
            async with Client(target) as client:
                await client.list_tools()  # as every user of tools does
                connected.set_result(client)
                await stop.wait()

        async def begin() -> tuple[asyncio.Task[None], Client]:
            return asyncio.create_task(own()), await connected

        async def end() -> None:
            stop.set()
            await task

        task, client = runner.run(begin())
        try:
            yield lambda job: runner.run(job(client))
        finally:
            runner.run(end())


@contextmanager
def _calls_behind_a_portal(target: Any) -> Iterator[Callable[[], None]]:
    """Yield a function that makes calls from this thread with a client in another."""
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(Client(target)) as client,
    ):
        portal.call(client.list_tools)

        def call() -> None:
            for _ in range(_CALLS):
                portal.call(client.call_tool, "echo", _ARGUMENTS)

        yield call
