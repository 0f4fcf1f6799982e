"""AgentModel: what it takes, what it gives to agents, and that nobody sees the key in it."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from pprint import pformat
from typing import Any

import dill
import pytest
from xai_components.base import Component
from xai_components.xai_controlflow.branches import ForEach

from tests.support.canvas import call, chain, make, play
from tests.support.model_endpoint import ModelEndpoint, calls, model_endpoint, says
from xai_mcp_agent import BadSetting
from xai_mcp_agent.agent_components import (
    AgentDefineTool,
    AgentInit,
    AgentMakeToolbelt,
    AgentModel,
    AgentModelLimits,
    AgentRun,
    AgentToolOutput,
    AgentUpdate,
)

from .conftest import UseServers

KEY = "sk-very-secret-0123456789"
NAN = float("nan")


@pytest.fixture(autouse=True)
def _known(use_servers: UseServers) -> None:
    use_servers()


def model_at(endpoint: ModelEndpoint, **more: Any) -> AgentModel:
    given = {"provider": "openai", "model": "m", "base_url": endpoint.base_url, "api_key": KEY}
    return make(AgentModel, **{**given, **more})


def settings_of(**ports: Any) -> dict[str, Any]:
    """What an AgentModel and an AgentModelLimits with these ports give."""
    own = AgentModel.__annotations__
    model = make(AgentModel, **{x: y for x, y in ports.items() if x in own})
    more = {x: y for x, y in ports.items() if x not in own}
    limits = make(AgentModelLimits, from_model=model.model_settings, **more)
    play({}, model, limits)
    return limits.model_settings.value


def asked_with(settings: dict[str, Any]) -> str | None:
    """The answer of an agent that has these settings."""
    run = make(AgentRun, question="Hello!")
    play({}, make(AgentInit, model_settings=settings), run)
    return run.last_response.value


# The key


@pytest.mark.parametrize(
    "shown",
    [
        pytest.param(repr, id="repr"),
        pytest.param(str, id="str"),
        pytest.param(pformat, id="pprint"),
        pytest.param(json.dumps, id="json"),
        pytest.param(lambda x: f"{x['api_key']} {x['api_key']!r} {x['api_key']:>9}", id="format"),
        pytest.param(lambda x: "".join(x["api_key"]) + x["base_url"] + "!", id="joined"),
        pytest.param(lambda x: repr(x["api_key"].encode()), id="bytes"),
        pytest.param(lambda x: repr(vars(x["api_key"])), id="vars"),
        pytest.param(lambda x: x["extra_body"]["more"][0]["token"][:], id="in extra_body"),
    ],
)  # fmt: skip
def test_nothing_that_shows_the_settings_shows_a_secret(shown: Callable[[Any], str]) -> None:
    settings = settings_of(
        provider="openai", model="m", api_key=KEY, base_url=f"http://ada:{KEY}@127.0.0.1:9/v1",
        extra_body={"more": [{"token": KEY}]},
    )  # fmt: skip
    assert KEY not in shown(settings)
    assert "***" in shown(settings)


def test_a_run_prints_the_settings_without_the_key(capsys: pytest.CaptureFixture[str]) -> None:
    with model_endpoint([says("Hello.")]) as endpoint:
        model = model_at(endpoint)
        ctx: dict[str, Any] = {}
        init = make(AgentInit, model_settings=model.model_settings)
        show = call(print, model.model_settings)
        play(ctx, model, init, show, make(AgentRun, question="Hello!", show="verbose"))
    printed = capsys.readouterr()
    assert "'api_key': '***'" in printed.out
    assert KEY not in printed.out + printed.err + repr(ctx) + json.dumps(ctx, default=repr)
    assert endpoint.requests[0].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    "copied",
    [
        pytest.param(copy.deepcopy, id="deepcopy"),
        pytest.param(dict, id="dict"),
        pytest.param(lambda x: pickle.loads(pickle.dumps(x)), id="pickle"),
        pytest.param(lambda x: dill.loads(dill.dumps(x)), id="dill"),
    ],
)
def test_a_copy_of_the_settings_still_asks_with_the_key(copied: Callable[[Any], Any]) -> None:
    """Nodes that run others in parallel copy `ctx` and what is wired."""
    with model_endpoint([says("Hello.")]) as endpoint:
        settings = copied(settings_of(
            provider="openai", model="m", base_url=endpoint.base_url, api_key=KEY,
            extra_body={"seed": 7, "user": KEY},
        ))  # fmt: skip
        assert asked_with(settings) == "Hello."
    (asked,) = endpoint.requests
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert (asked.body["seed"], asked.body["user"]) == (7, KEY)


@pytest.mark.parametrize(
    "secret", [{"api_key": KEY}, {"base_url": f"http://a:{KEY}@h/v1"}, {"extra_body": {"k": KEY}}]
)
def test_settings_that_lost_their_secret_as_json_are_refused(secret: dict[str, Any]) -> None:
    settings = json.loads(json.dumps(settings_of(provider="openai", model="m", **secret)))
    with pytest.raises(BadSetting, match="in place of a secret"):
        asked_with(settings)


# Values that cannot be


@pytest.mark.parametrize(
    ("port", "value"),
    [
        ("tool_protocol", "xml"), ("base_url", "still to be decided"),
    ],
)  # fmt: skip
def test_a_value_that_cannot_be_is_reported_with_its_port(port: str, value: Any) -> None:
    with pytest.raises(BadSetting, match=rf"{port}.* AgentModel") as told:
        settings_of(**{port: value})
    assert KEY not in str(told.value)


def test_what_was_left_alone_is_not_in_the_settings() -> None:
    blank = {"provider": "", "model": "", "api_key": "", "extra_body": {}}
    assert settings_of(**blank, max_run_tokens=0, tool_token_budget=0) == {}
    assert settings_of(temperature=0) == {"temperature": 0.0}, "a temperature like any other"


@pytest.mark.parametrize("settings", ["x", ["x"], 7, True])
@pytest.mark.parametrize("node", [AgentInit, AgentUpdate])
def test_settings_that_are_invalid_are_reported_with_what_to_wire(
    node: type, settings: Any
) -> None:
    port = "model_settings" if node is AgentInit else "new_model_settings"
    with pytest.raises(BadSetting, match=rf"`{port}` of .*Wire the model_settings of AgentModel"):
        play({}, make(AgentInit), make(node, **{port: settings}))


@pytest.mark.parametrize(
    ("settings", "says_what"),
    [
        ({"temprature": 1}, "Did you mean 'temperature'"),
        ({1: 2}, "unknown key 1"),
        ({"temperature": "hot"}, r"`model_settings\.temperature` of AgentInit"),
        ({"extra_body": 3}, r"`model_settings\.extra_body` of AgentInit"),
        ({"api_key": KEY}, "no `provider` says whom to ask"),
        ({"base_url": "http://h/v1"}, "no `provider` says whom to ask"),
        ({"max_run_cost": 1}, "no prices to count with"),
    ],
)
def test_settings_written_by_hand_are_checked(settings: dict[str, Any], says_what: str) -> None:
    with pytest.raises(BadSetting, match=says_what) as told:
        play({}, make(AgentInit, model_settings=settings))
    assert KEY not in str(told.value)


def test_a_model_that_is_reported_twice_and_differently_is_reported_with_both_places() -> None:
    model = {"provider": "bedrock", "model": "n"}
    for own in ({"agent_provider": "openai"}, {"agent_model": "m"}):
        (port,) = own
        with pytest.raises(BadSetting, match=rf"`{port}` of AgentInit .*AgentModel.*two places"):
            play({}, make(AgentInit, **own, model_settings=model))
    same: dict[str, Any] = {"agent_provider": "bedrock", "agent_model": "n"}
    play({}, make(AgentInit, **same, model_settings=model))


def test_an_update_that_cannot_be_changes_nothing() -> None:
    ctx: dict[str, Any] = {}
    play(ctx, make(AgentInit, agent_provider="openai", agent_model="m", system_prompt="Be kind."))
    before = dict(ctx["agent_agent"])
    wrong = make(AgentUpdate, new_system_prompt="x", new_model_settings={"temperature": "hot"})
    with pytest.raises(BadSetting):
        play(ctx, wrong)
    assert ctx["agent_agent"] == before


# Several agents


def test_two_agents_ask_each_their_own_model_with_their_own_key() -> None:
    with model_endpoint([says("one")]) as first, model_endpoint([says("two")]) as second:
        models = [model_at(first, api_key="sk-first"), model_at(second, api_key="sk-second")]
        flow: list[Component] = []
        for name, model in zip("ab", models, strict=True):
            init = make(AgentInit, agent_name=name, model_settings=model.model_settings)
            flow += [model, init]
        runs = [make(AgentRun, agent_name=name, question="Hello!") for name in "ab"]
        play({}, *flow, *runs)
    assert [x.last_response.value for x in runs] == ["one", "two"]
    sent = [x.requests[0].headers["authorization"] for x in (first, second)]
    assert sent == ["Bearer sk-first", "Bearer sk-second"]


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


def test_a_loop_asks_with_the_settings_of_its_round() -> None:
    each = make(ForEach, items=["small", "large"])
    with model_endpoint(lambda body: says(body["model"])) as endpoint:
        model = model_at(endpoint, model=each.current_item)
        init = make(AgentInit, model_settings=model.model_settings)
        run, answers = make(AgentRun, question="Who are you?"), list[str]()
        each.body = chain(model, init, run, call(answers.append, run.last_response))
        play({}, each)
    assert answers == ["small", "large"]


def test_an_agent_in_a_drawn_tool_asks_its_own_model() -> None:
    with (
        model_endpoint([calls(("ask", {"input": "Who?"})), says("It was you.")]) as outer,
        model_endpoint([says("Me.")]) as inner,
    ):
        start = make(AgentDefineTool, tool_name="ask", description="Asks.")
        theirs = model_at(inner, api_key="sk-inner")
        set_up = make(AgentInit, agent_name="inner", model_settings=theirs.model_settings)
        asked = make(AgentRun, question=start.tool_input)
        end = make(AgentToolOutput, results=[asked.last_response])
        belt, ours = make(AgentMakeToolbelt), model_at(outer)
        init = make(AgentInit, toolbelt_spec=belt.toolbelt_spec, model_settings=ours.model_settings)
        run = make(AgentRun, question="Ask.")
        play({}, belt, ours, init, run, tools=[[start, theirs, set_up, asked, end]])
    assert run.last_response.value == "It was you."
    assert outer.requests[1].body["messages"][-1]["content"] == "Me."
    assert inner.requests[0].headers["authorization"] == "Bearer sk-inner"
