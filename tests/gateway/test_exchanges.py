"""Calls that wait for answers of their client: each answer is that to its own question."""

from __future__ import annotations

import anyio
import pytest

from xai_mcp_agent.core.json import JsonObject
from xai_mcp_agent.gateway.exchanges import Exchange, Exchanges, NoSuchExchange

pytestmark = pytest.mark.anyio
REQUEST: JsonObject = {"method": "tools/call", "name": "it"}


async def test_an_answer_counts_once_for_its_question_and_its_request() -> None:
    """Not for another request, not twice, and not for a later question once it is too late."""
    async with anyio.create_task_group() as tasks:
        exchanges, exchange = Exchanges(tasks), Exchange(REQUEST, None, {})
        first_is_over = anyio.Event()

        async def work() -> JsonObject:
            with anyio.move_on_after(0.05):
                await exchange.ask({"first": {}})
            first_is_over.set()
            return await exchange.ask({"second": {}})

        first = await exchanges.begin(exchange, work)
        assert first["inputRequests"] == {"first": {}}
        await first_is_over.wait()
        with pytest.raises(NoSuchExchange):
            await exchanges.go_on(first["requestState"], REQUEST, {"first": "yes"}, None)
        tasks.cancel_scope.cancel()


async def test_a_call_goes_on_with_the_answers_of_its_client() -> None:
    """Question by question, until there is a result."""
    async with anyio.create_task_group() as tasks:
        exchanges, exchange = Exchanges(tasks), Exchange(REQUEST, None, {})

        async def work() -> JsonObject:
            one = await exchange.ask({"one": {}})
            return {**one, **await exchange.ask({"two": {}})}

        asked = await exchanges.begin(exchange, work)
        with pytest.raises(NoSuchExchange):
            await exchanges.go_on(asked["requestState"], {**REQUEST, "name": "other"}, {}, None)
        then = await exchanges.go_on(asked["requestState"], REQUEST, {"one": 1}, None)
        assert then["inputRequests"] == {"two": {}}
        with pytest.raises(NoSuchExchange):
            await exchanges.go_on(asked["requestState"], REQUEST, {"one": 1}, None)
        result = await exchanges.go_on(then["requestState"], REQUEST, {"two": 2}, None)
        assert result == {"one": 1, "two": 2}
