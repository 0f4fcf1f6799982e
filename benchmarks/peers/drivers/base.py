"""Base of all drivers. Standard library only: some environments do not have our package."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

# What a settings file holds for a server: `command` and `args`, or `url`.
Entry = Mapping[str, Any]
# Told the name of a server and the number of its tools as soon as they can be used.
Usable = Callable[[str, int], None]

# Given to every client that takes a limit for the start of a server.
START_SECONDS = 10.0
# Longer than any step is waited for, so that no client's own limit decides.
CALL_SECONDS = 60.0


class Driver:
    """One client, used as well as it allows. Connected once; then a new one is made."""

    async def connect(self, servers: Mapping[str, Entry], usable: Usable) -> dict[str, str]:
        """Connect to all, say which are usable as soon as they are; the reasons of the others."""
        raise NotImplementedError

    async def list_again(self, server: str) -> int:
        """Ask the server for its tools, not a cache; how many there are."""
        raise NotImplementedError

    async def call(self, server: str, tool: str, arguments: dict[str, Any]) -> str:
        """Call a tool; the text of its result."""
        raise NotImplementedError

    async def close(self) -> None:
        """End all that was connected."""
        raise NotImplementedError

    async def calls(self, server: str, count: int, in_flight: int) -> None:
        """So many calls of `echo`, so many of them at a time."""
        await waves(lambda: self.call(server, "echo", {"text": "hello"}), count, in_flight)


async def waves(call: Callable[[], Awaitable[str]], count: int, in_flight: int) -> None:
    """Call so often, so many at a time, and look at each answer."""
    for _ in range(count // in_flight):
        if in_flight == 1:
            answers = [await call()]
        else:
            answers = await asyncio.gather(*(call() for _ in range(in_flight)))
        if any(answer != "hello" for answer in answers):
            raise RuntimeError(f"not an echo: {answers}")


class Owners:
    """A task for each of several connections: opened, kept and closed in the same one."""

    def __init__(self) -> None:
        self._leave = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self, connect: Callable[[Callable[[], None]], Awaitable[None]]) -> None:
        """Run `connect(ready)` in a task; return when it is ready.

        `connect` stays in its connection with `stay`. What it raises before it is ready comes
        out here.
        """
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        async def own() -> None:
            try:
                await connect(lambda: ready.set_result(None))
            except BaseException as error:
                if ready.done():
                    raise
                ready.set_exception(RuntimeError(described(error)))

        self._tasks.append(asyncio.create_task(own()))
        await ready

    async def stay(self) -> None:
        """Wait until `end`."""
        await self._leave.wait()

    async def end(self) -> None:
        """Have all leave, and wait for it."""
        self._leave.set()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def described(error: BaseException) -> str:
    """An error with what is inside its groups, in a line."""
    inner = getattr(error, "exceptions", ())
    said = f"{type(error).__name__}: {error}"
    return said if not inner else f"{said}: {'; '.join(described(x) for x in inner)}"
