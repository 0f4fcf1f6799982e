"""A source that keeps failing is not called for a while; mistakes of callers do not count."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import pytest

from tests.support.bridges import bridge_with, status_of
from tests.support.fault_http import fault_http
from tests.support.fault_server import entry
from tests.support.http_faults import refuse
from tests.support.processes import wait_until
from xai_mcp_agent import (
    Bridge,
    InvalidArguments,
    ServerError,
    SourceClosed,
    SourceError,
    SourceFailed,
    ToolTimeout,
    UnknownTool,
    settings_from,
)
from xai_mcp_agent.core.errors import CircuitOpen
from xai_mcp_agent.core.results import ToolResult
from xai_mcp_agent.policy.breaker import CircuitBreakers

FINE = ToolResult.of_text("fine")
LOST = SourceClosed("it", "the connection was lost.")
CALLS = 8


class Clock:
    """A clock that the test sets, and a source with scripted answers."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        monkeypatch.setattr("xai_mcp_agent.policy.breaker.monotonic", lambda: self.now)
        settings = settings_from({"mcpServers": {"it": {"command": "x", "breaker": True}}})
        self.breakers = CircuitBreakers(settings.sources, lambda text: text)

    @property
    def state(self) -> str:
        return self.breakers.state("it")

    async def call(self, answer: ToolResult | Exception = FINE, limit: float | None = None) -> Any:
        """Make one call; return its result or error."""

        async def do() -> ToolResult:
            self.now += 0.01
            if isinstance(answer, Exception):
                raise answer
            return answer

        try:
            return await self.breakers.guard("it", do, limit)
        except Exception as error:  # noqa: BLE001 - returned for the test to check
            return error

    async def fail(self, times: int) -> None:
        for _ in range(times):
            await self.call(LOST)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


@pytest.mark.anyio
async def test_five_failures_in_a_row_open_the_breaker_and_the_pause_doubles_up_to_a_limit(
    clock: Clock,
):
    await clock.fail(4)
    assert await clock.call() is FINE
    await clock.fail(4)
    assert clock.state == ""
    await clock.fail(1)
    refusal = await clock.call()
    assert isinstance(refusal, CircuitOpen)
    assert "5 calls in a row failed. The last: the connection was lost." in str(refusal)
    assert "in 30 s" in str(refusal)
    assert "in 30 s" in clock.state
    pauses: list[float] = []
    for _ in range(6):
        refusal = await clock.call()
        pauses.append(round(refusal.retry_seconds))
        clock.now += refusal.retry_seconds
        assert isinstance(await clock.call(LOST), SourceClosed), "one call tries it"
    assert pauses == [30, 60, 120, 240, 300, 300]
    clock.now += 300
    assert await clock.call() is FINE
    await clock.fail(5)
    assert round((await clock.call()).retry_seconds) == 30


@pytest.mark.anyio
async def test_only_one_call_at_a_time_probes_and_a_cancelled_probe_decides_nothing(clock: Clock):
    await clock.fail(5)
    clock.now += 31
    going = anyio.Event()

    async def hang() -> ToolResult:
        assert not going.is_set()
        going.set()
        await anyio.sleep_forever()
        raise AssertionError

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(clock.breakers.guard, "it", hang)
        await going.wait()
        refusal = [await clock.call() for _ in range(5)]
        assert all(isinstance(x, CircuitOpen) and "trying it now" in str(x) for x in refusal)
        tasks.cancel_scope.cancel()
    assert "The next call tries it." in clock.state
    assert await clock.call() is FINE
    assert clock.state == ""


@pytest.mark.anyio
async def test_failures_of_the_source_count_and_mistakes_of_callers_never_do(clock: Clock):
    late = SourceFailed("it", "not ready within 0.5 s")
    late.__cause__ = TimeoutError()
    of_callers: list[Any] = [
        InvalidArguments("t", ["wrong"], "other"), UnknownTool("none"),
        ToolResult.of_text("I could not", is_error=True), ServerError("it", "invalid", -32602),
        ServerError("it", "not found", -32603, status=404), ValueError("ours"),
        SourceFailed("another", "of a call within this one"),
    ]  # fmt: skip
    impatient: list[Any] = [ToolTimeout("it", "late"), late]
    for answer, limit in [*((x, None) for x in of_callers), *((x, 0.5) for x in impatient)] * 6:
        assert await clock.call(answer, limit) is answer
        assert clock.state == "", answer
    of_source: list[Any] = [
        SourceFailed("it", "gone"), ToolTimeout("it", "late"),
        ServerError("it", "busy", 0, status=429), ServerError("it", "broken", -32603, status=503),
        ToolResult((), is_error=True, is_outage=True),
    ]  # fmt: skip
    for answer in of_source:
        assert clock.state == ""
        assert await clock.call(answer, 10.0) is answer
    assert isinstance(await clock.call(), CircuitOpen)


@pytest.mark.anyio
async def test_a_lost_connection_counts_once_for_all_its_calls(clock: Clock):
    going = anyio.Event()

    async def lose() -> ToolResult:
        await going.wait()
        clock.now += 0.01
        raise SourceClosed("it", "the connection was lost.")

    async def one() -> None:
        with pytest.raises(SourceClosed):
            await clock.breakers.guard("it", lose)

    for round_number in range(5):
        assert clock.state == "", round_number
        going = anyio.Event()
        async with anyio.create_task_group() as tasks:
            for _ in range(CALLS):
                tasks.start_soon(one)
            await anyio.wait_all_tasks_blocked()
            going.set()
        clock.now += 1
    assert "5 calls in a row" in clock.state


def call(bridge: Bridge) -> type[BaseException] | None:
    """Make a real call; return the type of its error."""
    try:
        bridge.call_tool("it", "echo", {"text": "a"})
    except SourceError as error:
        return type(error)
    return None


def test_a_server_that_dies_at_each_call_is_not_called_until_the_breaker_is_reset():
    """Starting it succeeds, which does not count as a successful call."""
    dies = entry(on={"tools/call": [["exit", 3]]}, timeout=20)
    resets: list[Callable[[Bridge], object]] = [
        lambda x: x.reset_breaker("it") and not x.reset_breaker("it"), lambda x: x.refresh("it"),
    ]  # fmt: skip
    with bridge_with(it=dies | {"breaker": {"failures": 3, "seconds": 600}}) as bridge:
        for reset in resets:
            kinds = [call(bridge) for _ in range(5)]
            assert kinds == [SourceClosed] * 3 + [CircuitOpen] * 2
            assert "in 600 s" in status_of(bridge, "it").breaker
            assert reset(bridge)
            assert status_of(bridge, "it").breaker == ""


def test_a_service_that_answers_500_is_not_called_until_the_pause_is_over():
    with fault_http(era="modern") as peer:
        peer.faults["tools/call"] = refuse(500, "out of memory")
        server = {"url": peer.url, "breaker": {"failures": 3, "seconds": 0.2}}
        with bridge_with(it=server) as bridge:
            bridge.list_tools("it")
            for _ in range(3):
                assert call(bridge) in (ServerError, SourceClosed)
            count = peer.methods.count("tools/call")
            assert call(bridge) is CircuitOpen
            assert peer.methods.count("tools/call") == count
            del peer.faults["tools/call"]
            due = "The next call tries it."
            wait_until(lambda: due in status_of(bridge, "it").breaker, "it may be tried again")
            assert call(bridge) is None
            assert status_of(bridge, "it").breaker == ""
