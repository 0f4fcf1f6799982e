"""Measurements with a driver, as plain numbers. Standard library only, like the worker."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from time import perf_counter
from typing import Any

from .drivers.base import Driver, describe

Job = Mapping[str, Any]
Send = Callable[[dict[str, Any]], None]
Make = Callable[[], Driver]

_CONFIRM_SECONDS = 5.0  # a usable server answers a call within this


async def measure(job: Job, make: Make, send: Send) -> None:
    """Do one job; send its result, and then that everything is closed."""
    await _KINDS[job["kind"]](job, make, send)
    send({"closed": True})


@asynccontextmanager
async def _connect(driver: Driver, job: Job) -> AsyncIterator[Driver]:
    """Connect the driver to the job's only server, or raise the reason why not."""
    usable: dict[str, int] = {}
    servers = {"one": job["servers"]["one"]}
    errors = await driver.connect(servers, usable.__setitem__)
    try:
        if "one" not in usable:
            raise RuntimeError(f"not connected: {errors}")
        yield driver
    finally:
        await driver.close()


async def _calls(job: Job, make: Make, send: Send) -> None:
    """Seconds for a call with this client and with the bare one, round by round, in turns."""
    from .drivers.bare import Bare

    async with _connect(Bare(), job) as bare, _connect(make(), job) as ours:
        pairs = {}
        for key, in_flight in job["in_flight"].items():
            pairs[key] = await _in_turns(ours, bare, job["calls"], in_flight, job["rounds"])
        send({"result": pairs})


async def _in_turns(
    ours: Driver, bare: Driver, count: int, in_flight: int, rounds: int
) -> list[tuple[float, float]]:
    for one in (ours, bare):
        await one.calls("one", count, in_flight)  # warm
    pairs: list[tuple[float, float]] = []
    for number in range(rounds):
        order = (ours, bare) if number % 2 else (bare, ours)
        times = {x: await _seconds(lambda x=x: x.calls("one", count, in_flight)) for x in order}
        pairs.append((times[ours] / count, times[bare] / count))
    return pairs


async def _large(job: Job, make: Make, send: Send) -> None:
    """Seconds for one result of so many characters."""
    async with _connect(make(), job) as driver:
        await driver.call("one", "echo", {"text": "hello"})  # warm
        for key, characters in job["characters"].items():
            rounds = range(job["rounds"][key])
            times = [await _seconds(lambda n=characters: _blob(driver, n)) for _ in rounds]
            send({"part": {key: times}})
        send({"result": {}})


async def _blob(driver: Driver, characters: int) -> None:
    text = await driver.call("one", "blob", {"characters": characters})
    if len(text) != characters:
        raise RuntimeError(f"{len(text)} characters of {characters} came through")


async def _listing(job: Job, make: Make, send: Send) -> None:
    """Seconds for a new listing, and how many tools are in it."""
    async with _connect(make(), job) as driver:
        counts: list[int] = []

        async def list_again() -> None:
            counts.append(await driver.list_again("one"))

        await list_again()  # warm
        times = [await _seconds(list_again) for _ in range(job["rounds"])]
        send({"result": {"listing": times, "tools": min(counts)}})


async def _ready(job: Job, make: Make, send: Send) -> None:
    """Send when each server was usable, why others failed, and which of them answer a call."""
    driver, start = make(), perf_counter()
    usable: set[str] = set()
    errors: dict[str, str] = {}

    def report(name: str, count: int) -> None:
        if count and name not in usable:
            usable.add(name)
            send({"usable": name, "seconds": perf_counter() - start})

    try:
        errors = await driver.connect(job["servers"], report)
    except Exception as error:  # noqa: BLE001 - a client that fails as a whole is a result
        errors["all"] = describe(error)
    answering = [name for name in sorted(usable) if await _answers(driver, name)]
    send({"result": {"failed": errors, "answering": answering}})
    try:
        await driver.close()
    except Exception as error:  # noqa: BLE001 - one that failed to connect may fail to close
        print(f"closing: {describe(error)}", flush=True)


async def _answers(driver: Driver, name: str) -> bool:
    try:
        async with asyncio.timeout(_CONFIRM_SECONDS):
            return await driver.call(name, "echo", {"text": "there?"}) == "there?"
    except Exception as error:  # noqa: BLE001 - any error means no answer
        print(f"{name} does not answer: {describe(error)}", flush=True)
        return False


async def _first(job: Job, make: Make, send: Send) -> None:
    """One call; the time counts from the start of the process, so the runner takes it."""
    async with _connect(make(), job) as driver:
        await driver.call("one", "echo", {"text": "hello"})
        send({"result": {}})


async def _seconds(function: Callable[[], Awaitable[object]]) -> float:
    start = perf_counter()
    await function()
    return perf_counter() - start


_KINDS = {
    "calls": _calls,
    "large": _large,
    "listing": _listing,
    "ready": _ready,
    "first": _first,
}
