"""Several callers of one connection: each answers the questions that its own call causes."""

from __future__ import annotations

import json
from typing import Any

import anyio
import pytest

from tests.support.asking_server import form
from tests.support.callers import ABLE, Answering, Responding, at_once, far_client, of_caller
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
    question = {**form("Which?"), "rounds": 2}
    result = call(servers, far_client("far", respond=respond), server, "ask", **question)
    assert json.loads(result.text) == {"action": "accept", "content": {"colour": "far"}}
    request = {x: question[x] for x in ("method", "params")}
    assert respond.requests == [{"it": request}] * 2, "as the server sent them"
    assert result.notes == ()


@pytest.mark.parametrize("server", MODERN)
def test_the_server_gets_the_capabilities_of_the_far_client(servers: Bridge, server: str):
    for capabilities in (ABLE, {"roots": {}}, {}):
        caller = far_client("far", respond=Responding("far"), able=capabilities)
        assert json.loads(call(servers, caller, server, "declared").text) == capabilities
    caller = far_client("far", respond=Responding("far"))
    declared = json.loads(call(servers, caller, "no", "declared").text)
    assert declared.keys() == ABLE.keys() - {"elicitation"}


def test_a_missing_capability_of_the_far_client_is_an_error_of_the_server(servers: Bridge):
    caller = far_client("far", respond=Responding("far"), able={})
    with pytest.raises(ServerError) as error:
        call(servers, caller, "http", "demand", capability="elicitation")
    assert error.value.code == MISSING_CAPABILITY
    assert error.value.data == {"requiredCapabilities": {"elicitation": {}}}


def test_an_error_of_the_far_client_ends_the_call(servers: Bridge):
    cause = XaiMcpError("far: it went away.")
    caller = far_client("far", respond=Responding("far", error=cause))
    with pytest.raises(XaiMcpError) as error:
        call(servers, caller, "http", "ask", **form())
    assert error.value is cause


@pytest.mark.parametrize(
    ("server", "caller"),
    [
        ("http", far_client("older", is_modern=False)),
        ("http", far_client("mute")),
        ("stdio_old", far_client("newer", respond=Responding("newer"))),
    ],
    ids=lambda x: getattr(x, "name", x),
)
def test_questions_to_a_client_of_the_other_era_go_through_its_host(
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
    assert [x.questions for x in hosts] == [[x.name] * 20 for x in hosts]
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
            incapable = far_client("incapable", able={"roots": {}})
            for caller in (far_client("asked"), incapable, PROGRAM):  # these need not wait
                await operations.for_caller(caller).call_tool("stdio_old", "declared")
            return await super().answer(question)

    async def get_operations(operations: Operations) -> Operations:
        return operations

    operations = servers.run(get_operations)
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
    assert [x.questions for x in hosts] == [[x.name] * 3 for x in hosts]


@pytest.mark.parametrize("server", ["stdio_old", "sse_old"])
def test_a_question_that_names_no_call_reaches_a_caller_who_can_answer(
    servers: Bridge, server: str
):
    """Over stdio the older era does not say whose call a question belongs to."""
    hosts = [Nobody("alone"), Answering("a"), Answering("b")]
    room = {"room": server, "count": 2, "seconds": 10}
    calls = [(hosts[0], server, "ask", form("x")), *((x, server, "meet", room) for x in hosts[1:])]
    first, *rest = at_once(servers, *calls)
    assert [x.structured for x in rest] == [{"result": True}] * 2, "at the same time"
    assert json.loads(first.text)["action"] in ("accept", "decline")
