"""Takes the pictures of the documentation in a real lab: `python -m tools.take_pictures`.

Look at them before you commit them.
"""

from __future__ import annotations

import os
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from playwright.sync_api import Browser, FloatRect, Locator

from tests.support.admin import TOKEN, AdminClient, serving_admin
from tests.support.lab import SMALL, browser, lab, open_lab
from tests.support.lab_palette import Palette
from tests.support.lab_panel import Panel
from xai_mcp_agent import Bridge
from xai_mcp_agent.cli.init import init_folder
from xai_mcp_agent.drawing.components import our_components
from xai_mcp_agent.drawing.flow import CallToDraw, draw
from xai_mcp_agent.steps.references import Joined, Reference

IMAGES = Path(__file__).parents[1] / "docs" / "images"
_EXAMPLE = "examples/ex01_quickstart.xircuits"
_RUN_MILLISECONDS = 120_000  # with the start of a kernel; nobody waits for a picture
_SCALE = 1.5  # sharp on fine screens, and still small files

_CARDS = (("light", "Light", 1000), ("dark", "Dark", 1000), ("narrow", "Light", 480))
_THEME = "isLight => document.body.dataset.jpThemeLight === String(isLight)"
_NO_NOTICES = ".Toastify { visibility: hidden; }"

_PALETTE_ITEMS = ".tray-item, #sidebar-tooltip"
_PALETTE_PIXELS = 900  # width of the palette and the longest line of a tip
_HEADING_PIXELS, _MARGIN_PIXELS = 64, 12


def take_panel(running: Browser, address: str) -> list[Path]:
    """Take the quickstart beside a chat, and a call that waits for an approval."""
    canvas = open_lab(running, address, width=SMALL[0], height=SMALL[1])
    canvas.page.set_default_timeout(_RUN_MILLISECONDS)
    canvas.command("application:toggle-left-area")
    canvas.open_workflow(_EXAMPLE)
    panel = Panel(canvas).open()
    canvas.fit(margin=28)
    panel.ask("Which books do you have about travel?")  # what comes first takes longer
    panel.begin_anew().ask("Which books do you have about the sea?")
    files = [IMAGES / "quickstart.png", IMAGES / "panel-approval.png"]
    canvas.page.screenshot(path=files[0], style=_NO_NOTICES)
    panel.send("Bring back Jane Eyre.")
    panel.questions.first.wait_for()
    canvas.page.screenshot(path=files[1], style=_NO_NOTICES)
    panel.press("Do not call")
    return files


def take_cards(running: Browser, address: str) -> list[Path]:
    """Take the card of a run: with an unfolded call, in the dark theme, and in a narrow lab."""
    canvas = open_lab(running, address)
    canvas.open_workflow(_EXAMPLE)
    canvas.compile()
    canvas.page.close()
    files = list[Path]()
    for name, theme, width in _CARDS:
        canvas = open_lab(running, address, width=width, height=1900, scale=_SCALE)
        canvas.page.set_default_timeout(_RUN_MILLISECONDS)
        canvas.command("application:toggle-left-area")
        canvas.command("apputils:change-theme", theme=f"JupyterLab {theme}")
        canvas.wait_for(_THEME, theme == "Light")
        canvas.run_script(_EXAMPLE.replace(".xircuits", ".py"))
        card = canvas.page.locator(".xai-card:visible")
        if name == "light":
            canvas.unfold()
        files.append(IMAGES / f"card-{name}.png")
        card.screenshot(path=files[-1], style=_NO_NOTICES)
        canvas.command("apputils:change-theme", theme="JupyterLab Light")
        canvas.page.close()
    return files


def take_palette(running: Browser, address: str) -> Path:
    """Take our nodes in the component library, one of them with its explanation."""
    canvas = open_lab(running, address, width=1000, height=1480, scale=_SCALE)
    canvas.open_workflow(_EXAMPLE)
    canvas.command("xircuits-sidebar:toggle-display-nodes-in-library")
    Palette(canvas).explain("AgentUseMCPTools")
    file = IMAGES / "palette.png"
    canvas.page.screenshot(path=file, clip=_around(canvas.page.locator(_PALETTE_ITEMS).all()))
    return file


def take_drawing(running: Browser, address: str, folder: Path) -> Path:
    """Take a workflow that `xai-mcp-agent plan draw` makes."""
    book, title = Reference(0, ("books", 0, "book_id")), Reference(0, ("books", 0, "title"))
    calls = [
        CallToDraw("library", "search_books", {"query": "travel"}),
        CallToDraw("library", "borrow_book", {"reader": "Ada", "book_id": book}),
        CallToDraw("calendar", "days_between", {"last": Reference(1, ("due_on",))},
                  {"first": "The run had it from the person it talked to."}),
        CallToDraw("mail", "send", {"to": "Ada", "subject": Joined(("Yours: ", title))}),
    ]  # fmt: skip
    draw("drawn", calls, our_components()).write(folder)
    canvas = open_lab(running, address, width=1440, height=760, scale=_SCALE)
    canvas.command("application:toggle-left-area")
    canvas.open_workflow("drawn.xircuits")
    canvas.fit(margin=28)
    file = IMAGES / "drawn.png"
    canvas.page.screenshot(path=file)
    return file


def take_admin(running: Browser, folder: Path) -> Path:
    """Take the page of the REST interface, with a call that waits."""
    file, book = IMAGES / "admin.png", {"book_id": 7}
    call = {"tool": "library/return_book", "arguments": book}
    settings = folder / "mcp_settings.json"
    with (
        Bridge.open(settings) as bridge, serving_admin(bridge) as address,
        AdminClient(address) as client, ThreadPoolExecutor() as pool,
    ):  # fmt: skip
        bridge.connect(wait=True)
        page = running.new_page(viewport={"width": SMALL[0], "height": SMALL[1]})
        page.goto(f"{address}/#token={TOKEN}")
        page.get_by_text("Tools of library").wait_for()
        waiting = pool.submit(client.http.post, "/api/call", json=call)
        page.get_by_role("button", name="Make this call").wait_for()
        page.screenshot(path=file)
        page.get_by_role("button", name="Do not make it").click()
        waiting.result()
        page.close()
    return file


def _around(entries: list[Locator]) -> FloatRect:
    """Return the part of the page with these entries, their heading and the text beside them."""
    boxes = [box for entry in entries if (box := entry.bounding_box())]
    top = min(box["y"] for box in boxes) - _HEADING_PIXELS
    bottom = max(box["y"] + box["height"] for box in boxes) + _MARGIN_PIXELS
    return FloatRect(x=0, y=top, width=_PALETTE_PIXELS, height=bottom - top)


def main() -> None:
    """Take all pictures."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    os.environ["XAI_MCP_TRUST"] = "1"  # the lab has a home of its own, which trusts nothing yet
    with tempfile.TemporaryDirectory() as folder:
        working = init_folder(Path(folder) / "lab").folder
        with lab(working) as address, browser() as running:
            pictures = (
                *take_panel(running, address),
                *take_cards(running, address),
                take_palette(running, address),
                take_drawing(running, address, working),
                take_admin(running, working),
            )
            for file in pictures:
                print(file)


if __name__ == "__main__":
    main()
