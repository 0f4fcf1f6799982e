"""Several callers at once, over one connection: whoever made a call answers what it leads to."""

from __future__ import annotations

import json
from collections.abc import Generator
from typing import Any

import pytest

from tests.support.asking_server import asking, asking_entry, form
from tests.support.callers import Answering, at_once
from tests.support.mcp_servers import serving
from xai_mcp_agent import Answer, Bridge, Question, ToolResult, ToolTimeout
from xai_mcp_agent.bridge.operations import Operations
from xai_mcp_agent.core.host import Nobody
from xai_mcp_agent.core.invocation import Caller

CALLERS = [f"caller{number}" for number in range(6)]
ROUNDS = 3
# Of the older protocol: over stdio and the older SSE nothing says whose a question is.
UNTOLD = ["stdio_old", "sse"]
TOLD = ["stdio", "http", "http_old"]


@pytest.fixture(scope="module")
def servers(asking_url: str) -> Generator[Bridge]:
    """The asking server in every way."""
    with serving(asking().sse_app()) as address:
        known = {
            "stdio": asking_entry(),
            "stdio_old": asking_entry(mode="legacy"),
            "sse": {"url": f"{address}/sse", "type": "sse", "mode": "legacy"},
            "http": {"url": asking_url},
            "http_old": {"url": asking_url, "mode": "legacy"},
            "lends_old": asking_entry(mode="legacy", sampling="allow", elicitation="decline"),
            "never_old": asking_entry(mode="legacy", elicitation="decline"),
            "untold_http": {"url": asking_url, "mode": "legacy"},
        }
        with Bridge({"mcpServers": known}) as bridge:
            bridge.connect(wait=True)
            yield bridge


def sampled(text: str) -> dict[str, Any]:
    """The arguments of `ask` for a word of the model."""
    message = {"role": "user", "content": {"type": "text", "text": text}}
    return {"method": "sampling/createMessage", "params": {"messages": [message], "maxTokens": 9}}


def told(result: ToolResult) -> Any:
    """What the server was answered."""
    return json.loads(result.text)


@pytest.mark.parametrize("server", [*UNTOLD, *TOLD])
def test_each_question_reaches_the_caller_whose_call_it_belongs_to(servers: Bridge, server: str):
    """Several agents or clients share a session; in the older era a question names no call."""
    hosts = [Answering(name) for name in CALLERS]
    asks = [(x, server, "ask", {**form(x.name), "says_whose": True}) for x in hosts]
    for _ in range(ROUNDS):
        results = at_once(servers, *asks)
        assert [told(x)["content"]["colour"] for x in results] == CALLERS
        assert all(x.notes == () for x in results)
    assert [x.asked for x in hosts] == [[x.name] * ROUNDS for x in hosts]


def test_each_request_for_a_model_reaches_that_of_the_caller(servers: Bridge):
    hosts = [Answering(name) for name in CALLERS]
    results = at_once(servers, *((x, "lends_old", "ask", sampled(x.name)) for x in hosts))
    assert [told(x)["content"]["text"] for x in results] == CALLERS
    assert [x.asked for x in hosts] == [[name] for name in CALLERS]


def test_a_caller_nobody_answers_for_is_answered_by_nobody_else(servers: Bridge):
    host = Answering("somebody")
    calls = [(x, "stdio_old", "ask", form(str(x))) for x in (host, Nobody("alone"), host)]
    results = at_once(servers, *calls)
    assert [told(x)["action"] for x in results] == ["accept", "decline", "accept"]
    assert "alone" in results[1].notes[0]
    assert results[0].notes == results[2].notes == ()


@pytest.mark.parametrize(
    ("server", "hosts", "together"),
    [
        ("stdio_old", [Answering("a"), Answering("b")], False),
        ("sse", [Answering("a"), Answering("b")], False),
        ("stdio_old", [Answering("a")] * 2, True),
        ("stdio_old", [Nobody("no"), Nobody("nor here")], True),
        ("never_old", [Answering("a"), Answering("b")], True),
        ("stdio", [Answering("a"), Answering("b")], True),
        ("http", [Answering("a"), Answering("b")], True),
        ("http_old", [Answering("a"), Answering("b")], True),
    ],
    ids=[
        "older", "older sse", "one caller", "nobody to ask", "may not ask", "newer", "newer http",
        "older http",
    ],
)  # fmt: skip
def test_only_calls_whose_questions_could_be_mixed_up_go_one_at_a_time(
    servers: Bridge, server: str, hosts: list[Any], together: bool, request: Any
):
    room = {"room": request.node.name, "count": 2, "seconds": 10 if together else 0.2}
    results = at_once(servers, *((x, server, "meet", room) for x in hosts))
    assert [x.structured for x in results] == [{"result": together}] * 2


def test_a_call_whose_turn_does_not_come_in_its_time_was_not_sent_and_says_so(servers: Bridge):
    room = {"room": "turns", "count": 2, "seconds": 1.5}
    calls = [(Answering(x), "stdio_old", "meet", room) for x in "ab"]
    first, second = at_once(servers, *calls, limits={1: 0.3})
    assert first.structured == {"result": False}
    assert isinstance(second, ToolTimeout)
    assert "was not sent: for 0.3 s the server was busy with calls of others" in str(second)
    assert '"elicitation": "decline"' in second.next_step


def test_a_call_given_up_in_the_queue_holds_up_nobody(servers: Bridge):
    room = {"room": "queue", "count": 2, "seconds": 1}
    a, b = Answering("a"), Answering("b")
    calls = [(a, "meet", room), (b, "meet", room), (a, "ask", form("a"))]
    *_, last = at_once(servers, *((x, "stdio_old", *y) for x, *y in calls), limits={1: 0.3})
    assert told(last)["content"]["colour"] == "a"


def test_whoever_answers_may_call_the_server_meanwhile(servers: Bridge):
    """While others wait for their turn: it would never come."""

    class Calling(Answering):
        async def answer(self, question: Question) -> Answer:
            own = operations.for_caller(Caller("agent", "nested", host=self))
            await own.call_tool("stdio_old", "declared")
            return await super().answer(question)

    hosts = [Calling("a"), Calling("b")]
    operations = servers.run(engine_itself)
    results = at_once(servers, *((x, "stdio_old", "ask", form(x.name)) for x in hosts))
    assert [told(x)["content"]["colour"] for x in results] == ["a", "b"]


async def engine_itself(operations: Operations) -> Operations:
    """For hosts that call."""
    return operations


def test_a_server_behind_a_url_that_does_not_say_whose_question_it_is_takes_turns_from_then_on(
    servers: Bridge,
):
    """It may ask beside the stream of the call, though it should not (MCP 2025-11-25)."""
    hosts = [Answering(name) for name in CALLERS]
    asks = [(x, "untold_http", "ask", form(x.name)) for x in hosts]
    first, then = at_once(servers, *asks), at_once(servers, *asks)
    for result, host in zip(first, hosts, strict=True):
        answer = told(result)
        assert answer["action"] == "cancel" or answer["content"]["colour"] == host.name
    assert any("several callers wait" in note for x in first for note in x.notes)
    assert [told(x)["content"]["colour"] for x in then] == CALLERS
    assert {asked for x in hosts for asked in x.asked if asked != x.name} == set()
