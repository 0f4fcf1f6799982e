"""Ending: in bounded time, with nothing left running, however stubborn the servers are."""

from __future__ import annotations

import gc
import signal
from pathlib import Path

import pytest

from tests.support.bridge_scripts import END_SECONDS, ended, next_line, script
from tests.support.bridges import bridge_with
from tests.support.census import nothing_is_left
from tests.support.fault_server import entry
from tests.support.journals import calls_in, none_runs, pids_in
from tests.support.processes import wait_until
from tests.support.watchdog import ends_within
from xai_mcp_agent import Bridge

STUBBORN = {
    "polite": {},
    "goes on after its stdin closed": {"ignore_eof": True},
    "ignores SIGTERM too": {"ignore_eof": True, "ignore_term": True},
    "has a child": {"child": "polite"},
    "has a child that ignores SIGTERM": {"child": "deaf"},
    "has a child in a session of its own": {"child": "apart"},
    "is stubborn and has a stubborn child": {
        "ignore_eof": True,
        "ignore_term": True,
        "child": "deaf",
    },
}


def test_nothing_is_left_when_a_bridge_is_closed(tmp_path: Path):
    journal = tmp_path / "journal"
    servers = {name: entry(**how, journal=str(journal)) for name, how in STUBBORN.items()}
    with nothing_is_left():
        # All end at the same time, the stubborn ones in steps.
        with ends_within(30), bridge_with(**servers) as bridge:
            bridge.connect(wait=True)
            assert len(pids_in(journal)) == len(STUBBORN) + 4
        assert none_runs(journal)


def test_a_polite_server_is_given_the_time_to_finish(tmp_path: Path):
    """Servers flush their logs and databases when their stdin closes."""
    journal = tmp_path / "journal"
    with bridge_with(it=entry(journal=str(journal), slow_end=0.3)) as bridge:
        bridge.list_tools("it")
    assert "finished" in journal.read_text(encoding="utf-8")


def test_servers_that_are_just_starting_are_ended_at_once(tmp_path: Path):
    journal = tmp_path / "journal"
    with ends_within(25), bridge_with(it=entry(hang=True, journal=str(journal))) as bridge:
        bridge.connect()
        wait_until(lambda: bool(pids_in(journal)), "it was started")
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
    bridge = Bridge({"mcpServers": {"it": entry()}})
    bridge.close()
    bridge.close()
    with pytest.raises(RuntimeError, match="This bridge is closed; open a new one"):
        bridge.list_tools("it")


def test_a_bridge_that_was_forgotten_ends_its_servers(tmp_path: Path):
    journal = tmp_path / "journal"
    bridge = Bridge({"mcpServers": {"it": entry(journal=str(journal))}})
    bridge.list_tools("it")
    del bridge
    gc.collect()
    wait_until(lambda: none_runs(journal), "it was ended")


def test_a_script_that_fails_without_closing_and_without_a_usable_stderr_leaves_nothing(
    tmp_path: Path,
):
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
    code, output, _ = ended(tmp_path, body)
    assert (code, output) == (1, "('last words',)\n")


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
        wait_until(lambda: calls_in(tmp_path / "journal") == 1, "the call is under way")
        child.send_signal(signal.SIGINT)
        assert next_line(child) == "interrupted True"
        assert next_line(child) == "usable"
        wait_until(lambda: calls_in(tmp_path / "journal") == 4, "the second one is under way")
        child.send_signal(signal.SIGINT)
        _, errors = child.communicate(timeout=END_SECONDS)
    assert errors.rstrip().endswith("KeyboardInterrupt")
    assert child.returncode != 0
    assert none_runs(tmp_path / "journal")
