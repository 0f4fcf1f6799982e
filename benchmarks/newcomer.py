"""A newcomer's clock: from `pip install` to an answer, each step as in the README.

It uses a new environment, a real lab and a real Chromium. The machine's seconds are measured;
gestures are counted and converted to seconds by the keystroke-level model.
`make newcomer` writes into `docs/measured.md`; with `ARGS=--print-only` it only prints.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from tests.support.environments import Environment
from tests.support.first_workflow import ANSWER, QUESTION, draw
from tests.support.lab import SMALL, browser, chromium, lab, open_lab
from tests.support.lab_panel import Panel

from . import page
from .clock import Clock
from .rows import IS_SMALLEST

_COMMAND = "make newcomer"
_ROOT = Path(__file__).parents[1]
_PIP_SECONDS = 900
_EXAMPLE = "examples/ex01_quickstart.xircuits"


def main(arguments: Sequence[str]) -> int:
    """Take all steps once; 2 without a browser."""
    if chromium() is None:
        print("There is no Chromium on this machine.", file=sys.stderr)
        return 2
    clock = Clock()
    with tempfile.TemporaryDirectory(prefix="newcomer-") as root:
        _take(clock, Path(root))
    text = f"{page.machine()}\n\n{clock.table()}"
    print(f"\n{text}")
    if "--print-only" not in arguments:
        page.write(_COMMAND, text)
    return 0


def _take(clock: Clock, root: Path) -> None:
    home = Environment(root / "env")
    with clock.step("an environment, and `pip install` of the package and Xircuits"):
        _link_packages(home) if IS_SMALLEST else _install(home)
    folder, command = root / "my-agents", str(home.root / "bin" / "xai-mcp-agent")
    with clock.step("`xai-mcp-agent init my-agents`"):
        home.run(root, command, "init", folder.name)
    with clock.step("`xai-mcp-agent ask`: the first answer, in the terminal"):
        answer = home.run(folder, command, "ask", QUESTION)
    assert ANSWER in answer, answer
    _in_the_lab(clock, home, folder)


def _install(home: Environment) -> None:
    venv.create(home.root, with_pip=True, symlinks=True)
    pip = [home.python, "-m", "pip", "install", "--quiet", f"{_ROOT}[lab]"]
    subprocess.run(pip, check=True, timeout=_PIP_SECONDS, stdin=subprocess.DEVNULL)


def _link_packages(home: Environment) -> None:
    """Link the packages of this environment, so that nothing is downloaded."""
    home.root.mkdir()
    for part in Path(sys.prefix).iterdir():
        (home.root / part.name).symlink_to(part)


def _in_the_lab(clock: Clock, home: Environment, folder: Path) -> None:
    with browser() as running, ExitStack() as stack:
        with clock.step("`xircuits start`: the lab stands"):
            address = stack.enter_context(lab(folder, home.python, home.variables()))
            window = open_lab(running, address, width=SMALL[0], height=SMALL[1])
        with clock.step("the quickstart is opened", window):
            window.open_by_hand(_EXAMPLE)
        with clock.step("**Run**: the answer is in sight", window):
            output = window.run()
        assert ANSWER in output, output
        with clock.step("a workflow of one's own is drawn", window):
            draw(window)
        with clock.step("its answer is in sight, in the panel", window):
            answer = Panel(window).open_by_hand().ask(QUESTION)
        assert ANSWER in answer, answer


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
