"""AgentModel: what it takes, what it gives to agents, and that nobody can see the key in it."""

from __future__ import annotations

import copy
import json
from pprint import pformat
from typing import Any

import dill
import pytest

from tests.support.canvas import make, play
from tests.support.model_endpoint import model_endpoint, says
from xai_mcp_agent import BadSetting
from xai_mcp_agent.agent_components import (
    AgentInit,
    AgentModel,
    AgentModelLimits,
    AgentRun,
    AgentUpdate,
)

from .conftest import UseServers

KEY = "sk-very-secret-0123456789"


@pytest.fixture(autouse=True)
def _servers(use_servers: UseServers) -> None:
    use_servers()


def settings_of(**ports: Any) -> dict[str, Any]:
    """The settings that an AgentModel and an AgentModelLimits with these ports give."""
    own = AgentModel.__annotations__
    model = make(AgentModel, **{x: y for x, y in ports.items() if x in own})
    more = {x: y for x, y in ports.items() if x not in own}
    limits = make(AgentModelLimits, from_model=model.model_settings, **more)
    play({}, model, limits)
    return limits.model_settings.value


def answer_with(settings: dict[str, Any]) -> str | None:
    """The answer of an agent that has these settings."""
    run = make(AgentRun, question="Hello!")
    play({}, make(AgentInit, model_settings=settings), run)
    return run.last_response.value


# The key


def test_nothing_that_shows_the_settings_shows_a_secret() -> None:
    settings = settings_of(
        provider="openai", model="m", api_key=KEY, base_url=f"http://ada:{KEY}@127.0.0.1:9/v1",
        extra_body={"more": [{"token": KEY}]},
    )  # fmt: skip
    key = settings["api_key"]
    token = settings["extra_body"]["more"][0]["token"]
    joined = "".join(key) + settings["base_url"]
    texts = [repr(settings), pformat(settings), json.dumps(settings), f"{key:>9}", joined]
    for text in (*texts, repr(key.encode()), token[:]):
        assert KEY not in text
        assert "***" in text


def test_a_copy_of_the_settings_still_asks_with_the_key() -> None:
    """Nodes that run others in parallel copy `ctx` and the wired values."""
    with model_endpoint(lambda _: says("Hello.")) as endpoint:
        settings = settings_of(
            provider="openai", model="m", base_url=endpoint.base_url, api_key=KEY,
            extra_body={"seed": 7, "user": KEY},
        )  # fmt: skip
        for copy_of in (copy.deepcopy, dict, lambda x: dill.loads(dill.dumps(x))):
            assert answer_with(copy_of(settings)) == "Hello."
    for request in endpoint.requests:
        assert request.headers["authorization"] == f"Bearer {KEY}"
        assert (request.body["seed"], request.body["user"]) == (7, KEY)


# Values that cannot be


def test_empty_ports_are_not_in_the_settings() -> None:
    blank = {"provider": "", "model": "", "api_key": "", "extra_body": {}}
    assert settings_of(**blank, max_run_tokens=0, tool_token_budget=0) == {}
    assert settings_of(temperature=0) == {"temperature": 0.0}, "a temperature like any other"


@pytest.mark.parametrize(
    ("settings", "says_what"),
    [
        ({"temprature": 1}, "Did you mean 'temperature'"),
        ({"temperature": "hot"}, r"`model_settings\.temperature` of AgentInit"),
        ({"extra_body": 3}, r"`model_settings\.extra_body` of AgentInit"),
        ({"api_key": KEY}, "no `provider` says whom to ask"),
        ({"max_run_cost": 1}, "no prices to count with"),
        ({"tool_protocol": "xml"}, "auto, native, text"),
        ({"base_url": "still to be decided"}, "still to be decided"),
    ],
)
def test_settings_written_by_hand_are_checked(settings: dict[str, Any], says_what: str) -> None:
    with pytest.raises(BadSetting, match=says_what) as caught:
        play({}, make(AgentInit, model_settings=settings))
    assert KEY not in str(caught.value)


def test_two_different_models_are_reported_with_both_places() -> None:
    model = {"provider": "bedrock", "model": "n"}
    for own in ({"agent_provider": "openai"}, {"agent_model": "m"}):
        (port,) = own
        with pytest.raises(BadSetting, match=rf"`{port}` of AgentInit .*AgentModel.*one place"):
            play({}, make(AgentInit, **own, model_settings=model))
    same: dict[str, Any] = {"agent_provider": "bedrock", "agent_model": "n"}
    play({}, make(AgentInit, **same, model_settings=model))


def test_two_agents_of_a_workflow_ask_each_their_own_model_with_their_own_key() -> None:
    with model_endpoint([says("one")]) as first, model_endpoint([says("two")]) as second:
        models = [
            make(AgentModel, provider="openai", model="m", base_url=x.base_url, api_key=key)
            for x, key in ((first, "sk-first"), (second, "sk-second"))
        ]
        agents = [
            make(AgentInit, agent_name=name, model_settings=model.model_settings)
            for name, model in zip("ab", models, strict=True)
        ]
        runs = [make(AgentRun, agent_name=name, question="Hello!") for name in "ab"]
        play({}, *models, *agents, *runs)
    assert [x.last_response.value for x in runs] == ["one", "two"]
    keys = [x.requests[0].headers["authorization"] for x in (first, second)]
    assert keys == ["Bearer sk-first", "Bearer sk-second"]


def test_an_update_of_one_agent_leaves_another_with_the_same_settings_alone() -> None:
    ctx: dict[str, Any] = {}
    model = make(AgentModel, provider="openai", model="m", temperature=0.5)
    limits = make(AgentModelLimits, from_model=model.model_settings, extra_body={"seed": 1})
    agents = [make(AgentInit, agent_name=x, model_settings=limits.model_settings) for x in "ab"]
    update = make(AgentUpdate, agent_name="a", new_model_settings={"temperature": 0.9})
    play(ctx, model, limits, *agents, update)
    assert [ctx[f"agent_{x}"]["model_settings"]["temperature"] for x in "ab"] == [0.9, 0.5]
    assert model.model_settings.value["temperature"] == 0.5
    assert ctx["agent_a"]["model_settings"]["extra_body"] == {"seed": 1}
