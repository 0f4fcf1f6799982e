"""The example workflows, described; `python -m tools.build_examples` writes them.

Run it after a change of a component's ports or docstring: the files carry both.
"""

from __future__ import annotations

from pathlib import Path

from xai_mcp_agent.cli.init import TEMPLATES

from .example_agents import (
    agent_with_a_drawn_tool,
    builtin_tools,
    history_of_an_agent,
    memory_of_an_agent,
    native_and_text,
    openai_compatible,
    progress_of_an_agent,
    quickstart,
    quickstart_with_many_tools,
    two_servers_and_a_drawn_tool,
)
from .example_teams import (
    agent_as_a_tool,
    find_books,
    router_with_two_routes,
    workflow_as_a_tool,
)
from .workflows import Workflow

EXAMPLES = Path(__file__).parents[1] / "examples"


def mcp_without_a_model() -> Workflow:
    """Servers used by hand: list, call, read."""
    flow = Workflow("ex03_mcp_without_a_model")
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
    flow.explain(
        listed,
        "1. What can the server do?",
        "MCP servers are described in mcp_settings.json. Each starts when the first node needs it.",
    )
    flow.explain(
        call,
        "2. Call a tool",
        "Double-click tool_name and arguments to change them; step 1 lists the tools.",
    )
    flow.explain(
        read,
        "3. Read a resource",
        "Servers offer texts as well. Everything is closed when the workflow ends.",
    )
    return flow


def plan_and_run() -> Workflow:
    """A request planned without a model, and the plan carried out."""
    flow = Workflow("ex15_plan_and_run")
    use = flow.node("AgentUseMCPTools", server_name="library")
    belt = flow.node("AgentMakeToolbelt")
    plan = flow.node(
        "MCPPlan",
        request="Search for books about 'travel', then borrow that book for Ada.",
        toolbelt_spec=belt["toolbelt_spec"],
    )
    shown = flow.node("Print", msg=plan["summary"])
    run = flow.node("MCPRunPlan", plan=plan["plan"])
    lent = flow.node("Print", msg=run["text"])
    flow.main(use, belt, plan, shown, run, lent)
    flow.explain(
        use,
        "1. The tools",
        "The plan uses the tools of this toolbelt; without one, the tools of all servers in "
        "mcp_settings.json.",
    )
    flow.explain(
        plan,
        "2. Plan",
        "The tools to call and their arguments, found by words and types. Nothing is called "
        "yet. Wire a model's name to model for better plans.",
    )
    flow.explain(
        run,
        "3. Run it",
        "Results flow into later calls: call 2 borrows the book that call 1 finds. To set an "
        'argument yourself, wire given, such as "2.reader": "Esi".',
    )
    return flow


def tools_that_fit_together() -> Workflow:
    """Which tool fits a request, why it does, and what has to be called before it."""
    flow = Workflow("ex14_tools_that_fit_together")
    request = "lend a book about whales to Ada"
    search = flow.node("MCPSearchTools", query=request, limit=3)
    best = flow.node("Print", msg=search["summary"])
    explain = flow.node(
        "MCPExplainTool", server_name="library", tool_name="borrow_book", request=request
    )
    why = flow.node("Print", msg=explain["summary"])
    plan = flow.node("MCPPlan", request=request)
    calls = flow.node("Print", msg=plan["summary"])
    flow.main(search, best, explain, why, plan, calls)
    flow.explain(
        search,
        "1. Which tools fit?",
        "Tools of all servers, the best first. No step here asks a model.",
    )
    flow.explain(
        explain,
        "2. Why this tool?",
        "Its parameters, and why a search, a plan or a rule chooses it. Try another tool_name.",
    )
    flow.explain(
        plan,
        "3. What comes before it?",
        "The calls that lead there, and the values that are still missing.",
    )
    return flow


def all_examples() -> list[Workflow]:
    """Every example in the package."""
    return [
        quickstart(),
        quickstart_with_many_tools(),
        openai_compatible(),
        two_servers_and_a_drawn_tool(),
        native_and_text(),
        memory_of_an_agent(),
        progress_of_an_agent(),
        router_with_two_routes(),
        agent_as_a_tool(),
        workflow_as_a_tool(),
        mcp_without_a_model(),
        tools_that_fit_together(),
        plan_and_run(),
        builtin_tools(),
        history_of_an_agent(),
    ]


def templates() -> list[Workflow]:
    """Return the workflows that the lab's launcher offers as cards; a click makes a copy."""
    return [
        quickstart("agent_with_tools"),
        agent_with_a_drawn_tool(),
        openai_compatible("agent_with_your_model"),
    ]


def tool_workflows() -> list[Workflow]:
    """Return the workflows that examples use as tools, in the folder `workflows`."""
    return [find_books()]


def main() -> None:
    """Write all examples, and the lessons of the workshop, into the `examples` folder."""
    from .build_lessons import write_lessons  # it imports this module

    write_lessons()
    for folder, flows in (
        (EXAMPLES, all_examples()),
        (EXAMPLES / "workflows", tool_workflows()),
        (EXAMPLES / TEMPLATES, templates()),
    ):
        folder.mkdir(exist_ok=True)
        for flow in flows:
            print(flow.write(folder))


if __name__ == "__main__":
    main()
