"""The nodes of agents, with the offline and a scripted model."""

from __future__ import annotations

import copy
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.support.canvas import (
    agent_nodes,
    ask_scripted,
    asking_tool,
    call,
    chain,
    make,
    play,
    shout,
    tool_nodes,
)
from tests.support.fault_server import entry
from tests.support.model_endpoint import calls, model_endpoint, says
from xai_mcp_agent import BadSetting, SettingsError, UnknownAgent, XaiMcpError
from xai_mcp_agent.agent.conversation import BadConversation
from xai_mcp_agent.agent.memory.notes import MemoryFailed
from xai_mcp_agent.agent_components import (
    AgentDefineRoute,
    AgentInit,
    AgentLearn,
    AgentMakeToolbelt,
    AgentMergeSystem,
    AgentNumpyMemory,
    AgentRouter,
    AgentRun,
    AgentRunTool,
    AgentStreamStringResponse,
    AgentToolOutput,
    AgentUpdate,
    AgentVectoMemory,
)
from xai_mcp_agent.canvas.model_settings import reveal

from .conftest import UseServers

URL = "http://127.0.0.1:9/v1"
HELLO = [{"role": "user", "content": "Hello!"}]
GREETING = [
    {"role": "user", "content": "I am Ada."},
    {"role": "assistant", "content": "Hello, Ada."},
]
WIRE = "Draw a line from `toolbelt_spec` of its AgentMakeToolbelt to `toolbelt_spec` of AgentInit."


@pytest.fixture(autouse=True)
def _servers(use_servers: UseServers, library: dict[str, Any]) -> None:
    use_servers(library=library, broken={"command": "no-such-program-anywhere"})


def asking(text: str = "Hello!") -> AgentRun:
    return make(AgentRun, agent_name="a", conversation=text)


# Setting up


def test_a_key_may_be_a_variable_and_is_not_shown_in_ctx(monkeypatch: pytest.MonkeyPatch) -> None:
    """XIRCUITS_DEBUG writes ctx into a log."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-openai")
    monkeypatch.setenv("ACME_API_KEY", "sk-of-acme\n")
    ctx: dict[str, Any] = {}
    with model_endpoint([says("Hello."), says("Again.")]) as endpoint:
        inputs = {"api_key": "${ACME_API_KEY}", "extra_body": {"k": "sk-of-acme"}}
        play(ctx, *agent_nodes(**{**endpoint.inputs, **inputs}), asking())
        play(ctx, make(AgentUpdate, agent_name="a", new_api_key="env:ACME_API_KEY"), asking())
    keys = [x.headers["authorization"] for x in endpoint.requests]
    assert keys == ["Bearer sk-of-acme"] * 2, "the key of another service stays here"
    assert "sk-of-acme" not in repr(ctx)
    with pytest.raises(BadSetting, match=r"api_key` of .* names .* NO_SUCH_KEY_ANYWHERE"):
        play({}, *agent_nodes(api_key="${NO_SUCH_KEY_ANYWHERE}"))


def test_an_update_changes_only_what_is_wired_and_not_empty() -> None:
    """A literal or an argument that was left empty is wired all the same."""
    ctx: dict[str, Any] = {}
    texts = {"agent_provider": "openai", "agent_model": "m", "system_prompt": "Be kind."}
    play(ctx, *agent_nodes(**texts, max_thoughts=3, api_key="sk-a"))
    before = dict(ctx["agent_a"])
    empty = dict.fromkeys([f"new_{x}" for x in (*texts, "base_url", "api_key")], "")
    play(ctx, make(AgentUpdate, agent_name="a", new_max_thoughts=0, **empty))
    assert ctx["agent_a"] == before
    play(ctx, make(AgentUpdate, agent_name="a", new_system_prompt="Be brief."))
    assert ctx["agent_a"] == {**before, "agent_system_prompt": "Be brief."}


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"new_agent_provider": "bedrock"}, None),
        ({"new_base_url": "http://127.0.0.1:10/v1"}, None),
        ({"new_agent_provider": "openai", "new_base_url": URL, "new_agent_model": "n"}, "sk-old"),
        ({"new_api_key": "sk-b"}, "sk-b"),
    ],
    ids=["another provider", "another address", "another model", "another key"],
)
def test_only_the_same_service_keeps_its_key(changes: dict[str, Any], key: str | None) -> None:
    ctx: dict[str, Any] = {}
    old = {"agent_provider": "openai", "agent_model": "m", "extra_body": {"key": "k"}}
    agent = agent_nodes(**old, base_url=URL, api_key="sk-old")
    play(ctx, *agent, make(AgentUpdate, agent_name="a", **changes))
    settings = ctx["agent_a"]["model_settings"]
    assert reveal(settings.get("api_key")) == key
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
            play(ctx, *agent_nodes(name="helper"), make(component, agent_name=name, **needed))
    with pytest.raises(UnknownAgent, match="Put an AgentInit before"):
        play({}, make(component, agent_name=" ", **needed))


# Running


def test_an_agent_uses_a_server_and_a_drawn_tool_and_answers() -> None:
    """Spec 1."""
    ctx: dict[str, Any] = {}
    run = asking('Find a book about whales, and shout "Read more".')
    play(ctx, *agent_nodes("library", "broken"), run, tools=[shout()])
    assert list(ctx["agent_a"]["agent_toolbelt"]) == ["shout"]
    assert ctx["agent_a"]["enabled_mcp_servers"] == ["library", "broken"]
    answer = run.last_response.value
    assert "Moby-Dick" in answer
    assert "READ MORE" in answer
    assert run.out_conversation.value[-1] == {"role": "assistant", "content": answer}


def test_what_happens_is_printed_as_it_happens(capsys: pytest.CaptureFixture[str]) -> None:
    steps = [calls(("shout", {"input": "hi"})), says("Done.")]
    run = make(AgentRun, question="Hello!", metadata={"city": "Kyoto"})
    first, _ = ask_scripted(steps, run=run, tools=[shout()], system_prompt="{metadata}")
    assert "Kyoto" in first.body["messages"][0]["content"]
    output = capsys.readouterr().out
    order = ['-> shout(input="hi")', "Executing: AgentToolOutput", "<- shout", "HI", "Done."]
    assert sorted(order, key=output.index) == order


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
    play(ctx, *agent_nodes("slow", "broken", "library"))
    for _ in range(2):
        run = asking("Find a book about whales.")
        play(ctx, run)
        assert "Moby-Dick" in run.last_response.value
    output = capsys.readouterr().out
    assert "!! left out:" in output
    assert "no-such-program" in output
    # A wait as long as the first would be shown again.
    assert output.count(".. waiting for the server slow: ") == 1


# The branch


def test_the_branch_runs_after_each_use_with_thought_and_conversation_in_the_same_thread() -> None:
    """Nodes are not made for another thread: plots and user interfaces break there."""
    first = calls(("shout", {"input": "one"}), text="First I shout.")
    steps = [first, calls(("shout", {"input": "\u65e5\u672c" + "!" * 1000})), says("Done.")]
    run, thoughts, threads = asking(), list[tuple[str, int]](), set[int]()

    def note(_: Any) -> None:
        threads.add(threading.get_ident())
        thoughts.append((run.thought.value, len(run.out_conversation.value)))

    def shout_here(text: str) -> str:
        threads.add(threading.get_ident())
        return text.upper()

    run.on_thought = chain(call(note))
    ask_scripted(steps, run=run, tools=[tool_nodes("shout", shout_here)])
    assert thoughts == [
        ("First I shout.", 3),
        (f'Using shout(input="\u65e5\u672c{"!" * 58}"...).', 5),
    ]
    assert threads == {threading.get_ident()}


# One tool without the model


def test_a_tool_is_used_by_hand_and_a_mistake_is_its_result() -> None:
    rows = (
        ("library_get_book", {"book_id": 14}, ["Moby-Dick"]),
        ("library_get_bok", "{}", ["library_get_book"]),
        ("library_get_book", "{}", ["Wrong arguments for library_get_book:"]),
        ("broken_read", "{}", ["cannot be used now. broken: ", "no-such-program", "Next step:"]),
    )
    uses = [
        make(AgentRunTool, agent_name="a", tool_name=x, tool_args=y, conversation=HELLO)
        for x, y, _ in rows
    ]
    play({}, *agent_nodes("library", "broken"), *uses)
    for use, (_, _, words) in zip(uses, rows, strict=True):
        assert all(x in use.tool_output.value for x in words)
    roles = [x["role"] for x in uses[0].updated_conversation.value]
    assert (roles, len(HELLO)) == (["user", "assistant", "tool"], 1)


# The question


@pytest.mark.parametrize(
    ("before", "earlier"),
    [("  ", []), (GREETING, ["I am Ada.", "Hello, Ada."])],
    ids=["none", "a conversation"],
)
def test_a_question_follows_the_earlier_conversation(before: Any, earlier: list[str]) -> None:
    run = make(AgentRun, question="Who am I?", conversation=copy.deepcopy(before))
    (request,) = ask_scripted([says("Ada.")], run=run)
    texts = [x["content"] for x in request.body["messages"] if x["role"] != "system"]
    assert texts == [*earlier, "Who am I?"]
    assert run.conversation.value == before, "what was wired is not changed"
    assert [x["content"] for x in run.out_conversation.value] == [*texts, "Ada."]


def test_a_run_needs_a_question_or_a_conversation() -> None:
    with pytest.raises(BadSetting, match="set `question` to a text, or wire a `conversation`"):
        play({}, make(AgentInit), make(AgentRun, question="  ", conversation=""))


# The name


def test_every_node_takes_the_agent_that_was_set_up_last() -> None:
    """An update of another one does not make that the last."""
    ctx: dict[str, Any] = {}
    run = make(AgentRun, question="Hello!")
    tool = make(AgentRunTool, tool_name="no_such_tool")
    second = make(AgentUpdate, new_system_prompt="You are the second.")
    first = make(AgentUpdate, agent_name="first", new_system_prompt="x")
    with model_endpoint([says("I am the second.")]) as endpoint:
        agents = [make(AgentInit, agent_name=x, **endpoint.inputs) for x in ("first", "b")]
        play(ctx, *agents, second, first, tool, run)
    assert ctx["agent_first"]["agent_system_prompt"] == "x"
    assert endpoint.requests[0].body["messages"][0]["content"].startswith("You are the second.")
    assert run.last_response.value == "I am the second."
    assert "no_such_tool" in tool.tool_output.value


def test_an_agent_that_a_drawn_tool_sets_up_is_the_last_in_that_tool_only() -> None:
    """An agent that runs in its own drawn tool must be named."""
    steps = [calls(("ask", {"input": "x"}), ("itself", {"input": "x"})), says("1"), says("2")]
    last = make(AgentRun, question="And now?")
    with model_endpoint(steps) as outer, model_endpoint([says("Inner.")]) as inner:
        tools = [asking_tool("ask", make(AgentInit, **inner.inputs)), asking_tool("itself")]
        agent = agent_nodes(name="outer", **outer.inputs)
        play({}, *agent, make(AgentRun, question="Ask."), last, tools=tools)
    first, second = outer.requests[1].results
    assert first == "Inner."
    assert "Say in `agent_name` which agent is meant" in second
    assert last.last_response.value == "2", "after the tool it is the outer one again"


# The toolbelt


def test_a_toolbelt_that_was_made_and_not_wired_is_reported_with_the_wire(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A second agent of the same name is reported, too."""
    belts = [make(AgentMakeToolbelt) for _ in range(3)]
    run = make(AgentRun, question="Hello!")
    play({}, belts[0], make(AgentInit), make(AgentInit), run)
    output = " ".join(capsys.readouterr().out.split())
    assert output.count(WIRE) == 1
    assert "no agent has the toolbelt 'default'" in output
    assert "!! two AgentInit have the name 'agent'" in output
    has = make(AgentInit, agent_name="has", toolbelt_spec=belts[1].toolbelt_spec)
    update = make(AgentUpdate, new_toolbelt_spec=belts[2].toolbelt_spec)
    for flow in (
        [make(AgentInit)],
        [belts[1], has, make(AgentInit)],
        [belts[2], make(AgentInit), update],
    ):
        play({}, *flow, make(AgentRun, question="Hello!"))
    assert "Draw a line" not in capsys.readouterr().out


# Memories, routes, conversations


def test_an_agent_remembers_across_runs_by_a_file(tmp_path: Path):
    learn = make(AgentLearn, agent_name="a", conversation="I like tea.")
    run = asking("What do you remember about my dog?")
    for node in (asking("Remember that my dog is called Rex."), learn, run):
        memory = make(AgentNumpyMemory, file=str(tmp_path / "notes.db"))
        play({}, memory, *agent_nodes(agent_memory=memory.memory), node)
    assert "Rex" in run.last_response.value
    assert learn.last_response.value
    assert learn.out_conversation.value[0]["content"] == "I like tea."


def test_the_vecto_node_says_what_it_lacks(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("VECTO_API_KEY", raising=False)
    with pytest.raises(MemoryFailed, match="VECTO_API_KEY"):
        make(AgentVectoMemory, vector_space="x").execute({})


def test_the_router_runs_the_chosen_route_and_gives_its_result(
    capsys: pytest.CaptureFixture[str],
):
    routes = [
        [
            make(AgentDefineRoute, agent_flow_name=name, description=words),
            make(AgentToolOutput, results=[f"done by {name}"]),
        ]
        for name, words in (("billing", "Questions about invoices."), ("repairs", "Broken."))
    ]
    router = make(AgentRouter, agent_name="a", conversation="My invoice is wrong.")
    play({}, *agent_nodes(), router, tools=routes)
    assert router.chosen_flow_name.value == "billing"
    assert router.result.value == "done by billing"
    assert "chose the route 'billing'" in capsys.readouterr().out


def test_a_system_message_is_added_to_and_made():
    first = make(AgentMergeSystem, new_system_prompt="Be brief.", conversation="Hi.")
    port = first.out_conversation
    again = make(AgentMergeSystem, new_system_prompt="Be kind.", conversation=port)
    play({}, first, again)
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi."}]
    assert port.value == messages
    assert again.out_conversation.value[0]["content"] == "Be brief.\n\nBe kind."


def test_a_stream_of_a_text_is_the_text():
    node = make(AgentStreamStringResponse, input_str="a  b\n\nan extraordinarily long word")
    node.execute({})
    assert "".join(node.result_stream.value) == node.input_str.value
