"""What is held while hearing of changes, without a server: who is woken by which of them."""

from __future__ import annotations

import threading

import anyio
import pytest

from tests.support.bridges import bridge_with
from tests.support.fault_server import entry
from xai_mcp_agent.bridge.streams import Changes

_SECONDS = 30.0


@pytest.mark.anyio
async def test_two_tasks_that_wait_for_changes_both_get_one():
    """A burst of changes of one thing is one."""
    changes, got = Changes(None), list[str | None]()

    async def wait() -> None:
        got.append(await changes.take(_SECONDS))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        tasks.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        for what in ("prompts", "prompts", "resources"):
            changes.put(what)
    assert sorted(x or "" for x in got) == ["prompts", "resources"]


@pytest.mark.parametrize("closes_bridge", [False, True])
def test_who_waits_for_a_change_is_let_go_when_it_is_closed(*, closes_bridge: bool):
    """A subscription, or the bridge; else a thread would wait for ever."""
    got = list[str]()
    with bridge_with(one=entry(tools=[])) as bridge:
        subscription = bridge.watch("one")
        waiting = threading.Thread(target=lambda: got.append(subscription.wait()), daemon=True)
        waiting.start()
        if not closes_bridge:
            subscription.close()
            waiting.join(_SECONDS)
    waiting.join(_SECONDS)
    assert got == [""]


@pytest.mark.anyio
async def test_tasks_that_wait_for_changes_are_let_go_when_it_is_closed():
    got = list[str]()
    with bridge_with(one=entry(tools=[])) as bridge:
        subscription = await bridge.aio.watch("one")

        async def wait() -> None:
            got.append(await subscription.wait())

        with anyio.fail_after(_SECONDS):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(wait)
                tasks.start_soon(wait)
                await anyio.wait_all_tasks_blocked()
                await subscription.close()
    assert got == ["", ""]
