"""Closing a bridge while it is in use: by another thread, a listener, a signal, or after a fork.

The fault suite tests servers that refuse to end.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.bridge_scripts import END_SECONDS, next_line, run_to_end, script
from tests.support.bridges import bridge_with
from tests.support.census import no_leaks
from tests.support.commands import write_settings
from tests.support.fault_server import entry
from tests.support.processes import calls_in, is_running, none_runs, pids_in, wait_until
from xai_mcp_agent import Bridge

CLOSED = "The bridge was closed before the call was done"


@pytest.fixture(autouse=True)
def _warm() -> Generator[None]:
    """Open a first bridge: everything that it loads and keeps open is not a leak."""
    with bridge_with(it=entry()) as bridge:
        bridge.list_tools("it")
    with no_leaks():
        yield


def test_calls_under_way_are_reported_when_another_thread_closes_the_bridge(tmp_path: Path):
    journal = tmp_path / "journal"
    bridge = Bridge({"mcpServers": {"it": entry(journal=str(journal))}})
    with ThreadPoolExecutor(5) as threads:
        calls = [threads.submit(bridge.call_tool, "it", "never") for _ in range(4)]
        async_call = threads.submit(asyncio.run, bridge.aio.call_tool("it", "never"))
        wait_until(lambda: calls_in(journal) == 5, "all are under way")
        bridge.close()
        for call in [*calls, async_call]:
            with pytest.raises(RuntimeError, match=CLOSED):
                call.result(END_SECONDS)


def test_a_progress_listener_may_close_the_bridge_it_is_called_by():
    bridge = Bridge({"mcpServers": {"it": entry()}})
    with suppress(RuntimeError):  # the answer may still arrive before the end
        bridge.call_tool("it", "progress", {"steps": 5}, on_progress=lambda *_: bridge.close())
    assert not bridge.is_open
    bridge.close()


def test_python_ends_at_once_while_a_bridge_is_open_and_a_daemon_thread_waits_for_a_call(
    tmp_path: Path,
):
    body = """
        from xai_mcp_agent.bridge.operations import Operations

        embeddings = {"model": "m", "url": "http://127.0.0.1:9/v1"}
        servers = {"polite": entry(journal=journal, child="polite")}
        bridge = Bridge({"mcpServers": servers, "toolSearch": {"embeddings": embeddings}})
        say(len(bridge.search_tools("say the text")) > 0)
        for _ in range(3):
            threading.Thread(target=bridge.call_tool, args=("polite", "never"), daemon=True).start()
        bridge.submit(Operations.call_tool, "polite", "never")
        while '"tools/call"' not in bridge.call_tool("polite", "seen").text:
            pass
    """
    code, output, errors = run_to_end(tmp_path, body)
    assert (code, output) == (0, "True\n"), errors
    # Python stops daemon threads; those that were quick enough say what became of their calls.
    assert "SourceClosed" not in errors


def test_a_bridge_works_and_ends_without_standard_streams(tmp_path: Path):
    """As under pythonw on Windows: printed lines are dropped, and nothing fails."""
    it, broken = entry(journal=str(tmp_path / "journal")), {"command": "no-such-program-anywhere"}
    write_settings(tmp_path, {"it": it, "broken": broken})
    body = """
        from tests.support.canvas import make, play
        from xai_mcp_agent.agent_components import AgentInit, AgentRun
        from xai_mcp_agent.agent_components import AgentMakeToolbelt, AgentUseMCPTools

        os.environ["XAI_MCP_SETTINGS"] = os.path.dirname(journal) + "/mcp_settings.json"
        sys.stdin = sys.stdout = sys.stderr = sys.__stdout__ = sys.__stderr__ = None
        belt = make(AgentMakeToolbelt)
        run = make(AgentRun, agent_name="a", conversation='Echo "hello".')
        play({}, make(AgentUseMCPTools, server_name="it"),
             make(AgentUseMCPTools, server_name="broken"), belt,
             make(AgentInit, agent_name="a", toolbelt_spec=belt.toolbelt_spec), run)
        say("hello" in run.last_response.value)
        say(servers().call_tool("polite", "echo", {"text": "usable"}).text)
    """
    assert run_to_end(tmp_path, body) == (0, "True\nusable\n", "")


# A forked child may open a bridge of its own, and cannot hurt its parent's servers

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@forks
def test_a_child_has_a_bridge_of_its_own_and_leaves_its_parents_servers_alone(tmp_path: Path):
    """They share the loop's selector, so what the child unregisters would be lost for both."""
    body = """
        import gc
        os.environ["XAI_MCP_STORE"] = "off"  # tests/history/test_runs.py forks writers
        bridge = servers()
        before = bridge.call_tool("polite", "pid").text
        if not os.fork():
            bridge.close()
            del bridge
            gc.collect()
            with servers() as own:
                say(own.call_tool("polite", "pid").text != before)
            sys.exit()
        os.wait()
        say(bridge.call_tool("polite", "pid").text == before)
    """
    assert run_to_end(tmp_path, body) == (0, "True\nTrue\n", "")


@forks
def test_servers_end_with_their_parent_while_a_child_of_it_lives_on(tmp_path: Path):
    """The child must not keep the parent's ends of their pipes open, nor those of the guard."""
    body = """
        bridge = servers(stubborn=True)
        child = os.fork()
        if not child:
            signal.pause()
        say(child)
        bridge.call_tool("polite", "never")
    """
    with script(tmp_path, body) as parent:
        child = int(next_line(parent))
        parent.kill()
        parent.wait(END_SECONDS)
        try:
            wait_until(lambda: none_runs(tmp_path / "journal"), "the servers ended")
            assert is_running(child)
        finally:
            os.kill(child, 9)


@forks
def test_a_fork_in_the_middle_of_taking_a_bridge_does_not_stop_the_child(tmp_path: Path):
    """Another thread may hold any of our locks at that moment; the child has no such thread."""
    write_settings(tmp_path, {"it": entry(journal=str(tmp_path / "journal"))})
    body = """
        from xai_mcp_agent.canvas import lease
        from xai_mcp_agent.sources import guard

        os.environ["XAI_MCP_SETTINGS"] = os.path.dirname(journal) + "/mcp_settings.json"
        has_locks, has_forked = threading.Event(), threading.Event()

        def hold_locks():
            with lease._lock, guard._guard._lock:
                has_locks.set()
                has_forked.wait()

        threading.Thread(target=hold_locks).start()
        has_locks.wait()
        child = os.fork()
        has_forked.set()
        if not child:
            ctx = {}
            say(len(lease.bridge_of(ctx).list_tools("it")) > 1)
            ctx.clear()
            os._exit(0)
        os.waitpid(child, 0)
    """
    assert run_to_end(tmp_path, body) == (0, "True\n", "")
    assert len(pids_in(tmp_path / "journal")) == 1
