"""The nodes that collect tools: drawn ones, and those of servers."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.support.canvas import Call, agent_nodes, call, make, play
from xai_mcp_agent import BadSetting
from xai_mcp_agent.agent_components import (
    AgentDefineTool,
    AgentInit,
    AgentMakeToolbelt,
    AgentPreferTools,
    AgentRun,
    AgentRunTool,
    AgentToolOutput,
    AgentUpdate,
    AgentUseMCPTools,
)
from xai_mcp_agent.canvas.toolbelts import make_toolbelt, tools_in

from .conftest import UseServers

THREAD_SECONDS = 30


@pytest.fixture(autouse=True)
def _servers(use_servers: UseServers, library: dict[str, Any]) -> None:
    use_servers(library=library, off={**library, "disabled": True}, half={})


def draw_tool(name: str, *work: Call, results: Any = None, **inputs: Any) -> list[Any]:
    """A drawn tool: its start, the nodes that work, and its end with the last one's result."""
    start = make(AgentDefineTool, tool_name=name, description=f"Does {name}.", **inputs)
    if work:
        work[0].value.connect(start.tool_args if inputs.get("parameters") else start.tool_input)
    ends = results if results is not None else [node.result for node in work]
    return [start, *work, make(AgentToolOutput, results=ends)]


def use(tool: list[Any], arguments: Any, ctx: dict[str, Any] | None = None) -> Any:
    """Have an agent use a drawn tool, without a model, and return the result."""
    node = make(AgentRunTool, tool_name=tool[0].tool_name.value, tool_args=arguments)
    play({} if ctx is None else ctx, *agent_nodes(), node, tools=[tool])
    return node.tool_output.value


# Drawn tools


def test_a_drawn_tool_works_on_its_input() -> None:
    parameters = {"name": "string"}
    greet = draw_tool("greet", call(lambda x: f"Hello {x['name']}!"), parameters=parameters)
    split = draw_tool("split", call(str.upper), call(lambda _: 2))
    for tool, arguments, result in (
        (greet, {"name": "Ada"}, "Hello Ada!"),
        (split, "one", '["ONE", 2]'),
        (draw_tool("idle", results=[]), "anything", "The tool ran and returned nothing."),
    ):
        assert use(tool, arguments) == result
    inputs = list[Any]()
    wrong = draw_tool("greet", call(inputs.append), parameters=parameters)
    assert "name" in use(wrong, {"nam": "Ada"})
    assert inputs == []


def test_names_that_a_model_has_from_the_description_reach_a_tool_without_parameters() -> None:
    """Tools of xai-agent's workflows are described in this way, and got an empty text before."""
    tool, arguments = draw_tool("time", call(lambda x: x["time_zone"])), {"time_zone": "Asia/Tokyo"}
    tool[1].value.connect(tool[0].tool_args)
    assert use(tool, arguments) == "Asia/Tokyo"
    assert use(draw_tool("time", call(str)), arguments) == json.dumps(arguments)


def test_two_threads_with_one_ctx_get_the_output_of_their_own_tool() -> None:
    both = threading.Barrier(2, timeout=THREAD_SECONDS)
    ctx: dict[str, Any] = {}

    def work(name: str) -> str:
        belt = make(AgentMakeToolbelt, name=name)
        agent = make(AgentInit, agent_name=name, toolbelt_spec=belt.toolbelt_spec)
        node = make(AgentRunTool, agent_name=name, tool_name=name, tool_args="x")
        tool = draw_tool(name, results=[name.upper()], for_toolbelt=name)
        play(ctx, belt, agent, node, tools=[[*tool, call(lambda _: both.wait())]])
        return node.tool_output.value

    with ThreadPoolExecutor(2) as threads:
        assert [*threads.map(work, ("one", "two"))] == ["ONE", "TWO"]


def test_nodes_of_xai_agent_leave_and_find_outputs_in_ctx() -> None:
    ctx: dict[str, Any] = {"tool_output": "older"}
    start = make(AgentDefineTool, tool_name="t", description="Does t.")
    tool = [start, call(lambda text: ctx.update(tool_output=text), start.tool_input)]
    assert use(tool, "hello", ctx) == "hello"
    assert ctx["tool_output"] == "older"
    play(ctx, make(AgentToolOutput, results=[1, 2]))
    assert ctx["tool_output"] == [1, 2]


def test_a_tool_is_in_its_own_toolbelt_only() -> None:
    kitchen, other = make(AgentMakeToolbelt, name="kitchen"), make(AgentMakeToolbelt)
    play({}, kitchen, other, tools=[draw_tool("cook", for_toolbelt="kitchen")])
    assert list(kitchen.toolbelt_spec.value["standard_tools"]) == ["cook"]
    spec = {"toolbelt": "default", "standard_tools": {}, "mcp_servers": []}
    assert other.toolbelt_spec.value == spec
    play({}, make(AgentMakeToolbelt), tools=[draw_tool("t"), draw_tool("t", for_toolbelt="other")])
    with pytest.raises(BadSetting, match=r"toolbelt 'default' are called 'twice'"):
        play({}, make(AgentMakeToolbelt), tools=[draw_tool("twice"), draw_tool("twice")])


def test_locked_tools_are_in_the_spec_and_stay_locked_for_the_agent() -> None:
    """The key is beside those of spec 1, and only there if a person sets it."""
    ctx: dict[str, Any] = {}
    belt, plain = (make(AgentMakeToolbelt, lock_tools=x) for x in (True, False))
    init = make(AgentInit, agent_name="a", toolbelt_spec=belt.toolbelt_spec)
    play(ctx, belt, plain, init, make(AgentUpdate, agent_name="a", new_max_thoughts=3))
    assert belt.toolbelt_spec.value == {**plain.toolbelt_spec.value, "lock_tools": True}
    assert ctx["agent_a"]["lock_tools"] is True
    play(ctx, make(AgentUpdate, agent_name="a", new_toolbelt_spec=plain.toolbelt_spec.value))
    assert ctx["agent_a"]["lock_tools"] is False


# Servers


def test_servers_are_in_the_spec_once_and_in_the_order_of_their_nodes() -> None:
    """Spec 1, steps 1 and 2. AgentRun reports those that cannot be used."""
    ctx: dict[str, Any] = {}
    belt = make(AgentMakeToolbelt)
    names = ["library", "off", "library", "half"]
    play(ctx, *(make(AgentUseMCPTools, server_name=name) for name in names), belt)
    assert belt.toolbelt_spec.value["mcp_servers"] == ["library", "off", "half"]
    assert ctx["mcp_servers_default"] == ["library", "off", "half"]


def test_a_toolbelt_says_which_calls_need_approval() -> None:
    spec = make_toolbelt({}, "papers", False, False, "shred*: deny, shredder: ask")
    assert spec["approval"] == {"shred*": "deny", "shredder": "ask"}
    assert tools_in(spec, "toolbelt_spec", "AgentInit")["tool_approval"] == spec["approval"]
    assert "approval" not in make_toolbelt({}, "papers", False, False, "")
    with pytest.raises(BadSetting, match="`approval` of AgentMakeToolbelt: must be one of"):
        make_toolbelt({}, "papers", False, False, "perhaps")


# Without an AgentMakeToolbelt


def test_an_agent_takes_the_only_toolbelt_where_none_is_made(
    capsys: pytest.CaptureFixture[str],
) -> None:
    ctx: dict[str, Any] = {}
    use = make(AgentUseMCPTools, server_name="library", tools="search_books")
    prefer = make(AgentPreferTools, trusted="library")
    run = make(AgentRun, question="Find a book about whales.")
    play(ctx, use, prefer, make(AgentInit), run)
    agent = ctx["agent_agent"]
    assert agent["enabled_mcp_servers"] == ["library"]
    assert agent["tool_filters"]["library"].only == ("search_books",)
    assert agent["trusted_tools"] == ["library"]
    assert "Moby-Dick" in run.last_response.value
    assert "the toolbelt 'default': it is the only one" in " ".join(capsys.readouterr().out.split())


def test_no_toolbelt_is_used_by_itself_if_one_is_made_or_there_are_two() -> None:
    def agent_of(*nodes: Any) -> dict[str, Any]:
        ctx: dict[str, Any] = {}
        play(ctx, *nodes)
        return ctx["agent_agent"]

    def use(toolbelt: str) -> AgentUseMCPTools:
        return make(AgentUseMCPTools, server_name="library", toolbelt_name=toolbelt)

    before = agent_of(use(""), make(AgentMakeToolbelt), make(AgentInit))
    after = agent_of(use(""), make(AgentInit), make(AgentMakeToolbelt))
    two = agent_of(use("a"), use("b"), make(AgentInit))
    assert [x["enabled_mcp_servers"] for x in (before, after, two)] == [[], [], []]
    assert agent_of(use("a"), make(AgentInit))["toolbelt_name"] == "a"


def test_an_agent_that_takes_none_of_several_toolbelts_says_what_to_draw(
    capsys: pytest.CaptureFixture[str],
) -> None:
    uses = [make(AgentUseMCPTools, server_name="library", toolbelt_name=x) for x in "ab"]
    play({}, *uses, make(AgentInit), make(AgentRun, question="Find a book."))
    output = " ".join(capsys.readouterr().out.split())
    assert "!! this agent has no tools, and no agent has the toolbelt 'a', 'b'." in output
    assert "an AgentMakeToolbelt with such a `name`, placed before AgentInit" in output
