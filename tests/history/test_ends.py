"""Processes that end without a word, and several that have the same server at the same time."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.bridge_scripts import END_SECONDS, next_line, script
from tests.support.fault_server import entry
from tests.support.histories import events_of, records_of, short
from xai_mcp_agent import Bridge, Event

SERVER, TOOL = "mcp:it", "mcp_tool:it_tool"
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
ENDS_WHEN_TOLD = f"{HOLDS_IT}\n    signal.pause()\n"


def opened(folder: Path) -> Bridge:
    """A bridge with the same server and the same store."""
    return Bridge({"mcpServers": {"it": entry(**LISTED)}}, store=folder / "history.db")


def ends(events: list[Event]) -> list[tuple[str, str, str]]:
    """What was lost, in short, and in which run."""
    lost = ("disconnected", "unavailable", "left")
    return [(x.change, x.context_id, x.run) for x in events if x.change in lost]


def test_a_process_that_was_killed_is_noticed_at_the_next_start(tmp_path: Path):
    """Issue: what was connected is contradicted then, with that reason."""
    with script(tmp_path, ENDS_WHEN_TOLD) as child:
        pid = next_line(child)
        child.kill()
        child.wait(END_SECONDS)
    with opened(tmp_path) as bridge:
        events = events_of(bridge)
        assert short(events) == [
            ("connected", SERVER), ("discovered", TOOL),
            ("disconnected", SERVER), ("unavailable", TOOL),
        ]  # fmt: skip
        dead = events[0].run
        assert ends(events) == [("disconnected", SERVER, dead), ("unavailable", TOOL, dead)]
        assert [x.links.contradicts for x in events[2:]] == [(SERVER,), (TOOL,)]
        said = rf"Process {pid} on .+ had it, and ended without closing it \(seen .+\)\."
        assert all(re.fullmatch(said, x.reason) for x in events[2:])
        bridge.list_tools("it")
        assert short(events_of(bridge)[4:]) == [("reconnected", SERVER), ("confirmed", TOOL)]
    with opened(tmp_path) as bridge:
        assert short(events_of(bridge)[6:]) == [("disconnected", SERVER), ("unavailable", TOOL)]
        assert events_of(bridge)[6].reason == "it was closed."


def test_the_last_one_out_takes_the_tools_along(tmp_path: Path):
    """Thirty kernels share a file: a tool is there while any of them has it."""
    with opened(tmp_path) as one, opened(tmp_path) as other:
        for bridge in (one, other):
            bridge.list_tools("it")
            events_of(bridge)  # is written by now
        runs = [x.run for x in events_of(one) if x.context_id == SERVER]
        one.disconnect("it")
        events_of(one)  # is written by now
        (tool,) = records_of(other).tools.values()
        assert tool.is_available
        other.disconnect("it")
        events_of(other)
        assert ends(events_of(one)) == [
            ("left", SERVER, runs[0]),
            ("disconnected", SERVER, runs[1]), ("unavailable", TOOL, runs[1]),
        ]  # fmt: skip
        (tool,) = records_of(one).tools.values()
        assert not tool.is_available


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
        assert short(events_of(bridge)) == [
            ("connected", SERVER), ("discovered", TOOL),
            ("reconnected", SERVER), ("confirmed", TOOL), ("left", SERVER),
            ("refreshed", SERVER),
            ("disconnected", SERVER), ("unavailable", TOOL),
        ]  # fmt: skip
