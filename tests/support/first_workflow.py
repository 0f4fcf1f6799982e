"""A newcomer's first workflow, drawn with the mouse on an empty canvas as the README says."""

from __future__ import annotations

from itertools import pairwise

from .lab_canvas import Canvas
from .lab_mouse import Mouse
from .lab_panel import Panel

QUESTION = "Which books do you have about the sea?"
ANSWER = "Moby-Dick"
_NODES = {"AgentUseMCPTools": "usemcp", "AgentInit": "agentinit", "AgentRun": "agentrun"}
"""The nodes, each with the letters that it is searched by."""
_GAP = 25


def draw(canvas: Canvas, name: str) -> None:
    """Draw it in a new file and save it, in a window of any size from that of a small laptop."""
    canvas.show_top_folder()
    canvas.new_workflow()
    canvas.rename(f"{name}.xircuits")
    canvas.close_panel()
    Panel(canvas).close()
    mouse = Mouse(canvas)
    # Both are selected in an empty workflow, and would be moved together.
    mouse.click(400, 500)
    mouse.move("Finish", 965, 162)
    for source, node in pairwise(("Start", *_NODES)):
        mouse.pull_node(node, _NODES[node], source, _GAP)
    mouse.join("AgentRun", "Finish")
    canvas.zoom("Fit all nodes")
    _write_texts(mouse)
    canvas.save()


def _write_texts(mouse: Mouse) -> None:
    """Pull each line to a place below its node, which is larger in a large window."""
    for node, port, text, dx, gap in (
        ("AgentUseMCPTools", "parameter-string-server_name", "library", -60, 65),
        ("AgentRun", "parameter-string-question", QUESTION, -20, 15),
    ):
        mouse.write(node, port, text, dx, mouse.height_below(node, port) + gap)
