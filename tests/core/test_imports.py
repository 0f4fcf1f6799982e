"""Imports in threads survive an interrupt and the exit of the process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.own_python

_END_SECONDS = 60.0
# Compiled code calls this Python function of a validator.
_SLOW = """
import time
from typing import Annotated
from pydantic import BeforeValidator, TypeAdapter
import __main__

def check(value):
    __main__.is_within.set()
    ends = time.monotonic() + 0.4
    while time.monotonic() < ends:
        pass
    return value

TypeAdapter(Annotated[int, BeforeValidator(check)]).validate_python(1)
import never_looked_for
print("went on")
"""
_SCRIPT = """
import threading, time
from xai_mcp_agent.core.imports import begin_import
is_within = threading.Event()

class LastMoment:
    sleep = time.sleep
    def __del__(self):  # others may run once more
        self.sleep(0.2)

last = LastMoment()
def load():
    import slow
begin_import(load)
is_within.wait()
print("ends")
"""


def test_a_process_can_exit_while_a_thread_imports_a_library(tmp_path: Path):
    """If Python ended a thread in Rust code: `FATAL: exception not rethrown`."""
    (tmp_path / "slow.py").write_text(_SLOW, encoding="utf-8")
    script = tmp_path / "script.py"
    script.write_text(_SCRIPT, encoding="utf-8")
    process = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, timeout=_END_SECONDS
    )
    assert (process.returncode, process.stdout) == (0, "ends\n"), process.stderr
