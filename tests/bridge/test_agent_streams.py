"""Events of agents that nobody listens to any more, or that several go through."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest

from tests.support.model_endpoint import calls, model_endpoint
from xai_mcp_agent import Agent, AgentModel, Bridge
from xai_mcp_agent.bridge.streams import AioAgentStream

WAIT_SECONDS = 60.0


def shout(text: str) -> str:
    """Say a text in capitals."""
    return text.upper()


@pytest.fixture
def bridge() -> Iterator[Bridge]:
    with Bridge({}) as bridge:
        yield bridge


def test_forgetting_the_events_of_a_coroutine_stops_the_run(bridge: Bridge):
    begun, ended = threading.Event(), threading.Event()

    async def linger() -> None:
        """Wait."""
        begun.set()
        try:
            await asyncio.sleep(WAIT_SECONDS * 10)
        finally:
            ended.set()

    async def main(model: AgentModel) -> None:
        events = Agent(bridge, [linger], model=model).aio.stream("Wait.")
        assert await asyncio.to_thread(begun.wait, WAIT_SECONDS)
        del events
        assert await asyncio.to_thread(ended.wait, WAIT_SECONDS)

    with model_endpoint([calls(("linger", {}))]) as endpoint:
        address = endpoint.base_url
        model = AgentModel(provider="openai", name="m", base_url=address, api_key="sk-dummy-key")
        asyncio.run(main(model))


def test_several_tasks_that_share_the_events_all_come_to_their_end(bridge: Bridge):
    async def main() -> list[str]:
        events = Agent(bridge, [shout]).aio.stream("Shout hello")
        both = asyncio.gather(_kinds(events), _kinds(events))
        first, second = await asyncio.wait_for(both, WAIT_SECONDS)
        return [*first, *second]

    kinds = asyncio.run(main())
    assert {"RunStarted", "RunFinished"} <= set(kinds)
    assert kinds.count("RunFinished") == 1


def test_events_that_began_on_one_loop_end_on_another(bridge: Bridge):
    async def begin() -> AioAgentStream[object]:
        return Agent(bridge, [shout]).aio.stream("Shout hello")

    events = asyncio.run(begin())
    kinds = asyncio.run(asyncio.wait_for(_kinds(events), WAIT_SECONDS))
    assert (kinds[0], kinds[-1]) == ("RunStarted", "RunFinished")


async def _kinds(events: AioAgentStream[object]) -> list[str]:
    return [type(x).__name__ async for x in events]
