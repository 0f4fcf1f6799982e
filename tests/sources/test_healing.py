"""Pauses between attempts, and one outcome for all waiting tasks."""

from __future__ import annotations

import anyio
import pytest

from xai_mcp_agent import SourceFailed
from xai_mcp_agent.core.backoff import STABLE_SECONDS, Backoff
from xai_mcp_agent.sources.base import Shared

pytestmark = pytest.mark.anyio


async def test_pauses_double_up_to_the_longest_and_start_again_after_a_success():
    backoff = Backoff(first_seconds=0.5, longest_seconds=3.0)
    pauses = [backoff.seconds]
    for _ in range(5):
        backoff.count()
        pauses.append(backoff.seconds)
    assert pauses == [0.0, 0.5, 1.0, 2.0, 3.0, 3.0]
    backoff.tries = 5000  # the tries of two days
    assert backoff.seconds == 3.0
    backoff.reset()
    assert backoff.seconds == 0.0


async def test_the_stable_time_counts_from_the_opening():
    """A start that hangs longer than that was never open: there are six tries."""
    backoff, now = Backoff(), anyio.current_time()
    for _ in range(6):
        backoff.count()
    backoff.count(opened_at=now - STABLE_SECONDS / 2)
    assert backoff.tries == 7
    backoff.count(opened_at=now - 2 * STABLE_SECONDS)
    assert backoff.tries == 1


async def test_all_waiters_get_the_same_outcome_and_each_gets_its_own_error():
    good, bad = Shared[str](), Shared[str]()
    errors: list[SourceFailed] = []

    async def wait() -> None:
        assert await good.wait() == "ready"
        with pytest.raises(SourceFailed, match="it is broken") as caught:
            await bad.wait()
        errors.append(caught.value)

    assert not good.has_waiter.is_set()
    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            tasks.start_soon(wait)
            await good.has_waiter.wait()
            good.settle("ready")
            bad.settle(SourceFailed("it", "it is broken.", "Fix it."))
    assert errors[0] is not errors[1]
