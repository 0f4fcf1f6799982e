"""What servers start is ended with them, also out of their group; nothing else ever is."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from tests.support.bridge_scripts import END_SECONDS, next_line, script
from tests.support.bridges import bridge_with, wait_for_loss
from tests.support.census import nothing_is_left
from tests.support.fault_server import entry
from tests.support.journals import none_runs, pids_in
from tests.support.processes import is_running, wait_until
from xai_mcp_agent import settings_from
from xai_mcp_agent.sources.mcp.connection import Connection
from xai_mcp_agent.sources.process import StderrLog

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="process groups are POSIX")


def test_a_child_in_a_session_of_its_own_ends_with_a_server_that_is_killed(tmp_path: Path):
    """Nobody is its parent any more by then; it was seen before."""
    journal = tmp_path / "journal"
    with bridge_with(it=entry(journal=str(journal), child="apart")) as bridge:
        bridge.list_tools("it")
        server, child = pids_in(journal)
        os.kill(server, signal.SIGKILL)
        wait_for_loss(bridge, "it")
        wait_until(lambda: not is_running(child), "the child was ended")


def test_children_of_many_servers_end_when_we_are_killed_and_the_servers_are_gone_first(
    tmp_path: Path,
):
    """Most servers end as soon as we do; whose their children were was known before."""
    body = """
        from tests.support.processes import wait_until
        from xai_mcp_agent.sources import guard

        some = {f"it{x}": entry(journal=journal, child="apart") for x in range(8)}
        bridge = Bridge({"mcpServers": some})
        bridge.connect(wait=True)
        wait_until(lambda: len(guard._guard._groups) == 16, "the children were seen")
        say("ready")
        for line in open(journal):
            if line.startswith("pid "):
                os.kill(int(line.split()[1]), signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    with script(tmp_path, body) as child:
        assert next_line(child) == "ready"
        child.wait(END_SECONDS)
        assert len(pids_in(tmp_path / "journal")) == 16
        wait_until(lambda: none_runs(tmp_path / "journal"), "all are gone")


def test_a_daemon_that_cut_itself_loose_is_left_alone(tmp_path: Path):
    """It cannot be told from a program that was started for a person; see `Family`."""
    journal = tmp_path / "journal"
    with bridge_with(it=entry(journal=str(journal), child="daemon")) as bridge:
        bridge.list_tools("it")
    server, daemon = pids_in(journal)
    try:
        assert not is_running(server)
        assert is_running(daemon)
    finally:
        os.kill(daemon, signal.SIGKILL)


@pytest.mark.anyio
async def test_a_start_that_is_cancelled_halfway_leaves_no_process_and_no_pipe(tmp_path: Path):
    """asyncio, cancelled twice while it connects the pipes, forgets both."""
    journal = tmp_path / "journal"
    server = settings_from({"mcpServers": {"it": entry(journal=str(journal))}}).server("it")

    async def start() -> None:
        connection = Connection(server, StderrLog(str))
        try:
            await connection.start()
            await anyio.sleep_forever()
        finally:
            await connection.end()

    # The loop's threads stay as long as it does: one each, from before the block.
    await anyio.to_thread.run_sync(int)
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(max_workers=1))
    await asyncio.get_running_loop().run_in_executor(None, int)
    with nothing_is_left(), warnings.catch_warnings():
        warnings.simplefilter("error", ResourceWarning)
        for rounds in range(4):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(start)
                for _ in range(rounds):
                    await anyio.lowlevel.checkpoint()
                tasks.cancel_scope.cancel()
            gc.collect()
    assert none_runs(journal)
