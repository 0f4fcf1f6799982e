"""The nodes that tell of the history, against real servers."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.support.canvas import make, play
from xai_mcp_agent import BadSetting, UnknownAgent, UnknownServer, UnknownTool, XaiMcpError
from xai_mcp_agent.canvas.lease import bridge_of
from xai_mcp_agent.mcp_components import MCPCallTool, MCPRefreshTools, MCPToolHistory

from .conftest import UseServers


@pytest.fixture(autouse=True)
def _known(
    use_servers: UseServers, library: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XAI_MCP_STORE", raising=False)
    use_servers(library=library, broken={"command": "no-such-program-anywhere"})


def called() -> Any:
    """A node that has the library find a book."""
    return make(MCPCallTool, server_name="library", tool_name="get_book", arguments={"book_id": 14})


def test_what_was_done_is_reported_as_data_and_to_read() -> None:
    node = make(MCPToolHistory, server_name="library", since="1h")
    newest, one = make(MCPToolHistory, limit=2), make(MCPToolHistory, tool_name="get_book", limit=1)
    play({}, called(), called(), node, newest, one)
    events = node.events.value
    assert events[0]["change"] == "connected"
    assert (events[-1]["change"], events[-1]["tool"]) == ("called", "get_book")
    lines = node.text.value.splitlines()
    assert max(map(len, lines)) <= 80
    assert "library.get_book: called by MCPCallTool 2 times" in lines[-2]
    assert "left out" not in node.text.value
    assert len(newest.events.value) == 2
    assert newest.text.value.splitlines()[-1].startswith("2 events. Older ones are left out: ")
    assert [x["change"] for x in one.events.value] == ["called"]
    assert one.tools.value == []


def test_only_what_failed_or_has_a_text_in_it_can_be_asked_for() -> None:
    wrong = make(
        MCPCallTool, server_name="library", tool_name="get_book", arguments={"book_id": 9999}
    )
    failed = make(MCPToolHistory, failed=True)
    found = make(MCPToolHistory, text_in_it="There is no BOOK 9999")
    earlier = make(MCPToolHistory, until="1h")
    with suppress(XaiMcpError):
        play({}, called(), wrong)
    play({}, failed, found, earlier)
    assert [x["change"] for x in failed.events.value] == ["called"]
    assert found.events.value == failed.events.value
    assert earlier.events.value == []


def test_how_each_tool_is_doing_is_reported_also_of_a_closed_server() -> None:
    node = make(MCPToolHistory, server_name="library")
    ctx: dict[str, Any] = {}
    play(ctx, called())
    bridge_of(ctx).disconnect("library")
    play(ctx, node)
    known = {x["name"]: x for x in node.tools.value}
    assert (known["get_book"]["calls"], known["get_book"]["state"]) == (1, "at rest")
    assert "get_book: 1 call, " in node.status.value
    assert "not connected since" in " ".join(node.status.value.split())


def test_a_refresh_tells_what_there_is_and_what_changed() -> None:
    first, again = make(MCPRefreshTools), make(MCPRefreshTools, server_name="library", force=True)
    history = make(MCPToolHistory, tool_name="get_book")
    play({}, first, again, history)
    assert {x["server"] for x in first.tools.value} == {"library"}
    assert {x["how"] for x in first.changes.value} == {"added"}
    assert "library: 6 tools, listed for the first time" in first.text.value
    assert "broken: " in first.text.value
    assert again.changes.value == []
    assert "nothing changed since" in again.text.value
    assert history.events.value[-1]["change"] == "confirmed"


def test_values_that_cannot_be_are_reported_at_their_port() -> None:
    unused = make(MCPToolHistory, server_name="broken")
    play({}, called(), unused)
    assert (unused.events.value, unused.text.value) == ([], "Nothing is remembered yet.")
    for node, error, said in (
        (make(MCPToolHistory, server_name="librery"), UnknownServer, "library"),
        (make(MCPRefreshTools, server_name="librery"), UnknownServer, "library"),
        (make(MCPToolHistory, since="soon"), BadSetting, "since: 'soon' is not a time"),
        (make(MCPToolHistory, until="later"), BadSetting, "until: 'later' is not a time"),
        (make(MCPToolHistory, agent_name="nobody"), UnknownAgent, "no agent 'nobody'"),
        (make(MCPToolHistory, tool_name="get_bok"), UnknownTool, "get_book"),
    ):
        with pytest.raises(error, match=said):
            play({}, node)


def test_without_a_place_for_the_history_the_workflow_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "taken").write_text("")
    monkeypatch.setenv("XAI_MCP_STORE", str(tmp_path / "taken" / "history.db"))
    history, refresh = make(MCPToolHistory), make(MCPRefreshTools)
    play({}, called(), history, refresh)
    assert history.events.value == history.tools.value == []
    assert history.text.value.startswith("The history in ")
    assert history.status.value.startswith("The history in ")
    assert "What changed is not known" in refresh.text.value
