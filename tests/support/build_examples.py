"""The example workflows, described; `python -m tests.support.build_examples` writes them.

Run it after a change of a component's ports or docstring: the files carry both.
"""

from __future__ import annotations

from pathlib import Path

from .nodes import Node
from .workflows import Shown, Workflow

EXAMPLES = Path(__file__).parents[2] / "examples"

AGENT = "librarian"
SYSTEM_PROMPT = "You are a friendly librarian. Use your tools; do not guess. Answer briefly."
QUESTION = "How many weeks are 80 days? Find a book about travel and make a poster for it."
POSTER = "Makes a poster of a book's title, to hang up in the library."
# A service on one's own machine; the comment names others.
BASE_URL = "http://localhost:11434/v1"
MODEL = "qwen3"


def quickstart() -> Workflow:
    """An agent with two servers and a drawn tool, without any key."""
    flow = Workflow("quickstart")
    agent = _agent(flow, agent_provider="offline")
    flow.note(
        "2. Set up the agent",
        "The model `offline` needs no key: it\n"
        "follows rules. For a real one open\n"
        "openai_compatible.xircuits.",
        above=agent,
    )
    return flow


def openai_compatible() -> Workflow:
    """The same agent with a language model behind the OpenAI protocol."""
    flow = Workflow("openai_compatible")
    agent = _agent(
        flow, agent_provider="openai", agent_model=MODEL, base_url=Shown(BASE_URL)
    )  # fmt: skip
    flow.note(
        "2. Set up the agent",
        "agent_model: one your service has.\n"
        "base_url: its address. This one is\n"
        "Ollama's; OpenAI's own is\n"
        "https://api.openai.com/v1\n"
        "A key, if it wants one, is read from\n"
        "the variable OPENAI_API_KEY.",
        above=agent,
    )
    return flow


def mcp_without_a_model() -> Workflow:
    """Servers used by hand: list, call, read."""
    flow = Workflow("mcp_without_a_model")
    listed = flow.node("MCPListTools", server_name="library")
    tools = flow.node("Print", msg=listed["summary"])
    call = flow.node(
        "MCPCallTool",
        server_name="library",
        tool_name="search_books",
        arguments={"query": "sea"},
    )
    books = flow.node("Print", msg=call["text"])
    read = flow.node("MCPReadResource", server_name="library", uri="library://rules")
    rules = flow.node("Print", msg=read["text"])
    flow.main(listed, tools, call, books, read, rules)
    flow.note(
        "1. What can the server do?",
        "MCP servers are described in\n"
        "mcp_settings.json. Each starts when\n"
        "the first node needs it.",
        above=listed,
    )  # fmt: skip
    flow.note(
        "2. Call a tool",
        "Double-click tool_name and arguments\n"
        "to change them; the list of step 1\n"
        "says which there are.",
        above=call,
    )  # fmt: skip
    flow.note(
        "3. Read a resource",
        "Servers offer texts as well. Everything\n"
        "is closed when the workflow ends.",
        above=read,
    )  # fmt: skip
    return flow


def all_examples() -> list[Workflow]:
    """Every example, as it is shipped."""
    return [quickstart(), openai_compatible(), mcp_without_a_model()]


def _agent(flow: Workflow, **model: object) -> Node:
    """Draw the agent of the first two examples; give its AgentInit."""
    library = flow.node("AgentUseMCPTools", server_name="library")
    units = flow.node("AgentUseMCPTools", server_name="units")
    belt = flow.node("AgentMakeToolbelt")
    agent = flow.node(
        "AgentInit",
        agent_name=AGENT,
        system_prompt=SYSTEM_PROMPT,
        toolbelt_spec=belt["toolbelt_spec"],
        **model,
    )
    run = flow.node("AgentRun", agent_name=AGENT, conversation=Shown(QUESTION))
    answer = flow.node("Print", msg=run["last_response"])
    flow.main(library, units, belt, agent, run, answer)
    _drawn_tool(flow)
    flow.note(
        "1. Choose its tools",
        "Each AgentUseMCPTools adds the tools of one MCP server. Which\n"
        "servers there are stands in mcp_settings.json.",
        above=library,
    )
    flow.note(
        "3. Ask",
        "Press Run. To ask something else,\n"
        "double-click the text that leads to\n"
        "conversation.",
        above=run,
    )  # fmt: skip
    return agent


def _drawn_tool(flow: Workflow) -> None:
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


def main() -> None:
    """Write all examples, and the lessons of the workshop, into the `examples` folder."""
    from .build_lessons import write_lessons  # which starts from this file's folder

    write_lessons()
    for flow in all_examples():
        print(flow.write(EXAMPLES))


if __name__ == "__main__":
    main()
