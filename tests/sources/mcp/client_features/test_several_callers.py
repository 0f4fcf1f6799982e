"""Several callers at once, over one connection: whoever made a call answers what it leads to."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.asking_server import form
from tests.support.callers import Answering, at_once
from xai_mcp_agent import Answer, Bridge, Question, ToolResult
from xai_mcp_agent.bridge.operations import Operations
from xai_mcp_agent.core.calls import Caller, Nobody

CALLERS = [f"caller{number}" for number in range(6)]
ROUNDS = 3
# In the older protocol a question over stdio or the older SSE names no call.
UNNAMED = ["stdio_old", "sse"]
NAMED = ["stdio", "http", "http_old"]


def answer_in(result: ToolResult) -> Any:
    """The answer that the server got."""
    return json.loads(result.text)


@pytest.mark.parametrize("server", NAMED)
def test_each_question_reaches_the_caller_whose_call_it_belongs_to(servers: Bridge, server: str):
    """Several agents or clients share a session; in the older era a question names no call."""
    hosts = [Answering(name) for name in CALLERS]
    asks = [(x, server, "ask", {**form(x.name), "says_whose": True}) for x in hosts]
    for _ in range(ROUNDS):
        results = at_once(servers, *asks)
        assert [answer_in(x)["content"]["colour"] for x in results] == CALLERS
        assert all(x.notes == () for x in results)
    assert [x.asked for x in hosts] == [[x.name] * ROUNDS for x in hosts]


@pytest.mark.parametrize("server", UNNAMED)
def test_a_question_that_names_no_call_reaches_one_who_can_be_asked(servers: Bridge, server: str):
    """Over stdio the older era does not say whose call a question belongs to."""
    hosts = [Nobody("alone"), Answering("a"), Answering("b")]
    room = {"room": server, "count": 2, "seconds": 10}
    calls = [(hosts[0], server, "ask", form("x")), *((x, server, "meet", room) for x in hosts[1:])]
    first, *others = at_once(servers, *calls)
    assert [x.structured for x in others] == [{"result": True}] * 2, "at the same time"
    assert answer_in(first)["action"] in ("accept", "decline")


def test_whoever_answers_may_call_the_server_meanwhile(servers: Bridge):
    class Calling(Answering):
        async def answer(self, question: Question) -> Answer:
            own = operations.for_caller(Caller("agent", "nested", host=self))
            await own.call_tool("stdio_old", "declared")
            return await super().answer(question)

    operations = servers.run(operations_themselves)
    (result,) = at_once(servers, (Calling("a"), "stdio_old", "ask", form("a")))
    assert answer_in(result)["content"]["colour"] == "a"


async def operations_themselves(operations: Operations) -> Operations:
    """For hosts that call."""
    return operations
