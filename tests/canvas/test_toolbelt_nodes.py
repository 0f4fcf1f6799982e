"""The nodes that collect tools: drawn ones, and those of servers."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.support.canvas import Call, call, make, play
from xai_mcp_agent import BadSetting, UnknownServer, XaiMcpError
from xai_mcp_agent.agent_components import (
    AgentDefineTool,
    AgentInit,
    AgentMakeToolbelt,
    AgentPreferTools,
    AgentRun,
    AgentRunTool,
    AgentToolOutput,
    AgentUpdate,
    AgentUseBuiltinTools,
    AgentUseFunctions,
    AgentUseMCPTools,
)

from .conftest import UseServers

THREAD_SECONDS = 30


@pytest.fixture(autouse=True)
def _known(use_servers: UseServers, library: dict[str, Any]) -> None:
    use_servers(library=library, off={**library, "disabled": True}, half={})


def drawn(name: str, *work: Call, results: Any = None, **inputs: Any) -> list[Any]:
    """A drawn tool: its start, the nodes that work, and its end with the last one's result."""
    start = make(AgentDefineTool, tool_name=name, description=f"Does {name}.", **inputs)
    if work:
        work[0].value.connect(start.tool_args if inputs.get("parameters") else start.tool_input)
    given = results if results is not None else [node.result for node in work]
    return [start, *work, make(AgentToolOutput, results=given)]


def use(tool: list[Any], arguments: Any = None) -> AgentRunTool:
    """Have an agent use a drawn tool, without a model."""
    belt = make(AgentMakeToolbelt)
    agent = make(AgentInit, agent_name="a", toolbelt_spec=belt.toolbelt_spec)
    name = tool[0].tool_name.value
    node = make(AgentRunTool, agent_name="a", tool_name=name, tool_args=arguments)
    play({}, belt, agent, node, tools=[tool])
    return node


# Drawn tools


def test_a_drawn_tool_works_on_the_text_it_is_given() -> None:
    node = use(drawn("shout", call(str.upper)), "hello")
    assert node.tool_output.value == "HELLO"


def test_a_drawn_tool_with_parameters_gets_them_as_a_dict() -> None:
    tool = drawn("greet", call(lambda x: f"Hello {x['name']}!"), parameters={"name": "string"})
    assert use(tool, {"name": "Ada"}).tool_output.value == "Hello Ada!"


def test_names_that_a_model_has_from_the_description_reach_a_tool_without_parameters() -> None:
    """As tools of xai-agent's workflows are described; without this it got an empty text."""
    tool = drawn("time", call(lambda given: given["time_zone"]))
    tool[1].value.connect(tool[0].tool_args)
    assert use(tool, {"time_zone": "Asia/Tokyo"}).tool_output.value == "Asia/Tokyo"
    text = drawn("time", call(str))
    assert use(text, {"time_zone": "Asia/Tokyo"}).tool_output.value == '{"time_zone": "Asia/Tokyo"}'


def test_wrong_arguments_of_a_drawn_tool_are_reported_and_its_nodes_do_not_run() -> None:
    ran: list[Any] = []
    node = use(drawn("greet", call(ran.append), parameters={"name": "string"}), {"nam": "Ada"})
    assert "name" in node.tool_output.value
    assert ran == []


def test_several_results_are_given_back_as_a_list_in_order() -> None:
    tool = drawn("split", call(str.upper), call(lambda _: 2))
    assert use(tool, "one").tool_output.value == '["ONE", 2]'


def test_a_tool_that_gives_nothing_back_says_so() -> None:
    assert use(drawn("idle", results=[]), "anything").tool_output.value == (
        "The tool ran and gave back nothing."
    )


def test_a_result_of_one_use_is_not_left_for_the_next() -> None:
    """The end of the second is not reached: its nodes raise before."""
    answers = iter(["first"])
    belt, tool = make(AgentMakeToolbelt), drawn("once", call(lambda _: next(answers)))
    agent = make(AgentInit, agent_name="a", toolbelt_spec=belt.toolbelt_spec)
    uses = [make(AgentRunTool, agent_name="a", tool_name="once", tool_args="go") for _ in range(2)]
    play({}, belt, agent, *uses, tools=[tool])
    assert uses[0].tool_output.value == "first"
    assert "first" not in uses[1].tool_output.value


def test_what_was_given_before_another_agent_ran_is_given_back() -> None:
    """The other agent has drawn tools too, which give back theirs."""
    inner = drawn("inner", results=["I"], for_toolbelt="other")
    belt, made = make(AgentMakeToolbelt, name="other"), make(AgentMakeToolbelt)
    outer = drawn("outer", results=["OUTER"])
    asked = make(AgentRunTool, agent_name="b", tool_name="inner", tool_args="x")
    node = make(AgentRunTool, agent_name="a", tool_name="outer", tool_args="x")
    agents = [
        make(AgentInit, agent_name="b", toolbelt_spec=belt.toolbelt_spec),
        make(AgentInit, agent_name="a", toolbelt_spec=made.toolbelt_spec),
    ]
    play({}, belt, made, *agents, node, tools=[inner, [*outer, asked]])
    assert asked.tool_output.value == "I"
    assert node.tool_output.value == "OUTER"


def test_two_threads_with_one_ctx_get_the_output_of_their_own_tool() -> None:
    both = threading.Barrier(2, timeout=THREAD_SECONDS)
    ctx: dict[str, Any] = {}
    answers: dict[str, str] = {}

    def work(name: str) -> None:
        belt = make(AgentMakeToolbelt, name=name)
        agent = make(AgentInit, agent_name=name, toolbelt_spec=belt.toolbelt_spec)
        node = make(AgentRunTool, agent_name=name, tool_name=name, tool_args="x")
        tool = [
            *drawn(name, results=[name.upper()], for_toolbelt=name),
            call(lambda _: both.wait()),
        ]
        play(ctx, belt, agent, node, tools=[tool])
        answers[name] = node.tool_output.value

    threads = [threading.Thread(target=work, args=[x], daemon=True) for x in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(THREAD_SECONDS)
    assert answers == {"one": "ONE", "two": "TWO"}


def test_what_a_node_of_another_library_leaves_in_ctx_is_given_back() -> None:
    """As in xai-agent, whose end of a tool writes it there."""
    ctx: dict[str, Any] = {"tool_output": "older"}
    start = make(AgentDefineTool, tool_name="t", description="Does t.")
    tool = [start, call(lambda text: ctx.update(tool_output=text), start.tool_input)]
    belt = make(AgentMakeToolbelt)
    agent = make(AgentInit, agent_name="a", toolbelt_spec=belt.toolbelt_spec)
    node = make(AgentRunTool, agent_name="a", tool_name="t", tool_args="hello")
    play(ctx, belt, agent, node, tools=[tool])
    assert node.tool_output.value == "hello"
    assert ctx["tool_output"] == "older"


def test_an_end_of_a_tool_outside_of_any_leaves_its_value_in_ctx() -> None:
    """For xai-agent's own AgentDefineTool, which looks there."""
    ctx: dict[str, Any] = {}
    play(ctx, make(AgentToolOutput, results=[1, 2]))
    assert ctx["tool_output"] == [1, 2]


def test_what_a_drawn_tool_raises_is_reported_with_its_kind_and_the_flow_goes_on() -> None:
    def burn(_: Any) -> None:
        raise ZeroDivisionError("the pan is empty")

    text = use(drawn("cook", call(burn)), "soup").tool_output.value
    assert "'cook' failed: ZeroDivisionError: the pan is empty" in text


def test_a_drawn_tool_without_a_name_is_an_error_that_says_what_to_set() -> None:
    with pytest.raises(XaiMcpError, match="set `tool_name`"):
        play({}, make(AgentMakeToolbelt), tools=[drawn("")])


def test_two_tools_of_one_name_in_one_toolbelt_are_an_error_that_names_it() -> None:
    """One would hide the other without a word."""
    with pytest.raises(BadSetting, match=r"toolbelt 'default' are called 'twice'"):
        play({}, make(AgentMakeToolbelt), tools=[drawn("twice"), drawn("twice")])
    play({}, make(AgentMakeToolbelt), tools=[drawn("t"), drawn("t", for_toolbelt="other")])


def test_a_definition_may_be_made_again() -> None:
    """A notebook may run the start of a workflow twice."""
    ctx: dict[str, Any] = {}
    tool, belt = drawn("again"), make(AgentMakeToolbelt)
    play(ctx, belt, tools=[tool])
    play(ctx, belt, tools=[tool])
    assert list(belt.toolbelt_spec.value["standard_tools"]) == ["again"]


def test_a_tool_is_in_its_own_toolbelt_only() -> None:
    kitchen, other = make(AgentMakeToolbelt, name="kitchen"), make(AgentMakeToolbelt)
    play({}, kitchen, other, tools=[drawn("cook", for_toolbelt="kitchen")])
    assert list(kitchen.toolbelt_spec.value["standard_tools"]) == ["cook"]
    assert other.toolbelt_spec.value == {
        "toolbelt": "default", "standard_tools": {}, "mcp_servers": [],
    }  # fmt: skip


def test_that_tools_are_locked_stands_in_the_spec_and_stays_with_the_agent() -> None:
    """Beside the keys of spec 1, and only where somebody wants it."""
    ctx: dict[str, Any] = {}
    belt, plain = (
        make(AgentMakeToolbelt, lock_tools=True),
        make(AgentMakeToolbelt, lock_tools=False),
    )
    init = make(AgentInit, agent_name="a", toolbelt_spec=belt.toolbelt_spec)
    play(ctx, belt, plain, init, make(AgentUpdate, agent_name="a", new_max_thoughts=3))
    assert belt.toolbelt_spec.value == {**plain.toolbelt_spec.value, "lock_tools": True}
    assert ctx["agent_a"]["lock_tools"] is True
    play(ctx, make(AgentUpdate, agent_name="a", new_toolbelt_spec=plain.toolbelt_spec.value))
    assert ctx["agent_a"]["lock_tools"] is False


# Servers


def test_servers_are_in_the_spec_once_and_in_the_order_of_their_nodes() -> None:
    """Spec 1, steps 1 and 2."""
    ctx: dict[str, Any] = {}
    belt = make(AgentMakeToolbelt)
    names = ["library", "off", "library"]
    play(ctx, *(make(AgentUseMCPTools, server_name=name) for name in names), belt)
    assert belt.toolbelt_spec.value["mcp_servers"] == ["library", "off"]
    assert ctx["mcp_servers_default"] == ["library", "off"]


def test_an_unknown_server_is_an_error_that_names_the_known_nearest_first() -> None:
    with pytest.raises(UnknownServer) as caught:
        play({}, make(AgentUseMCPTools, server_name="librery"))
    text = str(caught.value)
    assert text.index("library") < text.index("half")
    assert "mcp_settings.json" in text


@pytest.mark.parametrize("name", ["off", "half"])
def test_a_server_that_cannot_be_used_does_not_stop_the_workflow(name: str) -> None:
    """A workshop goes on; AgentRun says what it had to leave out."""
    belt = make(AgentMakeToolbelt)
    play({}, make(AgentUseMCPTools, server_name=name), belt)
    assert belt.toolbelt_spec.value["mcp_servers"] == [name]


# Files of functions


@pytest.fixture
def functions(tmp_path: Path, use_servers: UseServers) -> None:
    file = use_servers(off={"command": "a", "disabled": True})
    settings = json.loads(file.read_text(encoding="utf-8"))
    settings["functions"] = {"mine": {"file": "mine.py"}, "broken": {}}
    file.write_text(json.dumps(settings), encoding="utf-8")
    text = "def double(x: int) -> int:\n    return 2 * x\n"
    (tmp_path / "mine.py").write_text(text, encoding="utf-8")


@pytest.mark.usefixtures("functions")
def test_an_agent_uses_a_function_of_a_file() -> None:
    ctx: dict[str, Any] = {}
    belt = make(AgentMakeToolbelt)
    node = make(AgentRunTool, agent_name="a", tool_name="mine_double", tool_args={"x": 21})
    agent = make(AgentInit, agent_name="a", toolbelt_spec=belt.toolbelt_spec)
    names = ["mine", "mine", "broken"]
    play(ctx, *(make(AgentUseFunctions, functions_name=x) for x in names), belt, agent, node)
    assert node.tool_output.value == "42"
    assert ctx["sources_default"] == ["mine", "broken"]
    assert belt.toolbelt_spec.value["sources"] == ["mine", "broken"]
    assert belt.toolbelt_spec.value["mcp_servers"] == []


@pytest.mark.usefixtures("functions")
def test_the_nodes_of_servers_and_of_functions_name_each_other() -> None:
    with pytest.raises(UnknownServer, match="node for what stands there is AgentUseFunctions"):
        play({}, make(AgentUseMCPTools, server_name="mine"))
    with pytest.raises(UnknownServer, match="node for what stands there is AgentUseMCPTools"):
        play({}, make(AgentUseFunctions, functions_name="off"))
    with pytest.raises(BadSetting, match="`functions_name`"):
        play({}, make(AgentUseFunctions))


def test_function_sources_that_are_no_list_are_reported_with_what_to_wire() -> None:
    with pytest.raises(BadSetting, match="`sources` in `toolbelt_spec`"):
        play({}, make(AgentInit, agent_name="a", toolbelt_spec={"sources": "mine"}))


# Built-in tools


def use_builtin(name: str, arguments: dict[str, Any], *nodes: Any) -> AgentRunTool:
    """Have an agent with these nodes' tools use one, without a model."""
    belt = make(AgentMakeToolbelt)
    agent = make(AgentInit, agent_name="a", toolbelt_spec=belt.toolbelt_spec)
    node = make(AgentRunTool, agent_name="a", tool_name=name, tool_args=arguments)
    play({}, *nodes, belt, agent, node)
    return node


@pytest.mark.parametrize("tools", ["calculate", " current_time, calculate ", ["calculate"]])
def test_an_agent_uses_a_built_in_tool_that_no_settings_name(tools: Any) -> None:
    node = use_builtin(
        "builtin_calculate", {"expression": "6 * 7"}, make(AgentUseBuiltinTools, tools=tools)
    )
    assert node.tool_output.value == "42"


def test_an_agent_has_only_the_built_in_tools_that_were_named_for_it(tmp_path: Path) -> None:
    """A second node with others is a source of its own, so that no other agent has them."""
    clock = make(AgentUseBuiltinTools, tools="current_time", toolbelt_name="other")
    files = make(AgentUseBuiltinTools, tools="read_file, list_files", workspace="notes")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_text("hello", encoding="utf-8")
    node = use_builtin("builtin_2_read_file", {"path": "a.txt"}, clock, files)
    assert node.tool_output.value == "hello"
    for name in ("builtin_2_write_file", "builtin_current_time"):
        node = use_builtin(name, {"path": "b.txt", "text": "x"}, clock, files)
        assert "hello" not in node.tool_output.value
        assert not (tmp_path / "notes" / "b.txt").exists()


@pytest.mark.parametrize("tools", ["calculate, current_time", None])
def test_an_agent_does_not_have_the_built_in_tools_that_are_left_out(
    use_servers: UseServers, tools: str | None
) -> None:
    file = use_servers()
    settings = json.loads(file.read_text(encoding="utf-8"))
    settings["builtin"] = {"handy": {"tools": ["calculate", "current_time"]}}
    file.write_text(json.dumps(settings), encoding="utf-8")
    named = {"tools": tools} if tools else {"builtin_name": "handy"}
    some = make(AgentUseBuiltinTools, except_tools="*_time", **named)
    name = "builtin" if tools else "handy"
    assert use_builtin(f"{name}_calculate", {"expression": "6 * 7"}, some).tool_output.value == "42"
    assert "is not among" in use_builtin(f"{name}_current_time", {}, some).tool_output.value


def test_the_same_tools_named_twice_are_one_source() -> None:
    ctx: dict[str, Any] = {}
    belt = make(AgentMakeToolbelt)
    play(ctx, *(make(AgentUseBuiltinTools, tools="calculate") for _ in range(3)), belt)
    assert belt.toolbelt_spec.value["sources"] == ["builtin"]


def test_a_name_that_the_settings_have_is_left_to_them(
    use_servers: UseServers, library: dict[str, Any]
) -> None:
    use_servers(builtin=library)
    belt = make(AgentMakeToolbelt)
    play({}, make(AgentUseBuiltinTools, tools="calculate"), belt)
    assert belt.toolbelt_spec.value["sources"] == ["builtin_2"]


def test_an_entry_of_the_settings_is_used_by_its_name(use_servers: UseServers) -> None:
    file = use_servers()
    settings = json.loads(file.read_text(encoding="utf-8"))
    settings["builtin"] = {"handy": {"tools": ["calculate"]}}
    file.write_text(json.dumps(settings), encoding="utf-8")
    handy = make(AgentUseBuiltinTools, builtin_name="handy")
    node = use_builtin("handy_calculate", {"expression": "6 * 7"}, handy)
    assert node.tool_output.value == "42"
    with pytest.raises(UnknownServer, match="handi"):
        play({}, make(AgentUseBuiltinTools, builtin_name="handi"))


@pytest.mark.parametrize(
    ("ports", "told"),
    [
        ({}, "needs `tools` or `builtin_name`"),
        ({"tools": "calculate", "builtin_name": "handy"}, "and not both"),
        ({"tools": "calculator"}, "Did you mean 'calculate'"),
        ({"tools": "read_file"}, "needs a `workspace`"),
        ({"tools": "write_file", "workspace": "."}, "contains the settings"),
        ({"tools": 3}, "`tools` of AgentUseBuiltinTools is an int"),
        ({"tools": "calculate", "workspace": 3}, "`workspace` of AgentUseBuiltinTools is an int"),
        (
            {"tools": "calculate", "except_tools": 3},
            "`except_tools` of AgentUseBuiltinTools is an int",
        ),
    ],
)
def test_a_mistake_in_the_ports_of_built_in_tools_is_reported(
    ports: dict[str, Any], told: str
) -> None:
    with pytest.raises(BadSetting, match=told):
        play({}, make(AgentUseBuiltinTools, **ports))


def test_the_flow_itself_runs_through_a_definition_without_doing_anything() -> None:
    start = make(AgentDefineTool, tool_name="x", description="y")
    assert start.execute({}) is None


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
    assert agent["tool_filters"]["library"]["only"] == ["search_books"]
    assert agent["trusted_tools"] == ["library"]
    assert "Moby-Dick" in run.last_response.value
    assert "the toolbelt 'default': it is the only one" in " ".join(capsys.readouterr().out.split())


def test_no_toolbelt_is_taken_where_one_is_made_or_there_are_two() -> None:
    def agent_of(*nodes: Any) -> dict[str, Any]:
        ctx: dict[str, Any] = {}
        play(ctx, *nodes)
        return ctx["agent_agent"]

    def use(toolbelt: str) -> AgentUseMCPTools:
        return make(AgentUseMCPTools, server_name="library", toolbelt_name=toolbelt)

    made_before = agent_of(use(""), make(AgentMakeToolbelt), make(AgentInit))
    made_after = agent_of(use(""), make(AgentInit), make(AgentMakeToolbelt))
    two = agent_of(use("a"), use("b"), make(AgentInit))
    assert [x["enabled_mcp_servers"] for x in (made_before, made_after, two)] == [[], [], []]
    assert agent_of(use("a"), make(AgentInit))["toolbelt_name"] == "a"
