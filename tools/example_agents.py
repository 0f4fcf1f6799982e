"""The examples in which one agent answers: its tools, its model, its memory, its progress."""

from __future__ import annotations

from typing import Any

from xai_mcp_agent.drawing.nodes import Node

from .workflows import LiteralNode, Workflow

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
    agent, run = _agent(
        flow,
        library,
        question=FIRST_QUESTION,
        agent_provider="offline",
        system_prompt=SYSTEM_PROMPT,
    )
    _tools_note(flow, library)
    _offline_notes(flow, agent, run)
    return flow


def builtin_tools() -> Workflow:
    """An agent that calculates, without any server."""
    flow = Workflow("ex02_builtin_tools")
    tools = flow.node("AgentUseBuiltinTools", tools="calculate, current_time")
    agent, run = _agent(
        flow,
        tools,
        question=CALCULATION,
        agent_provider="offline",
        system_prompt="Use your tools for every calculation. Answer briefly.",
    )
    flow.explain(
        tools,
        "1. Built-in tools",
        "They need no server and no settings. For list_files, read_file and write_file also set "
        "workspace, the folder that they may use.",
    )
    _offline_notes(flow, agent, run)
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
    run = flow.node("AgentRun", question=LiteralNode(MEASURE, above=True))
    flow.main(workbench, shown, model, belt, agent, run)
    flow.explain(
        workbench,
        "1. Several hundred tools",
        "The workbench has about 350. Every request has the tools in always_shown; the agent "
        "searches for the others.\nDrag the empty canvas up for the rest.",
    )
    flow.explain(
        model,
        "2. How much is shown",
        "tool_token_budget: the most tokens that the descriptions of tools may take in a "
        "request. All of them would take about 28,000.",
    )
    flow.explain(
        run,
        "3. Watch it search, then use",
        "First it calls tool_search, then the tool that it found.",
    )
    return flow


def history_of_an_agent() -> Workflow:
    """An agent works, and then the history of its tools is shown."""
    flow = Workflow("ex13_history_of_an_agent")
    library = flow.node("AgentUseMCPTools", server_name="library")
    belt = flow.node("AgentMakeToolbelt")
    agent = flow.node("AgentInit", agent_provider="offline", toolbelt_spec=belt["toolbelt_spec"])
    run = flow.node("AgentRun", question=LiteralNode(FIRST_QUESTION, above=True))
    history = flow.node("MCPToolHistory", server_name="library", since="1h")
    events = flow.node("Print", msg=history["text"])
    status = flow.node("Print", msg=history["status"])
    flow.main(library, belt, agent, run, history, events, status)
    flow.explain(
        agent,
        "1. An agent works",
        "It calls a tool of the library. The history records every call with its duration and "
        "its error.",
    )
    flow.explain(
        history,
        "2. What happened",
        "since: 2h, 3d, or 2026-11-20. Without wires it shows all events of all servers, as the "
        "command xai-mcp-agent history show does.",
    )
    flow.explain(
        status,
        "3. How the tools are doing",
        "Calls, errors and durations of every tool that was ever listed, and when and why one "
        "disappeared.",
    )
    return flow


def openai_compatible(name: str = "ex05_openai_compatible") -> Workflow:
    """The quickstart with a language model behind the OpenAI protocol."""
    flow = Workflow(name)
    library = flow.node("AgentUseMCPTools", server_name="library")
    belt = flow.node("AgentMakeToolbelt")
    model = flow.node("AgentModel", provider="openai", model=MODEL, base_url=LiteralNode(BASE_URL))
    agent = flow.node(
        "AgentInit",
        system_prompt=SYSTEM_PROMPT,
        toolbelt_spec=belt["toolbelt_spec"],
        model_settings=model["model_settings"],
    )
    run = flow.node("AgentRun", question=LiteralNode(FIRST_QUESTION, above=True))
    flow.begin_row(model)
    flow.main(library, belt, model, agent, run)
    _tools_note(flow, library)
    flow.explain(
        model,
        "2. Say which model",
        "model: one your service has. base_url: its address, here Ollama's. OpenAI's own is "
        "https://api.openai.com/v1, its key in OPENAI_API_KEY. Others: key in api_key.",
        below=True,
    )
    _ask_note(flow, run)
    return flow


def agent_with_a_drawn_tool() -> Workflow:
    """A template: the quickstart and a tool that is drawn below it, in sight in a small window."""
    flow = Workflow("agent_with_a_drawn_tool")
    library = flow.node("AgentUseMCPTools", server_name="library")
    agent, run = _agent(
        flow,
        library,
        question="Find a book about travel and make a poster for it.",
        agent_provider="offline",
        system_prompt=SYSTEM_PROMPT,
    )
    _poster_tool(flow)
    _tools_note(flow, library)
    flow.explain(
        agent,
        "2. Set up the agent",
        "The model offline needs no key: it follows rules. It does not matter where a tool "
        "comes from.",
    )
    _ask_note(flow, run)
    return flow


def two_servers_and_a_drawn_tool() -> Workflow:
    """An agent that uses what two servers offer and what is drawn below it."""
    flow = Workflow("ex04_two_servers_and_a_drawn_tool")
    library = flow.node("AgentUseMCPTools", server_name="library")
    units = flow.node("AgentUseMCPTools", server_name="units")
    agent, run = _agent(flow, library, units, question=QUESTION, system_prompt=SYSTEM_PROMPT)
    _poster_tool(flow)
    flow.explain(
        library,
        "1. Choose its tools",
        "Each AgentUseMCPTools adds the tools of one MCP server. Which servers there are "
        "stands in mcp_settings.json.",
    )
    flow.explain(
        agent,
        "2. Set up the agent",
        "It does not matter to the agent where a tool comes from: all of them are in its toolbelt.",
    )
    _ask_note(flow, run)
    return flow


def native_and_text() -> Workflow:
    """Return a workflow with the same agent twice: function calling, and the text protocol."""
    flow = Workflow("ex08_native_and_text")
    units = flow.node("AgentUseMCPTools", server_name="units")
    native, text = (_converter(flow, name) for name in ("native", "text"))
    flow.main(units, *native, *text)
    flow.explain(
        native[0],
        "1. Two ways to call a tool",
        "Most models call functions: the service passes tools and calls beside the text. That "
        "is native.\nDrag the empty canvas up for the rest.",
    )
    flow.explain(
        text[0],
        "2. In text",
        "For other models the system prompt explains how to write TOOL: name {arguments}, and "
        "their text is parsed. That is text.",
    )
    flow.explain(
        text[-1],
        "3. Compare",
        "Same tools, same call, same answer. auto, the default, chooses for you.",
        below=True,
    )
    return flow


def _converter(flow: Workflow, protocol: str) -> list[Node]:
    """The nodes of an agent with this protocol, and of a question to it."""
    name = f"with_{protocol}"
    belt = flow.node("AgentMakeToolbelt")
    model = flow.node("AgentModelLimits", tool_protocol=protocol)
    agent = flow.node(
        "AgentInit", agent_name=name, model_settings=model["model_settings"],
        toolbelt_spec=belt["toolbelt_spec"],
    )  # fmt: skip
    run = flow.node("AgentRun", question=LiteralNode(DISTANCE, above=True))
    return [model, belt, agent, run]


def memory_of_an_agent() -> Workflow:
    """An agent notes something in one run and finds it in the next."""
    flow = Workflow("ex06_memory_of_an_agent")
    memory = flow.node("AgentNumpyMemory")
    agent = flow.node("AgentInit", agent_provider="offline", agent_memory=memory["memory"])
    first = flow.node(
        "AgentRun", question=LiteralNode("Remember that my dog is called Rex.", above=True)
    )
    second = flow.node("AgentRun", question=LiteralNode("What is my dog called?", above=True))
    flow.main(memory, agent, first, second)
    flow.explain(
        memory,
        "1. A place for notes",
        "Give file a name, such as notes.db, to keep them for tomorrow.",
    )
    flow.explain(
        first,
        "2. Something to remember",
        "The agent has the tools create_memory and lookup_memory and decides when to use them.",
    )
    flow.explain(
        second,
        "3. A new conversation",
        "This run knows nothing of the earlier one except its notes.",
    )
    return flow


def progress_of_an_agent() -> Workflow:
    """Each use of a tool is reported by the branch on_thought."""
    flow = Workflow("ex07_progress_of_an_agent")
    library = flow.node("AgentUseMCPTools", server_name="library")
    belt = flow.node("AgentMakeToolbelt")
    agent = flow.node("AgentInit", agent_provider="offline", toolbelt_spec=belt["toolbelt_spec"])
    run = flow.node(
        "AgentRun",
        question=LiteralNode("Borrow Candide for Ada, then show all loans.", above=True),
    )
    report = flow.node("Print", msg=run["thought"])
    flow.main(library, belt, agent, run)
    flow.branch(run, "on_thought", report)
    flow.explain(
        library,
        "1. A task of several steps",
        "Find the book, borrow it, list the loans: each step needs the results before it.",
    )
    flow.explain(
        run,
        "2. Work while it works",
        "The branch on_thought of AgentRun runs after each use of a tool.",
    )
    flow.explain(
        report,
        "3. Report",
        "thought has what the agent did and why. Put any nodes here: write a file, send a "
        "message, count.",
        below=True,
    )
    return flow


def _agent(flow: Workflow, *sources: Node, question: str, **inputs: Any) -> tuple[Node, Node]:
    """Draw an agent with the tools of these nodes, and a question to it."""
    belt = flow.node("AgentMakeToolbelt")
    agent = flow.node("AgentInit", toolbelt_spec=belt["toolbelt_spec"], **inputs)
    run = flow.node("AgentRun", question=LiteralNode(question, above=True))
    flow.main(*sources, belt, agent, run)
    return agent, run


def _tools_note(flow: Workflow, library: Node) -> None:
    flow.explain(
        library,
        "1. Choose its tools",
        "The tools of one MCP server. Which servers there are stands in mcp_settings.json.",
    )


def _offline_notes(flow: Workflow, agent: Node, run: Node) -> None:
    flow.explain(
        agent,
        "2. Set up the agent",
        "The model offline needs no key: it follows rules. For a real one open "
        "ex05_openai_compatible.xircuits.",
    )
    _ask_note(flow, run)


def _ask_note(flow: Workflow, run: Node) -> None:
    flow.explain(
        run,
        "3. Ask",
        "Press Alt+Q and ask, or press Run: it asks the text that leads to question.",
    )


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
    flow.explain(
        tool,
        "4. Draw a tool of your own",
        "These nodes run each time the agent uses make_poster. Put others between the first "
        "and the last to make the tool do something else.",
        columns=74,
    )
