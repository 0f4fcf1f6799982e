"""The history from Python: events, and records as of now or an earlier time."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Generator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest

from tests.support.bridges import bridge_with
from tests.support.fault_server import entry
from tests.support.scripts import child_environment
from xai_mcp_agent import (
    BadSetting,
    Bridge,
    ServerError,
    StoreFailed,
    Subject,
    UnknownServer,
    UnknownTool,
)
from xai_mcp_agent.core.tools import MCP

ECHO = Subject(MCP, "it", "echo")


@pytest.fixture(scope="module")
def bridge() -> Generator[Bridge]:
    """A bridge that has called a tool and closed its server."""
    with bridge_with(it=entry(), other=entry()) as bridge:
        bridge.call_tool("it", "echo", {"text": "a"})
        with suppress(ServerError):
            bridge.call_tool("it", "rpc_error", {"code": -32000, "message": "no"})
        bridge.list_tools("other")
        bridge.disconnect("it")
        yield bridge


def test_the_newest_events_of_a_server_or_a_tool_can_be_chosen(bridge: Bridge):
    changes = [x.change for x in bridge.history("it", "echo")]
    assert changes == ["discovered", "called", "unavailable"]
    assert {x.subject.source for x in bridge.history("other")} == {"other"}
    newest = bridge.history("it", limit=2)  # a call, and the disconnection with all its events
    assert [x.change for x in newest[:2]] == ["called", "disconnected"]
    assert newest == bridge.history("it")[-len(newest) :]
    both = bridge.history(tool="echo")
    assert {x.subject.source for x in both} == {"it", "other"}
    assert [x.position for x in both] == sorted(x.position for x in both)
    assert bridge.history(tool="echo", limit=1) == both[-1:]
    with pytest.raises(BadSetting, match="`limit` is 0"):  # it meant all of them
        bridge.history(limit=0)
    with pytest.raises(UnknownServer, match="Did you mean 'other'"):
        bridge.history("othr")
    with pytest.raises(UnknownTool, match="Did you mean 'echo'"):
        bridge.tool_record("it", "ech")
    with pytest.raises(UnknownTool, match="has no tool 'nothing_like_it'"):
        bridge.history(tool="nothing_like_it")


def test_records_are_reported_as_of_now_a_position_or_a_time(bridge: Bridge):
    events = bridge.history()
    assert bridge.records().tools[ECHO].usage.calls == 1
    assert list(bridge.records(1).sources) == [Subject(MCP, "it")]
    assert bridge.records(1).tools == {}
    assert bridge.records(events[0].time).tools[ECHO].is_available
    assert bridge.records(events[0].time - timedelta(seconds=1)).sources == {}


def test_a_store_that_cannot_be_used_is_an_error_and_calls_go_on(tmp_path: Path):
    (tmp_path / "file").write_text("not a folder")
    servers = {"mcpServers": {"it": entry()}}
    with Bridge(servers, store=tmp_path / "file" / "history.db") as bridge:
        assert bridge.call_tool("it", "echo", {"text": "a"}).text == "a"
        with pytest.raises(StoreFailed, match="file"):
            bridge.history()
        store = bridge.store()
        assert store.place == str(tmp_path / "file" / "history.db")
        assert "file" in store.error


_SECONDS = 60
_CALL = """
import sys
from xai_mcp_agent import Bridge, StoreFailed
from tests.support.fault_server import entry
with Bridge({"mcpServers": {"it": entry()}}, store="off") as bridge:
    print(bridge.call_tool("it", "echo", {"text": "hello"}).text, bridge.store().place)
    try:
        bridge.history()
    except StoreFailed as error:
        print(error)
print("sqlalchemy" in sys.modules)
"""


def test_without_a_store_calls_work_and_no_database_is_loaded(tmp_path: Path):
    work = tmp_path / "work"
    work.mkdir()
    process = subprocess.run(
        [sys.executable, "-c", _CALL], cwd=work, env=child_environment(tmp_path),
        capture_output=True, text=True, timeout=_SECONDS, check=True,
    )  # fmt: skip
    text, history, is_loaded = process.stdout.splitlines()
    assert (text, is_loaded) == ("hello off", "False")
    assert "switched off" in history
    assert not list(work.iterdir())
