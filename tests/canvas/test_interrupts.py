"""How a compiled workflow ends: after Ctrl-C at any moment, and after an error, in few words.

`XAI_TEST_INTERRUPTS` is how many there are, 6 if not set; `XAI_TEST_SEED` begins another series.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from tests.support.commands import write_settings
from tests.support.fault_server import entry
from tests.support.scripts import child_environment, compile_workflow, run_script
from tools.build_examples import EXAMPLES

_EXAMPLE = "ex04_two_servers_and_a_drawn_tool"
_INTERRUPTS = int(os.environ.get("XAI_TEST_INTERRUPTS", "6"))
_SEED = int(os.environ.get("XAI_TEST_SEED", "1"))
_FIRST_SECONDS = 3.0
_END_SECONDS = 60.0  # what hangs does so for ever; machines are busy
_TELL_SECONDS = 10.0
_FEW_LINES = 4
_AT_ONCE = 2 * (os.cpu_count() or 2)
_LOADED = "loaded"
# Without us, Python loses one that comes where it lets go of a module's lock.
_PYTHON_LOST_IT = re.compile(
    r"Exception ignored in: <function _get_module_lock\b.*\n(.+\n)+?KeyboardInterrupt"
)
pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="it has other signals"),
    pytest.mark.timeout(60 + 10 * _INTERRUPTS),
]


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """A compiled workflow that is busy for longer than the moments that are tried."""
    shutil.copy(EXAMPLES / f"{_EXAMPLE}.xircuits", tmp_path)
    slow = {name: entry(delay=2 * _FIRST_SECONDS) for name in ("library", "units", "calendar")}
    write_settings(tmp_path, slow)
    compiled = compile_workflow(tmp_path / f"{_EXAMPLE}.xircuits")
    head, mark, rest = compiled.read_text(encoding="utf-8").partition("\n@xai_component")
    report = f"\nprint({_LOADED!r}, flush=True)\n"
    compiled.write_text(f"{head}{report}{mark}{rest}", encoding="utf-8")
    return compiled


def interrupt(script: Path, seconds: float) -> tuple[int, str, str]:
    """Run it until then; its status, and what it printed and complained of.

    One that hangs is ended by SIGABRT, and complains of where each of its threads was.
    """
    child = subprocess.Popen(
        [sys.executable, "-X", "faulthandler", script.name],
        cwd=script.parent, env=child_environment(script.parent),
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        with suppress(subprocess.TimeoutExpired):
            child.wait(seconds)
        child.send_signal(signal.SIGINT)
        try:
            output, errors = child.communicate(timeout=_END_SECONDS)
        except subprocess.TimeoutExpired:
            child.send_signal(signal.SIGABRT)
            output, errors = child.communicate(timeout=_TELL_SECONDS)
    finally:
        child.kill()
        child.communicate()
    return child.returncode, output, errors


def test_an_interrupt_at_any_moment_ends_a_run_and_is_reported_in_a_few_lines(script: Path):
    """Until our nodes are imported, it is Python that tells of it, in its own way.

    Several runs at a time: so every processor has something else to do as well.
    """
    chance = random.Random(_SEED)
    moments = [chance.uniform(0, _FIRST_SECONDS) for _ in range(_INTERRUPTS)]
    with ThreadPoolExecutor(_AT_ONCE) as runs:
        results = list(runs.map(partial(interrupt, script), moments))
    for moment, (status, output, errors) in zip(moments, results, strict=True):
        report = f"at {moment:.3f} s, status {status}: {errors}\n{output}"
        if _LOADED not in output:
            assert status, report
        elif not _PYTHON_LOST_IT.match(errors):
            assert status == -signal.SIGINT, report
            assert errors.rstrip().endswith("KeyboardInterrupt"), report
            assert len(errors.strip().splitlines()) <= _FEW_LINES, report
            assert f"Interrupted in {script.name}, line " in errors, report


# Errors

_NODE = """\
import sys
from xai_mcp_agent import UnknownServer
import xai_mcp_agent.canvas

class MyNode:
    def execute(self, ctx):
        raise {error}

MyNode().execute({{}})
"""
_OURS = "UnknownServer('No MCP server.', 'libary', [])"


def failing(folder: Path, error: str) -> Path:
    file = folder / "my_agent.py"
    file.write_text(_NODE.format(error=error))
    return file


def test_an_error_of_ours_is_reported_in_a_few_lines_and_the_status_is_1(tmp_path: Path) -> None:
    command = f"xai-mcp-agent trust {tmp_path / ('deep/' * 12)}mcp_settings.json"
    result = run_script(failing(tmp_path, f"UnknownServer({command!r}, 'libary', [])"))
    assert result.returncode == 1
    assert "The workflow stopped at MyNode (UnknownServer):" in result.stderr
    assert f"  {command}\n" in result.stderr, "it stays on its line to be copied"
    assert "Traceback" not in result.stderr


def test_a_bug_and_a_verbose_run_show_the_traceback(tmp_path: Path) -> None:
    for error, show in (("ValueError('a bug')", ""), (_OURS, "verbose")):
        result = run_script(failing(tmp_path, error), XAI_MCP_SHOW=show)
        assert (result.returncode, "Traceback" in result.stderr) == (1, True), error
