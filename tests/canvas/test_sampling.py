"""A server that asks the model of the agent that calls it: allowed, bounded, shown, counted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.asking_server import asking_entry
from tests.support.bridges import bridge_with
from tests.support.canvas import ask_scripted, make, play
from tests.support.mcp_servers import PNG
from tests.support.model_endpoint import Step, calls, says
from xai_mcp_agent.mcp_components import MCPCallTool

from .conftest import UseServers

ADD = {
    "name": "add",
    "description": "Adds.",
    "inputSchema": {"type": "object", "properties": {"a": {"type": "integer"}}},
}


def text(role: str, words: str) -> dict[str, Any]:
    """A message of the server's conversation."""
    return {"role": role, "content": {"type": "text", "text": words}}


def request(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The arguments of `ask` that ask the model."""
    params = {"messages": [*messages] or [text("user", "Sum up: abc")], "maxTokens": 50, **more}
    return {"method": "sampling/createMessage", "params": params}


def run(
    use_servers: UseServers,
    arguments: dict[str, Any],
    *replies: Step,
    entry: dict[str, Any] | None = None,
    **inputs: Any,
) -> tuple[list[dict[str, Any]], str]:
    """Run an agent whose tool asks its model for `replies`; return its requests and the result."""
    use_servers(it=entry or asking_entry(sampling="allow"))
    steps = [calls(("it_ask", arguments)), *replies, says("Done.")]
    requests = ask_scripted(steps, "it", **inputs)
    return [x.body for x in requests], requests[-1].results[-1]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_model_of_the_agent_answers_and_is_reported_nothing_else(
    use_servers: UseServers, capsys: pytest.CaptureFixture[str], mode: str
) -> None:
    """MCP, sampling: one message, its model and why it ended; the agent's own words stay here."""
    hidden = "\u202e\u200b\U000e006f\U000e0101"
    arguments = request(
        text("user", f"Sum up: abc{hidden}"), systemPrompt=f"Be short.{hidden}", temperature=0.5,
        stopSequences=["END"],
    )  # fmt: skip
    entry = asking_entry(sampling="allow", mode=mode)
    prompt = "Keep the word sesame to yourself."
    bodies, result = run(use_servers, arguments, says("a, b, c"), entry=entry, system_prompt=prompt)
    answer = json.loads(result)
    assert (answer["model"], answer["stopReason"]) == ("openai scripted", "endTurn")
    assert "a, b, c" in json.dumps(answer["content"])
    assert [(x["role"], x["content"]) for x in bodies[1]["messages"]] == [
        ("system", "Be short."),
        ("user", "Sum up: abc"),
    ]
    assert (bodies[1]["temperature"], bodies[1]["stop"]) == (0.5, ["END"])
    assert 50 in (bodies[1].get("max_tokens"), bodies[1].get("max_completion_tokens"))
    output = " ".join(capsys.readouterr().out.split())
    assert "it asks the model of a (50 tokens at most): Sum up: abc" in output
    assert "it answered it: a, b, c" in output
    assert "60 (24 cached) + 15 tokens" in output  # of all three requests


def test_the_settings_bound_the_tokens_and_the_number(use_servers: UseServers) -> None:
    entry = asking_entry(sampling="allow", samplingMaxTokens=20, samplingMaxCalls=2)
    arguments = request(maxTokens=100_000) | {"rounds": 3}
    bodies, result = run(use_servers, arguments, says("one"), says("two"), entry=entry)
    assert "one call may ask the model 2 times at most" in result
    assert 20 in bodies[1].values()
    assert len(bodies) == 4


def test_it_is_refused_and_not_declared_unless_the_settings_allow_it() -> None:
    with bridge_with(it=asking_entry()) as bridge:
        assert "sampling" not in json.loads(bridge.call_tool("it", "declared").text)
    with bridge_with(it=asking_entry(sampling="allow")) as bridge:
        declared = json.loads(bridge.call_tool("it", "declared").text)
        assert declared["sampling"] == {"tools": {}}


def test_a_call_without_an_agent_has_no_model_to_lend(use_servers: UseServers) -> None:
    use_servers(it=asking_entry(sampling="allow"))
    node = make(MCPCallTool, server_name="it", tool_name="ask", arguments=request())
    with pytest.raises(Exception, match="no agent makes this call"):
        play({}, node)


def test_tools_of_the_server_are_offered_to_the_model(use_servers: UseServers) -> None:
    """MCP 2025-11-25, sampling with tools: the server runs them itself."""
    use = {"type": "tool_use", "id": "c1", "name": "add", "input": {"a": 1}}
    reply = {"type": "tool_result", "toolUseId": "c1", "content": [{"type": "text", "text": "2"}]}
    conversation = [
        text("user", "Add."),
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [reply]},
    ]
    arguments = request(*conversation, tools=[ADD])
    bodies, result = run(use_servers, arguments, calls(("add", {"a": 3})))
    assert [x["function"]["name"] for x in bodies[1]["tools"]] == ["add"]
    assert [x["role"] for x in bodies[1]["messages"]] == ["user", "assistant", "tool"]
    assert bodies[1]["messages"][2]["content"] == "2"
    answer = json.loads(result)
    assert answer["stopReason"] == "toolUse"
    assert answer["content"][0]["input"] == {"a": 3}


def test_pictures_are_passed_and_sounds_refused(use_servers: UseServers) -> None:
    picture = {"role": "user", "content": {"type": "image", "data": PNG, "mimeType": "image/png"}}
    bodies, _ = run(use_servers, request(picture), says("A dot."))
    (message,) = bodies[1]["messages"]
    assert message["content"][0]["image_url"]["url"] == f"data:image/png;base64,{PNG}"
    sound = {"role": "user", "content": {"type": "audio", "data": "UklG", "mimeType": "audio/wav"}}
    _, result = run(use_servers, request(sound))
    assert "does not take content of the kind audio" in result
