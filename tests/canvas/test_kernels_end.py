"""However a kernel ends, no server outlives it.

This is the last of the files `test_kernel*`, which share one kernel.
"""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.support.commands import write_settings
from tests.support.fault_server import entry
from tests.support.kernels import Kernel
from tests.support.processes import calls_in, none_runs, pids_in, wait_until

BEGIN = """
from tests.support.canvas import make, play
from xai_mcp_agent.mcp_components import MCPCallTool, MCPListTools
"""
REST = "play({}, make(MCPListTools, server_name='warm'))"
HOLD = """
ctx = {}
play(ctx, make(MCPListTools, server_name='apart'))
play(ctx, make(MCPCallTool, server_name='stubborn', tool_name='never'))
"""


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    """The journal of the servers: one that stays warm, and two that are hard to end."""
    journal = str(tmp_path / "journal")
    servers = {
        "warm": entry(journal=journal, child="polite", ignore_eof=True),
        "apart": {**entry(journal=journal, child="apart", slow_end=1), "keepWarm": 0},
        "stubborn": {**entry(journal=journal, ignore_eof=True, child="deaf"), "keepWarm": 0},
    }
    write_settings(tmp_path, servers)
    return Path(journal)


@pytest.fixture
def shell(one_kernel: Kernel, journal: Path) -> Kernel:
    """The kernel, with a server that stays for the next run."""
    run = one_kernel.move(journal.parent).run(BEGIN + REST)
    assert not run.error, run.traceback
    assert len(pids_in(journal)) == 2
    return one_kernel


def test_restarting_an_idle_kernel_ends_what_stayed_in_it(shell: Kernel, journal: Path) -> None:
    shell.restart()
    wait_until(lambda: none_runs(journal), "all are gone")


def test_restarting_a_busy_kernel_ends_what_ran_in_it(shell: Kernel, journal: Path) -> None:
    """It cannot be asked then, and is killed."""
    shell.begin(lambda: calls_in(journal) == 1, HOLD)
    assert len(pids_in(journal)) == 6
    shell.restart()
    wait_until(lambda: none_runs(journal), "all are gone")


def test_a_kernel_that_is_terminated_leaves_nothing(shell: Kernel, journal: Path) -> None:
    shell.end_by(signal.SIGTERM)
    wait_until(lambda: none_runs(journal), "all are gone")
