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


Step: TypeAlias = Callable[[Learner], None]


def _wire_text(me: Learner) -> None:
    me.mouse.wire("MCPCallTool", "parameter-out-string-text", "Print", "parameter-any-msg")


def _write_marathon(me: Learner) -> None:
    me.mouse.edit("5", "26.2")


def _wire_toolbelt(me: Learner) -> None:
    out, into = "parameter-out-dict-toolbelt_spec", "parameter-dict-toolbelt_spec"
    me.mouse.wire("AgentMakeToolbelt", out, "AgentInit", into)


def _ask_about_travel(me: Learner) -> None:
    me.mouse.edit("the sea", "travel")


def _drop_output(me: Learner) -> None:
    me.mouse.bring_up("FormatString", _VIEW_TOP)
    me.mouse.drop_beside("AgentToolOutput", "FormatString", _FLOW_GAP)


def _join_output(me: Learner) -> None:
    me.mouse.join("FormatString", "AgentToolOutput")


def _wire_results(me: Learner) -> None:
    out, into = "parameter-out-string-out_str", "parameter-dynalist-results"
    me.mouse.wire("FormatString", out, "AgentToolOutput", into)


def _ask_for_grace(me: Learner) -> None:
    me.mouse.edit("Ada Lovelace", "Grace Hopper")


def _splice_second_server(me: Learner) -> None:
    me.mouse.splice("AgentUseMCPTools", "AgentUseMCPTools", "AgentNumpyMemory")
    me.mouse.move("AgentUseMCPTools#2", 120, 230)


def _name_second_server(me: Learner) -> None:
    me.mouse.write("AgentUseMCPTools#2", _SERVER, "units", -95, 20)


def _wire_memory(me: Learner) -> None:
    into = "parameter-any-agent_memory"
    me.mouse.wire("AgentNumpyMemory", "parameter-out-any-memory", "AgentInit", into)


def _splice_server(me: Learner) -> None:
    me.mouse.splice("AgentUseMCPTools", "Start", "AgentMakeToolbelt", 100)
    me.mouse.write("AgentUseMCPTools", _SERVER, "calendar", -60, 100)


def _splice_agent(me: Learner) -> None:
    me.mouse.splice("AgentInit", "AgentMakeToolbelt", "Print", 510)
    me.mouse.splice("AgentRun", "AgentInit", "Print", 660)


def _wire_agent(me: Learner) -> None:
    _wire_toolbelt(me)
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


def _ask_for_more(me: Learner) -> None:
    me.mouse.edit("?", _MORE)


STEPS: Mapping[str, Sequence[Step]] = {
    "call_a_tool": (
        Learner.open_and_run, _wire_text, Learner.save_and_run, _write_marathon,
        Learner.save_and_run,
    ),
    "ask_an_agent": (
        Learner.open_and_run, _wire_toolbelt, Learner.save_and_run, _ask_about_travel,
        Learner.save_and_run,
    ),
    "draw_a_tool": (
        Learner.open_and_run, _drop_output, _join_output, _wire_results, _ask_for_grace,
        Learner.save_and_run,
    ),
    "servers_and_memory": (
        Learner.open_and_run, _splice_second_server, _name_second_server, _wire_memory,
        Learner.save_and_run,
    ),
    "your_own_agent": (
        Learner.open_and_run, _splice_server, _splice_agent, _wire_agent, Learner.save_and_run,
        _draw_tool, _describe_tool, _ask_for_more, Learner.save_and_run,
    ),
}  # fmt: skip
"""The steps of each lesson by its name."""
