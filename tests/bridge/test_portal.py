"""The portal: one thread with one loop, called from others, ended in bounded time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager

import anyio
import pytest

from xai_mcp_agent.bridge.portal import Portal


async def stay(ready: Callable[[], None], stop: anyio.Event) -> None:
    """What runs on the loop: nothing, until it should end."""
    ready()
    await stop.wait()


@contextmanager
def portal() -> Generator[Portal]:
    """An open portal."""
    made = Portal(stay)
    try:
        yield made
    finally:
        made.close()


async def double(number: int, *, plus: int = 0) -> int:
    await anyio.sleep(0)
    return number * 2 + plus


async def fail() -> None:
    raise ValueError("on the loop")


def test_a_coroutine_is_run_on_the_loop_and_its_result_or_error_comes_back():
    with portal() as made:
        assert made.call(double, 4, plus=1) == 9
        with pytest.raises(ValueError, match="on the loop"):
            made.call(fail)
        assert made.submit(double, 3).result(20) == 6


def test_cancelling_the_future_cancels_the_coroutine():
    with portal() as made:
        started, stopped = threading.Event(), threading.Event()

        async def wait() -> None:
            started.set()
            try:
                await anyio.sleep_forever()
            finally:
                stopped.set()

        future = made.submit(wait)
        assert started.wait(20)
        future.cancel()
        assert stopped.wait(20)


def test_closing_ends_the_thread_and_whoever_waits():
    made = Portal(stay)
    errors: list[BaseException] = []
    started = threading.Event()

    async def wait() -> None:
        started.set()
        await anyio.sleep_forever()

    def call() -> None:
        try:
            made.call(wait)
        except RuntimeError as error:
            errors.append(error)

    caller = threading.Thread(target=call)
    caller.start()
    assert started.wait(20)
    made.close()
    caller.join(20)
    assert "The bridge was closed before the call was done" in str(errors[0])
    assert "xai-mcp-bridge" not in {x.name for x in threading.enumerate()}
    with pytest.raises(RuntimeError, match="This bridge is closed"):
        made.call(double, 1)
