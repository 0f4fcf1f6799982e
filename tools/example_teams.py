"""The examples in which parts of a workflow work for each other: routes, an agent as a tool."""

from __future__ import annotations

from .workflows import Argument, LiteralNode, Workflow


def agent_as_a_tool() -> Workflow:
    """One agent asks another, which has the tools."""
    flow = Workflow("ex10_agent_as_a_tool")
    library = flow.node("AgentUseMCPTools", server_name="library", toolbelt_name="books")
    books = flow.node("AgentMakeToolbelt", name="books")
    librarian = flow.node("AgentInit", agent_name="librarian", toolbelt_spec=books["toolbelt_spec"])
    belt = flow.node("AgentMakeToolbelt")
    host = flow.node("AgentInit", agent_name="host", toolbelt_spec=belt["toolbelt_spec"])
    run = flow.node(
        "AgentRun",
        question=LiteralNode("Ask the librarian to find a book about whales.", above=True),
    )
    flow.main(library, books, librarian, belt, host, run)
    tool = flow.node(
        "AgentDefineTool",
        tool_name="ask_librarian",
        description="Asks the librarian, who finds books about a topic.",
        parameters={"topic": "string"},
    )
    text = flow.node(
        "FormatString", format_str="Find a book about {topic}.", args=tool["tool_args"]
    )
    inner = flow.node("AgentRun", agent_name="librarian", question=text["out_str"])
    flow.side(tool, text, inner, flow.node("AgentToolOutput", results=[inner["last_response"]]))
    flow.explain(
        library,
        "1. An agent with tools",
        "Its toolbelt books has the server's tools.\nDrag the empty canvas up for the rest.",
    )
    flow.explain(
        belt,
        "2. An agent that asks it",
        "Its toolbelt, the default one, has only the tool that is drawn below.",
    )
    flow.explain(
        tool,
        "3. The first agent as a tool of the second",
        "Each time the host uses ask_librarian, the librarian runs and its answer goes back "
        "to the host.",
    )
    return flow


def workflow_as_a_tool() -> Workflow:
    """An agent uses another workflow, in which an agent of its own works."""
    flow = Workflow("ex12_workflow_as_a_tool")
    use = flow.node("AgentUseWorkflow", workflow="examples/workflows/find_books.xircuits")
    belt = flow.node("AgentMakeToolbelt")
    host = flow.node("AgentInit", toolbelt_spec=belt["toolbelt_spec"])
    run = flow.node("AgentRun", question=LiteralNode("Find a book about whales.", above=True))
    flow.main(use, belt, host, run)
    flow.explain(
        use,
        "1. A workflow is a tool",
        "Open find_books.xircuits in the folder workflows: its Argument is the parameter "
        "of the tool, its Finish the result. A comment there describes the tool.",
    )
    flow.explain(
        belt,
        "2. Nothing else to set up",
        "No entry in mcp_settings.json is needed. When you change that workflow, the next "
        "call runs the new one.",
        below=True,
    )
    flow.explain(
        run,
        "3. Each call is a run of its own",
        "It has its own process and its own agent.",
    )
    return flow


def find_books() -> Workflow:
    """Return the workflow that `workflow_as_a_tool` uses; it has an agent, too."""
    flow = Workflow("find_books")
    library = flow.node("AgentUseMCPTools", server_name="library")
    belt = flow.node("AgentMakeToolbelt")
    agent = flow.node("AgentInit", toolbelt_spec=belt["toolbelt_spec"])
    text = flow.node("ConcatString", a="Find a book about ", b=Argument("topic"))
    run = flow.node("AgentRun", question=text["out"])
    flow.main(library, belt, agent, text, run)
    flow.outputs(run["last_response"])
    flow.explain(
        belt,
        "Description",
        "Finds books of the library about a topic.\ntopic: what they are about",
    )
    flow.explain(
        belt,
        "How to change it",
        "An agent that uses this workflow reads the\ncomment Description. A line that begins "
        "with an\nargument's name describes that argument.",
        below=True,
    )
    return flow


def router_with_two_routes() -> Workflow:
    """An agent's model decides which part of the workflow handles a request."""
    flow = Workflow("ex11_router_with_two_routes")
    library = flow.node("AgentUseMCPTools", server_name="library")
    belt = flow.node("AgentMakeToolbelt")
    agent = flow.node("AgentInit", toolbelt_spec=belt["toolbelt_spec"])
    router = flow.node(
        "AgentRouter", question=LiteralNode("What are the rules for loans?", above=True)
    )
    flow.main(library, belt, agent, router, flow.node("Print", msg=router["result"]))
    search = flow.node(
        "AgentDefineRoute",
        agent_flow_name="books",
        description="Finding books about a topic or by an author.",
    )
    flow.side(search, flow.node("AgentRun", conversation=search["conversation"]))
    rules = flow.node(
        "AgentDefineRoute",
        agent_flow_name="rules",
        description="The rules of the library: loans, fees, opening hours.",
    )
    read = flow.node("MCPReadResource", server_name="library", uri="library://rules")
    flow.side(rules, read, flow.node("AgentToolOutput", results=[read["text"]]))
    flow.explain(
        router,
        "1. A request comes in",
        "The model reads the descriptions of the routes below and chooses one. Try: Find a "
        "book about whales.\nDrag the empty canvas up for the rest.",
    )
    flow.explain(search, "2. A route with an agent", "The answer of its AgentRun is the result.")
    flow.explain(
        rules,
        "3. A route without any model",
        "The input of AgentToolOutput is the result.",
    )
    return flow
