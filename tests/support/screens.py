"""Screens for tests, which keep their text; their clock is set by the test.

paper = Paper("terminal")
with paper.console("helper") as console:
    console.show(event)
    paper.pass_time(2.0, console)
assert paper.lines == [...]
"""

from __future__ import annotations

from typing import Any

from xai_mcp_agent.agent.events import RunEvent, RunStarted
from xai_mcp_agent.console.console import Console
from xai_mcp_agent.console.screen import Screen
from xai_mcp_agent.console.surface import Kind, Surface

TICK_SECONDS = 0.5
STARTED = RunStarted("helper", "offline rules", "native", ("add",))


class Paper:
    """One screen and its clock. `output` is every character, `lines` what a person sees."""

    def __init__(self, kind: Kind = "plain") -> None:
        self.output = ""
        self.now = 100.0
        self.is_interrupted = False  # whatever is written then
        self.screen = Screen(self._write, Surface(kind, has_colours=False))

    def console(self, name: str = "helper", show: Any = None) -> Console:
        """Return a console for a run on this screen."""
        return Console(name, show, screen=self.screen, clock=lambda: self.now)

    def pass_time(self, seconds: float, *consoles: Console) -> None:
        """Let time pass, with the ticks that a waiting run gets."""
        for _ in range(round(seconds / TICK_SECONDS)):
            self.now += TICK_SECONDS
            for console in consoles:
                console.tick()

    @property
    def lines(self) -> list[str]:
        """The lines as a terminal shows them: what comes after a `\\r` is written over the line."""
        return [_last_layer(x) for x in self.output.removesuffix("\n").split("\n")]

    def _write(self, text: str) -> None:
        if self.is_interrupted:
            raise KeyboardInterrupt
        self.output += text


def render(*events: RunEvent, show: Any = None) -> str:
    """Return the screen after the events of one run."""
    paper = Paper()
    with paper.console(show=show) as console:
        for event in events:
            console.show(event)
    return "\n".join(paper.lines)


def _last_layer(line: str) -> str:
    visible = ""
    for part in line.split("\r"):
        visible = part + visible[len(part) :]
    return visible.rstrip()
