"""A window of the lab: workflows that are open in it, its buttons, and the output panel.

Its buttons act on the workflow that is in front, and return before the work is done: each method
here waits for the effect.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from playwright.sync_api import ConsoleMessage, FloatRect, Locator, Page, TimeoutError

from .processes import wait_until

FRONT = ".jp-Document:not(.lm-mod-hidden)"
"""The document in front, in the page's selectors: those behind it stay in the page."""

_PANEL = "#xircuit-output-panel"
_DIALOG = ".jp-Dialog"
_LAUNCHER_TAB = ".lm-TabBar-tab:has-text('Launcher')"
_NOT_OURS = (
    # The lab asks for things outside of this machine.
    "net::ERR_NAME_NOT_RESOLVED", "net::ERR_INTERNET_DISCONNECTED",
    # After a run Xircuits writes what was printed into its log, and stumbles over rich output.
    "reading 'split'",
)  # fmt: skip

_LISTINGS, _LISTING_MILLISECONDS = 5, 3_000
_LOOK_MILLISECONDS = 50  # between two looks at the page; each makes it lay out what it shows

_MODEL = "window.jupyterapp.shell.currentWidget.content.xircuitsApp.getDiagramEngine().getModel()"
_GEOMETRY = f"""() => {_MODEL}.getNodes().map(node => ({{
  id: node.getID(), name: node.getOptions().name, x: node.getX(), y: node.getY(),
  width: node.width, height: node.height, is_held: Boolean(node.extras.attached)}}))"""
# Before the file is read an empty workflow stands in its place.
_IS_DRAWN = f"""path => {{
  const front = window.jupyterapp.shell.currentWidget;
  if (!front?.content?.xircuitsApp || (path && front.context?.path !== path)) return false;
  const nodes = ({_GEOMETRY})(), text = front.context.model.toString();
  const saved = path ? text && Object.keys(JSON.parse(text).layers[1].models).length : 2;
  return nodes.length === saved && nodes.every(node => node.is_held || node.height > 0);
}}"""
_PLUS = ".lm-TabBar-addButton:visible"
_CLOSE_ALL = """() => {
  for (const widget of [...window.jupyterapp.shell.widgets('main')]) {
    if (!widget.context) continue;
    widget.context.model.dirty = false;
    widget.close();
  }
}"""
_LOOK_AT = """([zoom, x, y]) => {
  const app = window.jupyterapp.shell.currentWidget.content.xircuitsApp;
  const engine = app.getDiagramEngine();
  engine.getModel().setZoomLevel(zoom * 100);
  engine.getModel().setOffset(x, y);
  engine.repaintCanvas();
}"""
# The canvas moves a third of a second after the button is pressed.
_STAND_STILL = """async selector => {
  const node = document.querySelector(selector), begin = performance.now();
  for (let last = '', since = begin, now = begin; now - since < 800 && now - begin < 10000;) {
    await new Promise(requestAnimationFrame);
    now = performance.now();
    const box = node.getBoundingClientRect(), place = `${box.x} ${box.y} ${box.width}`;
    if (place !== last) { last = place; since = now; }
  }
}"""
_AREA = """() => {
  const area = window.jupyterapp.shell.currentWidget.content.node.getBoundingClientRect();
  return {x: area.x, y: area.y, width: area.width, height: area.height};
}"""
# What is on the page already is not what a button brings.
_MARK_OLD = "selector => document.querySelectorAll(selector).forEach(x => x.dataset.old = 'yes')"
_OUTPUT = f"{_PANEL} .jp-OutputArea-child"
_NOTICE = ".Toastify__toast"
_END = "Finished Executing"
# With Python 3.12 and later Xircuits' own banner writes a warning on stderr, which is no error.
_HAS_ENDED = f"""([end, error]) => {{
  const panel = document.querySelector('{_PANEL}');
  const errors = [...panel?.querySelectorAll(error) ?? []];
  const shown = panel?.innerText.replaceAll('\\u00a0', ' ') ?? '';
  return errors.some(x => !x.innerText.includes('SyntaxWarning')) || shown.includes(end)
    || shown.includes('{_END}');
}}"""
_UNFOLD = f"() => document.querySelectorAll('{_PANEL} details').forEach(x => {{ x.open = true; }})"
_KERNEL_CHOICE = f"{_DIALOG} select"
_HAS_BEGUN = f"""() => document.querySelector('{_KERNEL_CHOICE}')
  || [...document.querySelectorAll('{_OUTPUT}:not([data-old])')].some(x => x.innerText.trim())"""
_ERROR_OUTPUT = '[data-mime-type="application/vnd.jupyter.error"], [data-mime-type$="stderr"]'


# Each look is a message to the browser and back.
wait_for_page = partial(wait_until, pause=0.1)


@dataclass(frozen=True)
class DrawnNode:
    """A node as the browser drew it, in the canvas's own pixels.

    A literal that `is_held` in its port has no size.
    """

    id: str
    name: str
    x: float
    y: float
    width: float
    height: float
    is_held: bool


class Canvas:
    """One window of the lab; `page` is Playwright's."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self._console: list[str] = []
        page.on("console", self._listen)
        page.on("pageerror", lambda error: self._console.append(str(error)))

    @contextmanager
    def sized(self, width: int, height: int) -> Generator[None]:
        """Have the window in another size for the length of the block."""
        before = self.page.viewport_size
        assert before
        self.page.set_viewport_size({"width": width, "height": height})
        yield
        self.page.set_viewport_size(before)

    # Workflows

    def command(self, name: str, **arguments: Any) -> None:
        """Execute one of the lab's commands."""
        script = "([id, args]) => window.jupyterapp.commands.execute(id, args).then(() => null)"
        self.page.evaluate(script, [name, arguments])

    def wait_for(self, script: str, arg: Any = None) -> None:
        """Wait until this function of the page returns something true."""
        self.page.wait_for_function(script, arg=arg, polling=_LOOK_MILLISECONDS)

    def open_workflow(self, path: str) -> None:
        """Open a workflow and wait until its nodes are drawn."""
        self.command("docmanager:open", path=path)
        self.wait_for(_IS_DRAWN, arg=path)

    def open_by_hand(self, path: str) -> None:
        """Double-click a file in the browser at the left, folder by folder, until it is drawn."""
        first, *others = path.split("/")
        # A listing under way when `show_top_folder` was pressed brings its folder back.
        for _ in range(_LISTINGS):
            if self._is_listed(first):
                break
            self.show_top_folder()
        for name in (first, *others):
            self._listing_entry(name).dblclick()
        self.wait_for(_IS_DRAWN, arg=path)

    def _is_listed(self, name: str) -> bool:
        """Look for a file in the folder that the browser shows, for at most three seconds."""
        try:
            self._listing_entry(name).wait_for(timeout=_LISTING_MILLISECONDS)
        except TimeoutError:
            return False
        return True

    def _listing_entry(self, name: str) -> Locator:
        return self.page.locator(f".jp-DirListing-itemText :text-is('{name}')")

    def show_top_folder(self) -> None:
        """Show the files, and press the folder above them: new files come into what is shown."""
        if not self.page.locator(".jp-BreadCrumbs-home:visible").count():
            self.page.locator('.lm-TabBar-tab[data-id="filebrowser"]').click()
        # A listing that is under way brings its folder back: it is pressed again.
        for remaining in reversed(range(_LISTINGS)):
            self.page.locator(".jp-BreadCrumbs-home:visible").click()
            try:
                subfolder = self.page.locator(".jp-BreadCrumbs-item").first
                subfolder.wait_for(state="detached", timeout=_LISTING_MILLISECONDS)
                return
            except TimeoutError:
                if not remaining:
                    raise

    def new_workflow(self) -> None:
        """Press the launcher's card for an empty workflow, and wait until it is drawn."""
        self._press_card("New Xircuits File")
        self.wait_for(_IS_DRAWN, arg="")

    def open_template(self, name: str) -> None:
        """Press the launcher's card for this template, and wait until its copy is drawn."""
        self._press_card(name)
        self.wait_for(_IS_DRAWN, arg=f"{name}.xircuits")

    def _press_card(self, text: str) -> None:
        if not self.page.locator(_LAUNCHER_TAB).count():
            self.page.locator(_PLUS).first.click()
        # The lab may have opened one itself, beside the one of `close_all`.
        self.page.locator(_LAUNCHER_TAB).first.click()
        self.page.locator(".jp-LauncherCard:visible", has_text=text).click()

    def rename(self, name: str) -> None:
        """Give the workflow in front another name, by the File menu."""
        self.page.locator(".lm-MenuBar-item", has_text="File").click()
        self.page.locator(".lm-Menu-item", has_text="Rename Xircuits").click()
        self.page.locator(f"{_DIALOG} input").fill(name)
        self.page.click(f"{_DIALOG} .jp-mod-accept")
        self.wait_for(
            "name => window.jupyterapp.shell.currentWidget.context.path === name", arg=name
        )

    def close_all(self) -> None:
        """Close all workflows without saving them, and whatever dialog or further page is open.

        The launcher stays, so that the output panel keeps its place below.
        """
        for page in self.page.context.pages[1:]:
            page.close()
        while self.page.locator(_DIALOG).count():
            self.page.keyboard.press("Escape")
        if not self.page.locator(_LAUNCHER_TAB).count():
            self.command("launcher:create")
        self.page.evaluate(_CLOSE_ALL)
        self.page.evaluate("() => window.jupyterapp.shell.collapseRight()")
        # What is opened next comes beside it, and not beside the output panel.
        self.page.locator(_LAUNCHER_TAB).first.click()
        self.page.evaluate(_MARK_OLD, _NOTICE)
        self._console.clear()

    # What is drawn

    def drawn(self) -> list[DrawnNode]:
        """Every node of the workflow in front."""
        return [DrawnNode(**node) for node in self.page.evaluate(_GEOMETRY)]

    def area(self) -> FloatRect:
        """The place of the workflow in front on the page."""
        return self.page.evaluate(_AREA)

    def fit(self, margin: float) -> None:
        """Show the whole workflow, as large as it fits."""
        area = self.area()
        boxes = [x for x in self.drawn() if not x.is_held]
        left, top = min(x.x for x in boxes), min(x.y for x in boxes)
        width = max(x.x + x.width for x in boxes) - left
        height = max(x.y + x.height for x in boxes) - top
        room = area["width"] - 2 * margin, area["height"] - 2 * margin
        self.look_at(min(room[0] / width, room[1] / height), left, top, margin)

    def look_at(self, zoom: float, left: float, top: float, margin: float) -> None:
        """Show this place of the canvas in the upper left corner."""
        self.page.evaluate(_LOOK_AT, [zoom, margin - left * zoom, margin - top * zoom])

    def node(self, name: str) -> Locator:
        """The box of a node by its name; the first, if there are several, `Print#2` the second."""
        name, _, number = name.partition("#")
        boxes = self.page.locator(f'{FRONT} div.node[data-default-node-name="{name}"]')
        return boxes.nth(int(number or 1) - 1)

    def literal(self, text: str) -> Locator:
        """The box of a value that is drawn as a node, by a part of its text."""
        boxes = self.page.locator(f'{FRONT} div.node[data-default-node-name^="Literal"]:visible')
        return boxes.filter(has_text=text)

    def explain(self, name: str) -> Locator:
        """Press the i of a node; its description."""
        self.node(name).locator(".react-toggle.description").click()
        panel = self.page.locator(f"{FRONT} .description-tooltip")
        panel.wait_for()
        return panel

    # The buttons

    def touch(self) -> None:
        """Make the document count as changed, so that it is really saved."""
        self.page.evaluate(
            "() => { window.jupyterapp.shell.currentWidget.context.model.dirty = true; }"
        )

    def save(self) -> None:
        """Press Save and wait until nothing is unsaved."""
        self._press("save")
        self.wait_for("() => !window.jupyterapp.shell.currentWidget.context.model.dirty")

    def reload_all(self, name: str) -> None:
        """Press Reload All Nodes and wait until it is done; there is one node of that `name`."""
        (before,) = self._ids(name)
        self._press("reload-all")
        wait_for_page(lambda: self._ids(name) not in ([before], []), f"{name} was reloaded")
        # Old and new stand side by side until all are made.
        wait_for_page(lambda: len(self._ids(name)) == 1, "the old nodes were removed")

    def compile(self) -> None:
        """Press Compile and wait for the lab's word that it succeeded."""
        self.page.evaluate(_MARK_OLD, _NOTICE)
        self._press("compile")
        # Others may come first, and each is empty for a moment.
        notices = self.page.locator(f"{_NOTICE}:not([data-old])")
        success = notices.filter(has_text="compiled successfully")
        success.or_(self.page.locator(f"{_NOTICE}--error:not([data-old])")).first.wait_for()
        assert success.count(), f"the lab says: {notices.all_inner_texts()}"

    def run(self) -> str:
        """Press Run, answer its questions, wait for the end; the panel's text."""
        self.start()
        return self.wait_for_output(_END)

    def start(self) -> None:
        """Press Run, and answer its questions."""
        self.start_beside()
        self._choose_kernel()

    def start_beside(self) -> None:
        """Press Run where a kernel is chosen and may be busy."""
        self.page.evaluate(_MARK_OLD, _OUTPUT)
        self._press("run")
        self.accept("Execute Workflow")

    def run_script(self, path: str) -> str:
        """Run a compiled workflow in the panel as Run does, without its questions."""
        self.start_script(path)
        return self.wait_for_output(_END)

    def start_script(self, path: str) -> None:
        """Begin to run a compiled workflow in the panel, and wait until it prints."""
        self.page.evaluate(_MARK_OLD, _OUTPUT)
        self.command("Xircuit-output-panel:execute", code=f"%run {path}")
        self._choose_kernel()

    def wait_for_output(self, text: str) -> str:
        """Wait until this text, the run's end or an error is in the panel; all that is there."""
        self.page.locator(f"{_OUTPUT}[data-old]").first.wait_for(state="detached")
        self.wait_for(_HAS_ENDED, arg=[text, _ERROR_OUTPUT])
        self.page.locator(_OUTPUT).last.evaluate("end => end.scrollIntoView({block: 'end'})")
        # The browser has spaces there that do not break.
        return self.page.locator(_PANEL).inner_text().replace("\xa0", " ")

    def wait_for_text(self, text: str) -> str:
        """Wait until this text is in the panel, also after the run's end; all that is there."""
        self.page.locator(_PANEL, has_text=text).wait_for()
        return self.page.locator(_PANEL).inner_text().replace("\xa0", " ")

    def bring_panel_in_front(self) -> None:
        """Click the panel's tab where another one is in front of it, as a slow lab opens it."""
        self.page.locator(_PANEL).wait_for(state="attached")
        if not self.page.locator(_PANEL).is_visible():
            self.page.locator(".lm-TabBar-tab", has_text="Xircuit Output").click()

    def close_panel(self) -> None:
        """Press the cross of the panel's tab, where a run before has left it open."""
        tab = self.page.locator(".lm-TabBar-tab", has_text="Xircuit Output")
        if tab.count():
            tab.locator(".lm-TabBar-tabCloseIcon").click()
            tab.wait_for(state="detached")

    def zoom(self, button: str) -> None:
        """Press one of the three buttons in the lower right corner, by its tip."""
        self.page.locator(f"{FRONT} button[title='{button}']").click()
        self.page.evaluate(_STAND_STILL, f"{FRONT} .node")

    def unfold(self) -> str:
        """Open all folds of the panel; the panel's text."""
        self.page.evaluate(_UNFOLD)
        return self.page.locator(_PANEL).inner_text().replace("\xa0", " ")

    # What it says

    def accept(self, title: str) -> None:
        """Press the button to go on of the dialog with this title."""
        dialog = self.page.locator(_DIALOG, has_text=title)
        dialog.wait_for()
        dialog.locator(".jp-mod-accept").click()
        dialog.wait_for(state="detached")

    def errors(self) -> list[str]:
        """The texts of all dialogs and error notices, and what went wrong in the page."""
        notices = f"{_DIALOG}, {_NOTICE}--error:not([data-old])"
        return [*self.page.locator(notices).all_inner_texts(), *self._console]

    def account(self) -> dict[str, str]:
        """The texts that explain why a test failed, by their places."""
        read = "where => document.querySelector(where)?.innerText ?? ''"
        further = {x.url: x.evaluate(read, "body") for x in self.page.context.pages[1:]}
        return {
            "output panel": self.page.evaluate(read, _PANEL),
            "dialogs, errors and console": "\n".join(self.errors()),
            "notices": "\n".join(self.page.locator(_NOTICE).all_inner_texts()),
            **further,
        }

    def picture(self, file: Path) -> None:
        """Save a picture of the window; further pages go to files with a number."""
        file.parent.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=file)
        for number, page in enumerate(self.page.context.pages[1:], 2):
            page.screenshot(path=file.with_stem(f"{file.stem}-{number}"))

    def _choose_kernel(self) -> None:
        """Answer the question that the first run in a window asks; wait for the first output."""
        self.wait_for(_HAS_BEGUN)
        if self.page.locator(_KERNEL_CHOICE).count():
            self.wait_for(
                f"() => document.querySelector('{_KERNEL_CHOICE}')?.value.includes('python3')"
            )
            self.accept("Select Kernel")
            self.wait_for(_HAS_BEGUN)

    def _ids(self, name: str) -> list[str]:
        return [x.id for x in self.drawn() if x.name == name]

    def _press(self, button: str) -> None:
        self.page.click(f'{FRONT} [data-jp-item-name="xircuits-add-{button}"]')

    def _listen(self, message: ConsoleMessage) -> None:
        if message.type == "error" and not any(x in message.text for x in _NOT_OURS):
            self._console.append(message.text)
