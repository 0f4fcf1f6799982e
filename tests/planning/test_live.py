"""Planners that are kept: in a thread, for tools that change."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator

import anyio
import pytest

from tests.catalog.test_catalog import tool
from xai_mcp_agent import Tool, ToolKey
from xai_mcp_agent.planning import Planner
from xai_mcp_agent.planning.live import LivePlanners, Teaching

pytestmark = pytest.mark.anyio


@pytest.fixture
async def planners() -> AsyncIterator[LivePlanners]:
    made = LivePlanners()
    yield made
    made.close()


def tools(source: str, *names: str) -> dict[ToolKey, Tool]:
    found = [tool(source, x, f"Does {x}.") for x in names]
    return {x.key: x for x in found}


def kept(planner: Planner) -> tuple[int, int]:
    return id(planner), len(planner)


async def test_a_planner_follows_its_tools_and_is_not_made_anew_for_a_few(planners: LivePlanners):
    some = tools("a", "pay", "write", "sing", "dance")
    first, count = await planners.use(some, kept)
    assert count == 4
    more = {**some, **tools("a", "read")}
    assert await planners.use(more, kept) == (first, 5)
    assert await planners.use(some, kept) == (first, 4)
    assert (await planners.use(tools("b", "post"), kept))[0] != first
    assert await planners.use(some, kept) == (first, 4)


async def test_it_plans_with_what_a_tool_says_now(planners: LivePlanners):
    async def chosen(described: str) -> list[str]:
        one = tool("a", "x", described)
        given = {one.key: one, **tools("a", "pay", "write")}
        return [x.name for x in (await planners.use(given, lambda x: x.plan("Feed a cat."))).calls]

    assert await chosen("Feeds a cat.") == ["x"]
    assert await chosen("Opens a door.") == []


async def test_who_asks_at_the_same_time_is_served_one_after_the_other(planners: LivePlanners):
    threads: set[str] = set()
    found: dict[str, int] = {}

    async def use(source: str) -> None:
        names = [f"do_{n}" for n in range(50)]

        def do(planner: Planner) -> int:
            threads.add(threading.current_thread().name)
            return len(planner)

        found[source] = await planners.use(tools(source, *names), do)

    async with anyio.create_task_group() as tasks:
        for source in "abc":
            tasks.start_soon(use, source)
    assert found == dict.fromkeys("abc", 50)
    assert len(threads) == 1


async def test_what_a_planner_was_taught_for_one_memory_no_other_knows(planners: LivePlanners):
    taught: list[tuple[str, int]] = []
    some = tools("a", "pay", "write")
    for memory in ("mine", "yours", "mine"):

        def teach(_: Planner, before: int | None, memory: str = memory) -> Teaching:
            taught.append((memory, before or 0))
            yield
            return (before or 0) + 1

        await planners.use(some, len, memory=memory, teach=teach)
    assert taught == [("mine", 0), ("yours", 0), ("mine", 1)]


async def test_what_goes_wrong_is_raised_and_the_next_is_served(planners: LivePlanners):
    def fail(_: Planner) -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await planners.use(tools("a", "pay"), fail)
    assert await planners.use(tools("a", "pay"), len) == 1


async def test_closing_ends_while_a_planner_learns_what_never_ends(planners: LivePlanners):
    begun = threading.Event()

    def teach(_: Planner, __: object) -> Teaching:
        while True:
            begun.set()
            yield

    async def close() -> None:
        await anyio.to_thread.run_sync(begun.wait, 30.0)
        planners.close()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(close)
        with anyio.fail_after(30), pytest.raises(RuntimeError, match="closed before the plan"):
            await planners.use(tools("a", "pay"), len, teach=teach)


async def test_a_planner_that_learned_only_half_of_it_is_not_used_again(planners: LivePlanners):
    runs = {"request": "Pay it.", "calls": [{"tool": "pay", "args": {}}]}

    def teach(planner: Planner, _: object) -> Teaching:
        planner.learn([runs])
        yield
        raise ValueError("no")

    some = tools("a", "pay")
    first = await planners.use(some, lambda x: x)
    with pytest.raises(ValueError, match="no"):
        await planners.use(some, len, teach=teach)
    assert await planners.use(some, lambda x: x) is not first
