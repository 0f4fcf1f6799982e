"""Drawing a workflow with the mouse, as a person does; each step waits for what it brings.

A node is found by its name: draw one of each. Places are in pixels of the canvas's window.
"""

from __future__ import annotations

from playwright.sync_api import FloatRect, Locator

from .lab_canvas import Canvas
from .lab_palette import Palette
from .processes import wait_until

_STEPS = 5  # of the mouse on its way; the canvas follows moves, not jumps
_TRIES, _TRY_SECONDS = 3, 10.0
_GRIP = 12.0  # where a node is taken: in its title
# The canvas follows a new line only after a tenth of a second, which no person is faster than.
_FOLLOWS_LINES = """() => window.jupyterapp.shell.currentWidget.content.xircuitsApp
  .getDiagramEngine().getModel().getLinks().every(link => link.getTargetPort() ||
    Object.values(link.listeners).some(listener => listener.targetPortChanged))"""
_BOX = ".jp-Dialog textarea, .jp-Dialog input"
_LINKS = """() => window.jupyterapp.shell.currentWidget.content.xircuitsApp.getDiagramEngine()
  .getModel().getLinks().filter(link => link.getTargetPort()).map(link =>
    [link.getSourcePort(), link.getTargetPort()].map(port =>
      `${port.getParent().getOptions().name}.${port.getOptions().name}`).join(' -> '))"""


class Mouse:
    """The mouse in a window of the lab."""

    def __init__(self, canvas: Canvas, palette: Palette) -> None:
        self._canvas = canvas
        self._palette = palette
        self._page = canvas.page
        self._box = canvas.page.locator(_BOX)

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
        wait_until(lambda: self._lies_at(node, x, y), f"{name} lies at ({x:g}, {y:g})")

    def drop(self, name: str, x: float, y: float) -> None:
        """Drag a node from the palette to this place."""
        entry = self._palette.entry(name)
        entry.scroll_into_view_if_needed()
        self._drag(_grip(entry), self._at(x, y))
        self._canvas.node(name).wait_for()

    def join(self, source: str, target: str) -> None:
        """Draw the white arrow from one node to the next.

        A canvas that is busy may miss where the mouse was let go; a person then draws it again.
        """
        link = f"{source}.out-0 -> {target}.in-0"
        for tries_left in reversed(range(_TRIES)):
            self._drag(_middle(self._port(source, "out-0")), _middle(self._port(target, "in-0")))
            try:
                wait_until(lambda: link in self.links(), f"{link} is drawn", _TRY_SECONDS)
                break
            except AssertionError:
                if not tries_left:
                    raise
            self._page.keyboard.press("Escape")

    def pull(self, node: str, port: str, dx: float, dy: float) -> Locator:
        """Pull a line from an in-port into empty space; the box for the text that appears."""
        x, y = _middle(self._port(node, port))
        self._drag((x, y), (x + dx, y + dy))
        self._box.wait_for()
        return self._box

    def submit(self, text: str) -> None:
        """Type into the box and press Submit; the box is gone, or comes back empty."""
        wait_until(lambda: self._type(text), f"{text!r} is in the box")
        self._page.click(".jp-Dialog .jp-mod-accept")
        self._canvas.wait_for(f"() => !document.querySelector('{_BOX}')?.value")

    def write(self, node: str, port: str, text: str, dx: float, dy: float) -> None:
        """Give a port a text: pull a line, type, submit."""
        self.pull(node, port, dx, dy)
        self.submit(text)
        link = f"-> {node}.{port}"
        wait_until(lambda: any(x.endswith(link) for x in self.links()), f"{link} is drawn")

    def _type(self, text: str) -> bool:
        """Type it in place of what is there; a dialog that is just opening may lose it."""
        self._box.click()
        self._page.keyboard.press("ControlOrMeta+a")
        self._page.keyboard.type(text)
        return self._box.input_value() == text

    def _port(self, node: str, port: str) -> Locator:
        return self._canvas.node(node).locator(f'div.port[data-name="{port}"]')

    def _lies_at(self, node: Locator, x: float, y: float) -> bool:
        place, (wanted_x, wanted_y) = _place(node), self._at(x, y)
        return abs(place["x"] - wanted_x) < 2 * _GRIP and abs(place["y"] - wanted_y) < 2 * _GRIP

    def _at(self, x: float, y: float) -> tuple[float, float]:
        area = self._canvas.area()
        return area["x"] + x, area["y"] + y

    def _drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        self._page.mouse.move(*start)
        self._page.mouse.down()
        self._page.mouse.move(*end, steps=_STEPS)
        self._canvas.wait_for(_FOLLOWS_LINES)
        self._page.mouse.up()


def _grip(thing: Locator) -> tuple[float, float]:
    box = _place(thing)
    return box["x"] + 2 * _GRIP, box["y"] + _GRIP


def _middle(thing: Locator) -> tuple[float, float]:
    box = _place(thing)
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def _place(thing: Locator) -> FloatRect:
    """Where it is on the page. The canvas draws nodes anew now and then: it is waited for."""
    found: list[FloatRect] = []

    def is_there() -> bool:
        box = thing.bounding_box()
        found.extend([box] if box else [])
        return bool(found)

    wait_until(is_there, f"{thing} is to be seen")
    return found[-1]
