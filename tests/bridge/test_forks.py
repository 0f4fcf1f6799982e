"""A forked child: may open a bridge of its own, and cannot hurt its parent's servers."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.bridge_scripts import END_SECONDS, next_line, script
from tests.support.journals import none_runs, pids_in
from tests.support.processes import is_running, wait_until

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
# Python 3.12 and later warn about a fork of a process with threads; people do it all the same.
QUIETLY = "-Wignore::DeprecationWarning"


def output_of(folder: Path, body: str) -> list[str]:
    """The lines that a script says, which must end well and leave nothing."""
    with script(folder, body, QUIETLY) as child:
        output, errors = child.communicate(timeout=END_SECONDS)
    assert (child.returncode, errors) == (0, "")
    assert none_runs(folder / "journal")
    return output.splitlines()


def test_a_child_has_a_bridge_of_its_own_and_leaves_its_parents_servers_alone(tmp_path: Path):
    """They share the loop's selector: what the child unregisters there is gone for both."""
    body = """
        import gc
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
    assert output_of(tmp_path, body) == ["True", "True"]


def test_servers_end_with_their_parent_while_a_child_of_it_lives_on(tmp_path: Path):
    """The child must not keep the parent's ends of their pipes open, nor that of the guard's."""
    body = """
        bridge = servers(stubborn=True)
        child = os.fork()
        if not child:
            signal.pause()
        say(child)
        bridge.call_tool("polite", "never")
    """
    with script(tmp_path, body, QUIETLY) as parent:
        child = int(next_line(parent))
        parent.kill()
        parent.wait(END_SECONDS)
        try:
            wait_until(lambda: none_runs(tmp_path / "journal"), "the servers ended")
            assert is_running(child)
        finally:
            os.kill(child, 9)


def test_a_fork_in_the_middle_of_taking_a_bridge_does_not_stop_the_child(tmp_path: Path):
    """Another thread may hold any of our locks at that moment; the child has no such thread."""
    body = """
        import json, tempfile
        from xai_mcp_agent.canvas import lease
        from xai_mcp_agent.sources import guard

        file = os.path.join(os.path.dirname(journal), "mcp_settings.json")
        with open(file, "w") as settings:
            json.dump({"mcpServers": {"it": entry(journal=journal)}}, settings)
        os.environ["XAI_MCP_SETTINGS"] = file
        held, forked = threading.Event(), threading.Event()

        def hold_locks():
            with lease._lock, guard._guard._lock:
                held.set()
                forked.wait()

        threading.Thread(target=hold_locks).start()
        held.wait()
        child = os.fork()
        forked.set()
        if not child:
            ctx = {}
            say(len(lease.bridge_of(ctx).list_tools("it")) > 1)
            ctx.clear()
            os._exit(0)
        os.waitpid(child, 0)
    """
    assert output_of(tmp_path, body) == ["True"]
    assert len(pids_in(tmp_path / "journal")) == 1
