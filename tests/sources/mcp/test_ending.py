"""Ending: in bounded time, with nothing left running, however stubborn the servers are."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.bridges import bridge_with
from tests.support.fault_server import entry
from tests.support.processes import is_running, wait_until
from xai_mcp_agent import Bridge

ROOT = Path(__file__).parents[3]
CHILD_SECONDS = 30.0

STUBBORN = {
    "polite": {},
    "goes on after its stdin closed": {"ignore_eof": True},
    "ignores SIGTERM too": {"ignore_eof": True, "ignore_term": True},
    "has a child": {"child": "polite"},
    "has a child that ignores SIGTERM": {"child": "deaf"},
    "is stubborn and has a stubborn child": {
        "ignore_eof": True,
        "ignore_term": True,
        "child": "deaf",
    },
}


def pids_in(journal: Path) -> list[int]:
    """The servers that were started, and what they started."""
    lines = journal.read_text(encoding="utf-8").splitlines() if journal.exists() else []
    return [int(line.split()[1]) for line in lines if line.startswith(("pid ", "child "))]


def none_runs(journal: Path) -> bool:
    """Whether nothing is left of them."""
    return not any(is_running(pid) for pid in pids_in(journal))


def children() -> set[int]:
    """The processes that this one started and that still run."""
    listed = Path(f"/proc/{os.getpid()}/task").glob("*/children")
    return {int(pid) for file in listed for pid in file.read_text(encoding="ascii").split()}


def test_nothing_is_left_when_a_bridge_is_closed(tmp_path: Path):
    journal = tmp_path / "journal"
    before, threads = children(), set(threading.enumerate())
    servers = {name: entry(**how, journal=str(journal)) for name, how in STUBBORN.items()}
    with bridge_with(**servers) as bridge:
        bridge.connect(wait=True)
        assert len(pids_in(journal)) == len(STUBBORN) + 3
        started = time.monotonic()
    assert time.monotonic() - started < 6, "all at the same time, the stubborn ones in steps"
    assert none_runs(journal)
    assert children() == before
    wait_until(lambda: set(threading.enumerate()) <= threads, "no thread is left")


def test_a_polite_server_is_given_the_time_to_finish(tmp_path: Path):
    """Servers flush their logs and databases when their stdin closes."""
    journal = tmp_path / "journal"
    with bridge_with(it=entry(journal=str(journal), slow_end=0.3)) as bridge:
        bridge.list_tools("it")
    assert "finished" in journal.read_text(encoding="utf-8")


def test_servers_that_are_just_starting_are_ended_at_once(tmp_path: Path):
    journal = tmp_path / "journal"
    with bridge_with(it=entry(hang=True, journal=str(journal))) as bridge:
        bridge.connect()
        wait_until(lambda: bool(pids_in(journal)), "it was started")
        started = time.monotonic()
    assert time.monotonic() - started < 3
    assert none_runs(journal)


def test_an_error_inside_the_with_block_ends_the_servers_and_comes_through(tmp_path: Path):
    journal = tmp_path / "journal"

    def fail_inside() -> None:
        with bridge_with(it=entry(journal=str(journal))) as bridge:
            bridge.list_tools("it")
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        fail_inside()
    assert none_runs(journal)


def test_closing_twice_and_calling_afterwards_are_harmless():
    bridge = Bridge({"mcpServers": {"it": entry()}})
    bridge.list_tools("it")
    bridge.close()
    bridge.close()
    assert not bridge.is_open
    with pytest.raises(RuntimeError, match="This bridge is closed; open a new one"):
        bridge.list_tools("it")


def test_a_bridge_that_was_forgotten_ends_its_servers(tmp_path: Path):
    journal = tmp_path / "journal"
    bridge = Bridge({"mcpServers": {"it": entry(journal=str(journal))}})
    bridge.list_tools("it")
    del bridge
    gc.collect()
    wait_until(lambda: none_runs(journal), "it was ended")


@contextmanager
def script(folder: Path, body: str) -> Generator[subprocess.Popen[str]]:
    """A Python script as a process; `servers()` gives it a bridge with a server or two."""
    head = f"""
        import sys
        from tests.support.fault_server import entry
        from xai_mcp_agent import Bridge

        def servers(stubborn=False):
            journal = {str(folder / "journal")!r}
            some = {{"polite": entry(journal=journal, child="polite")}}
            if stubborn:
                some["stubborn"] = entry(journal=journal, child="deaf", ignore_eof=True)
            bridge = Bridge({{"mcpServers": some}})
            bridge.connect(wait=True)
            return bridge

        def say(*words):
            print(*words, flush=True)
    """
    file = folder / "script.py"
    file.write_text(textwrap.dedent(head) + textwrap.dedent(body), encoding="utf-8")
    child = subprocess.Popen(
        [sys.executable, str(file)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
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


def next_line(child: subprocess.Popen[str]) -> str:
    """What it says next; the test's own limit bounds the wait."""
    assert child.stdout is not None
    return child.stdout.readline().strip()


def test_a_script_that_ends_without_closing_leaves_nothing(tmp_path: Path):
    body = """
        bridge = servers(stubborn=True)
        say(bridge.call_tool("polite", "echo", {"text": "hello"}).text)
    """
    with script(tmp_path, body) as child:
        output, errors = child.communicate(timeout=CHILD_SECONDS)
    assert (child.returncode, output, errors) == (0, "hello\n", "")
    assert len(pids_in(tmp_path / "journal")) == 4
    assert none_runs(tmp_path / "journal")


def test_a_script_that_fails_without_a_usable_stderr_leaves_nothing(tmp_path: Path):
    """As in a notebook, where standard error has no file number."""
    body = """
        import io
        sys.stderr = io.StringIO()
        bridge = servers()
        try:
            bridge.call_tool("polite", "die", {"says": "last words"})
        except Exception as error:
            say(error.stderr_tail)
        sys.exit("failed")
    """
    with script(tmp_path, body) as child:
        output, _ = child.communicate(timeout=CHILD_SECONDS)
    assert child.returncode == 1
    assert output == "('last words',)\n"
    assert none_runs(tmp_path / "journal")


def test_an_interrupt_cancels_the_call_and_leaves_the_bridge_usable(tmp_path: Path):
    """Ctrl-C, or the square button of a notebook: servers live on; a second one ends all."""
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
        wait_until(lambda: _calls_in(tmp_path / "journal") == 1, "the call is under way")
        child.send_signal(signal.SIGINT)
        assert next_line(child) == "interrupted True"
        assert next_line(child) == "usable"
        wait_until(lambda: _calls_in(tmp_path / "journal") == 4, "the second one is under way")
        child.send_signal(signal.SIGINT)
        _, errors = child.communicate(timeout=CHILD_SECONDS)
    assert errors.rstrip().endswith("KeyboardInterrupt")
    assert child.returncode != 0
    assert none_runs(tmp_path / "journal")


def test_a_process_that_is_killed_leaves_nothing(tmp_path: Path):
    """It cannot do anything any more; a guard does it."""
    body = """
        bridge = servers(stubborn=True)
        say("ready")
        bridge.call_tool("polite", "never")
    """
    with script(tmp_path, body) as child:
        assert next_line(child) == "ready"
        child.kill()
        child.wait(CHILD_SECONDS)
        wait_until(lambda: none_runs(tmp_path / "journal"), "all are gone")


def _calls_in(journal: Path) -> int:
    return journal.read_text(encoding="utf-8").count("tools/call ")
