"""What is held while hearing of changes, without a server: who is woken by which of them."""

from __future__ import annotations

import anyio
import pytest

from xai_mcp_agent.bridge.subscription import AioNews

_SECONDS = 30.0


@pytest.mark.anyio
async def test_two_tasks_that_wait_for_changes_both_get_one():
    news, got = AioNews(None), list[str]()

    async def wait() -> None:
        got.append(await news.wait(_SECONDS))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        tasks.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        news.tell("prompts")
        news.tell("resources")
    assert sorted(got) == ["prompts", "resources"]
