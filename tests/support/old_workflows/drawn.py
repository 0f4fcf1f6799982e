"""The shapes themselves; importing this module draws up the list."""

from __future__ import annotations

from typing import Any

from tools.workflows import Argument, LiteralNode, Workflow

from .shapes import (
    CALLS,
    QUESTION,
    SHAPES,
    SHORT,
    chat_event,
    clock_tool,
    crew,
    output,
    run,
    shape,
    tool,
)
from .wear import (
    at_path,
    dangling,
    doubled,
    loose,
    of_2024,
    of_a_script,
    out_ports_first,
    searched,
    secrets,
    shared,
    without_outputs,
    without_ports,
)

__all__ = ["SHAPES"]

ACCOUNT, KEY = "accounts/nobody.json", "not-a-key-4711"
AGENT_FILE = "xai_components/xai_weather_agent/agent_component.py"
AGENT_NODES = (
    "AgentDefineTool", "AgentInit", "AgentMakeToolbelt", "AgentNumpyMemory", "AgentRun",
    "AgentToolOutput",
)  # fmt: skip

# Agents at a console


def _console(flow: Workflow, **key: Any) -> None:
    turn = run(flow)
    flow.main(*crew(flow, CALLS, **key), turn, flow.node("Print", msg=turn["last_response"]))
    clock_tool(flow, for_toolbelt=LiteralNode("default"))


@shape(
    "an agent with one tool that takes nothing; the key is an argument, and ports in an old order",
    out_ports_first, shared("helper"),
)  # fmt: skip
def agent_example(flow: Workflow) -> None:
    _console(flow, api_key=Argument("api_key"), from_env=False)


@shape("the same, drawn in 2024", of_2024, without_ports("tool_args", "metadata"), shared("helper"))
def agent_example_of_2024(flow: Workflow) -> None:
    _console(flow)


# Agents behind a chat server


def _behind_a_server(flow: Workflow, prompt: str = SHORT, **key: Any) -> None:
    key_node, memory, belt, agent = crew(flow, prompt, **key)
    server = flow.node("ConverseMakeServer", auth_token="word", max_timeout=60)
    flow.main(key_node, server, belt, memory, agent, flow.node("ConverseRun"))
    chat_event(flow)


@shape("a chat agent with a tool that looks an argument up", searched, shared("helper"))
def agent_template(flow: Workflow) -> None:
    _behind_a_server(flow, "You help. {tool_instruction} {memory} {tools}")
    begin = tool(flow, "tell_time", "the time in a zone.")
    zone = flow.node("DictGetItem", the_dict=begin["tool_args"], key="time_zone")
    time = flow.node("GetCurrentTime", time_zone=zone["out_item"])
    flow.side(begin, zone, time, output(flow, time["time_str"]))


@shape(
    "a chat agent of another service with two tools that move a robot",
    searched, shared("helper"), secrets(KEY),
)  # fmt: skip
def robot_agent(flow: Workflow) -> None:
    _behind_a_server(
        flow, base_url=LiteralNode("http://127.0.0.1:9/v1"), api_key=Argument("key", "secret")
    )
    for name in ("wave", "bow"):
        begin = tool(flow, name, "moves.")
        moves = flow.node("RunPolicy", checkpoint=f"{name}.pt", duration=5, hz=30, task=name)
        flow.side(begin, moves, output(flow, "done"))


@shape(
    "a chat agent with five tools on a database; some take JSON as text",
    dangling, shared("helper", "tasks.db"),
)  # fmt: skip
def receptionist(flow: Workflow) -> None:
    _behind_a_server(flow)
    for name in ("create", "show", "remove", "defer", "resume"):
        begin = tool(flow, f"{name}_task", f"Tool {name} 7", for_toolbelt=LiteralNode("default"))
        opening = flow.node("TasksOpenDB", db_file=LiteralNode("tasks.db"))
        if name == "create":
            parts = flow.node("ExtractTaskDetails", input_json=begin["tool_input"])
            creation = flow.node(
                "TasksCreateTask",
                task_id=parts["task_id"], summary=parts["summary"], steps=parts["steps"],
            )  # fmt: skip
            work, result = [parts, creation], creation["created"]
        else:
            display = flow.node("TasksGetTaskDetails", task_id=begin["tool_input"])
            work, result = [display], display["task_details"]
        ends = output(flow, begin["tool_input"] if name == "resume" else result)
        flow.side(begin, opening, *work, flow.node("TasksCloseDB"), ends)


@shape(
    "a chat agent with a class of its user's in xai-agent's folder, and wires drawn twice",
    of_2024, without_ports("tool_args", "metadata"), secrets(KEY), shared("helper", ACCOUNT),
    doubled("start_time", "participants"),
)  # fmt: skip
def demo_of_a_talk(flow: Workflow) -> None:
    prompt = "1. Think in <thinking>, answer in <response>.\n```\nTOOL: name words\n```\n{tools}"
    key, memory, belt, agent = crew(flow, prompt, organization=LiteralNode("nobody"))
    server = flow.node("ConverseMakeServer")
    flow.main(key, belt, memory, agent, server, flow.node("ConverseRun"))
    event = flow.node("ConverseDefineAgent", name=LiteralNode("desk"))
    turn = run(flow, event["conversation"])
    part = flow.node("CutAnswer", input_text=turn["last_response"])
    flow.side(event, turn, part, flow.node("ConverseEmitResponse", value=part["response_text"]))
    flow.branch(turn, "on_thought", flow.node("Print", msg=turn["last_response"]))
    clock_tool(flow)
    day = tool(flow, "list_events", "e.g. list_events 2024-05-01")
    listing = flow.node(
        "GetEvents", account=LiteralNode(ACCOUNT), calendar="a", day=day["tool_input"]
    )
    text = flow.node("ToJson", obj=listing["events"])
    flow.side(day, listing, text, output(flow, text["json_str"]))
    add = tool(flow, "add_event", "arguments are formatted as JSON.")
    parts = flow.node("ExtractEvent", json=add["tool_input"])
    creation = flow.node(
        "CreateEvent",
        account=LiteralNode(ACCOUNT), calendar="a", summary=parts["summary"],
        start_time=parts["start_time"], participants=parts["participants"],
    )  # fmt: skip
    flow.side(add, parts, creation, output(flow, parts["summary"], "is noted"))
    place = tool(flow, "weather_at", "e.g. weather_at Bern")
    weather = flow.node("GetWeather", city=place["tool_input"], url=LiteralNode(KEY))
    flow.side(place, weather, output(flow, weather["report"]))


# Agents that something else begins


def _chat_turn(flow: Workflow, page: Any) -> None:
    pair = flow.node(
        "MakeDict", keys_list=["role", "content"], values_list=["user", page["message"]]
    )
    copy = flow.node("DeepCopy", data=page["history"])
    append = flow.node("ListAppend", the_list=copy["copied_data"], item=pair["output_dict"])
    turn = run(flow, append["out_list"])
    display = flow.node("Print", msg=turn["last_response"])
    ends = flow.node(
        "GradioChatFnReturn", history=page["history"], llm_response=turn["last_response"]
    )
    flow.branch(page, "fn", pair, copy, append, turn, display, ends)
    flow.branch(turn, "on_thought", flow.node("Print", msg=turn["last_response"]))


@shape("an agent in a chat page's branch, with two keys as arguments", searched, shared("helper"))
def gradio_agent(flow: Workflow) -> None:
    page = flow.node("GradioChatInterface")
    launch = flow.node("GradioLaunch", app=page["interface"])
    flow.main(*crew(flow, CALLS, api_key=Argument("openai_key", "secret")), page, launch)
    _chat_turn(flow, page)
    clock_tool(flow, for_toolbelt=LiteralNode("default"))
    begin = tool(flow, "weather", "of a city.", for_toolbelt=LiteralNode("default"))
    key = Argument("weather_key", "secret")
    weather = flow.node("GetWeather", city=begin["tool_input"], key=key)
    flow.side(begin, weather, output(flow, weather["report"]))


@shape(
    "the same from copies of the nodes in a library of its own; a tool ends in a branch",
    shared("helper"), at_path(AGENT_FILE, *AGENT_NODES), without_ports("tool_args", "metadata"),
    at_path("xai_components/xai_weather_agent/openai_component.py", "OpenAIAuthorize"),
)  # fmt: skip
def watchdog_page(flow: Workflow) -> None:
    page = flow.node("GradioChatInterface")
    launch = flow.node("GradioLaunch", app=page["interface"])
    flow.main(flow.node("TasksOpenDB", db_file="w.db"), *crew(flow, CALLS), page, launch)
    _chat_turn(flow, page)
    begin = tool(flow, "weather", "of a city.", for_toolbelt="default")
    weather = flow.node("GetWeather", city=begin["tool_input"], url="http://127.0.0.1:9")
    flow.side(begin, weather, output(flow, weather["report"]))
    write = tool(flow, "write", "notes something down.", for_toolbelt="default")
    opening, whole = flow.node("TasksOpenDB", db_file="w.db"), flow.node("WithTransaction")
    flow.side(write, opening, whole)
    print_node = flow.node("Print", msg=write["tool_input"])
    flow.branch(whole, "in_transaction", print_node, output(flow, "written"))


@shape(
    "an agent that a timer runs; its answer is only seen by on_thought",
    shared("helper"), without_ports("metadata"),
)  # fmt: skip
def watchdog_timer(flow: Workflow) -> None:
    flow.main(*crew(flow, CALLS), flow.node("IntervalServe", port=5000))
    turn = flow.node("AgentRun", agent_name=LiteralNode("helper"), conversation=LiteralNode(
        [{"role": "user", "content": "1. Look at the weather.\n2. Say it."}]
    ))  # fmt: skip
    flow.side(flow.node("IntervalJob", job_id="look", seconds=60), turn)
    flow.branch(turn, "on_thought", flow.node("Print", msg=turn["last_response"]))
    begin = tool(flow, "weather", "of a city.", for_toolbelt="")
    weather = flow.node("GetWeather", city=begin["tool_input"])
    flow.side(begin, weather, output(flow, weather["report"]))


@shape("an agent with three tools of six nodes", without_ports("tool_args", "metadata"), loose)
def readme_agent(flow: Workflow) -> None:
    turn = run(flow)
    flow.main(*crew(flow), turn, flow.node("Print", msg=turn["last_response"]))
    for number in range(3):
        begin = tool(flow, f"read_{number}", 'TOOL: read {"url": "..."}')
        opening = flow.node("OpenPage", url=f"page-{number}", headless=True)
        nodes, page = [opening], opening["page"]
        for step in range(4):
            read = flow.node("ReadPage", page=page, hint=f"{{place}} {step}")
            nodes, page = [*nodes, read], read["text"]
        flow.side(begin, *nodes, output(flow, page))


# Workflows without agents of xai-agent


@shape("nothing but Start and Finish", without_outputs)
def empty(flow: Workflow) -> None:
    flow.main()


@shape("a task for an agent of a service, written by a script", of_a_script)
def task_of_a_script(flow: Workflow) -> None:
    turn = flow.node(
        "TaskForAgent",
        agent_name="clerk",
        summary=LiteralNode("look"),
        inputs=LiteralNode({"a": 1}),
    )
    flow.main(turn, flow.node("WaitForTask", task=turn["task"]))


@shape("an agent of another library that has the same words")
def swarm(flow: Workflow) -> None:
    belt = flow.node("SwarmMakeToolbelt", name="\u0623\u062f\u0648\u0627\u062a")
    use = flow.node("SwarmTool", tool_name="x", description="\u0627\u0644\u0648\u0642\u062a")
    flow.main(
        use, belt,
        flow.node("SwarmRun", agent_name="helper", toolbelt_spec=belt["toolbelt_spec"]),
    )  # fmt: skip


# Parts of xai-agent that were in no workflow we found


@shape("an agent with the tools of an MCP server", shared("helper"))
def with_a_server(flow: Workflow) -> None:
    turn = run(flow)
    key, memory, belt, agent = crew(flow)
    server = flow.node(
        "AgentUseMCPTools", server_name="library", toolbelt_name=LiteralNode("default")
    )
    flow.main(key, memory, server, belt, agent, turn, flow.node("Print", msg=turn["last_response"]))


@shape("an agent that chooses between two routes", shared("helper"))
def with_routes(flow: Workflow) -> None:
    choice = flow.node(
        "AgentRouter", agent_name=LiteralNode("helper"), conversation=LiteralNode(QUESTION)
    )
    flow.main(*crew(flow), choice, flow.node("Print", msg=choice["result"]))
    for name in ("news", "sports"):
        begin = flow.node("AgentDefineRoute", agent_flow_name=name, description=f"About {name}.")
        flow.side(begin, output(flow, f"all about {name}"))


@shape("an agent that notes down what was said, and is changed", shared("helper"))
def with_learning(flow: Workflow) -> None:
    turn = run(flow)
    learning = flow.node(
        "AgentLearn", agent_name=LiteralNode("helper"), conversation=turn["out_conversation"]
    )
    change = flow.node(
        "AgentUpdate", agent_name=LiteralNode("helper"), new_system_prompt="Be brief."
    )
    flow.main(
        *crew(flow), turn, learning, change, flow.node("Print", msg=learning["last_response"])
    )


@shape(
    "an agent with a memory of a service, and code that reaches into xai-agent",
    shared("helper"),
)  # fmt: skip
def with_a_service(flow: Workflow) -> None:
    key = flow.node("OpenAIAuthorize", from_env=True)
    memory = flow.node(
        "AgentVectoMemory", vector_space="notes", api_key=Argument("vecto_key", "secret")
    )
    belt = flow.node("AgentMakeToolbelt", name="default")
    agent = flow.node(
        "AgentInit", agent_name=LiteralNode("helper"), agent_provider="openai",
        agent_model="gpt-5-mini", agent_memory=memory["memory"], system_prompt=SHORT,
        max_thoughts=6, toolbelt_spec=belt["toolbelt_spec"],
    )  # fmt: skip
    turn = run(flow)
    look = flow.node("Print", msg="ctx['agent_helper']['conversation']")
    flow.main(key, memory, belt, agent, turn, look)
