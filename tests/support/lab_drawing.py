"""Whether anything on the lab's canvas covers anything, measured from what the browser drew."""

from __future__ import annotations

from dataclasses import dataclass

from xai_mcp_agent.drawing.layout import Box
from xai_mcp_agent.drawing.sizes import Point

from .lab_canvas import FRONT, Canvas
from .layout_faults import Line, drawing_faults

_MOST_TRIES = 100
_NEXT_FRAME = "() => new Promise(done => requestAnimationFrame(() => setTimeout(done, 20)))"
_PIXELS = 1.0  # edges of a scaled picture fall between pixels
# Boxes and lines as they are on the page. The first path of a link is the one to be seen.
_MEASURE = f"""() => {{
  const front = document.querySelector('{FRONT}');
  const engine = window.jupyterapp.shell.currentWidget.content.xircuitsApp.getDiagramEngine();
  const model = engine.getModel();
  const named = node => `${{node.getOptions().name}} ${{node.getID()}}`;
  const boxes = [...front.querySelectorAll('div.node[data-nodeid]')].map(node => {{
    const {{x, y, width, height}} = node.getBoundingClientRect();
    return {{node: named(model.getNode(node.dataset.nodeid)), x, y, width, height}};
  }});
  const lines = [...front.querySelectorAll('g[data-linkid]')].map(group => {{
    const path = group.querySelector('path'), link = model.getLink(group.dataset.linkid);
    const matrix = path.getScreenCTM(), length = path.getTotalLength();
    const points = Array.from({{length: 41}}, (_, step) => {{
      const at = path.getPointAtLength(length * step / 40).matrixTransform(matrix);
      return [at.x, at.y];
    }});
    const ends = [link.getSourcePort(), link.getTargetPort()].map(p => named(p.getParent()));
    return {{ends, points}};
  }});
  return {{boxes, lines}};
}}"""


@dataclass(frozen=True)
class Drawing:
    """The boxes of all visible nodes, and all lines, in pixels of the page."""

    boxes: dict[str, Box]
    lines: list[Line]

    def faults(self) -> list[str]:
        """Say which nodes cover each other, and which line runs over a node."""
        return drawing_faults(self.boxes, self.lines, -_PIXELS)


def measure(canvas: Canvas) -> Drawing:
    """Measure the workflow in front, once its lines have measured their ports.

    A busy lab draws nodes first, and lines where nodes without their ports would have them.
    """
    tries = (_measure_once(canvas) for _ in range(_MOST_TRIES))
    return next((x for x in tries if not x.faults()), None) or _measure_once(canvas)


def _measure_once(canvas: Canvas) -> Drawing:
    canvas.page.evaluate(_NEXT_FRAME)
    values = canvas.page.evaluate(_MEASURE)
    boxes = {
        x["node"]: Box(x["x"], x["y"], x["width"], x["height"])
        for x in values["boxes"]
        if x["height"] > 0
    }
    lines = [(tuple(x["ends"]), [Point(*p) for p in x["points"]]) for x in values["lines"]]
    return Drawing(boxes, lines)
