"""Calling tools: results of every kind, limits, cancelling, progress, and odd answers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.bridges import bridge_with, status_of
from tests.support.fault_server import entry
from tests.support.mcp_servers import PNG
from tests.support.processes import wait_until
from xai_mcp_agent import (
    AudioPart,
    Bridge,
    ImagePart,
    InvalidArguments,
    LinkPart,
    ResourcePart,
    ServerError,
    SourceClosed,
    TextPart,
    ToolTimeout,
    UnknownPart,
    UnknownTool,
)
from xai_mcp_agent.bridge.operations import Operations

WAYS = ["stdio", "stdio_old", "http", "http_old", "sse"]
ERAS = ["legacy", "modern"]


def echo(bridge: Bridge, text: Any = "fine") -> str:
    return bridge.call_tool("it", "echo", {"text": text}).text


def methods_seen(bridge: Bridge) -> list[str]:
    """What the fault server was sent so far."""
    return json.loads(bridge.call_tool("it", "seen").text)


@pytest.mark.parametrize("server", WAYS)
def test_every_kind_of_content_and_a_failure_of_the_tool_arrive_as_results(
    galleries: Bridge, server: str
):
    """MCP, tools, error handling: the model should read it."""
    result = galleries.call_tool(server, "parts")
    assert result.parts == (
        TextPart("hello"),
        ImagePart(PNG, "image/png"),
        AudioPart("UklGRg==", "audio/wav"),
        LinkPart("gallery://readme", "readme", "Read me."),
        ResourcePart("gallery://x", text="inside", mime_type="text/plain"),
        ResourcePart("gallery://y", data=PNG, mime_type="image/png"),
    )
    assert (result.is_error, result.notes) == (False, ())
    failure = galleries.call_tool(server, "refuse")
    assert (failure.is_error, failure.text) == (
        True,
        "Error executing tool refuse: told on purpose",
    )


@pytest.mark.parametrize("era", ERAS)
def test_whatever_json_a_result_is_made_of_is_handed_on(era: str):
    strange = {"type": "hologram", "scene": 7}
    halves = [{"type": "text"}, {"type": "image", "data": 5}, 7, None, {"type": "resource"}]
    content = [{"type": "text", "text": "kept", "annotations": "odd"}, strange, *halves]
    with bridge_with(it=entry(era=era)) as bridge:
        result = bridge.call_tool("it", "result", {"content": content})
        assert result.parts[:2] == (TextPart("kept"), UnknownPart("hologram", strange))
        assert [x.raw for x in result.parts[2:] if isinstance(x, UnknownPart)] == halves
        assert "[content of unknown kind 'hologram', left out]" in result.text
        for value in ({"n": 1}, [1, 2], "text", 0, False, None):
            result = bridge.call_tool("it", "result", {"content": [], "structuredContent": value})
            assert (result.structured, type(result.structured)) == (value, type(value))
        result = bridge.call_tool("it", "result", {"isError": True})
        assert (result.parts, result.is_error) == ((), True)


def test_a_result_that_breaks_its_own_schema_is_passed_on_with_a_note():
    promise = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    tool = {"name": "result", "inputSchema": {"type": "object"}, "outputSchema": promise}
    content = [{"type": "text", "text": "five"}]
    with bridge_with(it=entry(tools=[tool])) as bridge:
        for structured, problem in (
            ({"n": "x"}, 'n: "x" is not of type "integer"'),
            (None, "null is not of type"),
        ):
            answer = {"content": content, "structuredContent": structured}
            result = bridge.call_tool("it", "result", answer)
            assert (result.text, result.structured) == ("five", structured)
            assert f"not match the tool's output schema: {problem}" in result.notes[0]
        assert not bridge.call_tool("it", "result", {"structuredContent": {"n": 5}}).notes
        failed = bridge.call_tool("it", "result", {"isError": True})
        assert not failed.notes, "a failure promises none"


def test_an_error_of_the_server_keeps_its_code_and_words():
    """Servers use the SDK's own codes for theirs, too."""
    with bridge_with(it=entry()) as bridge:
        for code in (-32602, -32603, -32000, -32001, 42):
            with pytest.raises(ServerError) as caught:
                bridge.call_tool("it", "rpc_error", {"code": code, "message": "database locked"})
            assert caught.value.code == code
            expected = f"the call of 'rpc_error' was refused: database locked (code {code})."
            assert caught.value.problem == expected
        assert status_of(bridge, "it").state == "ready"


def test_arguments_and_names_are_checked_before_anything_is_sent():
    """Models write null for what they leave out; the tool's own default then counts."""
    optional = {"type": "object", "properties": {"text": {"type": "string"}}}
    needed = {**optional, "required": ["text"]}
    tools = [{"name": "echo", "inputSchema": needed}, {"name": "pid", "inputSchema": optional},
             {"name": "seen", "inputSchema": {}}]  # fmt: skip
    with bridge_with(it=entry(tools=tools)) as bridge:
        for wrong, problem in (
            ({}, '"text" is a required property'),
            ({"text": 5}, 'text: 5 is not of type "string"'),
        ):
            with pytest.raises(InvalidArguments) as caught:
                bridge.call_tool("it", "echo", wrong)
            assert problem in caught.value.problems
            assert str(caught.value).endswith("Expected: text: string.")
        with pytest.raises(UnknownTool, match=r"it has no tool 'ecko'\. Did you mean 'echo'"):
            bridge.call_tool("it", "ecko", {"text": "x"})
        for value in (float("nan"), float("inf"), "\ud800", {1, 2}, b"bytes", object()):
            with pytest.raises(InvalidArguments, match="not JSON"):
                bridge.call_tool("it", "seen", {"value": value})
        assert methods_seen(bridge).count("tools/call") == 1, "only the question itself"
        assert bridge.call_tool("it", "pid", {"text": None}).text.isdigit(), "without arguments"
        assert echo(bridge, "x" * 3_000_000) == "x" * 3_000_000


def test_a_tool_that_is_newer_than_the_listing_is_found():
    with bridge_with(it=entry()) as bridge:
        bridge.list_tools("it")
        bridge.call_tool("it", "set_tools", {"tools": ["fresh"], "notices": 0})
        assert bridge.call_tool("it", "fresh").text == "this is fresh"


@pytest.mark.parametrize("server", WAYS)
def test_a_call_that_is_given_up_is_stopped_at_the_server(galleries: Bridge, server: str):
    """With the SDK's own servers: the tool itself is cancelled, on every transport."""
    galleries.list_tools(server)
    with pytest.raises(ToolTimeout):
        galleries.call_tool(server, "wait", {"label": server}, timeout_seconds=0.2)

    def was_stopped() -> bool:
        return server in galleries.call_tool(server, "was_stopped").structured["result"]

    wait_until(was_stopped, "the server stopped it")


def test_cancelling_a_call_cancels_it_at_the_server():
    with bridge_with(it=entry()) as bridge:
        bridge.list_tools("it")
        future = bridge.submit(Operations.call_tool, "it", "never")
        while methods_seen(bridge)[-2:] != ["tools/call", "tools/call"]:
            pass
        future.cancel()
        while "notifications/cancelled" not in methods_seen(bridge):
            pass
        assert echo(bridge) == "fine"


@pytest.mark.parametrize("server", WAYS)
def test_progress_is_reported_while_the_call_runs(galleries: Bridge, server: str):
    told: list[tuple[float, float | None, str]] = []
    result = galleries.call_tool(
        server, "steps", {"count": 3}, on_progress=lambda *args: told.append(args)
    )
    assert result.text == "done"
    assert sorted(told) == [(1, 3, "step 1"), (2, 3, "step 2"), (3, 3, "step 3")]


def test_progress_without_words_and_a_listener_that_fails_do_no_harm(
    caplog: pytest.LogCaptureFixture,
):
    """That it fails is told, with the result and in the log."""
    called: list[Any] = []

    def fail(*told: Any) -> None:
        called.append(told)
        raise RuntimeError("in the listener")

    told: list[Any] = []
    with bridge_with(it=entry()) as bridge:
        flood = {"steps": 2, "flood": 2}
        bridge.call_tool("it", "progress", flood, on_progress=lambda *x: told.append(x))
        assert sorted(told) == [(1, 2, ""), (2, 2, "")]
        result = bridge.call_tool("it", "progress", flood, on_progress=fail)
        assert result.text == "done"
        (note,) = result.notes
        assert "the listener raised RuntimeError" in note
        assert len(called) == 1
        assert "in the listener" in caplog.text
        assert bridge.call_tool("it", "progress", flood).text == "done"


def test_requests_of_the_server_are_all_answered():
    """What is not declared is refused: sampling, and what nobody knows."""
    with bridge_with(it=entry()) as bridge:
        for method in ("ping", "roots/list", "sampling/createMessage", "no/such/method"):
            assert bridge.call_tool("it", "ask", {"method": method, "times": 50}).text == "asked"
        answers: list[dict[str, Any]] = []

        def are_there() -> bool:
            answers[:] = json.loads(bridge.call_tool("it", "answers").text)
            return len(answers) == 200

        wait_until(are_there, "all are answered")
        assert sum("result" in x for x in answers) == 100, "the pings, and its folders"


def test_calls_that_were_under_way_end_when_a_hung_server_is_given_up():
    with bridge_with(it=entry()) as bridge:
        bridge.list_tools("it")
        with pytest.raises(ToolTimeout):
            bridge.call_tool("it", "freeze", timeout_seconds=0.2)
        patient = bridge.submit(
            Operations.call_tool, "it", "echo", {"text": "x"}, timeout_seconds=30
        )
        with pytest.raises(ToolTimeout):
            bridge.call_tool("it", "pid", timeout_seconds=0.2)
        with pytest.raises(
            SourceClosed, match=r"was lost during the call of .*: it stopped answering"
        ):
            patient.result(30)
