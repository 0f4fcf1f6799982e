"""Calling tools: results of every kind, limits, cancelling, progress, and odd answers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.bridges import bridge_with, status_of
from tests.support.fault_server import entry
from tests.support.mcp_servers import PNG
from tests.support.processes import wait_until
from tests.support.watchdog import ends_within
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


def methods_seen(bridge: Bridge) -> list[str]:
    """What the fault server was sent so far."""
    return json.loads(bridge.call_tool("it", "seen").text)


@pytest.mark.parametrize("server", WAYS)
def test_every_kind_of_content_arrives_in_its_order(galleries: Bridge, server: str):
    result = galleries.call_tool(server, "parts")
    assert result.parts == (
        TextPart("hello"),
        ImagePart(PNG, "image/png"),
        AudioPart("UklGRg==", "audio/wav"),
        LinkPart("gallery://readme", "readme", "Read me."),
        ResourcePart("gallery://x", text="inside", mime_type="text/plain"),
        ResourcePart("gallery://y", data=PNG, mime_type="image/png"),
    )
    assert not result.is_error
    assert result.notes == ()


@pytest.mark.parametrize("server", WAYS)
def test_a_failure_of_the_tool_is_a_result_that_says_so(galleries: Bridge, server: str):
    """MCP, tools, error handling: the model should read it."""
    result = galleries.call_tool(server, "refuse")
    assert result.is_error
    assert result.text == "Error executing tool refuse: told on purpose"


@pytest.mark.parametrize("era", ERAS)
def test_what_is_not_known_or_not_whole_is_handed_on_beside_the_rest(era: str):
    strange = {"type": "hologram", "scene": 7}
    halves = [{"type": "text"}, {"type": "image", "data": 5}, 7, None, {"type": "resource"}]
    content = [{"type": "text", "text": "kept", "annotations": "odd"}, strange, *halves]
    with bridge_with(it=entry(era=era)) as bridge:
        result = bridge.call_tool("it", "result", {"content": content})
        assert result.parts[0] == TextPart("kept")
        assert result.parts[1] == UnknownPart("hologram", strange)
        assert [x.raw for x in result.parts[2:] if isinstance(x, UnknownPart)] == halves
        assert "[content of unknown kind 'hologram', left out]" in result.text


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("value", [{"n": 1}, [1, 2], "text", 0, False, None])
def test_a_structured_result_may_be_any_json(era: str, value: Any):
    with bridge_with(it=entry(era=era)) as bridge:
        result = bridge.call_tool("it", "result", {"content": [], "structuredContent": value})
        assert result.structured == value
        assert type(result.structured) is type(value)


@pytest.mark.parametrize("era", ERAS)
def test_a_result_without_content_is_an_empty_result(era: str):
    with bridge_with(it=entry(era=era)) as bridge:
        result = bridge.call_tool("it", "result", {"isError": True})
        assert (result.parts, result.is_error) == ((), True)


@pytest.mark.parametrize(
    ("structured", "problem"),
    [
        ({"n": "x"}, 'n: "x" is not of type "integer"'),
        (None, "null is not of type"),
        (5, "5 is not"),
    ],
)
def test_a_result_that_breaks_its_own_schema_is_passed_on_with_a_note(
    structured: Any, problem: str
):
    promise = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    tool = {"name": "result", "inputSchema": {"type": "object"}, "outputSchema": promise}
    with bridge_with(it=entry(tools=[tool])) as bridge:
        content = [{"type": "text", "text": "five"}]
        answer = {"content": content, "structuredContent": structured}
        result = bridge.call_tool("it", "result", answer)
        assert (result.text, result.structured) == ("five", structured)
        assert result.notes[0].startswith("The result does not match the tool's output schema: ")
        assert problem in result.notes[0]
        assert not bridge.call_tool("it", "result", {"structuredContent": {"n": 5}}).notes
        assert not bridge.call_tool("it", "result", {"isError": True}).notes, (
            "a failure promises none"
        )


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("code", [-32602, -32603, -32000, -32001, 42])
def test_an_error_of_the_server_keeps_its_code_and_words(era: str, code: int):
    """Servers use the SDK's own codes for theirs, too."""
    with bridge_with(it=entry(era=era)) as bridge:
        arguments = {"code": code, "message": "database locked"}
        with pytest.raises(ServerError) as caught:
            bridge.call_tool("it", "rpc_error", arguments)
        assert caught.value.code == code
        expected = f"the call of 'rpc_error' was refused: database locked (code {code})."
        assert caught.value.problem == expected
        assert status_of(bridge, "it").state == "ready"


def test_arguments_are_checked_before_anything_is_sent():
    with bridge_with(it=entry()) as bridge:
        bridge.list_tools("it")
        for wrong, problem in [
            ({}, '"text" is a required property'),
            ({"text": 5}, 'text: 5 is not of type "string"'),
        ]:
            with pytest.raises(InvalidArguments) as caught:
                bridge.call_tool("it", "echo", wrong)
            assert problem in caught.value.problems
            assert str(caught.value).endswith("Expected: text: string.")
        assert methods_seen(bridge).count("tools/call") == 1, "only the question itself"


def test_a_null_for_an_optional_argument_means_that_it_is_not_given():
    """Models write them; the tool's own default then counts."""
    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    with bridge_with(it=entry(tools=[{"name": "echo", "inputSchema": schema}])) as bridge:
        assert bridge.call_tool("it", "echo", {"text": None}).parts == (TextPart(""),)
        with pytest.raises(InvalidArguments):
            bridge.call_tool("it", "echo", {"text": 5})


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), "\ud800", {1, 2}, b"bytes", object()],
    ids=["nan", "inf", "surrogate", "set", "bytes", "object"],
)
def test_arguments_that_cannot_be_json_are_refused_and_harm_nothing(era: str, value: Any):
    with bridge_with(it=entry(era=era)) as bridge:
        with pytest.raises(InvalidArguments, match="not JSON"):
            bridge.call_tool("it", "result", {"value": value})
        assert bridge.call_tool("it", "echo", {"text": "fine"}).text == "fine"


def test_a_wrong_name_is_answered_with_the_nearest_ones():
    with bridge_with(it=entry()) as bridge:
        with pytest.raises(UnknownTool, match=r"it has no tool 'ecko'\. Did you mean 'echo'"):
            bridge.call_tool("it", "ecko", {"text": "x"})
        assert "tools/call" not in methods_seen(bridge)[:-1]


def test_a_tool_that_is_newer_than_the_listing_is_found():
    with bridge_with(it=entry()) as bridge:
        bridge.list_tools("it")
        bridge.call_tool("it", "set_tools", {"tools": ["fresh"], "notices": 0})
        assert bridge.call_tool("it", "fresh").text == "this is fresh"


@pytest.mark.parametrize("era", ERAS)
def test_a_call_ends_at_its_limit_and_the_server_is_told(era: str):
    with bridge_with(it=entry(era=era)) as bridge:
        bridge.list_tools("it")
        with ends_within(20), pytest.raises(ToolTimeout) as caught:
            bridge.call_tool("it", "never", timeout_seconds=0.2)
        assert caught.value.problem.startswith("the call of 'never' timed out after 0.2 s")
        assert caught.value.next_step.startswith("Give the call more time with `timeout_seconds`")
        assert methods_seen(bridge)[-2:] == ["notifications/cancelled", "tools/call"]


def test_the_settings_give_the_limit_where_the_call_does_not():
    with bridge_with(it=entry(timeout=0.2)) as bridge:
        bridge.list_tools("it")
        with pytest.raises(ToolTimeout, match=r"after 0\.2 s.*\n.*Raise `timeout` of 'it'"):
            bridge.call_tool("it", "never")


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
        assert bridge.call_tool("it", "echo", {"text": "fine"}).text == "fine"


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


def test_a_flood_of_progress_is_reported_and_blocks_no_other_work():
    told: list[Any] = []
    with bridge_with(it=entry()) as bridge:
        result = bridge.call_tool(
            "it",
            "progress",
            {"steps": 20_000, "flood": 20_000},
            on_progress=lambda *x: told.append(x),
            timeout_seconds=8,
        )
        assert result.text == "done"
        assert len(told) == 20_000


def test_a_flood_of_log_notices_blocks_no_other_work():
    with bridge_with(it=entry()) as bridge:
        assert bridge.call_tool("it", "log", {"lines": 20_000}, timeout_seconds=8).text == "done"


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


@pytest.mark.parametrize(
    "line",
    [
        '{"jsonrpc": "2.0", "id": ID, "result": {"content": [{"type": "te',
        '{"jsonrpc": "2.0", "id": ID, "result": []}',
        '{"jsonrpc": "2.0", "id": ID, "result": ' + "[" * 100_000 + "}",
    ],
    ids=["cut", "not an object", "too deep"],
)
def test_an_answer_that_cannot_be_read_fails_its_call_at_once(line: str):
    unusable = pytest.raises(ServerError, match="unusable response: it is not a valid message")
    with bridge_with(it=entry()) as bridge:
        bridge.list_tools("it")
        with ends_within(20), unusable:
            bridge.call_tool("it", "raw", {"line": line})
        assert bridge.call_tool("it", "echo", {"text": "fine"}).text == "fine"
        assert "(on stdout, not a message) {" in status_of(bridge, "it").stderr_tail[-1]


def test_broken_encodings_become_replacement_signs():
    answer = (
        '{"jsonrpc": "2.0", "id": ID, "result": {"content": [{"type": "text", "text": "\xff"}]}}'
    )
    with bridge_with(it=entry()) as bridge:
        assert bridge.call_tool("it", "raw", {"line": answer}).text == "\ufffd"


@pytest.mark.parametrize(
    "line",
    [
        "not JSON at all",
        '{"jsonrpc": "2.0", "id": 99999, "result": {}}',
        '{"jsonrpc": "2.0", "id": null, "error": {"code": 1, "message": "who?"}}',
        '{"jsonrpc": "2.0", "id": "ID", "result": {"content": []}}\n'
        '{"jsonrpc": "2.0", "id": ID, "result": {"content": []}}',
        '{"jsonrpc": "2.0", "method": "notifications/unheard/of", "params": {"a": 1}}',
        "\n\r\n",
    ],
)
def test_what_nobody_asked_for_is_passed_over(line: str):
    with bridge_with(it=entry()) as bridge:
        result = bridge.call_tool("it", "raw", {"line": line, "then": "answer"}, timeout_seconds=5)
        assert result.text in ("answer", "")
        assert bridge.call_tool("it", "echo", {"text": "fine"}).text == "fine"


def test_an_answer_whose_id_came_back_as_text_is_read_like_any_other():
    answer = '{"jsonrpc": "2.0", "id": "ID", "result": {"content": [{"type": "odd"}]}}'
    with bridge_with(it=entry()) as bridge:
        result = bridge.call_tool("it", "raw", {"line": answer})
        assert result.parts == (UnknownPart("odd", {"type": "odd"}),)


def test_a_large_result_arrives_whole_and_soon():
    with bridge_with(it=entry()) as bridge:
        bridge.list_tools("it")
        with ends_within(30):
            result = bridge.call_tool("it", "big", {"characters": 20_000_000})
            assert len(result.text) == 20_000_000


def test_a_result_beyond_all_measure_is_refused_and_the_connection_stays():
    with bridge_with(it=entry()) as bridge:
        with pytest.raises(ServerError, match="unusable response: it is too large"):
            bridge.call_tool("it", "big", {"characters": 70_000_000})
        assert bridge.call_tool("it", "echo", {"text": "fine"}).text == "fine"


def test_large_arguments_arrive():
    with bridge_with(it=entry()) as bridge:
        text = "x" * 3_000_000
        assert bridge.call_tool("it", "echo", {"text": text}).text == text


def test_a_server_that_stopped_reading_is_found_out_and_started_again():
    """Two calls run into their limits; then a ping has no answer."""
    with bridge_with(it=entry()) as bridge:
        first = bridge.call_tool("it", "pid").text
        with pytest.raises(ToolTimeout):
            bridge.call_tool("it", "freeze", timeout_seconds=0.2)
        with ends_within(20), pytest.raises(ToolTimeout):  # a full pipe holds nobody up
            bridge.call_tool("it", "echo", {"text": "x" * 1_000_000}, timeout_seconds=0.2)
        assert bridge.call_tool("it", "pid").text != first


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
            SourceClosed, match=r"was lost during the call of .*: it did not answer any more"
        ):
            patient.result(30)
