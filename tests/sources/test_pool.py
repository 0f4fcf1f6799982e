"""The pool: each source has its own owner task, and none can harm another."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from xai_mcp_agent import SourceFailed
from xai_mcp_agent.core.events import Observer, SourceEvent
from xai_mcp_agent.settings.sources import FunctionSettings
from xai_mcp_agent.sources.functions.source import FunctionSource
from xai_mcp_agent.sources.pool import SourcePool

pytestmark = pytest.mark.anyio


class Small:
    """What the pool calls of a source; `broken` fails, and `deaf` does not stop at first."""

    def __init__(self, name: str, log: list[str]) -> None:
        self.name = name
        self.log = log
        self._stop = anyio.Event()

    async def own(self, observer: Observer) -> None:
        self.log.append(f"{self.name} begins")
        if self.name == "deaf" and len(self.log) == 1:
            await anyio.sleep_forever()
        if self.name == "broken":
            raise RuntimeError("a mistake of ours")
        await self._stop.wait()
        for _ in range(10):  # closing takes a while
            await anyio.lowlevel.checkpoint()
        self.log.append(f"{self.name} ends")

    def stop(self) -> None:
        self._stop.set()


class Nobody:
    """An observer that ignores all events."""

    def notice(self, event: SourceEvent) -> None:
        pass


@asynccontextmanager
async def pool_of_small_sources(log: list[str]) -> AsyncGenerator[SourcePool[str]]:
    """A pool that is served for the length of the block."""
    pool = SourcePool[str](lambda name: Small(name, log), Nobody())
    started, stop = anyio.Event(), anyio.Event()
    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(pool.serve, started.set, stop)
            await started.wait()
            yield pool
            stop.set()


async def test_a_failing_owner_ends_no_other_one_and_can_start_again(
    caplog: pytest.LogCaptureFixture,
):
    log: list[str] = []
    async with pool_of_small_sources(log) as pool:
        pool.start("a")
        with caplog.at_level(logging.ERROR):
            pool.start("broken")
            await anyio.wait_all_tasks_blocked()
        assert "The owner of source 'broken' failed" in caplog.text
        assert list(pool.running()) == ["a"]
        pool.start("broken")
        await anyio.wait_all_tasks_blocked()
        assert log.count("broken begins") == 2
        assert "a ends" not in log


async def test_a_source_started_again_waits_until_the_first_has_ended():
    """Two instances may fight over a file or a port."""
    log: list[str] = []
    async with pool_of_small_sources(log) as pool:
        first = pool.start("a")
        await anyio.wait_all_tasks_blocked()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(pool.stop, "a")
            await anyio.wait_all_tasks_blocked()
            assert pool.start("a") is not first
        while len(log) < 3:
            await anyio.lowlevel.checkpoint()
        assert log == ["a begins", "a ends", "a begins"]


async def test_a_source_can_start_again_after_an_interrupted_stop():
    log: list[str] = []
    async with pool_of_small_sources(log) as pool:
        pool.start("deaf")
        await anyio.wait_all_tasks_blocked()
        with anyio.CancelScope() as scope:
            scope.cancel()
            await pool.stop("deaf")
        pool.start("deaf")
        while len(log) < 2:
            await anyio.lowlevel.checkpoint()


async def test_waiting_for_a_source_that_is_stopped_before_it_runs_ends(tmp_path: Path):
    """Its owner may wait for the previous one to end when the pool is closed."""
    settings = FunctionSettings(name="it", file=str(tmp_path / "it.py"))
    source = FunctionSource(settings, str)
    with anyio.fail_after(5.0):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_expect_closed, source)
            await anyio.lowlevel.checkpoint()
            source.stop()
    assert source.state == "closed"


async def _expect_closed(source: FunctionSource) -> None:
    with pytest.raises(SourceFailed, match="it was closed"):
        await source.ready()
