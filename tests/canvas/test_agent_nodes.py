"""AgentInit, AgentUpdate, AgentRun and AgentRunTool, with the offline and a scripted model."""

from __future__ import annotations

import copy
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from xai_components.base import Component

from tests.support.canvas import agent_nodes, call, chain, drawn, make, play, shout
from tests.support.fault_server import entry
from tests.support.model_endpoint import ModelEndpoint, calls, model_endpoint, says
from xai_mcp_agent import BadSetting, SettingsError, UnknownAgent, XaiMcpError
from xai_mcp_agent.agent.conversation import BadConversation
from xai_mcp_agent.agent_components import (
    AgentInit,
    AgentRun,
    AgentRunTool,
    AgentUpdate,
    AgentUseMCPTools,
)
from xai_mcp_agent.canvas.model_settings import revealed

from .conftest import UseServers

HELLO = [{"role": "user", "content": "Hello!"}]


@pytest.fixture(autouse=True)
def _known(use_servers: UseServers, library: dict[str, Any]) -> None:
    use_servers(library=library, broken={"command": "no-such-program-anywhere"})


def agent_with(*servers: str, **inputs: Any) -> list[Component]:
    """The nodes that set an agent up, with these servers and what is drawn."""
    return agent_nodes(*(make(AgentUseMCPTools, server_name=x) for x in servers), **inputs)


@contextmanager
def scripted(*steps: Any) -> Iterator[tuple[ModelEndpoint, dict[str, Any]]]:
    """A scripted model, and what AgentInit needs to talk to it."""
    with model_endpoint(steps) as endpoint:
        yield endpoint, endpoint.inputs


def asking(text: str = "Hello!") -> AgentRun:
    return make(AgentRun, agent_name="a", conversation=text)


# Setting up


def test_a_key_may_be_a_variable_and_is_not_shown_in_ctx(monkeypatch: pytest.MonkeyPatch) -> None:
    """XIRCUITS_DEBUG writes ctx into a log."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-openai")
    monkeypatch.setenv("ACME_API_KEY", "sk-of-acme\n")
    ctx: dict[str, Any] = {}
    with scripted(says("Hello."), says("Again.")) as (endpoint, model):
        asked = {"api_key": "${ACME_API_KEY}", "extra_body": {"k": "sk-of-acme"}}
        play(ctx, *agent_with(**{**model, **asked}), asking())
        play(ctx, make(AgentUpdate, agent_name="a", new_api_key="env:ACME_API_KEY"), asking())
    sent = [x.headers["authorization"] for x in endpoint.requests]
    assert sent == ["Bearer sk-of-acme"] * 2, "the key of another service stays here"
    assert "sk-of-acme" not in repr(ctx)
    with pytest.raises(BadSetting, match=r"api_key` of .* names .* NO_SUCH_KEY_ANYWHERE"):
        play({}, *agent_with(api_key="${NO_SUCH_KEY_ANYWHERE}"))


def test_an_update_changes_only_what_is_wired_and_not_empty() -> None:
    """A literal or an argument that was left empty is wired all the same."""
    ctx: dict[str, Any] = {}
    names = ("agent_provider", "agent_model", "system_prompt", "base_url", "api_key")
    empty = make(
        AgentUpdate, agent_name="a", new_max_thoughts=0, **{f"new_{name}": "" for name in names}
    )
    given = {"agent_provider": "openai", "agent_model": "m", "system_prompt": "Be kind."}
    play(ctx, *agent_with(**given, max_thoughts=3, api_key="sk-a"))
    before = dict(ctx["agent_a"])
    play(ctx, empty)
    assert ctx["agent_a"] == before
    play(ctx, make(AgentUpdate, agent_name="a", new_system_prompt="Be brief."))
    assert ctx["agent_a"] == {**before, "agent_system_prompt": "Be brief."}


def test_only_the_same_service_keeps_its_key() -> None:
    url = "http://127.0.0.1:9/v1"
    old = {"agent_provider": "openai", "agent_model": "m", "extra_body": {"key": "k"}}
    for moved, key in (
        ({"new_agent_provider": "bedrock"}, None),
        ({"new_base_url": "http://127.0.0.1:10/v1"}, None),
        ({"new_agent_provider": "openai", "new_base_url": url, "new_agent_model": "n"}, "sk-old"),
        ({"new_api_key": "sk-b"}, "sk-b"),
    ):
        ctx: dict[str, Any] = {}
        play(ctx, *agent_with(**old, base_url=url, api_key="sk-old"))
        play(ctx, make(AgentUpdate, agent_name="a", **moved))
        settings = ctx["agent_a"]["model_settings"]
        assert revealed(settings.get("api_key")) == key
        assert ("extra_body" in settings) is (key is not None)


@pytest.mark.parametrize(
    ("component", "needed"),
    [(AgentUpdate, {}), (AgentRun, {"question": "Hello!"}), (AgentRunTool, {"tool_name": "x"})],
)
def test_a_missing_agent_is_an_error_that_names_the_existing_ones(
    component: type, needed: dict[str, Any]
) -> None:
    """Any library may keep an `agent_config` in ctx."""
    for name in ("halper", "config"):
        ctx: dict[str, Any] = {"agent_config": "x", "agent_none": {}}
        with pytest.raises(UnknownAgent, match=rf"'{name}'.*helper.*AgentInit"):
            play(ctx, *agent_with(name="helper"), make(component, agent_name=name, **needed))
    with pytest.raises(UnknownAgent, match="Put an AgentInit before"):
        play({}, make(component, agent_name=" ", **needed))


# Running


def test_an_agent_uses_a_server_and_a_drawn_tool_and_answers() -> None:
    """Spec 1."""
    ctx: dict[str, Any] = {}
    run = asking('Find a book about whales, and shout "Read more".')
    play(ctx, *agent_with("library", "broken"), run, tools=[shout()])
    assert list(ctx["agent_a"]["agent_toolbelt"]) == ["shout"]
    assert ctx["agent_a"]["enabled_mcp_servers"] == ["library", "broken"]
    answer = run.last_response.value
    assert "Moby-Dick" in answer
    assert "READ MORE" in answer
    assert run.out_conversation.value[-1] == {"role": "assistant", "content": answer}


def test_what_happens_is_printed_as_it_happens(capsys: pytest.CaptureFixture[str]) -> None:
    given = copy.deepcopy(HELLO)
    with scripted(calls(("shout", {"input": "hi"})), says("Done.")) as (endpoint, model):
        run = make(AgentRun, agent_name="a", conversation=given, metadata={"city": "Kyoto"})
        play({}, *agent_with(system_prompt="{metadata}", **model), run, tools=[shout()])
    assert "Kyoto" in endpoint.requests[0].body["messages"][0]["content"]
    printed = capsys.readouterr().out
    order = ['-> shout(input="hi")', "Executing: AgentToolOutput", "<- shout", "HI", "Done."]
    assert sorted(order, key=printed.index) == order
    assert given == HELLO
    roles = [x["role"] for x in run.out_conversation.value]
    assert roles == ["user", "assistant", "tool", "assistant"]


def test_a_mistake_before_the_run_does_not_lose_the_conversation(use_servers: UseServers) -> None:
    run = make(AgentRun, agent_name="a", conversation=HELLO)
    with pytest.raises(XaiMcpError, match="agent_model"):
        play({}, make(AgentInit, agent_name="a", agent_provider="openai"), run)
    assert run.out_conversation.value == HELLO
    use_servers().write_text("{nope", encoding="utf-8")
    other = make(AgentRun, agent_name="a", conversation=HELLO)
    with pytest.raises(SettingsError):
        play({}, make(AgentInit, agent_name="a"), other)
    assert other.out_conversation.value == HELLO
    with pytest.raises(BadConversation, match="conversation"):
        play({}, make(AgentRun, agent_name="a", conversation=[{"role": "boss", "content": "Hi"}]))


def test_a_server_that_fails_or_hangs_is_left_out_and_costs_its_limit_once(
    use_servers: UseServers, library: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    use_servers(
        slow=entry(hang=True, startTimeout=2.8), broken={"command": "no-such-program"},
        library=library,
    )  # fmt: skip
    ctx: dict[str, Any] = {}
    play(ctx, *agent_with("slow", "broken", "library"))
    for _ in range(2):
        run = asking("Find a book about whales.")
        play(ctx, run)
        assert "Moby-Dick" in run.last_response.value
    printed = capsys.readouterr().out
    assert "!! left out:" in printed
    assert "no-such-program" in printed
    # A wait as long as the first would be shown again.
    assert printed.count(".. waiting for the server slow: ") == 1


# The branch


def test_the_branch_runs_after_each_use_with_thought_and_conversation_in_the_same_thread() -> None:
    """Nodes are not made for another thread: plots and user interfaces break there."""
    steps = [
        calls(("shout", {"input": "one"}), text="First I shout."),
        calls(("shout", {"input": "\u65e5\u672c" + "!" * 1000})),
        says("Done."),
    ]
    run, seen, threads = asking(), list[tuple[str, int]](), set[int]()

    def note(_: Any) -> None:
        threads.add(threading.get_ident())
        seen.append((run.thought.value, len(run.out_conversation.value)))

    def shout_here(text: str) -> str:
        threads.add(threading.get_ident())
        return text.upper()

    run.on_thought = chain(call(note))
    with scripted(*steps) as (_, model):
        play({}, *agent_with(**model), run, tools=[drawn("shout", shout_here)])
    assert seen == [
        ("First I shout.", 3),
        (f'Using shout(input="\u65e5\u672c{"!" * 58}"...).', 5),
    ]
    assert threads == {threading.get_ident()}


# One tool without the model


def test_a_tool_is_used_by_hand_and_a_mistake_is_its_result() -> None:
    def used(name: str, arguments: Any) -> AgentRunTool:
        return make(
            AgentRunTool, agent_name="a", tool_name=name, tool_args=arguments, conversation=HELLO
        )

    found = used("library_get_book", {"book_id": 14})
    unknown, wrong = used("library_get_bok", "{}"), used("library_get_book", "{}")
    away = used("broken_read", "{}")
    play({}, *agent_with("library", "broken"), found, unknown, wrong, away)
    assert "Moby-Dick" in found.tool_output.value
    roles = [x["role"] for x in found.updated_conversation.value]
    assert roles == ["user", "assistant", "tool"]
    assert HELLO == [{"role": "user", "content": "Hello!"}]
    assert "library_get_book" in unknown.tool_output.value
    assert "Wrong arguments for library_get_book:" in wrong.tool_output.value
    assert "'broken_read' cannot be used now. broken: " in away.tool_output.value
    assert "no-such-program-anywhere" in away.tool_output.value
    assert "Next step:" in away.tool_output.value
