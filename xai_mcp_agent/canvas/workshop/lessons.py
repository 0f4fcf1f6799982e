"""The lessons of the workshop: their files, and their goals with hints for a learner."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ...core.errors import XaiMcpError
from ...core.util import starter_folder
from ...sources.results import NO_RESULT_TEXT
from .goals import RUN_GOAL, Goal, Hint, Like, Other, event, goal

WORKSHOP = "workshop"
"""The folder with the lessons, in a learner's folder."""

SOLUTIONS = "solutions"
"""The folder with the solutions, which no learner gets."""


class UnknownLesson(XaiMcpError):
    """There is no such lesson; the message lists the lessons."""


@dataclass(frozen=True)
class Lesson:
    """A lesson: its folder in `workshop` is named by number and name."""

    number: int
    name: str
    title: str
    goals: tuple[Goal, ...]

    @property
    def all_goals(self) -> tuple[Goal, ...]:
        """The lesson's own goals, after the one that every lesson has."""
        return (RUN_GOAL, *self.goals)

    @property
    def folder(self) -> str:
        """Name of the lesson's folder."""
        return f"{self.number}_{self.name}"

    @property
    def workflow(self) -> str:
        """Name of the workflow file."""
        return f"{self.name}.xircuits"

    @property
    def solution(self) -> str:
        """Name of the file with a solution."""
        return f"{self.name}_solution.xircuits"

    @property
    def original_folder(self) -> Path:
        """The folder with the shipped files of the lesson."""
        return starter_folder() / "examples" / WORKSHOP / self.folder

    @property
    def solution_file(self) -> Path:
        """The shipped file with a solution."""
        return starter_folder() / "examples" / WORKSHOP / SOLUTIONS / self.solution


def find_lesson(name: str) -> Lesson:
    """Return the lesson with this number, name, or folder name.

    Raises:
        UnknownLesson: there is no such lesson.
    """
    for lesson in LESSONS:
        if name.strip("/") in (str(lesson.number), lesson.name, lesson.folder):
            return lesson
    names = ", ".join(x.folder for x in LESSONS)
    raise UnknownLesson(f"There is no lesson {name!r}. The lessons are: {names}.")


def lesson_of_file(file: Path) -> Lesson | None:
    """Return the lesson that has this file in its folder, or None."""
    if file.parent.parent.name != WORKSHOP:
        return None
    return next((x for x in LESSONS if x.folder == file.parent.name), None)


# Hints of several lessons

_SOME_RESULT = Other(("None", NO_RESULT_TEXT))
_MEMORY_TOOLS = ("lookup_memory", "create_memory")
_RUN_START = event("RunStarted")
_FAILURE_HINT = Hint("The agent stopped: {error}", event("RunFailed"))
_SERVER_HINT = Hint(
    "A server could not be used: {left_out}", event("RunStarted", left_out=Like("."))
)
_NO_AGENT = (
    "No agent ran. Draw the dashed lines from Start over every node to Finish, in "
    "their order, and save."
)
_TOOL_ERROR = Hint(
    "The tool {tool} answered with an error: {text}", event("ToolFinished", is_error=True)
)
_NO_TOOLS = Hint(
    "The agent had no tools. Draw a line from toolbelt_spec of AgentMakeToolbelt to toolbelt_spec "
    "of AgentInit, and save.",
    event("RunStarted", tool_names=[]),
)
_NO_TOOL = Hint("The agent answered without a tool: {answer}", event("RunFinished", tool_calls=0))
_PRINT_TEXT = event("Executed", node="Print", text=Other(("None",)))
_PRINT_GOAL = goal(
    "Print showed the answer.",
    _PRINT_TEXT,
    Hint(
        "Print had nothing to show. Draw a line from last_response of AgentRun to msg of Print.",
        event("Executed", node="Print"),
    ),
    "Print did not run. Draw the dashed lines from AgentRun over Print to Finish.",
)
_CONVERSION = event(
    "NodeFinished", node="MCPCallTool", server="units", tool="convert_units", is_error=False
)
_MARATHON = event(
    "NodeFinished",
    tool="convert_units",
    is_error=False,
    arguments__value=26.2,
    arguments__from_unit=Like("^mi"),
    arguments__to_unit=Like("^(k|km)"),
)
_OWN_CALL = event("ToolStarted", source="canvas", tool=Other(_MEMORY_TOOLS))
_OWN_RESULT = event(
    "ToolFinished", source="canvas", tool=Other(_MEMORY_TOOLS), is_error=False, text=_SOME_RESULT
)

LESSONS: tuple[Lesson, ...] = (
    Lesson(
        1,
        "call_a_tool",
        "Call a tool",
        (
            goal(
                "convert_units of the server units was called.",
                _CONVERSION,
                Hint(
                    "The tool answered with an error: {text}", event("NodeFinished", is_error=True)
                ),
                Hint("The call failed: {error}", event("NodeFailed")),
                "MCPCallTool did not run. Draw the dashed lines: Start, MCPCallTool, Print, "
                "Finish. Then save.",
            ),
            goal(
                "Print showed the result.",
                event("Executed", node="Print", text=Like("km|kilomet")),
                Hint(
                    "Print had nothing to show. Draw a line from text of MCPCallTool to msg of "
                    "Print, and save.",
                    event("Executed", node="Print", text="None"),
                ),
                Hint("Print showed something else: {text}", event("Executed", node="Print")),
                "Print did not run. Draw the dashed lines MCPCallTool, Print, Finish.",
            ),
            goal(
                "26.2 miles were converted to kilometres.",
                _MARATHON,
                Hint(
                    "It converted {arguments}. Double-click the box of arguments, write 26.2 "
                    "instead of 5, and save.",
                    _CONVERSION,
                ),
                "Double-click the box of arguments, write 26.2 there, and save.",
            ),
        ),
    ),
    Lesson(
        2,
        "ask_an_agent",
        "Ask an agent",
        (
            goal(
                "The agent had the tools of the server library.",
                event("RunStarted", tool_names=Like("^library_")),
                _SERVER_HINT, _NO_TOOLS, _NO_AGENT,
            ),
            goal(
                "It searched the catalogue of the library.",
                event("ToolFinished", tool="library_search_books", is_error=False),
                _TOOL_ERROR, _NO_TOOL, _FAILURE_HINT,
                "Ask for books: `Which books do you have about travel?`",
            ),
            goal(
                "You asked a question of your own.",
                event("RunStarted", asked=Other(("Which books do you have about the sea?",))),
                Hint(
                    "It was asked: {asked} Double-click that text and ask about something else, "
                    "such as travel.",
                    _RUN_START,
                ),
                _NO_AGENT,
            ),
            _PRINT_GOAL,
        ),
    ),
    Lesson(
        3,
        "draw_a_tool",
        "Draw a tool of your own",
        (
            goal(
                "The agent used the tool that you draw.",
                _OWN_CALL,
                _NO_TOOL, _FAILURE_HINT, _NO_AGENT,
            ),
            goal(
                "The tool returned the badge to the agent.",
                event("ToolFinished", source="canvas", is_error=False, text=_SOME_RESULT),
                _TOOL_ERROR,
                Hint(
                    "The tool {tool} returned: {text} Put AgentToolOutput behind FormatString, "
                    "join their arrows, and draw a line from out_str to results.",
                    event("ToolFinished", source="canvas", text=Like(".")),
                ),
                "The tool returned nothing. Put AgentToolOutput behind FormatString, join "
                "their arrows, and draw a line from out_str to results.",
            ),
            goal(
                "The badge has a name that you chose.",
                event(
                    "ToolFinished",
                    source="canvas",
                    is_error=False,
                    arguments__name=Other(("Ada Lovelace",)),
                ),
                Hint(
                    "It was asked: {asked} Double-click that text and write another name.",
                    _RUN_START,
                ),
                _NO_AGENT,
            ),
            _PRINT_GOAL,
        ),
    ),
    Lesson(
        4,
        "servers_and_memory",
        "Two servers and a memory",
        (
            goal(
                "The agent had the tools of two servers, library and units.",
                (
                    event("RunStarted", tool_names=Like("^library_")),
                    event("RunStarted", tool_names=Like("^units_")),
                ),
                _SERVER_HINT,
                Hint(
                    "One server is missing. Put an AgentUseMCPTools for each into the chain "
                    "before AgentMakeToolbelt, with server_name library and units.",
                    _RUN_START,
                ),
                _NO_AGENT,
            ),
            goal(
                "It used a tool of each.",
                (
                    event("ToolFinished", source="library", is_error=False),
                    event("ToolFinished", source="units", is_error=False),
                ),
                _TOOL_ERROR, _FAILURE_HINT,
                Hint(
                    "It was not asked for both, or could not: {answer}", event("RunFinished")
                ),
                _NO_AGENT,
            ),
            goal(
                "It noted something in its memory.",
                event("ToolFinished", tool="create_memory", is_error=False),
                Hint(
                    "The agent has no memory. Draw a line from memory of AgentNumpyMemory to "
                    "agent_memory of AgentInit, and save.",
                    event("RunStarted", tool_names=Like(r"\A(?![\s\S]*create_memory)")),
                ),
                Hint(
                    "It has a memory and noted nothing. Ask: `Remember that I like the sea.`",
                    _RUN_START,
                ),
                _NO_AGENT,
            ),
            _PRINT_GOAL,
        ),
    ),
    Lesson(
        5,
        "your_own_agent",
        "Build your own agent",
        (
            goal(
                "An agent of yours answered.",
                event("RunFinished", stopped="answered"),
                _FAILURE_HINT,
                "No agent ran. Drag AgentInit and AgentRun onto the dashed line between "
                "AgentMakeToolbelt and Print.",
            ),
            goal(
                "It used a tool of a server.",
                event("ToolFinished", source=Other(("canvas",)), is_error=False),
                _SERVER_HINT, _TOOL_ERROR, _NO_TOOLS,
                "Put an AgentUseMCPTools before AgentMakeToolbelt, and ask for something that "
                "its server can do.",
            ),
            goal(
                "It used a tool that you drew.",
                _OWN_RESULT,
                Hint(
                    "The tool returned nothing. End it with AgentToolOutput, and wire the result "
                    "to results.",
                    _OWN_CALL,
                ),
                "Draw a tool from AgentDefineTool to AgentToolOutput, and ask for it in the "
                "question, by the words of its description.",
            ),
            goal(
                "Print showed the answer.",
                _PRINT_TEXT,
                "Draw a line from last_response of AgentRun to msg of Print.",
            ),
        ),
    ),
)  # fmt: skip
"""All lessons in their order."""
