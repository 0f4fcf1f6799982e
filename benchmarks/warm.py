"""A run in a kernel whose server still runs from the run before, beside one that starts it.

Both are the quickstart, in one kernel that has imported everything: a cold run starts the bridge
and its server.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from tests.support.kernels import Kernel, kernel

from .first_call import quickstart
from .rows import Row, compare, size

_ROUNDS = size(10, 1)
_TARGET = 0.05


def rows() -> Iterator[Row]:
    """Measure warm and cold runs in turn."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        quickstart(folder)
        warm, cold = _settings(folder, "warm", 600), _settings(folder, "cold", 0)
        with kernel(folder, XAI_MCP_TRUST="all") as running:
            run_warm, run_cold = partial(_run, running, warm), partial(_run, running, cold)
            run_warm(), run_cold()  # imports, and the server that stays
            what = "the second run in a kernel / a cold run"
            yield compare(what, run_warm, run_cold, _ROUNDS, _TARGET)


def _settings(folder: Path, name: str, keep_warm: int) -> Path:
    server = {"command": sys.executable, "args": [str(folder / "examples/servers/library.py")]}
    file = folder / f"{name}.json"
    settings = {"mcpServers": {"library": server}, "keepWarm": keep_warm}
    file.write_text(json.dumps(settings), encoding="utf-8")
    return file


def _run(running: Kernel, settings: Path) -> None:
    choose = f"import os; os.environ['XAI_MCP_SETTINGS'] = {str(settings)!r}"
    result = running.run(f"{choose}\n%run quickstart.py")
    if result.error:
        raise RuntimeError(result.traceback)
