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
    out_ports_first,
    searched,
    secrets,
    shared,
    without_ports,
)

__all__ = ["SHAPES"]

ACCOUNT, KEY = "accounts/nobody.json", "not-a-key-4711"
AGENT_FILE = "xai_components/xai_weather_agent/agent_component.py"
AGENT_NODES = (
    "AgentDefineTool", "AgentInit", "AgentMakeToolbelt", "AgentNumpyMemory", "AgentRun",
    "AgentToolOutput",
)  # fmt: skip

# Agents behind a chat server


def _behind_a_server(flow: Workflow, prompt: str = SHORT, **key: Any) -> None:
    key_node, memory, belt, agent = crew(flow, prompt, **key)
    server = flow.node("ConverseMakeServer", auth_token="word", max_timeout=60)
    flow.main(key_node, server, belt, memory, agent, flow.node("ConverseRun"))
    chat_event(flow)


@shape(
    "a chat agent with a tool that looks an argument up; ports in an old order, loose ends",
    searched, shared("helper"), out_ports_first, dangling, loose,
)  # fmt: skip
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


# An agent that something else begins


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


@shape(
    "an agent in a chat page's branch, from copies of the nodes in a library of its own",
    searched, shared("helper"), at_path(AGENT_FILE, *AGENT_NODES),
    at_path("xai_components/xai_weather_agent/openai_component.py", "OpenAIAuthorize"),
)  # fmt: skip
def chat_page(flow: Workflow) -> None:
    page = flow.node("GradioChatInterface")
    launch = flow.node("GradioLaunch", app=page["interface"])
    flow.main(*crew(flow, CALLS, api_key=Argument("openai_key", "secret")), page, launch)
    _chat_turn(flow, page)
    clock_tool(flow, for_toolbelt=LiteralNode("default"))
    begin = tool(flow, "weather", "of a city.", for_toolbelt="default")
    key, whole = Argument("weather_key", "secret"), flow.node("WithTransaction")
    weather = flow.node("GetWeather", city=begin["tool_input"], key=key)
    flow.side(begin, weather, whole)
    flow.branch(whole, "in_transaction", output(flow, weather["report"]))


# Parts of xai-agent that were in no workflow we found


@shape(
    "an agent with the tools of an MCP server that notes down what was said, and is changed",
    shared("helper"),
)  # fmt: skip
def with_learning(flow: Workflow) -> None:
    turn = run(flow)
    server = flow.node(
        "AgentUseMCPTools", server_name="library", toolbelt_name=LiteralNode("default")
    )
    learning = flow.node(
        "AgentLearn", agent_name=LiteralNode("helper"), conversation=turn["out_conversation"]
    )
    change = flow.node(
        "AgentUpdate", agent_name=LiteralNode("helper"), new_system_prompt="Be brief."
    )
    display = flow.node("Print", msg=learning["last_response"])
    flow.main(server, *crew(flow), turn, learning, change, display)


@shape("an agent that chooses between two routes", shared("helper"))
def with_routes(flow: Workflow) -> None:
    choice = flow.node(
        "AgentRouter", agent_name=LiteralNode("helper"), conversation=LiteralNode(QUESTION)
    )
    flow.main(*crew(flow), choice, flow.node("Print", msg=choice["result"]))
    for name in ("news", "sports"):
        begin = flow.node("AgentDefineRoute", agent_flow_name=name, description=f"About {name}.")
        flow.side(begin, output(flow, f"all about {name}"))


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
