"""An agent that gets no tool of its sources fails before its model is asked, and says why.

Whoever runs it unattended must not take its answer for one that used its tools.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.fault_server import entry
from tests.support.model_endpoint import calls, model_endpoint, says
from xai_mcp_agent import Agent, AgentModel, Bridge, NoTools, SettingsError, UnknownServer
from xai_mcp_agent.agent.memory.notes import NoteStore

GONE = {"command": "no-such-program-anywhere"}
UNSET = {"command": "x", "env": {"TOKEN": "${NO_SUCH_VARIABLE_HERE}"}}
LISTED = entry(tools=[{"name": "pay", "inputSchema": {"type": "object"}}])


def model_at(base_url: str) -> AgentModel:
    return AgentModel(provider="openai", name="m", base_url=base_url, api_key="sk-dummy")


REQUIRED = "Required, but without a tool that can be used: bad."


@pytest.mark.parametrize(
    ("servers", "options", "reason"),
    [
        ({"gone": GONE}, {"toolbelt": "gone", "memory": NoteStore(None)}, "was not found"),
        ({"gone": GONE, "unset": UNSET}, {}, "NO_SUCH_VARIABLE_HERE is not set"),
        ({"shop": LISTED}, {}, "shop: none of its tools can be used: 1 switched off."),
        ({"it": {**LISTED, "lock": True}}, {}, "1 held back until somebody accepts it."),
        ({"it": entry(no_tools=True)}, {}, "it has none."),
        # One required source without a tool is enough.
        ({"it": entry(), "bad": GONE}, {"toolbelt": "it", "required": "bad"}, REQUIRED),
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
        with pytest.raises(NoTools) as caught:
            Agent(bridge, model=model_at(endpoint.base_url), **options).run("Count the wibbles.")
        assert endpoint.requests == [], "the model is not asked"
    error = str(caught.value)
    assert reason in error
    if reason != REQUIRED:
        assert error.startswith("No tool of this agent can be used, so its model was not asked.")
    assert caught.value.stopped == "no_tools"


def test_the_events_of_such_a_run_end_with_its_failure():
    with (
        Bridge({"mcpServers": {"gone": GONE}}) as bridge,
        Agent(bridge, "gone").stream("Count the wibbles.") as events,
    ):
        seen = list[Any]()
        with pytest.raises(NoTools):
            seen.extend(events)
    assert [type(x).__name__ for x in seen] == ["RunStarted", "RunFailed"]
    assert seen[-1].stopped == "no_tools"


def test_a_group_that_is_required_must_give_a_tool():
    groups = {"paying": {"include": ["it/pay"]}, "echoing": {"include": ["it/echo"]}}
    with (
        Bridge({"mcpServers": {"it": entry()}, "groups": groups}) as bridge,
        model_endpoint([says("ok")]) as endpoint,
    ):
        model = model_at(endpoint.base_url)
        assert Agent(bridge, required="echoing", model=model).run("Go.").answer == "ok"
        with pytest.raises(NoTools, match=r"Required, but .*: paying"):
            Agent(bridge, required=["echoing", "paying"], model=model).run("Go.")


def test_functions_of_the_program_are_tools_enough():
    def shout(text: str) -> str:
        """Say a text in capitals."""
        return text.upper()

    with (
        Bridge({"mcpServers": {"gone": GONE}}) as bridge,
        model_endpoint([calls(("shout", {"text": "on"})), says("ON")]) as endpoint,
    ):
        result = Agent(bridge, ["gone", shout], model=model_at(endpoint.base_url)).run("Shout.")
    assert (result.answer, result.stopped) == ("ON", "answered")
    assert "was not found" in result.left_out[0]


def test_a_required_name_that_is_unknown_is_refused_at_once():
    with Bridge({"mcpServers": {"gone": GONE, "unset": UNSET}}) as bridge:
        with pytest.raises(UnknownServer, match="Did you mean 'gone'"):
            Agent(bridge, required=["gon"])
        with pytest.raises(SettingsError, match="NO_SUCH_VARIABLE_HERE"):
            Agent(bridge, required="unset")
