"""The pictures of the documentation, taken in a real lab: `python -m tests.support.take_pictures`.

Look at them before you commit them.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from playwright.sync_api import Browser

from xai_mcp_agent.cli.init import init_folder

from .lab import browser, lab, open_lab

IMAGES = Path(__file__).parents[2] / "docs" / "images"
_EXAMPLE = "examples/quickstart.xircuits"
_SCALE = 1.5  # sharp on fine screens, and still small files


def take_quickstart(running: Browser, address: str) -> Path:
    """The whole quickstart on the canvas."""
    canvas = open_lab(running, address, width=1440, height=620, scale=_SCALE)
    canvas.command("application:toggle-left-area")
    canvas.open_workflow(_EXAMPLE)
    canvas.fit(margin=28)
    file = IMAGES / "quickstart.png"
    canvas.page.screenshot(path=file, clip=canvas.area())
    return file


def take_palette(running: Browser, address: str) -> Path:
    """Our nodes in the component library, one of them explaining itself."""
    canvas = open_lab(running, address, width=1180, height=1090, scale=_SCALE)
    canvas.open_workflow(_EXAMPLE)
    canvas.command("xircuits-sidebar:toggle-display-nodes-in-library")
    canvas.show_palette()
    canvas.hover_entry("AgentUseMCPTools")
    file = IMAGES / "palette.png"
    canvas.page.screenshot(path=file)
    return file


def main() -> None:
    """Take all pictures."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        working = init_folder(Path(folder) / "lab").folder
        with lab(working) as address, browser() as running:
            for file in (take_quickstart(running, address), take_palette(running, address)):
                print(file)


if __name__ == "__main__":
    main()
