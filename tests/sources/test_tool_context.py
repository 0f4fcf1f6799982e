"""The context of a function's call, and the end of a function that nobody waits for."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.sources.test_functions import offering
from tests.support.processes import wait_until
from xai_mcp_agent import Bridge, CallCancelled, ToolContext, ToolTimeout

WAIT_SECONDS = 20.0
RECORDS: list[Any] = []
"""Values that the functions record for the test."""
BEGAN = threading.Event()

HEAD = """
import asyncio, threading
from typing import Annotated, Optional
from xai_mcp_agent import CallCancelled, ToolContext
from tests.sources import test_tool_context as test
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "tools.py"


@pytest.fixture(autouse=True)
def _fresh() -> None:
    RECORDS.clear()
    BEGAN.clear()


def call_and_leave(bridge: Bridge, tool: str) -> None:
    """Call a tool, and stop waiting once it has begun."""

    async def leave() -> None:
        with anyio.fail_after(WAIT_SECONDS):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(bridge.aio.call_tool, "it", tool)
                await anyio.to_thread.run_sync(BEGAN.wait, WAIT_SECONDS)
                tasks.cancel_scope.cancel()

    anyio.run(leave)


# The schema


@pytest.mark.parametrize(
    "parameters",
    [
        "context: ToolContext, x: int",
        "x: int, *, context: Optional[ToolContext] = None",
        "x: int, context: Annotated[ToolContext, 'ours'] = None",
        "x: int, context: 'ToolContext | None' = None",
    ],
)
def test_a_context_is_passed_and_never_part_of_the_schema(file: Path, parameters: str):
    text = f"{HEAD}def f({parameters}) -> str:\n    context.check()\n    return f'x is {{x}}'\n"
    with offering(file, text) as bridge:
        (tool,) = bridge.list_tools("it")
        assert bridge.call_tool("it", "f", {"x": 1}).text == "x is 1"
    assert list(tool.input_schema["properties"]) == tool.input_schema["required"] == ["x"]
    assert "context" not in json.dumps(tool.input_schema).lower()


# Progress


@pytest.mark.parametrize("kind", ["def", "async def"])
def test_progress_reaches_the_caller_in_order(file: Path, kind: str):
    text = f"""{HEAD}
{kind} f(context: ToolContext) -> str:
    context.progress(1, 3)
    test.BEGAN.wait({WAIT_SECONDS})
    context.progress(2.5, 3, "nearly")
    return "done"
"""
    steps: list[tuple[float, float | None, str]] = []

    def listen(progress: float, total: float | None, message: str) -> None:
        steps.append((progress, total, message))
        BEGAN.set()

    with offering(file, text) as bridge:
        assert bridge.call_tool("it", "f", on_progress=listen).text == "done"
    assert steps == [(1.0, 3.0, ""), (2.5, 3.0, "nearly")]


def test_a_flood_of_progress_is_thinned_out_except_for_the_last_report(file: Path):
    text = f"{HEAD}def f(c: ToolContext):\n    for i in range(100_000): c.progress(i)\n"
    steps: list[float] = []
    with offering(file, text) as bridge:
        bridge.call_tool("it", "f", on_progress=lambda progress, *_: steps.append(progress))
    assert steps[-1] == 99_999
    assert steps == sorted(steps)
    assert len(steps) < 1000


# Cancellation


@pytest.mark.parametrize(
    ("kind", "wait"), [("def", "context.check()"), ("async def", "await asyncio.sleep(3600)")]
)
def test_a_function_is_stopped_when_its_time_is_over(file: Path, kind: str, wait: str):
    text = f"""{HEAD}
{kind} f(context: ToolContext):
    try:
        while True: {wait}
    finally:
        test.RECORDS.append(context.is_cancelled)
"""
    with offering(file, text, timeout=0.2) as bridge:
        with pytest.raises(ToolTimeout, match="asked it to stop"):
            bridge.call_tool("it", "f")
        wait_until(lambda: RECORDS == [True], "it has ended")


@pytest.mark.parametrize(
    "wait", ["while True: context.check()", "await asyncio.sleep(3600)", "await group()"]
)
def test_a_cancelled_call_stops_the_function(file: Path, wait: str):
    text = f"""{HEAD}
async def group():
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(asyncio.sleep(3600))
        tasks.create_task(asyncio.sleep(3600))

async def f(context: ToolContext):
    test.BEGAN.set()
    try:
        {wait}
    finally:
        test.RECORDS.append("stopped")
"""
    with offering(file, text) as bridge:
        call_and_leave(bridge, "f")
        wait_until(lambda: RECORDS == ["stopped"], "it has ended")


# After the call


def test_a_context_is_cancelled_after_its_call(file: Path):
    text = f"{HEAD}def f(c: ToolContext): test.RECORDS.append(c)\n"
    steps: list[Any] = []
    with offering(file, text) as bridge:
        bridge.call_tool("it", "f", on_progress=lambda *x: steps.append(x))
        (context,) = RECORDS
        assert context.is_cancelled
        context.progress(1, 2, "late")
        with pytest.raises(CallCancelled):
            context.check()
    context.progress(1)  # the bridge's loop is closed by now
    assert steps == []


def test_a_context_without_a_call_can_be_used_in_tests():
    context = ToolContext()
    context.progress(1, 2, "nobody listens")
    context.check()
    assert not context.is_cancelled
