"""Base of all drivers. Standard library only: some environments do not have our package."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

# The settings of a server: `command` and `args`, or `url`.
Entry = Mapping[str, Any]
# Called with the name of a server and the number of its tools as soon as they are usable.
Usable = Callable[[str, int], None]

# For every client that takes a limit for the start of a server.
START_SECONDS = 10.0
# Longer than the limit of any step, so that no client's own limit decides.
CALL_SECONDS = 60.0


class Driver:
    """One client, used as well as it allows. It is connected only once."""

    async def connect(self, servers: Mapping[str, Entry], usable: Usable) -> dict[str, str]:
        """Connect to all, and report each when it is usable; return the errors of the others."""
        raise NotImplementedError

    async def list_again(self, server: str) -> int:
        """List the server's tools, not those of a cache; return their number."""
        raise NotImplementedError

    async def call(self, server: str, tool: str, arguments: dict[str, Any]) -> str:
        """Call a tool; the text of its result."""
        raise NotImplementedError

    async def close(self) -> None:
        """Close all connections."""
        raise NotImplementedError

    async def calls(self, server: str, count: int, in_flight: int) -> None:
        """Call `echo` so often, so many at a time."""
        await waves(lambda: self.call(server, "echo", {"text": "hello"}), count, in_flight)


async def waves(call: Callable[[], Awaitable[str]], count: int, in_flight: int) -> None:
    """Call so often, so many at a time, and check each answer."""
    for _ in range(count // in_flight):
        if in_flight == 1:
            check_echo([await call()])
        else:
            check_echo(await asyncio.gather(*(call() for _ in range(in_flight))))


def check_echo(answers: Sequence[str]) -> None:
    """Raise RuntimeError for an answer that is no echo."""
    if any(answer != "hello" for answer in answers):
        raise RuntimeError(f"not an echo: {answers}")


class Owners:
    """A task for each of several connections, which opens and closes it."""

    def __init__(self) -> None:
        self._stop = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self, connect: Callable[[Callable[[], None]], Awaitable[None]]) -> None:
        """Run `connect(ready)` in a task; return when it calls `ready`.

        `connect` keeps its connection open with `stay`. An error before it is ready is raised here.
        """
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        async def own() -> None:
            try:
                await connect(lambda: ready.set_result(None))
            except BaseException as error:
                if ready.done():
                    raise
                ready.set_exception(RuntimeError(describe(error)))

        self._tasks.append(asyncio.create_task(own()))
        await ready

    async def stay(self) -> None:
        """Wait until `end`."""
        await self._stop.wait()

    async def end(self) -> None:
        """Let all connections close, and wait for that."""
        self._stop.set()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def describe(error: BaseException) -> str:
    """Return an error and those of its group, in a line."""
    inner = getattr(error, "exceptions", ())
    text = f"{type(error).__name__}: {error}"
    return f"{text}: {'; '.join(map(describe, inner))}" if inner else text
