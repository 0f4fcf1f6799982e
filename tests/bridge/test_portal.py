"""The portal: one thread with one loop, called from others, ended in bounded time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress

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


def test_a_call_may_take_longer_than_many_steps_of_waiting(monkeypatch: pytest.MonkeyPatch):
    """A slow call: at each step its caller makes sure that there is still somebody to wait for."""
    monkeypatch.setattr("xai_mcp_agent.bridge.portal._STEP_SECONDS", 0.005)

    async def be_slow(seconds: float) -> str:
        await anyio.sleep(seconds)
        return "done"

    with portal() as made:
        assert made.call(be_slow, 0.1) == "done"


def test_a_timeout_of_the_call_itself_is_its_error():
    async def give_up() -> None:
        raise TimeoutError("its own")

    with portal() as made, pytest.raises(TimeoutError, match="its own"):
        made.call(give_up)


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


def test_closing_from_the_loop_itself_does_not_wait_for_itself():
    made = Portal(stay)

    async def close() -> None:
        made.close()

    with suppress(RuntimeError):  # the end may come before the answer
        made.call(close)
    made.close()
    assert not made.is_open


def test_calls_that_meet_the_end_get_their_result_or_are_reported():
    made = Portal(stay)
    ends: list[str] = []

    def call() -> None:
        try:
            while True:
                assert made.call(double, 1) == 2
        except RuntimeError as error:
            ends.append(str(error))

    callers = [threading.Thread(target=call) for _ in range(8)]
    for caller in callers:
        caller.start()
    made.close()
    for caller in callers:
        caller.join(10)
    assert len(ends) == 8
    assert all("bridge" in end and "closed" in end for end in ends)


def test_a_loop_that_cannot_start_says_why(monkeypatch: pytest.MonkeyPatch):
    """Too many open files, say."""

    def no_loop() -> None:
        raise OSError("Too many open files")

    monkeypatch.setattr("xai_mcp_agent.bridge.portal._new_loop", no_loop)
    with pytest.raises(RuntimeError, match="did not start: Too many open files"):
        Portal(stay)


def test_a_new_thread_is_never_taken_for_the_one_that_has_ended():
    """Threads get the numbers of those that have ended."""
    with portal() as closed:
        pass
    taken: list[bool] = []
    for _ in range(5):
        other = threading.Thread(target=lambda: taken.append(closed.is_here))
        other.start()
        other.join()
    assert taken == [False] * 5
