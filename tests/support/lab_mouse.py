"""Drawing a workflow with the mouse, as a person does; each step waits for what it brings.

A node is found by its name: draw one of each. Places are in pixels of the canvas's window.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property

from playwright.sync_api import FloatRect, Locator

from .lab_canvas import FRONT, Canvas, wait_for_page
from .lab_palette import Palette

_STEPS = 5  # of the mouse on its way; the canvas follows moves, not jumps
_TRIES, _TRY_SECONDS, _LINK_SECONDS = 3, 10.0, 60.0
_GRIP = 12.0  # where a node is taken: in its title
# The canvas follows a new line only after a tenth of a second, which no person is faster than.
_FOLLOWS_LINES = """() => window.jupyterapp.shell.currentWidget.content.xircuitsApp
  .getDiagramEngine().getModel().getLinks().every(link => link.getTargetPort() ||
    Object.values(link.listeners).some(listener => listener.targetPortChanged))"""
_CORNER = 12.0  # where the canvas is empty
_MARK = """(box, text) => {
  const at = box.value.indexOf(text);
  box.setSelectionRange(at, at + text.length);
}"""
_BOX = ".jp-Dialog textarea, .jp-Dialog input:not([type=checkbox])"
_LINKS = """() => window.jupyterapp.shell.currentWidget.content.xircuitsApp.getDiagramEngine()
  .getModel().getLinks().filter(link => link.getTargetPort()).map(link =>
    [link.getSourcePort(), link.getTargetPort()].map(port =>
      `${port.getParent().getOptions().name}.${port.getOptions().name}`).join(' -> '))"""
# The first path of a link is the one to be seen.
_ON_ARROW = f"""([source, target, x]) => {{
  const model = window.jupyterapp.shell.currentWidget.content.xircuitsApp.getDiagramEngine()
    .getModel();
  const is_it = (port, node, name) =>
    port?.getParent().getOptions().name === node && port.getOptions().name === name;
  const link = model.getLinks().find(link => is_it(link.getSourcePort(), source, 'out-0') &&
    is_it(link.getTargetPort(), target, 'in-0'));
  const path = link && document.querySelector(
    `{FRONT} g[data-linkid="${{link.getID()}}"] path`);
  if (!path) return null;
  const matrix = path.getScreenCTM(), length = path.getTotalLength();
  const points = Array.from({{length: 101}}, (_, step) =>
    path.getPointAtLength(length * step / 100).matrixTransform(matrix));
  const off = point => Math.abs(point.x - x);
  const at = x === null ? points[50] : points.reduce((a, b) => off(a) < off(b) ? a : b);
  return {{x: at.x, y: at.y}};
}}"""


class Mouse:
    """The mouse in a window of the lab."""

    def __init__(self, canvas: Canvas) -> None:
        self._canvas = canvas
        self._page = canvas.page
        self._box = canvas.page.locator(_BOX)

    @cached_property
    def _palette(self) -> Palette:
        """Opened when the first node is taken from it."""
        return Palette(self._canvas)

    def links(self) -> list[str]:
        """All links that are there, such as `Start.out-0 -> AgentRun.in-0`."""
        return self._page.evaluate(_LINKS)

    def click(self, x: float, y: float) -> None:
        """Click a place of the canvas."""
        area = self._canvas.area()
        assert x < area["width"], f"{x:g} is beside the canvas"
        assert y < area["height"], f"{y:g} is below the canvas"
        self._page.mouse.click(area["x"] + x, area["y"] + y)

    def move(self, name: str, x: float, y: float) -> None:
        """Drag a node to this place; fails if it lies elsewhere afterwards."""
        node = self._canvas.node(name)
        self._drag(_grip(node), self._at(x + _GRIP, y + _GRIP))
        wait_for_page(lambda: self._lies_at(node, x, y), f"{name} lies at ({x:g}, {y:g})")

    def drop(self, name: str, x: float, y: float) -> None:
        """Drag a node from the palette to this place."""
        entry = self._palette.entry(name)
        entry.scroll_into_view_if_needed()
        self._drag(_grip(entry), self._at(x, y))
        self._canvas.node(name).wait_for()

    def drop_beside(self, name: str, beside: str, gap: float) -> None:
        """Drag a node from the palette to the right of another."""
        area, box = self._canvas.area(), _place(self._canvas.node(beside))
        x, y = box["x"] + box["width"] + gap - area["x"], box["y"] - area["y"]
        self.drop(name, x, y)

    def pull_node(self, name: str, word: str, source: str, gap: float) -> None:
        """Pull the white arrow of a node into empty space, and choose the node to put there."""
        box, start = _place(self._canvas.node(source)), _middle(self._port(source, "out-0"))
        self._drag(start, (box["x"] + box["width"] + gap, box["y"]))
        self._page.get_by_text("Add Component", exact=True).wait_for()
        self._page.keyboard.type(word)
        self._page.locator(f".tray-search .tray-item:text-is('{name}')").click()
        self._wait_for_link(f"{source}.out-0 -> {name}.in-0")

    def splice(self, name: str, source: str, target: str, x: float | None = None) -> None:
        """Drag a node from the palette onto the arrow between two others: it is put between them.

        It is let go at this `x`, or in the middle of the arrow.
        """
        page_x = None if x is None else self._at(x, 0)[0]
        at = self._page.wait_for_function(_ON_ARROW, arg=[source, target, page_x]).json_value()
        entry = self._palette.entry(name)
        entry.scroll_into_view_if_needed()
        link = f".out-0 -> {name}.in-0"
        count = self._count(link)
        self._drag(_grip(entry), (at["x"], at["y"]))
        self._wait_for_link(link, count)

    def join(self, source: str, target: str) -> None:
        """Draw the white arrow from one node to the next."""
        self.wire(source, "out-0", target, "in-0")

    def wire(self, source: str, out: str, target: str, into: str) -> None:
        """Draw a line from a port to another, by their names in the file.

        A canvas that is busy may miss where the mouse was let go; a person then draws it again.
        """
        link = f"{_kind(source)}.{out} -> {_kind(target)}.{into}"
        count = self._count(link)
        for _ in range(_TRIES):
            self._drag(_middle(self._port(source, out)), _middle(self._port(target, into)))
            with suppress(AssertionError):
                return self._wait_for_link(link, count, _TRY_SECONDS)
            self._page.keyboard.press("Escape")
        raise AssertionError(f"{link} is not drawn")

    def edit(self, old: str, new: str) -> None:
        """Double-click the box of a value, mark these words in it, type others, submit."""
        self._canvas.literal(old).dblclick()
        self._enter_box()
        self._box.evaluate(_MARK, old)
        self._page.keyboard.insert_text(new)
        self._page.click(".jp-Dialog .jp-mod-accept")
        self._canvas.literal(new).wait_for()

    def bring_up(self, name: str, y: float) -> None:
        """Drag the canvas by its empty lower left corner, until this node is at that height."""
        area, node = self._canvas.area(), self._canvas.node(name)
        up = _place(node)["y"] - area["y"] - y
        corner = area["x"] + _CORNER, area["y"] + area["height"] - _CORNER
        self._drag(corner, (corner[0], corner[1] - up))
        at = area["y"] + y
        wait_for_page(lambda: abs(_place(node)["y"] - at) < 2 * _GRIP, f"{name} is at {y:g}")

    def pull(self, node: str, port: str, dx: float, dy: float) -> Locator:
        """Pull a line from an in-port into empty space; the box for the text that appears."""
        x, y = _middle(self._port(node, port))
        self._drag((x, y), (x + dx, y + dy))
        self._box.wait_for()
        return self._box

    def submit(self, text: str) -> None:
        """Type into the box and press Submit; the box is gone, or comes back empty."""
        wait_for_page(lambda: self._type(text), f"{text!r} is in the box")
        self._page.click(".jp-Dialog .jp-mod-accept")
        self._canvas.wait_for(f"() => !document.querySelector('{_BOX}')?.value")

    def height_below(self, node: str, port: str) -> float:
        """How far a node goes on below the middle of a port."""
        box = _place(self._canvas.node(node))
        return box["y"] + box["height"] - _middle(self._port(node, port))[1]

    def write(self, node: str, port: str, text: str, dx: float, dy: float) -> None:
        """Give a port a text: pull a line, type, submit."""
        self.pull(node, port, dx, dy)
        self.submit(text)
        self._wait_for_link(f"-> {_kind(node)}.{port}")

    def _count(self, end: str) -> int:
        return sum(x.endswith(end) for x in self.links())

    def _wait_for_link(self, end: str, count: int = 0, seconds: float = _LINK_SECONDS) -> None:
        """Wait until more than `count` links end like this."""
        wait_for_page(lambda: self._count(end) > count, f"{end} is drawn", seconds)

    def _type(self, text: str) -> bool:
        """Replace the text in the box; a dialog that is just opening may lose it."""
        self._enter_box()
        self._page.keyboard.press("ControlOrMeta+a")
        self._page.keyboard.insert_text(text)
        return self._box.input_value() == text

    def _enter_box(self) -> None:
        """Click into the box, once the dialog has given the focus to what it likes."""
        self._box.wait_for()
        self._canvas.wait_for("() => document.activeElement?.closest('.jp-Dialog')")
        self._box.click()

    def _port(self, node: str, port: str) -> Locator:
        return self._canvas.node(node).locator(f'div.port[data-name="{port}"]')

    def _lies_at(self, node: Locator, x: float, y: float) -> bool:
        place, (target_x, target_y) = _place(node), self._at(x, y)
        return abs(place["x"] - target_x) < 2 * _GRIP and abs(place["y"] - target_y) < 2 * _GRIP

    def _at(self, x: float, y: float) -> tuple[float, float]:
        area = self._canvas.area()
        return area["x"] + x, area["y"] + y

    def _drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        self._page.mouse.move(*start)
        self._page.mouse.down()
        self._page.mouse.move(*end, steps=_STEPS)
        self._canvas.wait_for(_FOLLOWS_LINES)
        self._page.mouse.up()


def _kind(node: str) -> str:
    """A node's name without its number."""
    return node.partition("#")[0]


def _grip(thing: Locator) -> tuple[float, float]:
    box = _place(thing)
    return box["x"] + 2 * _GRIP, box["y"] + _GRIP


def _middle(thing: Locator) -> tuple[float, float]:
    box = _place(thing)
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def _place(thing: Locator) -> FloatRect:
    """The place of an element on the page, once the canvas has drawn it."""
    places: list[FloatRect] = []

    def is_there() -> bool:
        places.extend([box] if (box := thing.bounding_box()) else [])
        return bool(places)

    wait_for_page(is_there, f"{thing} is to be seen")
    return places[-1]
