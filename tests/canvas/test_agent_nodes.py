"""AgentInit, AgentUpdate, AgentRun and AgentRunTool, with the offline and a scripted model."""

from __future__ import annotations

import copy
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest
from xai_components.base import Component

from tests.support.canvas import agent_nodes, call, chain, drawn, make, play, shout
from tests.support.fault_server import entry
from tests.support.model_endpoint import ModelEndpoint, calls, fails, model_endpoint, says
from xai_mcp_agent import BadSetting, ModelError, NoTools, SettingsError, UnknownAgent, XaiMcpError
from xai_mcp_agent.agent.conversation import BadConversation
from xai_mcp_agent.agent_components import (
    AgentDefineTool,
    AgentInit,
    AgentRun,
    AgentRunTool,
    AgentUpdate,
    AgentUseMCPTools,
)
from xai_mcp_agent.canvas.model_settings import revealed

from .conftest import UseServers

THREAD_SECONDS = 30
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


# Setting up


def test_an_agent_is_in_ctx_as_the_specification_says() -> None:
    """Spec 1, step 3."""
    ctx: dict[str, Any] = {}
    play(ctx, *agent_with("library", system_prompt="Be kind."), tools=[shout()])
    assert list(ctx["agent_a"]["agent_toolbelt"]) == ["shout"]
    assert ctx["agent_a"]["enabled_mcp_servers"] == ["library"]


@pytest.mark.parametrize(
    "inputs",
    [
        {"api_key": "sk-very-secret"},
        {"base_url": "http://ada:sk-very-secret@127.0.0.1:9/v1"},
        {"base_url": "http://127.0.0.1:9/v1?api-key=sk-very-secret"},
        {"extra_body": {"api_key": "sk-very-secret"}},
    ],
)
def test_a_key_is_not_shown_in_ctx(inputs: dict[str, Any]) -> None:
    """XIRCUITS_DEBUG writes ctx into a log."""
    ctx: dict[str, Any] = {}
    play(ctx, *agent_with(agent_provider="openai", agent_model="m", **inputs))
    assert "sk-very-secret" not in repr(ctx)


@pytest.mark.parametrize("written", ["${ACME_API_KEY}", "${env:ACME_API_KEY}", "env:ACME_API_KEY"])
def test_a_key_may_be_the_name_of_an_environment_variable(
    written: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So it stands in no file; a key in OPENAI_API_KEY is not sent to another service."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-openai")
    monkeypatch.setenv("ACME_API_KEY", "sk-of-acme\n")
    ctx: dict[str, Any] = {}
    with scripted(says("Hello."), says("Again.")) as (endpoint, model):
        run = make(AgentRun, agent_name="a", conversation="Hello!")
        play(ctx, *agent_with(**{**model, "api_key": written}), run)
        again = make(AgentUpdate, agent_name="a", new_api_key=written)
        play(ctx, again, make(AgentRun, agent_name="a", conversation="Hello!"))
    sent = [x.headers["authorization"] for x in endpoint.requests]
    assert sent == ["Bearer sk-of-acme"] * 2
    assert "sk-of-acme" not in repr(ctx)


def test_a_key_from_a_variable_that_is_not_set_is_reported_at_the_node() -> None:
    with pytest.raises(BadSetting, match=r"api_key` of .* names .* NO_SUCH_KEY_ANYWHERE"):
        play({}, *agent_with(api_key="${NO_SUCH_KEY_ANYWHERE}"))


def test_an_address_with_a_password_in_it_is_asked_all_the_same() -> None:
    with scripted(says("Hello.")) as (_, model):
        asked = {**model, "base_url": model["base_url"].replace("://", "://ada:secret@")}
        run = make(AgentRun, agent_name="a", conversation="Hello!")
        play({}, *agent_with(**asked), run)
    assert run.last_response.value == "Hello."


@pytest.mark.parametrize(
    ("inputs", "says_what"),
    [
        ({"agent_provider": "ofline"}, "'offline'"),
        ({"tool_protocol": "xml"}, "auto, native, text"),
        ({"extra_body": "x"}, "`model_settings.extra_body` of AgentInit is a str"),
        ({"agent_provider": "openai"}, "agent_model"),
    ],
)
def test_a_value_that_cannot_be_is_an_error_that_says_which_can(
    inputs: dict[str, Any], says_what: str
) -> None:
    run = make(AgentRun, agent_name="a", conversation="Hello!")
    with pytest.raises(XaiMcpError, match=says_what):
        play({}, *agent_with(**inputs), run)


NEEDED = {AgentRunTool: {"tool_name": "x"}, AgentRun: {"question": "Hello!"}}


@pytest.mark.parametrize("component", [AgentUpdate, AgentRun, AgentRunTool])
@pytest.mark.parametrize("name", [None, "", " "])
def test_where_no_agent_is_named_and_none_set_up_the_node_to_draw_is_reported(
    component: type, name: Any
) -> None:
    with pytest.raises(UnknownAgent, match="Put an AgentInit before"):
        play({}, make(component, agent_name=name, **NEEDED.get(component, {})))


@pytest.mark.parametrize("spec", ["default", ["x"], {"mcp_servers": "library"}])
def test_a_toolbelt_that_is_invalid_is_reported_with_what_to_wire(spec: Any) -> None:
    with pytest.raises(BadSetting, match=r"`toolbelt_spec` of AgentInit.*AgentMakeToolbelt"):
        play({}, make(AgentInit, agent_name="a", toolbelt_spec=spec))


def test_something_else_in_ctx_is_not_taken_for_an_agent() -> None:
    """Any library may keep an `agent_config` there."""
    run = make(AgentRun, agent_name="config", conversation="Hello!")
    with pytest.raises(UnknownAgent, match=r"'config'.*There are: a\."):
        play({"agent_config": "x", "agent_none": {}}, *agent_with(), run)


def test_an_update_changes_only_what_is_wired() -> None:
    ctx: dict[str, Any] = {}
    update = make(AgentUpdate, agent_name="a", new_system_prompt="Be brief.", new_max_thoughts=0)
    play(ctx, *agent_with(system_prompt="Be kind.", max_thoughts=3), update)
    assert ctx["agent_a"]["agent_system_prompt"] == "Be brief."
    assert ctx["agent_a"]["max_thoughts"] == 3, "0 is what an untouched argument node gives"


def test_an_empty_text_changes_nothing() -> None:
    """A literal that was left empty is wired all the same."""
    ctx: dict[str, Any] = {}
    names = ("agent_provider", "agent_model", "system_prompt", "base_url", "api_key")
    update = make(AgentUpdate, agent_name="a", **{f"new_{name}": "" for name in names})
    given = {"agent_provider": "openai", "agent_model": "m", "system_prompt": "Be kind."}
    play(ctx, *agent_with(**given, base_url="http://127.0.0.1:9/v1", api_key="sk-a"))
    before = dict(ctx["agent_a"])
    play(ctx, update)
    assert ctx["agent_a"] == before


@pytest.mark.parametrize(
    "moved",
    [
        {"new_agent_provider": "bedrock"},
        {"new_base_url": "http://127.0.0.1:10/v1"},
    ],
)
def test_another_service_is_not_sent_the_key_of_the_old_one(moved: dict[str, Any]) -> None:
    ctx: dict[str, Any] = {}
    old = {"agent_provider": "openai", "agent_model": "m", "extra_body": {"key": "k"}}
    play(ctx, *agent_with(**old, base_url="http://127.0.0.1:9/v1", api_key="sk-old"))
    play(ctx, make(AgentUpdate, agent_name="a", **moved))
    settings = ctx["agent_a"]["model_settings"]
    assert settings == {x.removeprefix("new_"): y for x, y in moved.items() if "url" in x}


def test_the_same_service_keeps_its_key_and_can_be_given_a_new_one() -> None:
    ctx: dict[str, Any] = {}
    url = "http://127.0.0.1:9/v1"
    play(ctx, *agent_with(agent_provider="openai", agent_model="m", base_url=url, api_key="sk-a"))
    same = {"new_agent_provider": "openai", "new_base_url": url, "new_agent_model": "n"}
    play(ctx, make(AgentUpdate, agent_name="a", **same))
    assert revealed(ctx["agent_a"]["model_settings"]["api_key"]) == "sk-a"
    play(ctx, make(AgentUpdate, agent_name="a", new_api_key="sk-b"))
    settings = ctx["agent_a"]["model_settings"]
    assert (revealed(settings["api_key"]), settings["base_url"]) == ("sk-b", url)


@pytest.mark.parametrize("component", [AgentRun, AgentRunTool, AgentUpdate])
def test_a_missing_agent_is_an_error_that_names_the_existing_ones(component: type) -> None:
    node = make(component, agent_name="halper", **NEEDED.get(component, {}))
    with pytest.raises(UnknownAgent, match=r"'halper'.*'helper'.*AgentInit"):
        play({}, *agent_with(name="helper"), node)


# Running


def test_an_agent_uses_a_server_and_a_drawn_tool_and_answers() -> None:
    run = make(
        AgentRun, agent_name="a", conversation='Find a book about whales, and shout "Read more".'
    )
    play({}, *agent_with("library"), run, tools=[shout()])
    assert "Moby-Dick" in run.last_response.value
    assert "READ MORE" in run.last_response.value
    assert run.out_conversation.value[-1] == {
        "role": "assistant",
        "content": run.last_response.value,
    }


def test_what_happens_is_printed_as_it_happens(capsys: pytest.CaptureFixture[str]) -> None:
    with scripted(calls(("shout", {"input": "hi"})), says("Done.")) as (_, model):
        run = make(AgentRun, agent_name="a", conversation="Hello!")
        play({}, *agent_with(**model), run, tools=[shout()])
    printed = capsys.readouterr().out
    order = ['-> shout(input="hi")', "Executing: AgentToolOutput", "<- shout", "HI", "Done."]
    assert sorted(order, key=printed.index) == order


def test_the_given_conversation_is_not_changed() -> None:
    given = copy.deepcopy(HELLO)
    with scripted(calls(("shout", {"input": "hi"})), says("Done.")) as (_, model):
        run = make(AgentRun, agent_name="a", conversation=given)
        play({}, *agent_with(**model), run, tools=[shout()])
    assert given == HELLO
    assert [x["role"] for x in run.out_conversation.value] == [
        "user", "assistant", "tool", "assistant",
    ]  # fmt: skip


def test_a_conversation_goes_on_in_the_next_run() -> None:
    with scripted(says("I am Ada."), says("As I said, Ada.")) as (endpoint, model):
        first = make(AgentRun, agent_name="a", conversation="Who are you?")
        again = make(AgentRun, agent_name="a", conversation=first.out_conversation)
        play({}, *agent_with(**model), first, again)
    assert {"role": "assistant", "content": "I am Ada."} in endpoint.requests[1].body["messages"]
    assert again.last_response.value == "As I said, Ada."


def test_metadata_stands_in_the_system_prompt() -> None:
    with scripted(says("Ok.")) as (endpoint, model):
        run = make(AgentRun, agent_name="a", conversation="Hello!", metadata={"city": "Kyoto"})
        play({}, *agent_with(system_prompt="Facts: {metadata}", **model), run)
    assert "Kyoto" in endpoint.requests[0].body["messages"][0]["content"]


def test_a_mistake_before_the_run_does_not_lose_the_conversation() -> None:
    run = make(AgentRun, agent_name="a", conversation=HELLO)
    with pytest.raises(XaiMcpError, match="agent_model"):
        play({}, make(AgentInit, agent_name="a", agent_provider="openai"), run)
    assert run.out_conversation.value == HELLO
    other = make(AgentRun, agent_name="nobody", conversation=HELLO)
    with pytest.raises(UnknownAgent):
        play({}, other)
    assert other.out_conversation.value == HELLO


def test_settings_that_cannot_be_read_do_not_lose_the_conversation(
    use_servers: UseServers,
) -> None:
    use_servers().write_text("{nope", encoding="utf-8")
    run = make(AgentRun, agent_name="a", conversation=HELLO)
    with pytest.raises(SettingsError):
        play({}, make(AgentInit, agent_name="a"), run)
    assert run.out_conversation.value == HELLO


@pytest.mark.parametrize("given", [42, [7], [{"role": "boss", "content": "Hi"}]])
def test_what_is_no_conversation_is_an_error_that_says_what_is(given: Any) -> None:
    with pytest.raises(BadConversation, match="conversation"):
        play({}, *agent_with(), make(AgentRun, agent_name="a", conversation=given))


def test_an_agent_goes_on_without_a_server_that_fails_and_says_so(
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = make(AgentRun, agent_name="a", conversation="Find a book about whales.")
    play({}, *agent_with("broken", "library"), run)
    assert "Moby-Dick" in run.last_response.value
    printed = capsys.readouterr().out
    assert "!! left out:" in printed
    assert "no-such-program-anywhere" in printed


def test_a_server_that_hangs_costs_its_limit_once_and_the_wait_is_reported(
    use_servers: UseServers, capsys: pytest.CaptureFixture[str]
) -> None:
    use_servers(slow=entry(hang=True, startTimeout=2.8), broken={"command": "no-such-program"})
    ctx: dict[str, Any] = {}
    play(ctx, *agent_with("slow", "broken"))
    for _ in range(2):
        with pytest.raises(NoTools, match="slow: "):
            play(ctx, make(AgentRun, agent_name="a", conversation="Hello!"))
    printed = capsys.readouterr().out
    # A wait as long as the first would be told again.
    assert printed.count(".. waiting for the server slow: ") == 1


def test_a_server_that_was_mended_is_used_in_the_next_run(
    use_servers: UseServers, tmp_path: Path
) -> None:
    """Also one that takes its time to start, as those do that a package runner starts."""
    file, given = tmp_path / "server.py", entry(delay=1.2)
    arguments = cast(list[str], given["args"])
    use_servers(it={**given, "args": [*arguments[:2], str(file), *arguments[3:]]})
    inputs = {"agent_name": "a", "tool_name": "it_echo"}
    before = make(AgentRunTool, **inputs, tool_args={"text": "one"})
    mend = call(lambda _: shutil.copyfile(arguments[2], file))
    again = make(AgentRunTool, **inputs, tool_args={"text": "two"})
    play({}, *agent_with("it"), before, mend, again)
    assert "cannot be used now" in before.tool_output.value
    assert again.tool_output.value == "two"


def test_what_a_drawn_tool_raises_is_read_by_the_model_and_the_run_goes_on() -> None:
    def burn(_: Any) -> None:
        raise ZeroDivisionError("the pan is empty")

    start = make(AgentDefineTool, tool_name="cook", description="Cooks.")
    tool = [start, call(burn, start.tool_input)]
    with scripted(calls(("cook", {"input": "soup"})), says("Sorry.")) as (endpoint, model):
        run = make(AgentRun, agent_name="a", conversation="Cook!")
        play({}, *agent_with(**model), run, tools=[tool])
    told = endpoint.requests[1].body["messages"][-1]
    assert told["role"] == "tool"
    assert "ZeroDivisionError: the pan is empty" in told["content"]
    assert run.last_response.value == "Sorry."


def test_an_error_of_the_service_leaves_the_conversation_so_far() -> None:
    with scripted(calls(("shout", {"input": "hi"})), fails(400, {"message": "no"})) as (_, model):
        run = make(AgentRun, agent_name="a", conversation="Hello!")
        with pytest.raises(ModelError):
            play({}, *agent_with(**model), run, tools=[shout()])
    assert [x["role"] for x in run.out_conversation.value] == ["user", "assistant", "tool"]
    assert not run.last_response.value


# The branch


def test_the_branch_runs_after_each_use_with_thought_and_conversation() -> None:
    steps = [
        calls(("shout", {"input": "one"}), text="First I shout."),
        calls(("shout", {"input": "\u65e5\u672c" + "!" * 1000})),
        says("Done."),
    ]
    run = make(AgentRun, agent_name="a", conversation="Hello!")
    seen: list[tuple[str, list[str]]] = []

    def note(_: Any) -> None:
        seen.append((run.thought.value, [x["role"] for x in run.out_conversation.value]))

    run.on_thought = chain(call(note))
    with scripted(*steps) as (_, model):
        play({}, *agent_with(**model), run, tools=[shout()])
    assert seen == [
        ("First I shout.", ["user", "assistant", "tool"]),
        (f'Using shout(input="\u65e5\u672c{"!" * 58}"...).', ["user", *["assistant", "tool"] * 2]),
    ]


def test_what_the_branch_raises_ends_the_run_and_is_raised_as_it_is() -> None:
    run = make(AgentRun, agent_name="a", conversation="Hello!")

    def stop(_: Any) -> None:
        raise LookupError("enough")

    run.on_thought = chain(call(stop))
    with scripted(calls(("shout", {"input": "one"})), says("Done.")) as (endpoint, model):
        with pytest.raises(LookupError, match="enough"):
            play({}, *agent_with(**model), run, tools=[shout()])
        assert len(endpoint.requests) == 1
    assert [x["role"] for x in run.out_conversation.value] == ["user", "assistant", "tool"]


def test_branch_and_drawn_tools_run_in_the_thread_of_the_workflow() -> None:
    """Nodes are not made for another: plots, notebooks and user interfaces break there."""
    threads: list[int] = []

    def note(_: Any) -> str:
        threads.append(threading.get_ident())
        return "noted"

    tool = drawn("note", note)
    run = make(AgentRun, agent_name="a", conversation="Hello!")
    run.on_thought = chain(call(note))
    with scripted(calls(("note", {"input": "x"})), says("Done.")) as (_, model):
        play({}, *agent_with(**model), run, tools=[tool])
    assert threads == [threading.get_ident()] * 2


# One tool without the model


def test_a_tool_of_a_server_is_used_by_its_shown_name() -> None:
    node = make(
        AgentRunTool,
        agent_name="a",
        tool_name="library_get_book",
        tool_args={"book_id": 14},
        conversation=HELLO,
    )
    play({}, *agent_with("library"), node)
    assert "Moby-Dick" in node.tool_output.value
    roles = [x["role"] for x in node.updated_conversation.value]
    assert roles == ["user", "assistant", "tool"]
    assert HELLO == [{"role": "user", "content": "Hello!"}]


def test_a_tool_that_does_not_exist_is_reported_with_the_nearest() -> None:
    node = make(AgentRunTool, agent_name="a", tool_name="library_get_bok", tool_args="{}")
    play({}, *agent_with("library"), node)
    assert "library_get_book" in node.tool_output.value


def test_a_tool_of_a_server_that_failed_is_reported_with_the_reason_and_the_next_step() -> None:
    node = make(AgentRunTool, agent_name="a", tool_name="broken_read", tool_args="{}")
    play({}, *agent_with("broken"), node)
    assert "'broken_read' cannot be used now. broken: " in node.tool_output.value
    assert "no-such-program-anywhere" in node.tool_output.value
    assert "Next step:" in node.tool_output.value


def test_wrong_arguments_are_reported_under_the_name_the_model_knows() -> None:
    node = make(AgentRunTool, agent_name="a", tool_name="library_get_book", tool_args="{}")
    play({}, *agent_with("library"), node)
    assert "Wrong arguments for library_get_book:" in node.tool_output.value


def test_a_model_knows_what_a_tool_said_before_it_was_asked() -> None:
    node = make(AgentRunTool, agent_name="a", tool_name="shout", tool_args="hi")
    run = make(AgentRun, agent_name="a", conversation=node.updated_conversation)
    with scripted(says("It said HI.")) as (endpoint, model):
        play({}, *agent_with(**model), node, run, tools=[shout()])
    assert endpoint.requests[0].body["messages"][-1]["content"] == "HI"


# Several


def test_the_same_flow_runs_twice_in_one_process() -> None:
    answers: list[str] = []
    for _ in range(2):
        run = make(AgentRun, agent_name="a", conversation="Find a book about whales.")
        play({}, *agent_with("library"), run)
        answers.append(run.last_response.value)
    assert "Moby-Dick" in answers[0]
    assert answers[0] == answers[1]


def test_two_agents_run_at_once_in_two_threads() -> None:
    both = threading.Barrier(2, timeout=THREAD_SECONDS)
    answers: dict[str, str] = {}

    def work(subject: str) -> None:
        tool = drawn("meet", lambda _: str(both.wait() >= 0))
        run = make(
            AgentRun, agent_name="a", conversation=f'Find a book about {subject}, and meet "you".'
        )
        play({}, *agent_with("library"), run, tools=[tool])
        answers[subject] = run.last_response.value

    threads = [threading.Thread(target=work, args=[x], daemon=True) for x in ("whales", "knights")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(THREAD_SECONDS)
    assert "Moby-Dick" in answers["whales"]
    assert "Don Quixote" in answers["knights"]
    assert not both.broken
