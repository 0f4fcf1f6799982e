"""A newcomer's first workflow, drawn with the mouse on an empty canvas as the README says."""

from __future__ import annotations

from itertools import pairwise

from .lab_canvas import Canvas
from .lab_mouse import Mouse
from .lab_panel import Panel

QUESTION = "Which books do you have about the sea?"
ANSWER = "Moby-Dick"
_FLOW = ["Start", "AgentUseMCPTools", "AgentMakeToolbelt", "AgentInit", "AgentRun", "Finish"]


def draw(canvas: Canvas, name: str) -> None:
    """Draw it in a new file and save it, in a window of any size from that of a small laptop."""
    canvas.show_top_folder()
    canvas.new_workflow()
    canvas.rename(f"{name}.xircuits")
    canvas.close_panel()
    Panel(canvas).close()
    mouse = Mouse(canvas)
    _place_nodes(canvas, mouse)
    for source, target in pairwise(_FLOW):
        mouse.join(source, target)
    # Xircuits joins ports of the same name by itself.
    assert "AgentMakeToolbelt.parameter-out-dict-toolbelt_spec" in " ".join(mouse.links())
    _write_texts(mouse)
    canvas.save()


def _place_nodes(canvas: Canvas, mouse: Mouse) -> None:
    """Put all nodes side by side, with room between them."""
    for _ in range(2):
        canvas.zoom("Zoom Out")
    # Both are selected in an empty workflow, and would be moved together.
    mouse.click(400, 500)
    mouse.move("Start", 30, 60)
    mouse.move("Finish", 940, 60)
    for name, x in zip(_FLOW[1:-1], (130, 315, 520, 730), strict=True):
        mouse.drop(name, x, 60)
    mouse.click(400, 500)
    canvas.zoom("Fit all nodes")


def _write_texts(mouse: Mouse) -> None:
    mouse.write("AgentUseMCPTools", "parameter-string-server_name", "library", -60, 150)
    mouse.write("AgentRun", "parameter-string-question", QUESTION, -20, 230)
