"""A real JupyterLab with Xircuits, and a real Chromium in front of it; every wait is bounded.

    with lab(folder) as address, browser() as chromium:
        canvas = open_lab(chromium, address)
        canvas.open_workflow("quickstart.xircuits")
        canvas.run()

Its buttons act on the workflow that is in front, and return before the work is done: each method
here waits for the effect.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, FloatRect, Locator, Page, sync_playwright

from .processes import free_port, wait_until
from .scripts import child_environment

_START_SECONDS = 60.0  # the lab's start on a busy machine
_PAGE_MILLISECONDS = 30_000
_TOKEN = "for-tests"
_PANEL = "#xircuit-output-panel"
_SIDEBAR = "xircuits-component-sidebar"
_ANSWER_SECONDS = 2.0
_CHROMIUM_OPTIONS = ["--no-sandbox", "--disable-dev-shm-usage", "--force-color-profile=srgb"]

_GEOMETRY = """() => {
  const app = window.jupyterapp.shell.currentWidget.content.xircuitsApp;
  return app.getDiagramEngine().getModel().getNodes().map(node => ({
    id: node.getID(), name: node.getOptions().name, x: node.getX(), y: node.getY(),
    width: node.width, height: node.height, held: Boolean(node.extras.attached)}));
}"""


_LOOK_AT = """([zoom, x, y]) => {
  const app = window.jupyterapp.shell.currentWidget.content.xircuitsApp;
  const engine = app.getDiagramEngine();
  engine.getModel().setZoomLevel(zoom * 100);
  engine.getModel().setOffset(x, y);
  engine.repaintCanvas();
}"""
_AREA = """() => {
  const area = window.jupyterapp.shell.currentWidget.content.node.getBoundingClientRect();
  return {x: area.x, y: area.y, width: area.width, height: area.height};
}"""
# The tip fades in; a picture of it waits until it is there.
_TIP_SHOWN = "() => getComputedStyle(document.querySelector('#sidebar-tooltip')).opacity > 0.85"


@dataclass(frozen=True)
class Drawn:
    """A node as the browser drew it, in the canvas's own pixels.

    A literal that is `held` in its port has no size.
    """

    id: str
    name: str
    x: float
    y: float
    width: float
    height: float
    held: bool


def chromium() -> str | None:
    """The path of a Chromium on this machine, or None."""
    return shutil.which("chromium") or shutil.which("google-chrome")


@contextmanager
def lab(folder: Path) -> Generator[str]:
    """Run JupyterLab in a working folder for the length of the block; its address."""
    port = free_port()
    command = [
        sys.executable, "-m", "jupyterlab", "--no-browser", "--ip=127.0.0.1", f"--port={port}",
        "--ServerApp.port_retries=0", f"--IdentityProvider.token={_TOKEN}", "--allow-root",
        "--ContentsManager.allow_hidden=True", "--LabApp.expose_app_in_browser=True",
    ]  # fmt: skip
    _keep_quiet(folder)
    with (folder / "lab.log").open("w", encoding="utf-8") as log:
        server = subprocess.Popen(
            command, cwd=folder, env=child_environment(folder), stdin=subprocess.DEVNULL,
            stdout=log, stderr=subprocess.STDOUT,
        )  # fmt: skip
        try:
            address = f"http://127.0.0.1:{port}"
            wait_until(lambda: _answers(address), "the lab answers", _START_SECONDS)
            yield address
        finally:
            server.terminate()
            try:
                server.wait(_START_SECONDS)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


@contextmanager
def browser() -> Generator[Browser]:
    """Run this machine's Chromium for the length of the block."""
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(
            executable_path=chromium(), headless=True, args=_CHROMIUM_OPTIONS
        )
        try:
            yield running
        finally:
            running.close()


def open_lab(
    running: Browser, address: str, *, width: int = 1500, height: int = 900, scale: float = 1.0
) -> Canvas:
    """Open the lab in a new window and wait until it stands."""
    page = running.new_page(viewport={"width": width, "height": height}, device_scale_factor=scale)
    page.set_default_timeout(_PAGE_MILLISECONDS)
    page.goto(f"{address}/lab?token={_TOKEN}&reset")
    page.wait_for_function("() => window.jupyterapp && window.jupyterapp.restored")
    page.evaluate("() => window.jupyterapp.restored.then(() => null)")
    return Canvas(page)


class Canvas:
    """One window of the lab; `page` is Playwright's."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def command(self, name: str, **arguments: Any) -> None:
        """Execute one of the lab's commands."""
        script = "([id, args]) => window.jupyterapp.commands.execute(id, args).then(() => null)"
        self.page.evaluate(script, [name, arguments])

    def open_workflow(self, path: str) -> None:
        """Open a workflow and wait until its nodes are drawn."""
        self.command("docmanager:open", path=path)
        self.page.wait_for_selector("div.node[data-nodeid]")
        self.page.wait_for_function(
            f"() => ({_GEOMETRY})().every(node => node.held || node.height > 0)"
        )

    def drawn(self) -> list[Drawn]:
        """Every node of the workflow in front."""
        return [Drawn(**node) for node in self.page.evaluate(_GEOMETRY)]

    def area(self) -> FloatRect:
        """Where on the page the workflow in front is shown."""
        return self.page.evaluate(_AREA)

    def fit(self, margin: float) -> None:
        """Show the whole workflow, as large as it fits."""
        area = self.area()
        boxes = [x for x in self.drawn() if not x.held]
        left, top = min(x.x for x in boxes), min(x.y for x in boxes)
        width = max(x.x + x.width for x in boxes) - left
        height = max(x.y + x.height for x in boxes) - top
        room = area["width"] - 2 * margin, area["height"] - 2 * margin
        zoom = min(room[0] / width, room[1] / height)
        self.page.evaluate(_LOOK_AT, [zoom, margin - left * zoom, margin - top * zoom])

    def touch(self) -> None:
        """Make the document count as changed, so that it is really saved."""
        self.page.evaluate(
            "() => { window.jupyterapp.shell.currentWidget.context.model.dirty = true; }"
        )

    def save(self) -> None:
        """Press Save and wait until nothing is unsaved."""
        self._press("save")
        self.page.wait_for_function(
            "() => !window.jupyterapp.shell.currentWidget.context.model.dirty"
        )

    def reload_all(self, name: str) -> None:
        """Press Reload All Nodes and wait until it is done; there is one node of that `name`."""
        (before,) = self._ids(name)
        self._press("reload-all")
        wait_until(lambda: self._ids(name) not in ([before], []), f"{name} was reloaded")
        # Old and new stand side by side until all are made.
        wait_until(lambda: len(self._ids(name)) == 1, "the old nodes were removed")

    def compile(self) -> None:
        """Press Compile and wait for the lab's word that it succeeded."""
        self._press("compile")
        self.page.wait_for_selector("text=Workflow compiled successfully")

    def run(self, name: str) -> str:
        """Press Run, answer its questions, wait for the end; the panel's text."""
        # The panel is emptied by the run; what is still there is not its output.
        self.page.evaluate(
            "id => document.querySelectorAll(`${id} .jp-OutputArea-child`)"
            ".forEach(old => old.classList.add('of-an-earlier-run'))",
            _PANEL,
        )
        self._press("run")
        self._accept("Execute Workflow")
        self.page.wait_for_selector(".of-an-earlier-run", state="detached")
        kernel = self.page.locator(".jp-Dialog select")
        panel = self.page.locator(_PANEL)
        kernel.or_(panel.get_by_text(f"Executing: {name}")).first.wait_for()
        if kernel.count():
            self.page.wait_for_function(
                "() => document.querySelector('.jp-Dialog select')?.value.includes('python3')"
            )
            self.page.click(".jp-Dialog .jp-mod-accept")
        self.page.wait_for_function(
            "([panel, text]) => document.querySelector(panel)?.innerText.includes(text)",
            arg=[_PANEL, "Finished Executing"],
        )
        return panel.inner_text()

    def show_palette(self) -> None:
        """Open the component library in the left sidebar, with our nodes unfolded."""
        self.page.evaluate("id => window.jupyterapp.shell.activateById(id)", _SIDEBAR)
        heading = self.page.locator(f"#{_SIDEBAR} .accordion__button", has_text="MCP_AGENT")
        heading.first.click()
        self.palette_entry("AgentRun").wait_for()

    def palette_entry(self, name: str) -> Locator:
        """The entry of a node in the component library."""
        items = self.page.locator(f"#{_SIDEBAR} .tray-item")
        return items.filter(has=self.page.get_by_text(name, exact=True))

    def hover_entry(self, name: str) -> str:
        """Rest the mouse on a node of the component library until its tip is shown; its text."""
        self.palette_entry(name).hover()
        tip = self.page.locator("#sidebar-tooltip.show")
        tip.wait_for()
        self.page.wait_for_function(_TIP_SHOWN)
        return tip.inner_text()

    def errors(self) -> list[str]:
        """The texts of all dialogs and error notices on the page."""
        return self.page.locator(".jp-Dialog, .Toastify__toast--error").all_inner_texts()

    def _ids(self, name: str) -> list[str]:
        return [x.id for x in self.drawn() if x.name == name]

    def _press(self, button: str) -> None:
        self.page.click(f'[data-jp-item-name="xircuits-add-{button}"]')

    def _accept(self, title: str) -> None:
        dialog = self.page.locator(".jp-Dialog", has_text=title)
        dialog.wait_for()
        dialog.locator(".jp-mod-accept").click()


def _keep_quiet(home: Path) -> None:
    """No question about news in front of what is to be seen."""
    settings = home / ".jupyter/lab/user-settings/@jupyterlab/apputils-extension"
    settings.mkdir(parents=True)
    quiet = '{"fetchNews": "false", "checkForUpdates": false}'
    (settings / "notification.jupyterlab-settings").write_text(quiet, encoding="utf-8")


def _answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(
            f"{address}/api?token={_TOKEN}", timeout=_ANSWER_SECONDS
        ) as answer:
            return answer.status == 200
    except (urllib.error.URLError, OSError):
        return False
