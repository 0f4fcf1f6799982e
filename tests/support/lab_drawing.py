"""Whether anything on the lab's canvas covers anything, measured from what the browser drew."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from xai_mcp_agent.drawing.layout import Box
from xai_mcp_agent.drawing.sizes import Point

from .lab_canvas import FRONT, Canvas

_MOST_TRIES = 100
_NEXT_FRAME = "() => new Promise(done => requestAnimationFrame(() => setTimeout(done, 20)))"
_PIXELS = 1.0  # edges of a scaled picture fall between pixels
# Boxes and lines as they are on the page. The first path of a link is the one to be seen.
_MEASURE = f"""() => {{
  const front = document.querySelector('{FRONT}');
  const engine = window.jupyterapp.shell.currentWidget.content.xircuitsApp.getDiagramEngine();
  const model = engine.getModel();
  const boxes = [...front.querySelectorAll('div.node[data-nodeid]')].map(node => {{
    const box = node.getBoundingClientRect();
    const name = model.getNode(node.dataset.nodeid).getOptions().name;
    return {{id: node.dataset.nodeid, name, x: box.x, y: box.y,
            width: box.width, height: box.height}};
  }});
  const lines = [...front.querySelectorAll('g[data-linkid]')].map(group => {{
    const path = group.querySelector('path'), link = model.getLink(group.dataset.linkid);
    const matrix = path.getScreenCTM(), length = path.getTotalLength();
    const points = Array.from({{length: 41}}, (_, step) => {{
      const at = path.getPointAtLength(length * step / 40).matrixTransform(matrix);
      return [at.x, at.y];
    }});
    const ends = [link.getSourcePort(), link.getTargetPort()].map(p => p.getParent().getID());
    return {{ends, points}};
  }});
  return {{boxes, lines}};
}}"""


@dataclass(frozen=True)
class Drawing:
    """The boxes of all visible nodes, and all lines, in pixels of the page."""

    names: dict[str, str]
    boxes: dict[str, Box]
    lines: list[tuple[tuple[str, ...], list[Point]]]

    def faults(self) -> list[str]:
        """Say which nodes cover each other, and which line runs over a node."""
        return [*self._overlaps(), *self._crossings()]

    def _overlaps(self) -> Iterator[str]:
        for (a, box), (b, other) in itertools.combinations(self.boxes.items(), 2):
            if box.is_near(other, -_PIXELS):
                yield f"{self.names[a]} and {self.names[b]} cover each other"

    def _crossings(self) -> Iterator[str]:
        for ends, points in self.lines:
            for node, box in self.boxes.items():
                if node not in ends and any(_inside(point, box) for point in points):
                    of = " -> ".join(self.names.get(x, "a value") for x in ends)
                    yield f"the line {of} runs over {self.names[node]}"


def measure(canvas: Canvas) -> Drawing:
    """Measure the workflow in front, once its lines have measured their ports.

    A busy lab draws nodes first, and lines where nodes without their ports would have them.
    """
    tries = (_measure_once(canvas) for _ in range(_MOST_TRIES))
    return next((x for x in tries if not x.faults()), None) or _measure_once(canvas)


def _measure_once(canvas: Canvas) -> Drawing:
    canvas.page.evaluate(_NEXT_FRAME)
    values = canvas.page.evaluate(_MEASURE)
    boxes = [x for x in values["boxes"] if x["height"] > 0]
    return Drawing(
        {x["id"]: x["name"] for x in boxes},
        {x["id"]: Box(x["x"], x["y"], x["width"], x["height"]) for x in boxes},
        [(tuple(x["ends"]), [Point(*p) for p in x["points"]]) for x in values["lines"]],
    )


def _inside(point: Point, box: Box) -> bool:
    return (
        box.x + _PIXELS < point.x < box.right - _PIXELS
        and box.y + _PIXELS < point.y < box.bottom - _PIXELS
    )
