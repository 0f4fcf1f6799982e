"""A real JupyterLab with Xircuits, and a real Chromium in front of it; every wait is bounded.

    with lab(folder) as address, browser() as chromium:
        canvas = open_lab(chromium, address)
        canvas.open_workflow("ex01_quickstart.xircuits")
        canvas.run()

What a window of the lab offers is in `lab_canvas.py`.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from .lab_canvas import Canvas
from .processes import free_port, wait_until
from .scripts import child_environment

SMALL = 1366, 768
"""The window of a small laptop, in pixels."""

TOKEN = "for-tests"
"""The token that signs a person in to the lab."""

_BASE = "/user/ada"  # as behind JupyterHub
_START_SECONDS = 120.0  # the lab's start on a very busy machine
_STOP_SECONDS = 20.0  # then it is killed; its kernels end when they miss it
_PAGE_MILLISECONDS = 60_000
_ANSWER_SECONDS = 30.0
# Otherwise dots run along every line, and bars along notices, and the browser draws the page sixty
# times a second. A notice goes when the animation of its bar ends.
_STILL = """g[data-linkid] path { animation: none !important; }
.Toastify__progress-bar { animation-timing-function: step-end !important; }
*, ::before, ::after { transition: none !important; }"""
_CHROMIUM_OPTIONS = ["--no-sandbox", "--disable-dev-shm-usage", "--force-color-profile=srgb"]


def chromium() -> str | None:
    """Return the path of a Chromium on this machine, or None."""
    return shutil.which("chromium") or shutil.which("google-chrome")


@contextmanager
def lab(
    folder: Path, python: str = sys.executable, variables: Mapping[str, str] | None = None
) -> Generator[str]:
    """Run JupyterLab in a working folder for the length of the block; yield its address.

    It is that of this environment, or of another with the `variables` that are set there.
    """
    port = free_port()
    command = [
        python, "-m", "jupyterlab", "--no-browser", "--ip=127.0.0.1", f"--port={port}",
        "--ServerApp.port_retries=0", f"--IdentityProvider.token={TOKEN}",
        "--allow-root", f"--ServerApp.base_url={_BASE}/",
        "--ContentsManager.allow_hidden=True", "--LabApp.expose_app_in_browser=True",
    ]  # fmt: skip
    # With `CI` wherever it runs: whoever sits in front of a lab is there, whatever that says.
    around = {**(variables or child_environment(folder)), "CI": "true"}
    _keep_quiet(Path(around["HOME"]))
    with (folder / "lab.log").open("w", encoding="utf-8") as log:
        server = subprocess.Popen(
            command, cwd=folder, env=around, stdin=subprocess.DEVNULL,
            stdout=log, stderr=subprocess.STDOUT,
        )  # fmt: skip
        try:
            address = f"http://127.0.0.1:{port}{_BASE}"
            wait_until(lambda: _answers(address), "the lab answers", _START_SECONDS)
            yield address
        finally:
            server.terminate()
            try:
                server.wait(_STOP_SECONDS)
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
    page = running.new_page(
        viewport={"width": width, "height": height}, device_scale_factor=scale,
        reduced_motion="reduce",  # a node that runs does not pulse
    )  # fmt: skip
    page.set_default_timeout(_PAGE_MILLISECONDS)
    page.goto(f"{address}/lab?token={TOKEN}&reset")
    page.wait_for_function("() => window.jupyterapp && window.jupyterapp.restored")
    page.evaluate("() => window.jupyterapp.restored.then(() => null)")
    page.add_style_tag(content=_STILL)
    return Canvas(page)


def _keep_quiet(home: Path) -> None:
    """Switch off the question about news, which would cover the page."""
    settings = home / ".jupyter/lab/user-settings/@jupyterlab/apputils-extension"
    settings.mkdir(parents=True)
    quiet = '{"fetchNews": "false", "checkForUpdates": false}'
    (settings / "notification.jupyterlab-settings").write_text(quiet, encoding="utf-8")


def _answers(address: str) -> bool:
    request = urllib.request.Request(f"{address}/api", headers={"Authorization": f"token {TOKEN}"})
    try:
        with urllib.request.urlopen(request, timeout=_ANSWER_SECONDS):
            return True
    except OSError:
        return False
