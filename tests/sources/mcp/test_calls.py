"""Calling tools: results of every kind, limits, cancelling, progress, and odd answers."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from tests.support.bridges import bridge_with, status_of
from tests.support.fast_loop import FastLoop
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
    UnknownTool,
)
from xai_mcp_agent.bridge.operations import Operations


def echo(bridge: Bridge, text: Any = "fine") -> str:
    return bridge.call_tool("it", "echo", {"text": text}).text


def methods_of(bridge: Bridge) -> list[str]:
    """Return the methods of all requests that the fault server has received."""
    return json.loads(bridge.call_tool("it", "seen").text)


def test_every_kind_of_content_arrives_as_a_result(galleries: Bridge, way: str):
    """MCP, tools, error handling: the model should read it."""
    result = galleries.call_tool(way, "parts")
    assert result.parts == (
        TextPart("hello"),
        ImagePart(PNG, "image/png"),
        AudioPart("UklGRg==", "audio/wav"),
        LinkPart("gallery://readme", "readme", "Read me."),
        ResourcePart("gallery://x", text="inside", mime_type="text/plain"),
        ResourcePart("gallery://y", data=PNG, mime_type="image/png"),
    )
    assert (result.is_error, result.notes) == (False, ())
    failure = galleries.call_tool(way, "refuse")
    assert (failure.is_error, failure.text) == (
        True,
        "Error executing tool refuse: told on purpose",
    )


def test_an_error_of_the_server_keeps_its_code_and_message():
    """Servers also use the SDK's codes for their own errors."""
    with bridge_with(it=entry()) as bridge:
        for code in (-32602, -32001, 42):
            with pytest.raises(ServerError, match=rf"refused: locked \(code {code}\)") as caught:
                bridge.call_tool("it", "rpc_error", {"code": code, "message": "locked"})
            assert caught.value.code == code
        assert status_of(bridge, "it").state == "ready"


def test_arguments_and_names_are_checked_before_anything_is_sent():
    """Models send null for an argument they omit; the tool's own default then applies."""
    optional = {"type": "object", "properties": {"text": {"type": "string"}}}
    required = {**optional, "required": ["text"]}
    tools = [{"name": "echo", "inputSchema": required}, {"name": "pid", "inputSchema": optional},
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
        assert methods_of(bridge).count("tools/call") == 1, "only the call of `seen` itself"
        assert bridge.call_tool("it", "pid", {"text": None}).text.isdigit(), "without arguments"
        assert echo(bridge, "x" * 3_000_000) == "x" * 3_000_000


def test_a_tool_that_is_newer_than_the_listing_can_be_called():
    with bridge_with(it=entry()) as bridge:
        bridge.list_tools("it")
        bridge.call_tool("it", "set_tools", {"tools": ["fresh"], "notices": 0})
        assert bridge.call_tool("it", "fresh").text == "fresh {}"


def test_a_call_that_times_out_is_cancelled_at_the_server(galleries: Bridge, way: str):
    """With the SDK's own servers: the tool itself is cancelled, on every transport."""
    galleries.list_tools(way)
    with pytest.raises(ToolTimeout):
        galleries.call_tool(way, "wait", {"label": way}, timeout_seconds=0.2)

    def was_stopped() -> bool:
        return way in galleries.call_tool(way, "was_stopped").structured["result"]

    wait_until(was_stopped, "the server stopped it")


def test_progress_is_reported_while_the_call_runs(galleries: Bridge, way: str):
    steps: list[tuple[float, float | None, str]] = []
    result = galleries.call_tool(
        way, "steps", {"count": 3}, on_progress=lambda *step: steps.append(step)
    )
    assert result.text == "done"
    assert sorted(steps) == [(1, 3, "step 1"), (2, 3, "step 2"), (3, 3, "step 3")]


@pytest.mark.parametrize("error", [RuntimeError, SystemExit])
def test_a_progress_listener_that_raises_is_reported_once(
    caplog: pytest.LogCaptureFixture, error: type[BaseException]
):
    steps: list[Any] = []

    def fail(*step: Any) -> None:
        steps.append(step)
        raise error("in the listener")

    with bridge_with(it=entry()) as bridge:
        result = bridge.call_tool("it", "progress", {"steps": 2}, on_progress=fail)
    assert (result.text, steps) == ("done", [(1, 2, "step 1")])
    assert f"the listener raised {error.__name__}" in result.notes[0]
    assert "in the listener" in caplog.text


def test_open_calls_end_when_a_hung_server_is_abandoned(monkeypatch: pytest.MonkeyPatch):
    """Two calls that time out cause a ping, and the ping is not answered."""
    monkeypatch.setattr(asyncio, "new_event_loop", FastLoop)
    with bridge_with(it=entry(startTimeout=3000, listTimeout=3000)) as bridge:
        bridge.list_tools("it")
        with pytest.raises(ToolTimeout):
            bridge.call_tool("it", "freeze", timeout_seconds=12)
        patient = bridge.submit(
            Operations.call_tool, "it", "echo", {"text": "x"}, timeout_seconds=1800
        )
        with pytest.raises(ToolTimeout):
            bridge.call_tool("it", "pid", timeout_seconds=12)
        with pytest.raises(
            SourceClosed, match=r"was lost during the call of .*: it stopped answer"
        ):
            patient.result(30)
