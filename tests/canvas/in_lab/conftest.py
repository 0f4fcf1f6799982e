"""One lab, one browser, one window for all tests here; each test begins without open workflows."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Error

from tests.support.asking_server import asking_entry
from tests.support.fault_server import entry
from tests.support.lab import SMALL, browser, chromium, lab, open_lab
from tests.support.lab_canvas import Canvas
from tests.support.lab_panel import Panel
from tests.support.mcp_servers import gallery_entry
from tests.support.shredder_server import shredder_entry
from tests.support.warm_python import warm_python
from xai_mcp_agent.cli.init import init_folder

_TEST_SECONDS = 300
_LOG_LINES = 40  # a traceback of a kernel, and what was asked before it
# A test that fails leaves its question behind; the next one's run begins when that is over.
_ANSWER_SECONDS = 60
# `make newest-lab` names another one, whose JupyterLab is newer.
LAB_PYTHON = os.environ.get("XAI_TEST_LAB_PYTHON", sys.executable)
# Pictures of what a failed test saw.
ARTEFACTS = Path(
    os.environ.get("XAI_TEST_ARTEFACTS") or Path(__file__).parents[3] / "test-artefacts"
)


# The browser's driver runs an event loop in this thread, which other tests must not find there:
# so these fixtures end with this folder.
@pytest.fixture(scope="package")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working folder as `init` makes it, with four more servers."""
    home = init_folder(tmp_path_factory.mktemp("browser") / "lab").folder
    settings = home / "mcp_settings.json"
    text = settings.read_text(encoding="utf-8").replace("${python}", warm_python())
    value = json.loads(text)
    value["mcpServers"] |= {
        "it": entry(journal=str(home / "journal")),
        "shredder": shredder_entry(),
        "gallery": gallery_entry(),
        "asking": asking_entry(elicitationTimeout=_ANSWER_SECONDS),
    }
    settings.write_text(json.dumps(value, indent=2), encoding="utf-8")
    return home


@pytest.fixture(scope="package")
def address(folder: Path) -> Iterator[str]:
    """The address of this folder's lab."""
    if chromium() is None:
        pytest.skip("no Chromium on this machine")
    with lab(folder, LAB_PYTHON) as address:
        yield address


@pytest.fixture(scope="package")
def window(address: str) -> Iterator[Canvas]:
    """The one window."""
    with browser() as running:
        yield open_lab(running, address, scale=0.5)


@pytest.fixture
def canvas(window: Canvas) -> Canvas:
    """The window with nothing open in it."""
    window.close_all()
    return window


@pytest.fixture
def panel(canvas: Canvas) -> Panel:
    """The panel at the right, which is closed before each test."""
    return Panel(canvas)


@pytest.fixture
def small(canvas: Canvas) -> Iterator[Canvas]:
    """The window in the size of a small laptop's."""
    with canvas.sized(*SMALL):
        yield canvas


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """More room for these tests: the first of them starts a lab, a browser and a kernel."""
    here = str(Path(__file__).parent)
    for item in items:
        if str(item.path).startswith(here):
            item.add_marker(pytest.mark.timeout(_TEST_SECONDS))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, Any]:
    """A failure tells what the lab showed and said, with a picture: later nobody can look."""
    report = yield
    if report.failed:
        fixtures = getattr(item, "funcargs", {})
        window = fixtures.get("window") if report.when != "teardown" else None
        report.sections += _account(window, fixtures, item.name)
    return report


def _account(window: Canvas | None, fixtures: dict[str, Any], test: str) -> list[tuple[str, str]]:
    account = dict[str, str]()
    if window is not None:
        picture = ARTEFACTS / f"{test}.png"
        try:
            account = window.account() | {"picture": str(picture)}
            window.picture(picture)
        except Error as error:
            account["window"] = f"It does not answer: {error}"
    if (folder := fixtures.get("folder")) is not None and (folder / "lab.log").exists():
        lines = (folder / "lab.log").read_text("utf-8", "replace").splitlines()
        account["end of the log of lab and kernels"] = "\n".join(lines[-_LOG_LINES:])
    return [(f"lab: {where}", text) for where, text in account.items() if text.strip()]
