"""Run every benchmark in its smallest form: `python -m benchmarks.smoke [NAME...]`.

It shows that each still runs; no figure counts. Benchmarks whose program (Chromium, Prism) is not
on this machine are left out, with a line that says so.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.support.lab import chromium

from . import __main__ as table
from .openapi_calls import prism_command
from .rows import SMALLEST_VARIABLE

_ROOT = Path(__file__).parents[1]
_SETS = "tests/data/tool_sets"
_SCORED = ("--data", _SETS, "--scorer", f"{_SETS}/scorer.py", "--only")
_STEPS = "calls-stdio,calls-http,ready-8,one-missing,large-stdio,listing,import,first"
_LIMIT_SECONDS = 300.0  # ten times as long as the longest takes on 2 idle cores

COMMANDS: Mapping[str, Sequence[str]] = {
    **{name: ("benchmarks", name) for name in table.NAMES},
    "drawing": ("benchmarks.drawing", "--data", _SETS),
    "openapi": ("benchmarks.openapi", "--data", "tests/data/openapi"),
    "openapi_calls": ("benchmarks.openapi_calls", "--data", "tests/data/openapi", "--most", "2"),
    "peers": ("benchmarks.peers", "--passes", "1", "--steps", _STEPS),
    "planning": ("benchmarks.planning", *_SCORED, "quality,speed"),
    "questions": ("benchmarks.questions", "units", "--alone"),
    "search": ("benchmarks.search", *_SCORED, "quality,speed,tokens,tasks", "--tasks", "2"),
    "soak": ("benchmarks.soak", "--minutes", "0.2", "--print-only", "--servers", "5"),
    "lessons": ("benchmarks.lessons",),
    "newcomer": ("benchmarks.newcomer", "--print-only"),
}


def main(names: Sequence[str]) -> int:
    """Run the benchmarks of these names, or all; 1 if one failed."""
    failed = [x for x in names or COMMANDS if not _run(x)]
    print(f"==> {', '.join(failed)} failed" if failed else "==> every benchmark ran", flush=True)
    return 1 if failed else 0


def _run(name: str) -> bool:
    """Return whether the benchmark succeeded, or cannot be run here."""
    if missing := _missing_program(name):
        print(f"==> {name}: left out, because there is no {missing}", flush=True)
        return True
    print(f"==> {name}", flush=True)
    start = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", *COMMANDS[name]], cwd=_ROOT, stdin=subprocess.DEVNULL,
        env={**os.environ, SMALLEST_VARIABLE: "1"},
    )  # fmt: skip
    try:
        process.wait(_LIMIT_SECONDS)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)  # it ends its own children
        process.wait(_LIMIT_SECONDS)
    print(f"==> {name}: {time.monotonic() - start:.1f} s", flush=True)
    return process.returncode == 0


def _missing_program(name: str) -> str:
    if name in ("lessons", "newcomer") and chromium() is None:
        return "Chromium"
    return "Prism" if name == "openapi_calls" and prism_command() is None else ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
