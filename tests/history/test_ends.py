"""Processes that end without a word, and several that have the same server at the same time."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.bridge_scripts import END_SECONDS, next_line, script
from tests.support.fault_server import entry
from tests.support.histories import events_of, records_of, short
from xai_mcp_agent import Bridge

SERVER, TOOL = "mcp:it", "mcp_tool:it_tool"
FIRST = [("connected", SERVER), ("discovered", TOOL)]
AGAIN = [("reconnected", SERVER), ("confirmed", TOOL)]
LOST = [("disconnected", SERVER), ("unavailable", TOOL)]
LISTED = {"tools": [{"name": "tool", "inputSchema": {"type": "object"}}]}
# A script that has the server connected, and what is known of it in the store.
HOLDS_IT = f"""
    bridge = Bridge(
        {{"mcpServers": {{"it": entry(**{LISTED!r})}}}},
        store=os.path.join(os.path.dirname(journal), "history.db"),
    )
    bridge.list_tools("it")

    async def settle(operations):
        operations.engine.recorder.settled().result(20)

    bridge.run(settle)
    say(os.getpid())
"""


def opened(folder: Path) -> Bridge:
    """A bridge with the same server and the same store."""
    return Bridge({"mcpServers": {"it": entry(**LISTED)}}, store=folder / "history.db")


def test_a_process_that_was_killed_is_noticed_at_the_next_start(tmp_path: Path):
    """Issue: what was connected is contradicted then, with that reason."""
    with script(tmp_path, f"{HOLDS_IT}\n    signal.pause()\n") as child:
        pid = next_line(child)
        child.kill()
        child.wait(END_SECONDS)
    with opened(tmp_path) as bridge:
        events = events_of(bridge)
        assert short(events) == FIRST + LOST
        assert len({x.run for x in events}) == 1
        assert [x.links.contradicts for x in events[2:]] == [(SERVER,), (TOOL,)]
        reason = rf"Process {pid} on .+ had it, and ended without closing it \(seen .+\)\."
        assert all(re.fullmatch(reason, x.reason) for x in events[2:])
        bridge.list_tools("it")
        assert short(events_of(bridge)[4:]) == AGAIN
    with opened(tmp_path) as bridge:
        assert short(events_of(bridge)[6:]) == LOST
        assert events_of(bridge)[6].reason == "it was closed."


def test_the_last_one_out_takes_the_tools_along(tmp_path: Path):
    """Thirty kernels share a file: a tool is there while any of them has it."""
    with opened(tmp_path) as one, opened(tmp_path) as other:
        for bridge in (one, other):
            bridge.list_tools("it")
            events_of(bridge)  # is written by now
        runs = [x.run for x in events_of(one) if x.context_id == SERVER]
        for bridge, is_available in ((one, True), (other, False)):
            bridge.disconnect("it")
            events_of(bridge)  # is written by now
            (tool,) = records_of(one).tools.values()
            assert tool.is_available == is_available
        ends = [(x.change, x.run) for x in events_of(one)[-3:]]
        assert ends == [("left", runs[0]), ("disconnected", runs[1]), ("unavailable", runs[1])]


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="tells no open files")
def test_a_fork_of_a_process_writes_on_its_own_and_breaks_nothing(tmp_path: Path):
    """SQLite: an open connection must not be carried across a fork."""
    body = f"""{HOLDS_IT}
    store = os.path.join(os.path.dirname(journal), "history.db")
    if not os.fork():
        files = [os.path.realpath("/proc/self/fd/" + x) for x in os.listdir("/proc/self/fd")]
        say(any(x.startswith(store) for x in files))
        with Bridge({{"mcpServers": {{"it": entry(**{LISTED!r})}}}}, store=store) as own:
            own.list_tools("it")
        os._exit(0)
    os.wait()
    bridge.refresh("it")
    bridge.close()
    """
    with script(tmp_path, body, "-Wignore::DeprecationWarning") as child:
        output, errors = child.communicate(timeout=END_SECONDS)
    assert (child.returncode, output.splitlines()[1:], errors) == (0, ["False"], "")
    with opened(tmp_path) as bridge:
        changes = short(events_of(bridge))
        assert changes == FIRST + AGAIN + [("left", SERVER), ("refreshed", SERVER)] + LOST
