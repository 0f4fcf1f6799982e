"""The lessons of the workshop: their files, and their goals with what to say to a learner."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ...core.errors import XaiMcpError
from ...sources.canvas import NOTHING_GIVEN
from .goals import Goal, Hint, Like, Other, seen

WORKSHOP = "workshop"
"""The folder with the lessons, in that of a learner."""


class UnknownLesson(XaiMcpError):
    """There is no such lesson; the message lists them."""


@dataclass(frozen=True)
class Lesson:
    """A lesson: its folder in `workshop` is named by number and name."""

    number: int
    name: str
    title: str
    goals: tuple[Goal, ...]

    @property
    def all_goals(self) -> tuple[Goal, ...]:
        """Its goals, and the one that every lesson has."""
        return (_RAN, *self.goals)

    @property
    def folder(self) -> str:
        """The folder's name."""
        return f"{self.number}_{self.name}"

    @property
    def workflow(self) -> str:
        """The file's name."""
        return f"{self.name}.xircuits"

    @property
    def solution(self) -> str:
        """The name of the file with a solution."""
        return f"{self.name}_solution.xircuits"


def lesson_called(name: str) -> Lesson:
    """The lesson by its number, its name, or its folder's name.

    Raises:
        UnknownLesson: there is none.
    """
    for lesson in LESSONS:
        if name.strip("/") in (str(lesson.number), lesson.name, lesson.folder):
            return lesson
    known = ", ".join(x.folder for x in LESSONS)
    raise UnknownLesson(f"There is no lesson {name!r}. The lessons are: {known}.")


def lesson_of_file(file: Path) -> Lesson | None:
    """The lesson in whose folder a file is, if it is in one."""
    if file.parent.parent.name != WORKSHOP:
        return None
    return next((x for x in LESSONS if x.folder == file.parent.name), None)


# What is said in several lessons

_GIVEN = Other(("None", NOTHING_GIVEN))
_MEMORY_TOOLS = ("lookup_memory", "create_memory")
_ANSWERED = seen("RunFinished")
_FAILED = Hint("The agent stopped: {error}", seen("RunFailed"))
_LEFT_OUT = Hint("A server could not be used: {left_out}", seen("RunStarted", left_out=Like(".")))
_NO_AGENT = Hint(
    "No agent ran. Draw the dashed lines from Start over every node to Finish, in the order in "
    "which they stand, and save."
)
_TOOL_ERROR = Hint(
    "The tool {tool} answered with an error: {text}", seen("ToolFinished", is_error=True)
)
_NO_TOOLS = Hint(
    "The agent had no tools. Draw a line from toolbelt_spec of AgentMakeToolbelt to toolbelt_spec "
    "of AgentInit, and save.",
    seen("RunStarted", tool_names=[]),
)
_NO_TOOL = Hint("The agent answered without a tool: {answer}", seen("RunFinished", tool_calls=0))

_RAN = Goal(
    "The workflow ran to its end.",
    (seen("WorkflowFinished"),),
    (Hint("{problem}", seen("WorkflowFailed")),),
)
_SHOWN = Goal(
    "Print showed the answer.",
    (seen("Executed", node="Print", text=Other(("None",))),),
    (
        Hint(
            "Print had nothing to show. Draw a line from last_response of AgentRun to msg of "
            "Print.",
            seen("Executed", node="Print"),
        ),
        Hint("Print did not run. Draw the dashed lines from AgentRun over Print to Finish."),
    ),
)

# The lessons

_CONVERTED = seen(
    "NodeFinished", node="MCPCallTool", server="units", tool="convert_units", is_error=False
)
_CALL_A_TOOL = Lesson(
    1,
    "call_a_tool",
    "Call a tool",
    (
        Goal(
            "convert_units of the server units was called.",
            (_CONVERTED,),
            (
                Hint(
                    "The tool answered with an error: {text}", seen("NodeFinished", is_error=True)
                ),
                Hint("The call failed: {error}", seen("NodeFailed")),
                Hint(
                    "MCPCallTool did not run. Draw the dashed lines: Start, MCPCallTool, Print, "
                    "Finish. Then save."
                ),
            ),
        ),
        Goal(
            "Print showed the result.",
            (seen("Executed", node="Print", text=Like("km|kilomet")),),
            (
                Hint(
                    "Print had nothing to show. Draw a line from text of MCPCallTool to msg of "
                    "Print, and save.",
                    seen("Executed", node="Print", text="None"),
                ),
                Hint("Print showed something else: {text}", seen("Executed", node="Print")),
                Hint("Print did not run. Draw the dashed lines MCPCallTool, Print, Finish."),
            ),
        ),
        Goal(
            "26.2 miles were converted to kilometres.",
            (
                seen(
                    "NodeFinished",
                    tool="convert_units",
                    is_error=False,
                    arguments__value=26.2,
                    arguments__from_unit=Like("^mi"),
                    arguments__to_unit=Like("^(k|km)"),
                ),
            ),
            (
                Hint(
                    "It converted {arguments}. Double-click the box of arguments, write 26.2 in "
                    "the place of 5, and save.",
                    _CONVERTED,
                ),
                Hint("Double-click the box of arguments, write 26.2 there, and save."),
            ),
        ),
    ),
)

_ASK_AN_AGENT = Lesson(
    2,
    "ask_an_agent",
    "Ask an agent",
    (
        Goal(
            "The agent had the tools of the server library.",
            (seen("RunStarted", tool_names=Like("^library_")),),
            (
                _LEFT_OUT,
                _NO_TOOLS,
                _NO_AGENT,
            ),
        ),
        Goal(
            "It searched the catalogue of the library.",
            (seen("ToolFinished", tool="library_search_books", is_error=False),),
            (
                _TOOL_ERROR,
                _NO_TOOL,
                _FAILED,
                Hint("Ask for books: `Which books do you have about travel?`"),
            ),
        ),
        Goal(
            "You asked a question of your own.",
            (seen("RunStarted", asked=Other(("Which books do you have about the sea?",))),),
            (
                Hint(
                    "It was asked: {asked} Double-click that text and ask about something else, "
                    "such as travel.",
                    seen("RunStarted"),
                ),
                _NO_AGENT,
            ),
        ),
        _SHOWN,
    ),
)

_USED_OWN = seen("ToolStarted", source="canvas", tool=Other(_MEMORY_TOOLS))
_DRAW_A_TOOL = Lesson(
    3,
    "draw_a_tool",
    "Draw a tool of your own",
    (
        Goal(
            "The agent used the tool that you draw.",
            (_USED_OWN,),
            (_NO_TOOL, _FAILED, _NO_AGENT),
        ),
        Goal(
            "The tool gave the badge back to the agent.",
            (seen("ToolFinished", source="canvas", is_error=False, text=_GIVEN),),
            (
                _TOOL_ERROR,
                Hint(
                    "The tool {tool} gave back: {text} Put AgentToolOutput behind FormatString, "
                    "join their arrows, and draw a line from out_str to results.",
                    seen("ToolFinished", source="canvas", text=Like(".")),
                ),
                Hint(
                    "The tool gave nothing back. Put AgentToolOutput behind FormatString, join "
                    "their arrows, and draw a line from out_str to results.",
                ),
            ),
        ),
        Goal(
            "The badge has a name that you chose.",
            (
                seen(
                    "ToolFinished",
                    source="canvas",
                    is_error=False,
                    arguments__name=Other(("Ada Lovelace",)),
                ),
            ),
            (
                Hint(
                    "It was asked: {asked} Double-click that text and write another name.",
                    seen("RunStarted"),
                ),
                _NO_AGENT,
            ),
        ),
        _SHOWN,
    ),
)

_SERVERS_AND_MEMORY = Lesson(
    4,
    "servers_and_memory",
    "Two servers and a memory",
    (
        Goal(
            "The agent had the tools of two servers, library and units.",
            (
                seen("RunStarted", tool_names=Like("^library_")),
                seen("RunStarted", tool_names=Like("^units_")),
            ),
            (
                _LEFT_OUT,
                Hint(
                    "One server is missing. Put an AgentUseMCPTools for each into the chain "
                    "before AgentMakeToolbelt, with server_name library and units.",
                    seen("RunStarted"),
                ),
                _NO_AGENT,
            ),
        ),
        Goal(
            "It used a tool of each.",
            (
                seen("ToolFinished", source="library", is_error=False),
                seen("ToolFinished", source="units", is_error=False),
            ),
            (
                _TOOL_ERROR,
                _FAILED,
                Hint("It was not asked for both, or could not: {answer}", _ANSWERED),
                _NO_AGENT,
            ),
        ),
        Goal(
            "It noted something in its memory.",
            (seen("ToolFinished", tool="create_memory", is_error=False),),
            (
                Hint(
                    "The agent has no memory. Draw a line from memory of AgentNumpyMemory to "
                    "agent_memory of AgentInit, and save.",
                    seen("RunStarted", tool_names=Like(r"\A(?![\s\S]*create_memory)")),
                ),
                Hint(
                    "It has a memory and noted nothing. Ask: `Remember that I like the sea.`",
                    seen("RunStarted"),
                ),
                _NO_AGENT,
            ),
        ),
        _SHOWN,
    ),
)

_YOUR_OWN_AGENT = Lesson(
    5,
    "your_own_agent",
    "Build your own agent",
    (
        Goal(
            "An agent of yours answered.",
            (seen("RunFinished", stopped="answered"),),
            (
                _FAILED,
                Hint(
                    "No agent ran. Drag AgentInit and AgentRun onto the dashed line between "
                    "AgentMakeToolbelt and Print."
                ),
            ),
        ),
        Goal(
            "It used a tool of a server.",
            (seen("ToolFinished", source=Other(("canvas",)), is_error=False),),
            (
                _LEFT_OUT,
                _TOOL_ERROR,
                _NO_TOOLS,
                Hint(
                    "Put an AgentUseMCPTools before AgentMakeToolbelt, and ask for something that "
                    "its server can do."
                ),
            ),
        ),
        Goal(
            "It used a tool that you drew.",
            (
                seen(
                    "ToolFinished", source="canvas", tool=Other(_MEMORY_TOOLS), is_error=False,
                    text=_GIVEN,
                ),
            ),
            (
                Hint(
                    "The tool gave nothing back. End it with AgentToolOutput, and wire the result "
                    "to results.",
                    _USED_OWN,
                ),
                Hint(
                    "Draw a tool from AgentDefineTool to AgentToolOutput, and ask for it in the "
                    "question, by the words of its description."
                ),
            ),
        ),
        Goal(
            "Print showed the answer.",
            (seen("Executed", node="Print", text=Other(("None",))),),
            (
                Hint("Draw a line from last_response of AgentRun to msg of Print."),
            ),
        ),
    ),
)  # fmt: skip

LESSONS: tuple[Lesson, ...] = (
    _CALL_A_TOOL,
    _ASK_AN_AGENT,
    _DRAW_A_TOOL,
    _SERVERS_AND_MEMORY,
    _YOUR_OWN_AGENT,
)
"""All lessons in their order."""
