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
_SELECTED = """() => window.jupyterapp.shell.currentWidget.content.xircuitsApp.getDiagramEngine()
  .getModel().getSelectedEntities().length"""


def draw(canvas: Canvas) -> None:
    """Draw it in a new file, in a window of any size from that of a small laptop."""
    canvas.show_top_folder()
    canvas.new_workflow()
    canvas.close_panel()
    Panel(canvas).close()
    mouse = Mouse(canvas)
    # Both nodes of an empty workflow are selected, once it is loaded, and would be moved together.
    canvas.wait_for(f"{_SELECTED} === 2")
    mouse.click(400, 500)
    canvas.wait_for(f"{_SELECTED} === 0")
    mouse.move("Finish", 965, 162)
    for source, node in pairwise(("Start", *_NODES)):
        mouse.pull_node(node, _NODES[node], source, _GAP)
    mouse.join("AgentRun", "Finish")
    canvas.zoom("Fit all nodes")
    _write(mouse, "AgentUseMCPTools", "server_name", "library", -60, 65)


def complete(canvas: Canvas, name: str) -> None:
    """Name the file, and draw a question for runs without the panel."""
    canvas.rename(f"{name}.xircuits")
    Panel(canvas).close()
    _write(Mouse(canvas), "AgentRun", "question", QUESTION, -20, 15)
    canvas.save()


def _write(mouse: Mouse, node: str, port: str, text: str, dx: float, gap: float) -> None:
    """Pull a line to a place below the node, which is larger in a large window."""
    port = f"parameter-string-{port}"
    mouse.write(node, port, text, dx, mouse.height_below(node, port) + gap)
