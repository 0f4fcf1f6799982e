"""A planner that is updated when its tools change."""

from __future__ import annotations

from collections.abc import AsyncIterator

import anyio
import pytest

from tests.support.recorded import tool_of
from xai_mcp_agent import Tool, ToolKey
from xai_mcp_agent.planning import Planner
from xai_mcp_agent.planning.live import LivePlanner

pytestmark = pytest.mark.anyio


@pytest.fixture
async def planner() -> AsyncIterator[LivePlanner]:
    live = LivePlanner()
    yield live
    live.close()


def tools(source: str, *names: str) -> dict[ToolKey, Tool]:
    results = [tool_of(source, x, f"Does {x}.") for x in names]
    return {x.key: x for x in results}


def identity(planner: Planner) -> tuple[int, int]:
    return id(planner), len(planner)


async def test_a_few_changed_tools_update_the_planner_instead_of_replacing_it(planner: LivePlanner):
    some = tools("a", "pay", "write", "sing", "dance")
    first, count = await planner.use(some, identity)
    assert count == 4
    more = {**some, **tools("a", "read")}
    assert await planner.use(more, identity) == (first, 5)
    assert await planner.use(some, identity) == (first, 4)
    assert (await planner.use(tools("b", "post"), identity))[1] == 1


async def test_simultaneous_requests_are_served_one_after_the_other(planner: LivePlanner):
    results: dict[str, int] = {}

    async def use(source: str) -> None:
        names = [f"do_{n}" for n in range(50)]
        results[source] = await planner.use(tools(source, *names), len)

    async with anyio.create_task_group() as tasks:
        for source in "abc":
            tasks.start_soon(use, source)
    assert results == dict.fromkeys("abc", 50)


async def test_closing_stops_the_building_of_a_planner(planner: LivePlanner):
    planner.close()
    with pytest.raises(RuntimeError, match="closed before the plan"):
        await planner.use(tools("a", "pay"), len)
