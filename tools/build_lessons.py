"""The workflows of the workshop, described; `python -m tools.build_examples` writes them.

Each lesson is drawn twice, by one function: as a learner opens it, and `solved`, as it may look
when its goals are met.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from xai_mcp_agent.canvas.workshop.lessons import LESSONS, SOLUTIONS, Lesson
from xai_mcp_agent.drawing.nodes import Node

from .build_examples import EXAMPLES
from .workflows import LiteralNode, Workflow

WORKSHOP = EXAMPLES / "workshop"

NAME = "Ada Lovelace"
# A dropped node stands to the right of the pointer: this leaves room for one node in the middle of
# its line, and for AgentInit and AgentRun where README.md says.
_ROOM_FOR_ONE, _ROOM_FOR_TWO = 320.0, 490.0


def call_a_tool(flow: Workflow, solved: bool) -> None:
    """One tool, called without any model; the learner shows its result."""
    call = flow.node(
        "MCPCallTool",
        server_name="units",
        tool_name="convert_units",
        arguments=LiteralNode(
            {"value": 26.2 if solved else 5, "from_unit": "mile", "to_unit": "kilometre"}
        ),
    )
    show = flow.node("Print", **({"msg": call["text"]} if solved else {}))
    flow.main(call, show)
    flow.explain(
        call,
        "1. A tool of a server",
        "Press Run (the triangle above) and Start. This node calls convert_units of the "
        "server units. Print gets nothing yet.",
    )
    flow.explain(show, "2. Show the result", "Draw a line from text to msg, and run again.")
    flow.explain(
        show,
        "3. A marathon",
        "How far are 26.2 miles? Double-click the orange box, write 26.2 for 5, run again.",
        below=True,
    )
    flow.explain(call, "Help", "README.md in this folder says each click.", below=True)


def ask_an_agent(flow: Workflow, solved: bool) -> None:
    """An agent that gets the tools of a server."""
    library = flow.node("AgentUseMCPTools", server_name="library")
    belt = flow.node("AgentMakeToolbelt")
    tools = {"toolbelt_spec": belt["toolbelt_spec"]} if solved else {}
    agent = flow.node("AgentInit", **tools)
    subject = "travel" if solved else "the sea"
    run, show = _run(flow, f"Which books do you have about {subject}?")
    flow.main(library, belt, agent, run, show)
    flow.explain(
        library,
        "1. Tools",
        "Tools of the server library. Press Run: nobody has them yet.",
        columns=20,
    )
    flow.explain(
        belt,
        "2. The agent",
        "Draw a line from toolbelt_spec here to toolbelt_spec of AgentInit, and run again.",
    )
    flow.explain(
        run,
        "3. A question of yours",
        "Double-click the question, ask about something else, and run again.",
        columns=27,
    )


def draw_a_tool(flow: Workflow, solved: bool) -> None:
    """A drawn tool without its last node."""
    belt = flow.node("AgentMakeToolbelt")
    agent = flow.node("AgentInit", toolbelt_spec=belt["toolbelt_spec"])
    run, show = _run(flow, f"Make a badge for {'Grace Hopper' if solved else NAME}.")
    flow.main(belt, agent, run, show)
    flow.explain(
        belt,
        "1. An agent",
        "It has no server, only the tool that is drawn below. Press Run.",
    )
    flow.explain(
        run,
        "2. Whose badge?",
        "Double-click the text, and put your name there. Then drag the canvas up.",
    )
    tool, text = _badge(flow)
    output = [flow.node("AgentToolOutput", results=[text["out_str"]])] if solved else []
    flow.side(tool, text, *output)
    flow.explain(
        tool,
        "3. A tool of your own",
        "It makes a text and gives it to nobody. Drag AgentToolOutput from the palette to its "
        "right. Join the arrows, draw a line from out_str to results, and run again.",
    )


def servers_and_memory(flow: Workflow, solved: bool) -> None:
    """An agent that needs more tools than it has."""
    servers = [flow.node("AgentUseMCPTools", server_name="library")]
    if solved:
        servers.append(flow.node("AgentUseMCPTools", server_name="units"))
    belt = flow.node("AgentMakeToolbelt")
    memory = flow.node("AgentNumpyMemory")
    inputs = {"agent_memory": memory["memory"]} if solved else {}
    agent = flow.node("AgentInit", toolbelt_spec=belt["toolbelt_spec"], **inputs)
    run, show = _run(
        flow,
        "Find a book about the sea. How many kilometres are 20 miles?\n"
        "Remember that I like the sea.",
    )
    flow.main(*servers, memory, belt, agent, run, show)
    flow.explain(
        servers[0],
        "1. A second server",
        "Press Run: a book, and no tool for the rest. Drag a second AgentUseMCPTools onto the "
        "dashed line here. server_name: units",
        columns=27,
    )
    flow.explain(memory, "2. A memory", "Draw a line from memory to agent_memory of AgentInit.")
    flow.explain(run, "3. All three", "Run again: each part of the request is answered now.")


def your_own_agent(flow: Workflow, solved: bool) -> None:
    """A toolbelt without tools: the learner builds the rest."""
    if not solved:
        belt, show = flow.node("AgentMakeToolbelt"), flow.node("Print")
        flow.leave_room(_ROOM_FOR_ONE, before=belt)
        flow.leave_room(_ROOM_FOR_TWO, before=show)
        flow.main(belt, show)
        flow.explain(
            flow.start,
            "1. Tools",
            "Drag AgentUseMCPTools from the palette onto the first dashed line. server_name: "
            "library, units or calendar.",
        )
        flow.explain(
            belt,
            "2. An agent",
            "Onto the next dashed line: AgentInit just behind this node, AgentRun just behind "
            "AgentInit. Then wire toolbelt_spec to toolbelt_spec, last_response to msg of "
            "Print. Give question a value, and run.",
            columns=54,
        )
        flow.explain(
            show,
            "3. A tool you draw",
            "Below: AgentDefineTool, AgentToolOutput. Ask for it in your question. README.md "
            "says how.",
            columns=25,
        )
        return
    calendar = flow.node("AgentUseMCPTools", server_name="calendar")
    belt = flow.node("AgentMakeToolbelt")
    agent = flow.node("AgentInit", toolbelt_spec=belt["toolbelt_spec"])
    run, show = _run(flow, "Which weekday was 1815-12-10? When does the library open?")
    flow.main(calendar, belt, agent, run, show)
    tool = flow.node(
        "AgentDefineTool",
        tool_name="opening_hours",
        description="Says when the library opens.",
    )
    flow.side(tool, flow.node("AgentToolOutput", results=["Every day at nine."]))
    flow.explain(calendar, "One of many", "A server, an agent, a drawn tool.")


_DRAWINGS: dict[str, Callable[[Workflow, bool], None]] = {
    drawing.__name__: drawing
    for drawing in (call_a_tool, ask_an_agent, draw_a_tool, servers_and_memory, your_own_agent)
}


def start_of(lesson: Lesson) -> Workflow:
    """Return the workflow as a learner opens it."""
    flow = Workflow(lesson.name)
    _DRAWINGS[lesson.name](flow, False)
    return flow


def solution_of(lesson: Lesson) -> Workflow:
    """Return a workflow that meets the lesson's goals."""
    flow = Workflow(lesson.solution.removesuffix(".xircuits"))
    _DRAWINGS[lesson.name](flow, True)
    return flow


def all_lessons() -> list[tuple[Workflow, Path]]:
    """Return every workflow of the workshop with its folder."""
    starts = [(start_of(x), WORKSHOP / x.folder) for x in LESSONS]
    return [*starts, *((solution_of(x), WORKSHOP / SOLUTIONS) for x in LESSONS)]


def write_lessons() -> None:
    """Write all lessons and solutions into the repository's `examples/workshop`."""
    for flow, folder in all_lessons():
        folder.mkdir(parents=True, exist_ok=True)
        print(flow.write(folder))


def _run(flow: Workflow, question: str) -> tuple[Node, Node]:
    run = flow.node("AgentRun", question=LiteralNode(question, above=True))
    return run, flow.node("Print", msg=run["last_response"])


def _badge(flow: Workflow) -> tuple[Node, Node]:
    tool = flow.node(
        "AgentDefineTool",
        tool_name="make_badge",
        description="Makes a badge with a person's name on it.",
        parameters={"name": "string"},
    )
    text = flow.node("FormatString", format_str="*** {name} ***", args=tool["tool_args"])
    return tool, text
