"""Several callers of one connection: whoever made a call answers what it leads to."""

from __future__ import annotations

import json
from typing import Any

import anyio
import pytest

from tests.support.asking_server import form
from tests.support.callers import Answering, at_once
from tests.support.far_clients import ABLE, Responding, far_client, of_caller
from xai_mcp_agent import Answer, Bridge, Question, ServerError, ToolTimeout
from xai_mcp_agent.bridge.operations import Operations
from xai_mcp_agent.core.calls import PROGRAM, Caller, Nobody
from xai_mcp_agent.core.errors import XaiMcpError
from xai_mcp_agent.core.results import ToolResult

# In the server, which here is in this process.
pytestmark = pytest.mark.filterwarnings("ignore:The logging capability is deprecated")
MISSING_CAPABILITY = -32021
MODERN = ["stdio", "http"]


def call(bridge: Bridge, caller: Caller, server: str, tool: str, **arguments: Any) -> ToolResult:
    """Call a tool as a far client."""

    async def go(operations: Operations) -> ToolResult:
        return await operations.call_tool(server, tool, arguments)

    return of_caller(bridge, caller, go)


@pytest.mark.parametrize("server", MODERN)
def test_a_modern_far_client_answers_the_server_itself(servers: Bridge, server: str):
    respond = Responding("far")
    asks = {**form("Which?"), "rounds": 2}
    result = call(servers, far_client("far", respond=respond), server, "ask", **asks)
    assert json.loads(result.text) == {"action": "accept", "content": {"colour": "far"}}
    question = {"method": asks["method"], "params": asks["params"]}
    assert respond.asked == [{"it": question}] * 2, "as the server sent them"
    assert result.notes == ()


@pytest.mark.parametrize("server", MODERN)
def test_the_server_learns_what_the_far_client_can_do(servers: Bridge, server: str):
    for able in (ABLE, {"roots": {}}, {}):
        caller = far_client("far", respond=Responding("far"), able=able)
        assert json.loads(call(servers, caller, server, "declared").text) == able
    caller = far_client("far", respond=Responding("far"))
    declared = json.loads(call(servers, caller, "no", "declared").text)
    assert declared.keys() == ABLE.keys() - {"elicitation"}


def test_a_missing_ability_of_the_far_client_is_an_error_of_the_server(servers: Bridge):
    caller = far_client("far", respond=Responding("far"), able={})
    with pytest.raises(ServerError) as error:
        call(servers, caller, "http", "demand", capability="elicitation")
    assert error.value.code == MISSING_CAPABILITY
    assert error.value.data == {"requiredCapabilities": {"elicitation": {}}}


def test_a_far_client_that_went_away_ends_the_call_with_its_error(servers: Bridge):
    gone = XaiMcpError("far: it went away.")
    caller = far_client("far", respond=Responding("far", error=gone))
    with pytest.raises(XaiMcpError) as error:
        call(servers, caller, "http", "ask", **form())
    assert error.value is gone


@pytest.mark.parametrize(
    ("server", "caller"),
    [
        ("http", far_client("older", is_modern=False)),
        ("http", far_client("mute")),
        ("stdio_old", far_client("newer", respond=Responding("newer"))),
    ],
    ids=lambda x: getattr(x, "name", x),
)
def test_a_client_of_the_other_era_is_asked_by_its_host(
    servers: Bridge, server: str, caller: Caller
):
    result = call(servers, caller, server, "ask", **form())
    assert json.loads(result.text)["content"] == {"colour": caller.name}


def test_no_question_reaches_another_client(servers: Bridge):
    """Over stdio the older era does not say whose call a question is about."""
    hosts = [Answering(f"client{number}") for number in range(3)]
    results = list[tuple[str, str]]()

    async def go(operations: Operations) -> None:
        async def ask(host: Answering) -> None:
            caller = far_client(host.name, is_modern=False, host=host)
            asks = {**form(host.name), "rounds": 5}
            for _ in range(4):
                result = await operations.for_caller(caller).call_tool("stdio_old", "ask", asks)
                results.append((host.name, json.loads(result.text)["content"]["colour"]))

        async with anyio.create_task_group() as tasks:
            for host in hosts:
                tasks.start_soon(ask, host)

    servers.run(go)
    assert [x.asked for x in hosts] == [[x.name] * 20 for x in hosts]
    assert len(results) == 12
    assert all(name == colour for name, colour in results)


def test_a_call_that_waits_for_another_client_keeps_its_limit(servers: Bridge):
    class Meanwhile(Answering):
        async def answer(self, question: Question) -> Answer:
            one_at_a_time = r"go one at a time here(.|\n)*\"session\": \"client\""
            with pytest.raises(ToolTimeout, match=one_at_a_time):
                await operations.for_caller(far_client("other")).call_tool(
                    "stdio_old", "declared", timeout_seconds=0.2
                )
            unasked = far_client("unasked", able={"roots": {}})
            for caller in (far_client("asked"), unasked, PROGRAM):  # these need not wait
                await operations.for_caller(caller).call_tool("stdio_old", "declared")
            return await super().answer(question)

    async def themselves(operations: Operations) -> Operations:
        return operations

    operations = servers.run(themselves)
    caller = far_client("asked", host=Meanwhile("asked"))
    assert json.loads(call(servers, caller, "stdio_old", "ask", **form()).text)["content"]


# Callers of this program


@pytest.mark.parametrize("server", ["stdio", "http", "http_old"])
def test_each_question_reaches_the_caller_whose_call_it_belongs_to(servers: Bridge, server: str):
    """Several agents or clients share a session; in the older era a question names no call."""
    names = [f"caller{number}" for number in range(6)]
    hosts = [Answering(name) for name in names]
    asks = [(x, server, "ask", {**form(x.name), "says_whose": True}) for x in hosts]
    for _ in range(3):
        results = at_once(servers, *asks)
        assert [json.loads(x.text)["content"]["colour"] for x in results] == names
        assert all(x.notes == () for x in results)
    assert [x.asked for x in hosts] == [[x.name] * 3 for x in hosts]


@pytest.mark.parametrize("server", ["stdio_old", "sse"])
def test_a_question_that_names_no_call_reaches_one_who_can_be_asked(servers: Bridge, server: str):
    """Over stdio the older era does not say whose call a question belongs to."""
    hosts = [Nobody("alone"), Answering("a"), Answering("b")]
    room = {"room": server, "count": 2, "seconds": 10}
    calls = [(hosts[0], server, "ask", form("x")), *((x, server, "meet", room) for x in hosts[1:])]
    first, *others = at_once(servers, *calls)
    assert [x.structured for x in others] == [{"result": True}] * 2, "at the same time"
    assert json.loads(first.text)["action"] in ("accept", "decline")
