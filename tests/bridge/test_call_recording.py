"""The history records that calls were made and how they ended, and more only on request."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Generator
from contextlib import closing
from pathlib import Path

import anyio
import pytest

from tests.support.bridges import bridge_with
from tests.support.fault_server import entry
from tests.support.histories import events_of, records_of
from tests.support.mcp_servers import gallery_entry
from xai_mcp_agent import (
    Bridge,
    InvalidArguments,
    JsonObject,
    ServerError,
    SourceClosed,
    ToolTimeout,
    UnknownTool,
    Usage,
)
from xai_mcp_agent.bridge.operations import Operations

PASSWORD = "correct-horse-battery"
NUMBER = 4815162342


@pytest.fixture
def bridge() -> Generator[Bridge]:
    """A bridge with one server."""
    with bridge_with(it=entry()) as bridge:
        yield bridge


def calls_of(bridge: Bridge) -> list[JsonObject]:
    """Return the recorded calls, without their duration."""
    calls = [x for x in events_of(bridge) if x.change == "called"]
    for call in calls:
        assert 0 <= call.payload.pop("seconds") < 60
        assert call.payload.pop("caller") == "program"
    return [x.payload for x in calls]


def usage_of(bridge: Bridge, tool: str) -> Usage:
    """Return the usage of a tool."""
    return next(x.usage for x in records_of(bridge).tools.values() if x.name == tool)


def test_a_call_is_recorded_and_counted_and_one_that_was_never_sent_is_not(bridge: Bridge):
    with pytest.raises(InvalidArguments):
        bridge.call_tool("it", "echo", {"text": 3})
    with pytest.raises(UnknownTool):
        bridge.call_tool("it", "nothing")
    for text in ("a", "b"):
        bridge.call_tool("it", "echo", {"text": text})
    assert calls_of(bridge) == [{"status": "ok"}] * 2
    usage = usage_of(bridge, "echo")
    assert (usage.calls, usage.errors, usage.last_error) == (2, 0, "")


def test_each_way_a_call_goes_wrong_is_recorded(bridge: Bridge):
    """Errors of the tool and of the protocol, a timeout, a lost connection, a cancellation."""
    tool_error = {"content": [{"type": "text", "text": "no such file"}], "isError": True}
    assert bridge.call_tool("it", "result", tool_error).is_error
    with pytest.raises(ServerError):
        bridge.call_tool("it", "rpc_error", {"code": -32603, "message": "out of memory"})
    with pytest.raises(ToolTimeout):
        bridge.call_tool("it", "never", timeout_seconds=0.2)

    async def call_and_cancel(operations: Operations) -> None:
        with anyio.move_on_after(0.2):
            await operations.call_tool("it", "never")

    bridge.run(call_and_cancel)
    bridge.call_tool("it", "result", {"content": [], "isError": True})
    with pytest.raises(SourceClosed):
        bridge.call_tool("it", "die", {"code": 7})
    words = ("no such file", "out of memory", "0.2 s", "It was cancelled.", "did not say why", "7")
    for call, word in zip(calls_of(bridge), words, strict=True):
        assert call["status"] == "error"
        assert word in call["error"]
    usage = usage_of(bridge, "never")
    assert (usage.calls, usage.errors, usage.last_error) == (2, 2, "It was cancelled.")


def recording(*what: str) -> Bridge:
    """Return a bridge that records these parts of calls."""
    env = {"API_PASSWORD": PASSWORD, "API_KEY": str(NUMBER)}
    return Bridge({"mcpServers": {"it": entry() | {"env": env}}, "record": [*what]})


def test_arguments_and_results_are_recorded_on_request():
    result, arguments = {"result": "hello"}, {"arguments": {"text": "hello"}}
    for fields, extra in ((["arguments", "results"], arguments | result), (["results"], result)):
        with recording(*fields) as bridge:
            bridge.call_tool("it", "echo", {"text": "hello"})
            assert calls_of(bridge) == [{"status": "ok", **extra}]


def test_secrets_are_left_out_of_recorded_calls(monkeypatch: pytest.MonkeyPatch):
    """Secrets are known from the settings, or recognized by their name, a text or their form."""
    monkeypatch.setenv("SOME_TOKEN", "from-the-environment")
    arguments = {
        "text": f"log in with {PASSWORD} and from-the-environment, sk-abcdefghijklmnop",
        "password": "short", "credentials": {"api_key": 12}, "max_tokens": 12,
        "number": NUMBER, "half": NUMBER / 2,
        "url": "https://me:open-sesame@example.org/", "header": "Authorization: Bearer abcdefgh",
    }  # fmt: skip
    with recording("arguments", "results") as bridge:
        content = [{"type": "text", "text": str(arguments)}]
        bridge.call_tool("it", "result", {"content": content, **arguments})
        (call,) = calls_of(bridge)
    arguments = call["arguments"]
    assert (arguments["password"], arguments["max_tokens"]) == ("***", 12)
    assert (arguments["number"], arguments["half"]) == ("***", NUMBER / 2)
    for secret in (PASSWORD, str(NUMBER), "from-the-env", "sk-abc", "open-sesame", "abcdefgh"):
        assert secret not in str(call)


JOURNAL_READER = """
from pathlib import Path

def noted() -> str:
    return "".join(x.read_text() for x in Path(__file__).parent.glob("h.db.calls-*"))
"""


def test_a_call_is_noted_before_it_is_sent_and_when_it_is_over(tmp_path: Path):
    """Even while the history cannot be written. A call that only reads is noted afterwards."""
    (tmp_path / "tools.py").write_text(JOURNAL_READER, encoding="utf-8")
    functions = {"own": {"file": str(tmp_path / "tools.py")}}
    settings = {"functions": functions, "mcpServers": {"gallery": gallery_entry()}}
    with Bridge(settings, store=tmp_path / "h.db") as bridge:
        bridge.connect(wait=True)
        events_of(bridge)  # waits until all is written
        with closing(sqlite3.connect(tmp_path / "h.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            journal = bridge.call_tool("own", "noted").text
            bridge.call_tool("gallery", "add", {"a": 1, "b": 2})
            (file,) = tmp_path.glob("h.db.calls-*")
            lines = [json.loads(x) for x in file.read_text(encoding="utf-8").splitlines()]
            other.execute("ROLLBACK")
        assert calls_of(bridge) == [{"status": "ok"}] * 2
    assert journal.count("noted") == 1
    calls = [(tool[2], seconds is not None) for _, (tool, _, _, _, seconds, *_) in lines[1:]]
    assert calls == [("noted", False), ("noted", True), ("add", True)]
    assert not [*tmp_path.glob("h.db.calls-*")]
