"""Agents from Python: real servers, functions, and a model that speaks the real protocol."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.policy.shredding import Clerk
from tests.support.asking_server import asking_entry
from tests.support.commands import write_settings
from tests.support.fault_server import entry
from tests.support.model_endpoint import ModelEndpoint, calls, fails, hangs, model_endpoint, says
from tests.support.processes import wait_until
from tests.support.stalls import STALL_SECONDS, watching
from xai_mcp_agent import (
    Agent,
    AgentModel,
    BadConversation,
    BadSetting,
    Bridge,
    ModelError,
    NoTools,
    SettingsError,
    UnknownServer,
    XaiMcpError,
)
from xai_mcp_agent.agent.memory.notes import NoteStore

WAIT_SECONDS = 60.0


def shout(text: str) -> str:
    """Say a text in capitals."""
    return text.upper()


@pytest.fixture
def bridge() -> Iterator[Bridge]:
    with Bridge({"mcpServers": {"it": entry()}}) as bridge:
        yield bridge


def test_servers_and_functions_are_called_as_a_model_asks(bridge: Bridge):
    def stumble(step: int) -> str:
        """Fall."""
        raise ValueError(f"no step {step}")

    requests = calls(
        ("it_echo", {"text": "one"}), ("shout", {"text": "two"}), ("stumble", {"step": 3})
    )
    with model_endpoint([requests, says("All done.")]) as endpoint:
        result = Agent(bridge, ["it", shout, stumble], model=endpoint.model).run("Do it.")
        first, second = (x.body for x in endpoint.requests)
    assert {"it_echo", "shout"} <= {x["function"]["name"] for x in first["tools"]}
    assert result.answer == "All done."
    assert [x.result.text for x in result.calls[:2]] == ["one", "TWO"]
    assert result.calls[2].result.is_error
    failure = second["messages"][-1]["content"]
    assert "stumble failed: ValueError: no step 3 (in test_agent.py, line " in failure
    assert result.usage["input_tokens"] == 40


def test_events_come_in_order_and_the_result_after_them(bridge: Bridge):
    with Agent(bridge, [shout]).stream("Shout hello") as events:
        with pytest.raises(RuntimeError, match="is not over"):
            _ = events.result
        kinds = [type(x).__name__ for x in events]
        assert list(events) == []
    assert kinds[0] == "RunStarted"
    assert kinds[-1] == "RunFinished"
    assert kinds.index("ToolStarted") < kinds.index("ToolFinished")
    result = events.result
    assert (result.answer, result.stopped, result.usage["calls"]) == ("HELLO", "answered", 1)
    assert [(x.tool, x.arguments) for x in result.calls] == [("shout", {"text": "hello"})]


def test_a_call_is_cancelled_at_its_server_when_its_run_is_stopped(tmp_path: Path):
    journal = tmp_path / "journal"
    with (
        Bridge({"mcpServers": {"it": entry(journal=str(journal))}}) as bridge,
        model_endpoint([calls(("it_never", {}))]) as endpoint,
        Agent(bridge, ["it"], model=endpoint.model).stream("Wait.") as events,
    ):
        next(x for x in events if type(x).__name__ == "ToolStarted")
        wait_until(lambda: "tools/call" in journal.read_text(), "the call has arrived")
        events.close()
        wait_until(lambda: "notifications/cancelled" in journal.read_text(), "it is cancelled")
        assert list(events) == []
        with pytest.raises(RuntimeError):
            _ = events.result


def test_an_agent_runs_in_coroutines_and_stops_when_one_is_cancelled(bridge: Bridge):
    async def main(endpoint: ModelEndpoint) -> None:
        agent = Agent(bridge, [shout]).aio
        assert (await agent.run("Shout hello")).answer == "HELLO"
        async with agent.stream("Shout bye") as events:
            kinds = [type(x).__name__ async for x in events]
        assert (kinds[0], kinds[-1], events.result.answer) == ("RunStarted", "RunFinished", "BYE")
        thinking = Agent(bridge, [], model=endpoint.model).aio.run("Think.")
        task = asyncio.ensure_future(thinking)
        await asyncio.to_thread(endpoint.first_request.wait, WAIT_SECONDS)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with model_endpoint([hangs()]) as endpoint:
        asyncio.run(main(endpoint))


def test_an_error_of_the_model_is_raised_also_at_the_end_of_the_events(bridge: Bridge):
    with model_endpoint([fails(400, {"message": "no"}), fails(400, {"message": "no"})]) as endpoint:
        agent = Agent(bridge, [], model=endpoint.model)
        with pytest.raises(ModelError):
            agent.run("Hello")
        events = agent.stream("Hello")
        with pytest.raises(ModelError):
            list(events)
        with pytest.raises(ModelError):
            _ = events.result


def test_a_transcript_is_written_as_of_a_workflow_and_without_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    lines = tmp_path / "runs.jsonl"
    monkeypatch.setenv("XAI_MCP_TRANSCRIPT", str(lines))
    server = {**entry(), "env": {"IT_PASSWORD": "correct-horse-battery"}}
    script = [calls(("it_echo", {"text": "correct-horse-battery"})), says("ok")]
    with Bridge({"mcpServers": {"it": server}}) as bridge, model_endpoint(script) as endpoint:
        agent = Agent(bridge, "it", model=endpoint.model, name="helper")
        agent.run("Echo.")
        (call_event,) = [x.payload for x in bridge.history() if x.change == "called"]
    events = [json.loads(x) for x in lines.read_text(encoding="utf-8").splitlines()]
    (tool_event,) = [x for x in events if x["event"] == "ToolFinished"]
    assert (tool_event["agent"], tool_event["source"]) == ("helper", "it")
    assert tool_event["arguments"] == {"text": "***"}
    assert tool_event["run_id"] == call_event["run_id"]
    assert (events[0]["event"], events[-1]["event"]) == ("RunStarted", "RunFinished")


def test_a_long_conversation_does_not_block_the_loop(bridge: Bridge):
    """The conversation has many short messages, and the loop may compute for at most 0.1 s."""
    roles = ("user", "assistant")
    messages = [{"role": roles[n % 2], "content": f"message {n}"} for n in range(30_000)]
    conversation = (x for x in [*messages, {"role": "user", "content": "Shout hello"}])
    with watching(bridge) as stalls:
        result = Agent(bridge, [shout]).run(conversation)
    assert result.answer == "HELLO"
    assert len(result.conversation) > len(messages)
    assert stalls.longest_step_seconds < STALL_SECONDS


def test_the_program_approves_calls():
    clerk = Clerk("once", "no")
    both = calls(("it_echo", {"text": "one"}), ("it_echo", {"text": "two"}))
    with (
        Bridge({"mcpServers": {"it": entry()}}, approve=clerk) as bridge,
        model_endpoint([both, says("ok")]) as endpoint,
    ):
        result = Agent(bridge, ["it"], model=endpoint.model, approval="ask").run("Echo.")
    assert [x.result.is_error for x in result.calls] == [False, True]
    assert {x.agent for x in clerk.requests} == {"agent"}


def test_no_key_is_shown_anywhere(bridge: Bridge):
    model = AgentModel(provider="openai", name="m", api_key="sk-very-secret-key")
    agent = Agent(bridge, [], model=model)
    assert "very-secret" not in f"{model!r} {agent!r} {vars(agent)!r} {vars(agent.aio)!r}"
    assert "very-secret" not in bridge.settings.secrets.redact("sk-very-secret-key is used")


def test_a_mistake_of_the_program_is_reported_before_anything_runs(bridge: Bridge):
    mistakes: list[tuple[list[Any], dict[str, Any], type[Exception], str]] = [
        (["itt"], {}, UnknownServer, "No MCP server 'itt'"),
        ([lambda: None], {}, BadSetting, "Write it with `def`"),
        ([shout, shout], {}, BadSetting, "Two functions of the agent are called 'shout'"),
        ([], {"model": "openai"}, XaiMcpError, "needs the name of a model"),
        ([], {"max_thoughts": 0}, BadSetting, "`max_thoughts` of Agent is 0"),
        ([], {"approval": "perhaps"}, BadSetting, "`approval` of Agent"),
        ([], {"tool_protocol": "smoke"}, BadSetting, "smoke"),
        ([], {"output_schema": {"colour": "red"}}, BadSetting, "not a JSON Schema"),
        ([], {"memory": "a text"}, XaiMcpError, "not a memory"),
    ]
    for toolbelt, options, error, words in mistakes:
        with pytest.raises(error, match=words):
            Agent(bridge, toolbelt, **options)
    agent = Agent(bridge, [])
    questions: list[Any] = [5, None, b"bytes"]
    for question in questions:
        with pytest.raises(BadConversation, match=f"type {type(question).__name__}. Give it a tex"):
            agent.run(question)
        with pytest.raises(BadConversation, match="list of messages"):
            list(agent.stream(question))


def test_dropping_the_events_of_a_coroutine_stops_the_run(bridge: Bridge):
    has_started, has_ended = threading.Event(), threading.Event()

    async def linger() -> None:
        """Wait."""
        has_started.set()
        try:
            await asyncio.sleep(WAIT_SECONDS * 10)
        finally:
            has_ended.set()

    async def main(model: AgentModel) -> None:
        events = Agent(bridge, [linger], model=model).aio.stream("Wait.")
        assert await asyncio.to_thread(has_started.wait, WAIT_SECONDS)
        del events
        assert await asyncio.to_thread(has_ended.wait, WAIT_SECONDS)

    with model_endpoint([calls(("linger", {}))]) as endpoint:
        asyncio.run(main(endpoint.model))


def test_closing_the_bridge_ends_the_events(bridge: Bridge):
    with model_endpoint([hangs()]) as endpoint:
        events = Agent(bridge, [], model=endpoint.model).stream("Think.")
        assert endpoint.first_request.wait(WAIT_SECONDS)
        bridge.close()
        for use in (lambda: list(events), lambda: Agent(bridge, []).run("Think.")):
            with pytest.raises(RuntimeError, match="closed"):
                use()


# Keys of models in the `.env` beside the settings

KEY = "sk-from-the-file-123456"


@pytest.fixture
def keys_of_file(tmp_path: Path) -> Iterator[Bridge]:
    (tmp_path / ".env").write_text(f"OPENAI_API_KEY={KEY}\n", encoding="utf-8")
    file = write_settings(tmp_path, {}, builtin={"calc": {"tools": ["calculate"]}})
    with Bridge.open(file, store="memory") as bridge:
        yield bridge


def test_the_key_of_the_file_is_sent_to_its_service_alone(
    keys_of_file: Bridge, monkeypatch: pytest.MonkeyPatch
) -> None:
    with model_endpoint(lambda _: says("Hello.")) as endpoint:
        elsewhere = AgentModel(provider="openai", name="any", base_url=endpoint.base_url)
        assert Agent(keys_of_file, model=elsewhere).run("Hi").answer == "Hello."
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.base_url)
        assert Agent(keys_of_file, model="openai:any").run("Hi").answer == "Hello."
        monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-environment")
        Agent(keys_of_file, model="openai:any").run("Hi")
    other, own, environment = (x.headers for x in endpoint.requests)
    assert KEY not in str(other)
    assert own["authorization"] == f"Bearer {KEY}"
    assert environment["authorization"] == "Bearer sk-of-the-environment"


def test_a_missing_key_names_the_file_first(keys_of_file: Bridge, tmp_path: Path) -> None:
    (tmp_path / ".env").unlink()
    with (
        Bridge.open(tmp_path / "mcp_settings.json", store="memory") as bridge,
        pytest.raises(ModelError, match=r"Set OPENAI_API_KEY in the file \.env beside"),
    ):
        Agent(bridge, model="gpt-5-mini").run("Hi")


# A run without tools fails: nobody may take its answer for one that used tools.

MISSING = {"command": "no-such-program-anywhere"}
UNSET = {"command": "x", "env": {"TOKEN": "${NO_SUCH_VARIABLE_HERE}"}}
SHOP = entry(tools=[{"name": "pay", "inputSchema": {"type": "object"}}])


REQUIRED = "Required, but without a tool that can be used: bad."


@pytest.mark.parametrize(
    ("servers", "options", "reason"),
    [
        ({"gone": MISSING}, {"toolbelt": "gone", "memory": NoteStore(None)}, "was not found"),
        ({"gone": MISSING, "unset": UNSET}, {}, "NO_SUCH_VARIABLE_HERE is not set"),
        ({"shop": SHOP}, {}, "shop: none of its tools can be used: 1 switched off."),
        ({"it": {**SHOP, "lock": True}}, {}, "1 held back until somebody accepts it."),
        ({"it": entry(no_tools=True)}, {}, "it has none."),
        # One required source without a tool is enough.
        ({"it": entry(), "bad": MISSING}, {"toolbelt": "it", "required": "bad"}, REQUIRED),
        ({"it": entry(), "bad": {**UNSET, "required": True}}, {}, REQUIRED),
    ],
)
def test_a_run_without_any_tool_of_its_sources_fails_and_says_why(
    servers: dict[str, Any], options: dict[str, Any], reason: str, tmp_path: Path
):
    with (
        Bridge({"mcpServers": servers}, lock=tmp_path / "lock.json") as bridge,
        model_endpoint([says("made up")]) as endpoint,
    ):
        if "shop" in servers:
            bridge.list_tools("shop")
            bridge.disable("shop", "pay")
        with pytest.raises(NoTools) as failure:
            Agent(bridge, model=endpoint.model, **options).run("Count the wibbles.")
        assert endpoint.requests == [], "the model is not asked"
    error = str(failure.value)
    assert reason in error
    if reason != REQUIRED:
        assert error.startswith("No tool of this agent can be used, so its model was not asked.")
    assert failure.value.stopped == "no_tools"


def test_the_events_of_a_run_without_tools_end_with_its_failure():
    with (
        Bridge({"mcpServers": {"gone": MISSING}}) as bridge,
        Agent(bridge, "gone").stream("Count the wibbles.") as events,
    ):
        kinds = list[Any]()
        with pytest.raises(NoTools):
            kinds.extend(events)
    assert [type(x).__name__ for x in kinds] == ["RunStarted", "RunFailed"]
    assert kinds[-1].stopped == "no_tools"


def test_a_group_that_is_required_must_give_a_tool():
    groups = {"paying": {"include": ["it/pay"]}, "echoing": {"include": ["it/echo"]}}
    with (
        Bridge({"mcpServers": {"it": entry()}, "groups": groups}) as bridge,
        model_endpoint([says("ok")]) as endpoint,
    ):
        run = Agent(bridge, required="echoing", model=endpoint.model).run("Go.")
        assert run.answer == "ok"
        with pytest.raises(NoTools, match=r"Required, but .*: paying"):
            Agent(bridge, required=["echoing", "paying"], model=endpoint.model).run("Go.")


def test_functions_of_the_program_count_as_tools():
    with (
        Bridge({"mcpServers": {"gone": MISSING}}) as bridge,
        model_endpoint([calls(("shout", {"text": "on"})), says("ON")]) as endpoint,
    ):
        result = Agent(bridge, ["gone", shout], model=endpoint.model).run("Shout.")
    assert (result.answer, result.stopped) == ("ON", "answered")
    assert "was not found" in result.left_out[0]


def test_a_required_name_that_is_unknown_is_refused_at_once():
    with Bridge({"mcpServers": {"gone": MISSING, "unset": UNSET}}) as bridge:
        with pytest.raises(UnknownServer, match="Did you mean 'gone'"):
            Agent(bridge, required=["gon"])
        with pytest.raises(SettingsError, match="NO_SUCH_VARIABLE_HERE"):
            Agent(bridge, required="unset")


def test_a_server_asks_the_model_of_the_agent_that_calls_it():
    """FastMCP's `ctx.sample`: the reply and its tokens are the agent's, with a note of what ran."""
    message = {"role": "user", "content": {"type": "text", "text": "Sum up: abc"}}
    arguments = {
        "method": "sampling/createMessage",
        "params": {"messages": [message], "maxTokens": 50},
    }
    steps = [calls(("it_ask", arguments)), says("a, b, c"), says("Done.")]
    settings = {"mcpServers": {"it": asking_entry(sampling="allow")}}
    with Bridge(settings) as bridge, model_endpoint(steps) as endpoint:
        result = Agent(bridge, "it", model=endpoint.model).run("Sum up.")
        bodies = [x.body for x in endpoint.requests]
    assert result.answer == "Done."
    assert "a, b, c" in result.calls[0].result.text
    assert [x["content"] for x in bodies[1]["messages"]] == ["Sum up: abc"]
    assert result.usage["input_tokens"] == 3 * 20
    assert result.notes == (
        "it asks the model of agent (50 tokens at most): Sum up: abc",
        "it answered it: a, b, c",
    )
