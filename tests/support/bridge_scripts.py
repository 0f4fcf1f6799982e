"""Python scripts that use a bridge, as processes that tests may end in any way.

with script(tmp_path, 'bridge = servers()\\nsay("ready")') as child:
    assert next_line(child) == "ready"
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import xai_mcp_agent
from tests.support.processes import none_runs

_ROOT = Path(xai_mcp_agent.__file__).parents[1]
END_SECONDS = 60.0  # for a script to end on a busy machine


@contextmanager
def script(
    folder: Path, body: str, *, python: str = sys.executable
) -> Generator[subprocess.Popen[str]]:
    """Run a script in a new process for the length of the block.

    It has `servers()`, which returns a bridge with connected servers, `entry`, `Bridge`, `say`, and
    `journal`, the name of the file in `folder` where the servers log their start.
    """
    head = f"""
        import os, signal, sys, threading, warnings
        from tests.support.fault_server import entry
        from xai_mcp_agent import Bridge

        journal = {str(folder / "journal")!r}

        def servers(stubborn=False):
            entries = {{"polite": entry(journal=journal, child="polite")}}
            if stubborn:
                entries["stubborn"] = entry(journal=journal, child="deaf", ignore_eof=True)
            bridge = Bridge({{"mcpServers": entries}})
            bridge.connect(wait=True)
            return bridge

        # From 3.12 on, Python warns about a fork of a process with threads.
        warnings.simplefilter("ignore", DeprecationWarning)

        def say(*words):
            os.write(1, (" ".join(map(str, words)) + chr(10)).encode())
    """
    file = folder / "script.py"
    file.write_text(textwrap.dedent(head) + textwrap.dedent(body), encoding="utf-8")
    child = subprocess.Popen(
        [python, str(file)],
        env={**os.environ, "PYTHONPATH": str(_ROOT)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield child
    finally:
        child.kill()
        child.communicate()


def run_to_end(folder: Path, body: str, python: str = sys.executable) -> tuple[int, str, str]:
    """Run a script; return its status, output and errors. It must leave no process."""
    with script(folder, body, python=python) as child:
        output, errors = child.communicate(timeout=END_SECONDS)
    assert none_runs(folder / "journal")
    return child.returncode, output, errors


def next_line(child: subprocess.Popen[str]) -> str:
    """Return the next line of output; the test's own limit bounds the wait."""
    assert child.stdout is not None
    return child.stdout.readline().strip()
