"""The older ACP, for services that have not moved to A2A yet: off unless it is asked for."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from tests.support.acp_server import AcpService, acp_service
from tests.support.bridges import names_of, status_of
from tests.support.processes import wait_until
from xai_mcp_agent import Bridge, ServerError, SourceFailed, ToolResult, ToolTimeout


@pytest.fixture(params=[False, True], ids=["input", "inputs"])
def service(request: pytest.FixtureRequest) -> Generator[AcpService]:
    with acp_service(inputs_only=request.param) as running:
        yield running


@pytest.fixture
def bridge(service: AcpService) -> Generator[Bridge]:
    entry = {"url": service.url, "protocol": "acp", "headers": {"X-Team": "blue"}}
    with Bridge({"agents": {"it": entry}}, store="memory") as opened:
        yield opened


def ask(bridge: Bridge, message: str, tool: str = "echo", **more: Any) -> ToolResult:
    return bridge.call_tool("it", tool, {"message": message, **more})


def test_each_agent_of_a_service_is_a_tool(bridge: Bridge) -> None:
    tools = bridge.list_tools("it")
    assert names_of(tools) == ["echo", "travel_agent"]
    assert "Books travels." in tools[1].description
    status = status_of(bridge, "it")
    assert (status.kind, status.transport, status.tool_count) == ("acp", "acp", 2)


def test_an_agent_answers(bridge: Bridge, service: AcpService) -> None:
    result = ask(bridge, "hello", tool="travel_agent")
    assert (result.text, result.is_error) == ("hello", False)
    ids = {"task_id": "run-1", "context_id": "session-1"}
    assert result.structured == {"state": "completed", **ids}
    assert service.asked[-1]["agent_name"] == "travel agent"
    assert service.asked[-1]["mode"] == "async"
    ask(bridge, "again", context_id="session-7")
    assert service.asked[-1]["session_id"] == "session-7"


def test_data_goes_there_and_comes_back(bridge: Bridge) -> None:
    given = {"whole": 4, "half": 0.5}
    result = ask(bridge, "data", data=given)
    assert result.structured["data"] == given
    assert result.text == 'data\n{"whole": 4, "half": 0.5}'


def test_a_question_is_handed_back_and_can_be_answered(bridge: Bridge) -> None:
    asked = ask(bridge, "ask")
    assert (asked.text, asked.is_error) == ("Which colour?", False)
    assert asked.structured["state"] == "input_required"
    answered = ask(bridge, "red", task_id=asked.structured["task_id"])
    assert answered.text == "thanks for red"


def test_a_run_that_fails_is_the_tools_error(bridge: Bridge) -> None:
    result = ask(bridge, "fail")
    assert (result.text, result.is_error) == ("The agent failed:\nno soup", True)


def test_a_run_that_does_not_end_is_canceled(bridge: Bridge, service: AcpService) -> None:
    with pytest.raises(ToolTimeout):
        bridge.call_tool("it", "echo", {"message": "forever"}, timeout_seconds=0.5)
    wait_until(lambda: service.canceled == ["run-1"], "it was canceled")


def test_a_run_that_nobody_knows_says_so(bridge: Bridge) -> None:
    with pytest.raises(ServerError, match="Nothing at"):
        ask(bridge, "x", task_id="no-such-run")


def test_a_service_without_agents_is_told_of(service: AcpService) -> None:
    entry = {"url": f"{service.url}/elsewhere", "protocol": "acp"}
    with (
        Bridge({"agents": {"it": entry}}, store="memory") as bridge,
        pytest.raises(SourceFailed, match="HTTP 404"),
    ):
        bridge.list_tools("it")


def test_it_is_not_spoken_unless_it_is_asked_for(service: AcpService) -> None:
    with (
        Bridge({"agents": {"it": {"url": service.url}}}, store="memory") as bridge,
        pytest.raises(SourceFailed, match='"protocol": "acp"'),
    ):
        bridge.list_tools("it")
    assert service.asked == []


# What is odd


def test_a_listing_that_is_odd_or_endless_is_cut_with_a_note(
    service: AcpService, bridge: Bridge
) -> None:
    odd = [{"name": "x" * 5_000}, {"name": "echo"}, {"name": ["no"]}, 4, {"name": "echo"}]
    many = [{"name": f"agent {x}", "description": "\u200bd" * 1_000} for x in range(700)]
    service.agents = [*odd, *many]
    assert len(bridge.list_tools("it")) == 496
    assert [x.split(";")[0] for x in status_of(bridge, "it").notes] == [
        "Agents without a name that could be used, or with that of another, are left out.",
        "It has 705 agents",
    ]


@pytest.mark.parametrize(
    ("part", "length"),
    [
        ({"content_type": "text/plain", "content": "x" * 12_000_000}, 12_000_000),
        ({"content_type": "application/json", "content": "[%s0]" % ("1, " * 3_000_000)}, 9_000_003),
        ({"content_type": "application/json", "content": "[%s{}]" % ("{}, " * 300_000)}, 1_200_004),
        ({"content_type": "application/json", "content": "[" * 100_000}, 100_000),
        ({"content_type": "image/png", "content_encoding": "base64", "content": "AAAA" * 3_000_000},
         51),
        ({"content_type": "image/png", "content": None}, 42),
    ],
    ids=["text", "numbers", "objects", "no json", "image", "nothing"],
)  # fmt: skip
def test_whatever_a_run_made_holds_up_nobody(
    service: AcpService, bridge: Bridge, part: Any, length: int
) -> None:
    """Each test looks for steps of a loop that take long."""
    service.made = [part]
    assert len(ask(bridge, "made").text) == length


def test_of_very_many_parts_of_a_run_the_first_are_taken(
    service: AcpService, bridge: Bridge
) -> None:
    service.made = [{"content_type": "text/plain", "content": "x"}] * 50_000
    assert ask(bridge, "made").text == "x" * 300
