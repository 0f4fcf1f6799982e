"""The steps of the workshop's lessons, taken with the mouse as their READMEs number them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TypeAlias

from xai_mcp_agent.canvas.workshop.lessons import WORKSHOP, Lesson

from .lab_canvas import Canvas
from .lab_mouse import Mouse

WIDTH, HEIGHT = 1500, 900
"""The window, as on a laptop; half of it is the output panel once something ran."""

_SERVER = "parameter-string-server_name"
_FLOW_GAP = 30.0  # from a node to the next that is put beside it
_VIEW_TOP = 180.0  # where a lower row is brought to
_QUESTION = "Which weekday was 1815-12-10?"
_MORE = "? When does the library open?"


class Learner:
    """Somebody in front of a lab who takes the steps of a lesson."""

    def __init__(self, canvas: Canvas, lesson: Lesson) -> None:
        self.canvas = canvas
        self.lesson = lesson
        self.output = ""

    @cached_property
    def mouse(self) -> Mouse:
        """The mouse."""
        return Mouse(self.canvas)

    def open_and_run(self) -> None:
        """Open the lesson's workflow in the files at the left, and run it as it is."""
        self.canvas.show_top_folder()
        self.canvas.open_by_hand(f"{WORKSHOP}/{self.lesson.folder}/{self.lesson.workflow}")
        self.run()

    def save_and_run(self) -> None:
        """Save, and run to the end."""
        self.canvas.save()
        self.run()

    def run(self) -> None:
        """Run to the end, and keep the output with the goals."""
        self.canvas.run()
        self.canvas.bring_panel_in_front()
        self.output = self.canvas.wait_for_text(" goals met")

    def take_all(self) -> None:
        """Take all steps.

        Raises:
            AssertionError: not all goals are met then.
        """
        for step in STEPS[self.lesson.name]:
            step(self)
        count = len(self.lesson.all_goals)
        assert f"{count} of {count} goals met" in self.output, self.output


Step: TypeAlias = Callable[[Learner], object]


def _by(gesture: Callable[..., object], *arguments: object) -> Step:
    """Return a step that is one gesture of the mouse."""
    return lambda me: gesture(me.mouse, *arguments)


_WIRE_TOOLBELT = _by(
    Mouse.wire, "AgentMakeToolbelt", "parameter-out-dict-toolbelt_spec",
    "AgentInit", "parameter-dict-toolbelt_spec",
)  # fmt: skip


def _drop_output(me: Learner) -> None:
    me.mouse.bring_up("FormatString", _VIEW_TOP)
    me.mouse.drop_beside("AgentToolOutput", "FormatString", _FLOW_GAP)


def _splice_second_server(me: Learner) -> None:
    me.mouse.splice("AgentUseMCPTools", "AgentUseMCPTools", "AgentNumpyMemory")
    me.mouse.move("AgentUseMCPTools#2", 120, 230)


def _splice_server(me: Learner) -> None:
    me.mouse.splice("AgentUseMCPTools", "Start", "AgentMakeToolbelt", 100)
    me.mouse.write("AgentUseMCPTools", _SERVER, "calendar", -60, 100)


def _splice_agent(me: Learner) -> None:
    me.mouse.splice("AgentInit", "AgentMakeToolbelt", "Print", 510)
    me.mouse.splice("AgentRun", "AgentInit", "Print", 660)


def _wire_agent(me: Learner) -> None:
    _WIRE_TOOLBELT(me)
    me.mouse.write("AgentRun", "parameter-string-question", _QUESTION, -100, 130)
    me.mouse.wire("AgentRun", "parameter-out-string-last_response", "Print", "parameter-any-msg")


def _draw_tool(me: Learner) -> None:
    me.mouse.bring_up("AgentUseMCPTools", -160)
    me.mouse.drop("AgentDefineTool", 140, 180)
    me.mouse.drop_beside("AgentToolOutput", "AgentDefineTool", 100)
    me.mouse.join("AgentDefineTool", "AgentToolOutput")


def _describe_tool(me: Learner) -> None:
    write = me.mouse.write
    write("AgentDefineTool", "parameter-string-tool_name", "opening_hours", -60, -40)
    description = "Says when the library opens."
    write("AgentDefineTool", "parameter-string-description", description, -60, 60)
    write("AgentToolOutput", "parameter-dynalist-results", '"Every day at nine.', -20, 60)


STEPS: Mapping[str, Sequence[Step]] = {
    "call_a_tool": (
        Learner.open_and_run,
        _by(Mouse.wire, "MCPCallTool", "parameter-out-string-text", "Print", "parameter-any-msg"),
        Learner.save_and_run, _by(Mouse.edit, "5", "26.2"), Learner.save_and_run,
    ),
    "ask_an_agent": (
        Learner.open_and_run, _WIRE_TOOLBELT, Learner.save_and_run,
        _by(Mouse.edit, "the sea", "travel"), Learner.save_and_run,
    ),
    "draw_a_tool": (
        Learner.open_and_run, _by(Mouse.edit, "Ada Lovelace", "Grace Hopper"), _drop_output,
        _by(Mouse.join, "FormatString", "AgentToolOutput"),
        _by(
            Mouse.wire, "FormatString", "parameter-out-string-out_str",
            "AgentToolOutput", "parameter-dynalist-results",
        ),
        Learner.save_and_run,
    ),
    "servers_and_memory": (
        Learner.open_and_run, _splice_second_server,
        _by(Mouse.write, "AgentUseMCPTools#2", _SERVER, "units", -95, 20),
        _by(
            Mouse.wire, "AgentNumpyMemory", "parameter-out-any-memory",
            "AgentInit", "parameter-any-agent_memory",
        ),
        Learner.save_and_run,
    ),
    "your_own_agent": (
        Learner.open_and_run, _splice_server, _splice_agent, _wire_agent, Learner.save_and_run,
        _draw_tool, _describe_tool, _by(Mouse.edit, "?", _MORE), Learner.save_and_run,
    ),
}  # fmt: skip
"""The steps of each lesson by its name."""
