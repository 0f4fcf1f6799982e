"""The examples in which one agent answers: its tools, its model, its memory, its progress."""

from __future__ import annotations

from xai_mcp_agent.drawing.nodes import Node

from .workflows import Shown, Workflow

MEASURE = "What is the volume of a sphere with a radius of 3?"
SYSTEM_PROMPT = "You are a friendly librarian. Use your tools; do not guess. Answer briefly."
FIRST_QUESTION = "Which books do you have about the sea?"
QUESTION = "How many weeks are 80 days? Find a book about travel and make a poster for it."
CALCULATION = "Calculate (17 + 25) * 2 / 7."
DISTANCE = "How far is a marathon of 26.2 miles in kilometres?"
POSTER = "Makes a poster of a book's title, to hang up in the library."
# A service on one's own machine; the comment names others.
BASE_URL = "http://localhost:11434/v1"
MODEL = "qwen3"


def quickstart(name: str = "ex01_quickstart") -> Workflow:
    """The smallest agent that uses tools, without any key."""
    flow = Workflow(name)
    library = flow.node("AgentUseMCPTools", server_name="library")
    belt = flow.node("AgentMakeToolbelt")
    agent = flow.node(
        "AgentInit",
        agent_provider="offline",
        system_prompt=SYSTEM_PROMPT,
        toolbelt_spec=belt["toolbelt_spec"],
    )
    run = flow.node("AgentRun", question=Shown(FIRST_QUESTION, above=True))
    flow.main(library, belt, agent, run)
    _tools_note(flow, library)
    flow.note(
        "2. Set up the agent",
        "The model offline needs no key: it\n"
        "follows rules. For a real one open\n"
        "ex05_openai_compatible.xircuits.",
        above=agent,
    )
    _ask_note(flow, run)
    return flow


def builtin_tools() -> Workflow:
    """An agent that calculates, without any server."""
    flow = Workflow("ex02_builtin_tools")
    tools = flow.node("AgentUseBuiltinTools", tools="calculate, current_time")
    belt = flow.node("AgentMakeToolbelt")
    agent = flow.node(
        "AgentInit",
        agent_provider="offline",
        system_prompt="Use your tools for every calculation. Answer briefly.",
        toolbelt_spec=belt["toolbelt_spec"],
    )
    run = flow.node("AgentRun", question=Shown(CALCULATION, above=True))
    flow.main(tools, belt, agent, run)
    flow.note(
        "1. Tools that come along",
        "They need no server and no settings.\n"
        "With list_files, read_file and\n"
        "write_file set workspace, too: the\n"
        "folder that they stay in.",
        above=tools,
    )
    flow.note(
        "2. Set up the agent",
        "The model offline needs no key: it\n"
        "follows rules. For a real one open\n"
        "ex05_openai_compatible.xircuits.",
        above=agent,
    )
    _ask_note(flow, run)
    return flow


def quickstart_with_many_tools() -> Workflow:
    """The quickstart with more tools than fit into a request: the agent searches for its tools."""
    flow = Workflow("ex09_quickstart_with_many_tools")
    workbench = flow.node("AgentUseMCPTools", server_name="workbench")
    shown = flow.node("AgentPreferTools", always_shown="weekday_of_date")
    belt = flow.node("AgentMakeToolbelt")
    model = flow.node("AgentModelLimits", tool_token_budget=1500)
    agent = flow.node(
        "AgentInit",
        system_prompt="Use your tools for every calculation. Answer briefly.",
        toolbelt_spec=belt["toolbelt_spec"],
        model_settings=model["model_settings"],
    )
    run = flow.node("AgentRun", question=Shown(MEASURE, above=True))
    flow.main(workbench, shown, model, belt, agent, run)
    flow.note(
        "1. Several hundred tools",
        "The workbench has about 350. What is\n"
        "named there is shown in every request; for\n"
        "the others the agent searches.\n"
        "Drag the empty canvas up for the rest.",
        above=workbench,
    )
    flow.note(
        "2. How much is shown",
        "tool_token_budget: the most tokens\n"
        "that the descriptions of tools may\n"
        "take in a request. With all of them\n"
        "it would be about 28,000.",
        above=model,
    )
    flow.note(
        "3. Watch it search, then use",
        "First it calls tool_search, then the\ntool that this has found.",
        above=run,
    )
    return flow


def history_of_an_agent() -> Workflow:
    """An agent works, and then its tools' history tells what it did."""
    flow = Workflow("ex13_history_of_an_agent")
    library = flow.node("AgentUseMCPTools", server_name="library")
    belt = flow.node("AgentMakeToolbelt")
    agent = flow.node("AgentInit", agent_provider="offline", toolbelt_spec=belt["toolbelt_spec"])
    run = flow.node("AgentRun", question=Shown(FIRST_QUESTION, above=True))
    history = flow.node("MCPToolHistory", server_name="library", since="1h")
    happened = flow.node("Print", msg=history["text"])
    known = flow.node("Print", msg=history["status"])
    flow.main(library, belt, agent, run, history, happened, known)
    flow.note(
        "1. An agent works",
        "It calls a tool of the library. Every\n"
        "call is remembered, with how long it\n"
        "took and what went wrong.",
        above=agent,
    )
    flow.note(
        "2. What happened",
        "since: 2h, 3d, or 2026-11-20. Nothing\n"
        "wired: everything, of all servers. The\n"
        "command xai-mcp-agent history show\n"
        "shows the same.",
        above=history,
    )
    flow.note(
        "3. How the tools are doing",
        "Calls, errors and durations of every\n"
        "tool there ever was; of one that is\n"
        "gone, since when and why.",
        above=known,
    )
    return flow


def openai_compatible(name: str = "ex05_openai_compatible") -> Workflow:
    """The quickstart with a language model behind the OpenAI protocol."""
    flow = Workflow(name)
    library = flow.node("AgentUseMCPTools", server_name="library")
    belt = flow.node("AgentMakeToolbelt")
    model = flow.node("AgentModel", provider="openai", model=MODEL, base_url=Shown(BASE_URL))
    agent = flow.node(
        "AgentInit",
        system_prompt=SYSTEM_PROMPT,
        toolbelt_spec=belt["toolbelt_spec"],
        model_settings=model["model_settings"],
    )
    run = flow.node("AgentRun", question=Shown(FIRST_QUESTION, above=True))
    flow.begin_row(model)
    flow.main(library, belt, model, agent, run)
    _tools_note(flow, library)
    flow.note(
        "2. Say which model",
        "model: one your service has. base_url: its\n"
        "address, here Ollama's. OpenAI's own is\n"
        "https://api.openai.com/v1, its key in\n"
        "OPENAI_API_KEY. Others: key in api_key.",
        below=model,
    )
    _ask_note(flow, run)
    return flow


def agent_with_a_drawn_tool() -> Workflow:
    """A template: the quickstart and a tool that is drawn below it, in sight in a small window."""
    flow = Workflow("agent_with_a_drawn_tool")
    library = flow.node("AgentUseMCPTools", server_name="library")
    belt = flow.node("AgentMakeToolbelt")
    agent = flow.node(
        "AgentInit",
        agent_provider="offline",
        system_prompt=SYSTEM_PROMPT,
        toolbelt_spec=belt["toolbelt_spec"],
    )
    run = flow.node(
        "AgentRun", question=Shown("Find a book about travel and make a poster for it.", above=True)
    )
    flow.main(library, belt, agent, run)
    _poster_tool(flow)
    _tools_note(flow, library)
    flow.note(
        "2. Set up the agent",
        "The model offline needs no key: it\n"
        "follows rules. It does not matter where\n"
        "a tool comes from.",
        above=agent,
    )
    _ask_note(flow, run)
    return flow


def two_servers_and_a_drawn_tool() -> Workflow:
    """An agent that uses what two servers offer and what is drawn below it."""
    flow = Workflow("ex04_two_servers_and_a_drawn_tool")
    library = flow.node("AgentUseMCPTools", server_name="library")
    units = flow.node("AgentUseMCPTools", server_name="units")
    belt = flow.node("AgentMakeToolbelt")
    agent = flow.node("AgentInit", system_prompt=SYSTEM_PROMPT, toolbelt_spec=belt["toolbelt_spec"])
    run = flow.node("AgentRun", question=Shown(QUESTION, above=True))
    flow.main(library, units, belt, agent, run)
    _poster_tool(flow)
    flow.note(
        "1. Choose its tools",
        "Each AgentUseMCPTools adds the tools of one\n"
        "MCP server. Which servers there are stands\n"
        "in mcp_settings.json.",
        above=library,
    )
    flow.note(
        "2. Set up the agent",
        "It does not matter to the agent where\n"
        "a tool comes from: all of them are in\n"
        "its toolbelt.",
        above=agent,
    )
    _ask_note(flow, run)
    return flow


def native_and_text() -> Workflow:
    """The same agent twice: with function calling, and with tools spoken of in text."""
    flow = Workflow("ex08_native_and_text")
    units = flow.node("AgentUseMCPTools", server_name="units")
    native, text = (_converter(flow, name) for name in ("native", "text"))
    flow.main(units, *native, *text)
    flow.note(
        "1. Two ways to call a tool",
        "Most models call functions: the\n"
        "service passes tools and calls\n"
        "beside the text. That is native.\n"
        "Drag the empty canvas up for the rest.",
        above=native[0],
    )
    flow.note(
        "2. In text",
        "A model without that is told in\n"
        "the system prompt how to write\n"
        "TOOL: name {arguments}, and its\n"
        "text is read. That is text.",
        above=text[0],
    )
    flow.note(
        "3. Compare",
        "Same tools, same call, same\nanswer. auto, the default,\nchooses for you.",
        below=text[-1],
    )
    return flow


def _converter(flow: Workflow, protocol: str) -> list[Node]:
    """The nodes of an agent that uses its tools in this way, and of one question to it."""
    name = f"with_{protocol}"
    belt = flow.node("AgentMakeToolbelt")
    model = flow.node("AgentModelLimits", tool_protocol=protocol)
    agent = flow.node(
        "AgentInit", agent_name=name, model_settings=model["model_settings"],
        toolbelt_spec=belt["toolbelt_spec"],
    )  # fmt: skip
    run = flow.node("AgentRun", question=Shown(DISTANCE, above=True))
    return [model, belt, agent, run]


def memory_of_an_agent() -> Workflow:
    """An agent notes something in one run and finds it in the next."""
    flow = Workflow("ex06_memory_of_an_agent")
    memory = flow.node("AgentNumpyMemory")
    agent = flow.node("AgentInit", agent_provider="offline", agent_memory=memory["memory"])
    told = flow.node("AgentRun", question=Shown("Remember that my dog is called Rex.", above=True))
    asked = flow.node("AgentRun", question=Shown("What is my dog called?", above=True))
    flow.main(memory, agent, told, asked)
    flow.note(
        "1. A place for notes",
        "Give file a name, such as notes.db,\nand they are there again tomorrow.",
        above=memory,
    )
    flow.note(
        "2. Something to remember",
        "The agent has the tools\ncreate_memory and lookup_memory\nand decides when to use them.",
        above=told,
    )
    flow.note(
        "3. A new conversation",
        "This run knows nothing of the one\nbefore it, only what was noted.",
        above=asked,
    )
    return flow


def progress_of_an_agent() -> Workflow:
    """Each use of a tool is reported by the branch on_thought."""
    flow = Workflow("ex07_progress_of_an_agent")
    library = flow.node("AgentUseMCPTools", server_name="library")
    belt = flow.node("AgentMakeToolbelt")
    agent = flow.node(
        "AgentInit", agent_provider="offline",
        toolbelt_spec=belt["toolbelt_spec"],
    )  # fmt: skip
    run = flow.node(
        "AgentRun",
        question=Shown("Borrow Candide for Ada, then show all loans.", above=True),
    )
    report = flow.node("Print", msg=run["thought"])
    flow.main(library, belt, agent, run)
    flow.branch(run, "on_thought", report)
    flow.note(
        "1. A task of several steps",
        "Find the book, borrow it, list the loans:\neach step needs what came before.",
        above=library,
    )
    flow.note(
        "2. Work while it works",
        "The branch on_thought of AgentRun\nruns after each use of a tool.",
        above=run,
    )
    flow.note(
        "3. Report",
        "thought has what the agent did and why.\n"
        "Put any nodes here: write a file,\n"
        "send a message, count.",
        below=report,
    )
    return flow


def _tools_note(flow: Workflow, library: Node) -> None:
    flow.note(
        "1. Choose its tools",
        "The tools of one MCP server. Which servers\nthere are stands in mcp_settings.json.",
        above=library,
    )


def _ask_note(flow: Workflow, run: Node) -> None:
    flow.note(
        "3. Ask",
        "Press Alt+Q and ask, or press\n"
        "Run: it asks the text that leads\n"
        "to question.",
        above=run,
    )  # fmt: skip


def _poster_tool(flow: Workflow) -> None:
    tool = flow.node(
        "AgentDefineTool",
        tool_name="make_poster",
        description=POSTER,
        parameters={"title": "string"},
    )
    text = flow.node("FormatString", format_str="*** {title} ***", args=tool["tool_args"])
    output = flow.node("AgentToolOutput", results=[text["out_str"]])
    flow.side(tool, text, output)
    flow.note(
        "4. Draw a tool of your own",
        "These nodes run each time the agent uses make_poster. Put others between\n"
        "the first and the last to make the tool do something else.",
        above=tool,
    )
