"""Runs that are interrupted in the middle of a turn's calls: what was done stays known."""

from __future__ import annotations

import json
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any

import anyio
import pytest

from tests.agent.runs import StoppedHere, go
from tests.support.model_endpoint import ModelEndpoint, Script, calls, model_endpoint, says
from xai_mcp_agent import Bridge, JsonObject, ToolResult
from xai_mcp_agent.agent.conversation import Conversation
from xai_mcp_agent.agent.events import RunEvent, ToolReturned, ToolStarted
from xai_mcp_agent.agent.loop import AgentRun, AgentSpec
from xai_mcp_agent.agent.models.choice import model_for
from xai_mcp_agent.agent.run_file import RunFileError
from xai_mcp_agent.agent.state import RunState
from xai_mcp_agent.agent.text_protocol import ProtocolChoice
from xai_mcp_agent.bridge.operations import Operations
from xai_mcp_agent.bridge.toolbox import agent_tools
from xai_mcp_agent.canvas.drawn_tools import DrawnToolset
from xai_mcp_agent.sources.canvas import DrawnTool

WAIT_SECONDS = 30
BOTH = {
    "native": calls(("pay", {"input": "rent"}), ("wait", {"input": "x"}), text="Both."),
    "text": says('Both.\nTOOL: pay {"input": "rent"}\nTOOL: wait {"input": "x"}'),
}


@pytest.fixture
def bridge() -> Generator[Bridge]:
    """A bridge without any server."""
    with Bridge({"mcpServers": {}}) as made:
        yield made


@dataclass
class Stopping:
    """A run whose tool `pay` answers and whose tool `wait` never does; stopped when both are so.

    `with_error` has it fail then, in place of being cancelled.
    """

    protocol: ProtocolChoice = "native"
    with_error: bool = False
    paid: list[str] = field(default_factory=list[str])

    async def emit(self, event: RunEvent) -> None:
        if isinstance(event, ToolReturned):
            if self.with_error:
                raise StoppedHere
            self.there.set()

    async def call(self, tool: DrawnTool, arguments: JsonObject) -> ToolResult:
        if tool.name == "wait":
            self.waiting.set()
            await anyio.sleep_forever()
        await self.waiting.wait()
        self.paid.append(arguments["input"])
        return ToolResult.of_text("paid once")

    async def play(self, operations: Operations, endpoint: ModelEndpoint) -> RunState:
        self.there, self.waiting = anyio.Event(), anyio.Event()
        drawn = [DrawnTool(x, f"Does {x}.", lambda *_: "") for x in ("pay", "wait")]
        # Each of its own: those of one toolset run one at a time.
        parts = [DrawnToolset({x.name: x}, self.call) for x in drawn]
        await operations.engine.decisions.read()
        tools, pages = agent_tools(operations, parts)
        model = model_for("openai", "m", base_url=endpoint.base_url)
        spec = AgentSpec("a", model, protocol=self.protocol)
        run = AgentRun(spec, Conversation("Go."), self.emit)
        try:
            with anyio.fail_after(WAIT_SECONDS):
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(run.go, tools, pages)
                    await self.there.wait()
                    tasks.cancel_scope.cancel()
        except* StoppedHere:
            pass
        finally:
            await model.aclose()
        return run.state


def said(messages: list[dict[str, Any]]) -> str:
    return json.dumps(messages)


@pytest.mark.parametrize("with_error", [False, True])
@pytest.mark.parametrize("protocol", ["native", "text"])
def test_an_interrupted_turn_keeps_what_was_done_and_marks_the_rest(
    bridge: Bridge, protocol: Any, with_error: bool
):
    """Cancelled, or ended by an error of whoever hears of it."""
    stopping = Stopping(protocol, with_error)
    with model_endpoint([BOTH[protocol]]) as endpoint:
        state = bridge.run(stopping.play, endpoint)
    assert (state.pending, stopping.paid) == ((), ["rent"])
    user, asked, *answers = state.conversation.messages
    assert user["content"] == "Go."
    assert "Both." in asked["content"]
    assert "paid once" in answers[0]["content"]
    assert "It may have been carried out" in answers[-1]["content"]
    assert len(answers) == 2


@pytest.mark.parametrize("protocol", ["native", "text"])
def test_a_run_that_goes_on_after_an_interrupt_does_nothing_twice(bridge: Bridge, protocol: Any):
    stopping = Stopping(protocol)
    with model_endpoint([BOTH[protocol], says("Paid.")]) as endpoint:
        state = bridge.run(stopping.play, endpoint)
        again = RunState.from_json(json.loads(json.dumps(state.to_json())))
        _, finished = go(bridge, endpoint, again)
        told = said(endpoint.requests[1].body["messages"])
    assert stopping.paid == ["rent"]
    assert "paid once" in told
    assert "interrupted before this call had a result" in told
    assert finished is not None
    assert (finished.answer, finished.tool_calls) == ("Paid.", 2)


def test_why_nothing_can_be_noted_of_a_call_is_reported_in_its_own_words(bridge: Bridge):
    """The file of a run that waits is gone, say; and the call is not made."""

    async def emit(event: RunEvent) -> None:
        if isinstance(event, ToolStarted):
            raise RunFileError("The file cannot be written.")

    script: Script = [calls(("add", {}), ("tell", {}))]
    with (
        model_endpoint(script) as endpoint,
        pytest.raises(RunFileError, match="cannot be written"),
    ):
        go(bridge, endpoint, Conversation("Go."), emit=emit)


def test_calls_that_were_not_begun_are_said_to_be_so(bridge: Bridge):
    """One was made, and what tells of the next failed before it was."""
    begun: list[RunEvent] = []

    async def emit(event: RunEvent) -> None:
        if isinstance(event, ToolStarted):
            begun.append(event)
            if len(begun) == 2:
                raise StoppedHere

    script: Script = [calls(("add", {}), ("tell", {}))]
    with model_endpoint(script) as endpoint:
        state, finished = go(bridge, endpoint, Conversation("Go."), emit=emit)
    assert finished is None
    first, second = state.conversation.messages[2:]
    assert "5" in first["content"]
    assert second["content"] == "ERROR: The run was interrupted before this call was made."
