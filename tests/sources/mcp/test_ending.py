"""Ending: in bounded time and with no process left, however stubborn the servers are."""

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

from tests.support.bridge_scripts import END_SECONDS, next_line, run_to_end, script
from tests.support.bridges import bridge_with, wait_for_loss
from tests.support.census import no_leaks
from tests.support.fault_server import entry
from tests.support.processes import calls_in, is_running, none_runs, pids_in, wait_until
from tests.support.watchdog import ends_within
from xai_mcp_agent import settings_from
from xai_mcp_agent.sources import guard, process
from xai_mcp_agent.sources.mcp.connection import Connection
from xai_mcp_agent.sources.stderr import StderrLog


def test_a_polite_server_gets_time_to_finish(tmp_path: Path):
    """Servers flush their logs and databases when their stdin closes."""
    journal = tmp_path / "journal"
    with bridge_with(it=entry(journal=str(journal), slow_end=0.3)) as bridge:
        bridge.list_tools("it")
    assert "finished" in journal.read_text(encoding="utf-8")


def test_a_server_that_is_still_starting_ends_at_once(tmp_path: Path):
    journal = tmp_path / "journal"
    with ends_within(25), bridge_with(it=entry(hang=True, journal=str(journal))) as bridge:
        bridge.connect()
        wait_until(lambda: bool(pids_in(journal)), "it has started")
    assert none_runs(journal)


def test_a_script_that_fails_without_closing_leaves_no_process(tmp_path: Path):
    """As in a notebook, where standard error has no file number."""
    body = """
        import io
        sys.stderr = io.StringIO()
        bridge = servers(stubborn=True)
        try:
            bridge.call_tool("polite", "die", {"says": "last words"})
        except Exception as error:
            say(error.stderr_tail)
        sys.exit("failed")
    """
    code, output, _ = run_to_end(tmp_path, body)
    assert (code, output) == (1, "('last words',)\n")


def test_an_interrupt_cancels_the_call_and_leaves_the_bridge_usable(tmp_path: Path):
    """Ctrl-C, or the stop button of a notebook: servers live on; a second one ends the script."""
    body = """
        bridge = servers()
        say("calling")
        try:
            bridge.call_tool("polite", "never")
        except KeyboardInterrupt:
            say("interrupted", "notifications/cancelled" in bridge.call_tool("polite", "seen").text)
        say(bridge.call_tool("polite", "echo", {"text": "usable"}).text)
        bridge.call_tool("polite", "never")
    """
    with script(tmp_path, body) as child:
        assert next_line(child) == "calling"
        wait_until(lambda: calls_in(tmp_path / "journal") == 1, "the call has begun")
        child.send_signal(signal.SIGINT)
        assert next_line(child) == "interrupted True"
        assert next_line(child) == "usable"
        wait_until(lambda: calls_in(tmp_path / "journal") == 4, "the second call has begun")
        child.send_signal(signal.SIGINT)
        _, errors = child.communicate(timeout=END_SECONDS)
    assert errors.rstrip().endswith("KeyboardInterrupt")
    assert child.returncode != 0
    assert none_runs(tmp_path / "journal")
    starts = (tmp_path / "journal").read_text(encoding="utf-8").count("start ")
    assert starts == 1, "it started before the SDK was imported, and was then used"


linux_only = pytest.mark.skipif(sys.platform != "linux", reason="process groups are POSIX")


@linux_only
def test_a_child_in_a_session_of_its_own_ends_with_a_server_that_is_killed(tmp_path: Path):
    """Its parent is gone by then, but an earlier scan has seen it."""
    journal = tmp_path / "journal"
    with bridge_with(it=entry(journal=str(journal), child="apart")) as bridge:
        bridge.list_tools("it")
        server, child = pids_in(journal)
        wait_until(lambda: child in guard._guard._groups, "a scan has seen the child")
        os.kill(server, signal.SIGKILL)
        wait_for_loss(bridge, "it")
        wait_until(lambda: not is_running(child), "the child has ended")


@linux_only
def test_children_of_killed_servers_end_even_when_we_are_killed(tmp_path: Path):
    """Most servers end when we do; the guard knows the children from earlier scans."""
    body = """
        from tests.support.processes import wait_until
        from xai_mcp_agent.sources import guard, process

        servers = {f"it{x}": entry(journal=journal, child="apart") for x in range(2)}
        bridge = Bridge({"mcpServers": servers})
        bridge.connect(wait=True)
        wait_until(lambda: len(guard._guard._groups) == 4, "a scan has seen the children")
        say("ready")
        for line in open(journal):
            if line.startswith("pid "):
                os.kill(int(line.split()[1]), signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    with script(tmp_path, body) as child:
        assert next_line(child) == "ready"
        child.wait(END_SECONDS)
        assert len(pids_in(tmp_path / "journal")) == 4
        wait_until(lambda: none_runs(tmp_path / "journal"), "all have ended")


@linux_only
def test_a_daemon_lives_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """It looks like a program that was started for a person; see `Family`."""
    monkeypatch.setattr(process, "_SCAN_AFTER_OUTPUT_SECONDS", 60.0)  # it detaches before a scan
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
    """asyncio forgets both if it is cancelled twice while it connects the pipes."""
    journal = tmp_path / "journal"
    server = settings_from({"mcpServers": {"it": entry(journal=str(journal))}}).server("it")

    async def start() -> None:
        connection = Connection(server, StderrLog(str))
        try:
            await connection.start()
            await anyio.sleep_forever()
        finally:
            await connection.end()

    # The loop keeps its threads: start one of each kind before the block.
    await anyio.to_thread.run_sync(int)
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(max_workers=1))
    await asyncio.get_running_loop().run_in_executor(None, int)
    with no_leaks(), warnings.catch_warnings():
        warnings.simplefilter("error", ResourceWarning)
        for rounds in range(4):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(start)
                for _ in range(rounds):
                    await anyio.lowlevel.checkpoint()
                tasks.cancel_scope.cancel()
            gc.collect()
    assert none_runs(journal)
