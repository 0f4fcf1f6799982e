"""A source that fails again and again is left alone for a while, and never for what callers do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import pytest

from tests.support.bridges import bridge_with, status_of
from tests.support.fault_http import fault_http, refuse
from tests.support.fault_server import entry
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
from xai_mcp_agent.settings.models import Settings

FINE = ToolResult.of_text("fine")
CALLS = 8


class Clock:
    """The loop's clock, turned by hand; and a source that answers as it is told."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **breaker: Any) -> None:
        self.now = 1000.0
        monkeypatch.setattr("xai_mcp_agent.policy.breaker.monotonic", lambda: self.now)
        self.settings = settings_with(breaker)
        self.breakers = CircuitBreakers(self.settings.sources, lambda text: text)

    async def call(self, answer: ToolResult | Exception, limit: float | None = None) -> Any:
        """One call; what came of it."""

        async def do() -> ToolResult:
            self.now += 0.01
            if isinstance(answer, Exception):
                raise answer
            return answer

        try:
            return await self.breakers.guard("it", do, limit)
        except Exception as error:  # noqa: BLE001 - handed back to be looked at
            return error

    async def fail(self, times: int) -> None:
        for _ in range(times):
            await self.call(lost())


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def settings_with(breaker: dict[str, Any]) -> Settings:
    return settings_from({"mcpServers": {"it": {"command": "x", "breaker": breaker or True}}})


def lost() -> SourceClosed:
    return SourceClosed("it", "the connection was lost.")


@pytest.mark.anyio
async def test_five_failures_in_a_row_open_it_and_say_why_and_until_when(clock: Clock):
    await clock.fail(4)
    assert await clock.call(FINE) is FINE
    await clock.fail(4)
    assert clock.breakers.state("it") == ""
    await clock.fail(1)
    refused = await clock.call(FINE)
    assert isinstance(refused, CircuitOpen)
    assert refused.retry_seconds == pytest.approx(30, abs=0.1)
    assert "5 calls in a row failed. The last: the connection was lost." in str(refused)
    assert "in 30 s" in str(refused)
    assert "in 30 s" in clock.breakers.state("it")


@pytest.mark.anyio
async def test_one_call_tries_it_and_the_pause_doubles_up_to_a_limit(clock: Clock):
    await clock.fail(5)
    pauses: list[float] = []
    for _ in range(6):
        refused = await clock.call(FINE)
        pauses.append(round(refused.retry_seconds))
        clock.now += refused.retry_seconds
        assert isinstance(await clock.call(lost()), SourceClosed)
    assert pauses == [30, 60, 120, 240, 300, 300]
    clock.now += 300
    assert await clock.call(FINE) is FINE
    await clock.fail(5)
    assert round((await clock.call(FINE)).retry_seconds) == 30


@pytest.mark.anyio
async def test_only_one_call_at_a_time_tries_it_and_a_cancelled_one_decides_nothing(clock: Clock):
    await clock.fail(5)
    clock.now += 31
    going, calls = anyio.Event(), 0

    async def hang() -> ToolResult:
        nonlocal calls
        calls += 1
        going.set()
        await anyio.sleep_forever()
        raise AssertionError

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(clock.breakers.guard, "it", hang)
        await going.wait()
        refused = [await clock.call(FINE) for _ in range(5)]
        assert all(isinstance(x, CircuitOpen) and "trying it now" in str(x) for x in refused)
        tasks.cancel_scope.cancel()
    assert calls == 1
    assert "The next call tries it." in clock.breakers.state("it")
    assert await clock.call(FINE) is FINE
    assert clock.breakers.state("it") == ""


@pytest.mark.anyio
async def test_what_the_caller_did_wrong_never_counts(clock: Clock):
    answers = [
        InvalidArguments("t", ["wrong"], "other"),
        UnknownTool("none"),
        ToolResult.of_text("I could not", is_error=True),
        ServerError("it", "invalid params", -32602),
        ServerError("it", "not found", -32603, status=404),
        SourceFailed("another", "of a call within this one"),
        ValueError("ours"),
    ]
    for answer in answers * 6:
        assert await clock.call(answer) is answer
        assert clock.breakers.state("it") == ""


@pytest.mark.anyio
async def test_what_the_source_did_wrong_counts(clock: Clock):
    answers = [
        SourceFailed("it", "gone"),
        ToolTimeout("it", "late"),
        ServerError("it", "busy", 0, status=429),
        ServerError("it", "broken", -32603, status=503),
        ToolResult((), is_error=True, is_outage=True),
    ]
    for answer in answers:
        assert clock.breakers.state("it") == ""
        assert await clock.call(answer) is answer
    assert isinstance(await clock.call(FINE), CircuitOpen)


@pytest.mark.anyio
async def test_an_impatient_caller_does_not_close_a_source_for_the_others(clock: Clock):
    late = SourceFailed("it", "not ready within 0.5 s")
    late.__cause__ = TimeoutError()
    for _ in range(10):
        await clock.call(ToolTimeout("it", "late"), limit=0.5)
        await clock.call(late, limit=0.5)
    assert clock.breakers.state("it") == ""
    for _ in range(5):
        await clock.call(ToolTimeout("it", "late"), limit=10.0)
    assert clock.breakers.state("it")


@pytest.mark.anyio
async def test_a_lost_connection_counts_once_for_all_calls_that_it_took_along(clock: Clock):
    going = anyio.Event()

    async def lose() -> ToolResult:
        await going.wait()
        clock.now += 0.01
        raise lost()

    async def one() -> None:
        with pytest.raises(SourceClosed):
            await clock.breakers.guard("it", lose)

    for round_number in range(5):
        assert clock.breakers.state("it") == "", round_number
        going = anyio.Event()
        async with anyio.create_task_group() as tasks:
            for _ in range(CALLS):
                tasks.start_soon(one)
            await anyio.wait_all_tasks_blocked()
            going.set()
        clock.now += 1
    assert "5 calls in a row" in clock.breakers.state("it")


def test_a_server_that_dies_at_each_call_is_left_alone_until_somebody_asks():
    """Its start works, and says nothing about its calls."""
    with bridge_with(
        it=entry(on={"tools/call": [["exit", 3]]}, timeout=20)
        | {"breaker": {"failures": 3, "seconds": 600}}
    ) as bridge:
        kinds = [_outcome(lambda: bridge.call_tool("it", "echo", {"text": "a"})) for _ in range(5)]
        assert kinds == [SourceClosed] * 3 + [CircuitOpen] * 2
        assert "in 600 s" in status_of(bridge, "it").breaker
        assert bridge.reset_breaker("it") is True
        assert bridge.reset_breaker("it") is False
        assert status_of(bridge, "it").breaker == ""
        assert _outcome(lambda: bridge.call_tool("it", "echo", {"text": "a"})) is SourceClosed
        for _ in range(2):
            _outcome(lambda: bridge.call_tool("it", "echo", {"text": "a"}))
        assert status_of(bridge, "it").breaker
        bridge.refresh("it")
        assert status_of(bridge, "it").breaker == ""


def test_a_service_that_answers_500_is_left_alone_and_one_that_works_again_is_called():
    with fault_http(era="modern") as peer:
        peer.faults["tools/call"] = refuse(500, "out of memory")
        server = {"url": peer.url, "breaker": {"failures": 3, "seconds": 0.2}}
        with bridge_with(it=server) as bridge:
            bridge.list_tools("it")
            for _ in range(3):
                assert _outcome(lambda: _call(bridge)) in (ServerError, SourceClosed)
            assert _outcome(lambda: _call(bridge)) is CircuitOpen
            sent = peer.methods.count("tools/call")
            assert _outcome(lambda: _call(bridge)) is CircuitOpen
            assert peer.methods.count("tools/call") == sent
            del peer.faults["tools/call"]
            due = "The next call tries it."
            wait_until(lambda: due in status_of(bridge, "it").breaker, "it may be tried again")
            assert _call(bridge).text
            assert status_of(bridge, "it").breaker == ""


def _call(bridge: Bridge) -> ToolResult:
    return bridge.call_tool("it", "echo", {"text": "a"})


def _outcome(do: Callable[[], object]) -> type[BaseException] | None:
    try:
        do()
    except SourceError as error:
        return type(error)
    return None
