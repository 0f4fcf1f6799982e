"""Built-in tools as a source: those that an entry names, and no others."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.support.bridges import names_of, source_bridge, status_of
from xai_mcp_agent import Bridge, ToolAnnotations, UnknownTool, settings_from

FILES = ["list_files", "read_file", "write_file"]


def offering(*tools: str, **more: Any) -> Bridge:
    """A bridge whose source `it` has these built-in tools."""
    return source_bridge("builtin", tools=tools, **more)


def test_only_the_tools_that_the_entry_names_are_offered():
    with offering("calculate") as bridge:
        assert names_of(bridge.list_tools("it")) == ["calculate"]
        assert bridge.call_tool("it", "calculate", {"expression": "2 * 21"}).text == "42"
        with pytest.raises(UnknownTool):
            bridge.call_tool("it", "current_time")
        status = status_of(bridge, "it")
        assert (status.kind, status.transport, status.tool_count) == ("builtin", "built in", 1)
        events = {x.context_id for x in bridge.history("it")}
    assert {"builtin:it", "builtin_tool:it_calculate"} <= events


def test_a_tool_that_is_switched_off_in_the_settings_is_not_offered():
    with offering("calculate", "current_time", disabledTools=["Calculate"]) as bridge:
        assert names_of(bridge.list_tools("it")) == ["current_time"]


def test_annotations_say_which_tools_change_something(tmp_path: Path):
    tools = ["current_time", "calculate", *FILES]
    with offering(*tools, workspace=str(tmp_path / "work")) as bridge:
        annotations = {x.name: x.annotations for x in bridge.list_tools("it")}
    read_only = ToolAnnotations(True, False, True, False)
    assert annotations.pop("write_file") == ToolAnnotations(False, True, True, False)
    assert annotations == dict.fromkeys(
        ["current_time", "calculate", "list_files", "read_file"], read_only
    )


def test_an_error_of_a_built_in_tool_is_its_answer(tmp_path: Path):
    with offering("calculate", *FILES, workspace=str(tmp_path / "work")) as bridge:
        wrong = bridge.call_tool("it", "calculate", {"expression": "9**9**9"})
        out = bridge.call_tool("it", "read_file", {"path": "../secret.txt"})
        bridge.call_tool("it", "write_file", {"path": "a.txt", "text": "x"})
        files = bridge.call_tool("it", "list_files")
    assert (wrong.is_error, out.is_error) == (True, True)
    assert "1,200 digits" in wrong.text
    assert "lead out" in out.text
    assert files.structured == {"files": [{"path": "a.txt", "bytes": 1}], "is_complete": True}


# The clock


def test_the_time_is_reported_in_a_zone_or_in_that_of_the_machine():
    here = datetime.now().astimezone()
    with offering("current_time") as bridge:
        for zone, hours in (("UTC", 0), ("Asia/Tokyo", 9), (" Etc/GMT+5 ", -5)):
            clock = bridge.call_tool("it", "current_time", {"zone": zone}).structured
            time = datetime.fromisoformat(clock["time"])
            assert time.utcoffset() == timedelta(hours=hours)
            assert abs(datetime.now(time.tzinfo) - time) < timedelta(minutes=1)
            assert (clock["weekday"], clock["zone"]) == (f"{time:%A}", zone.strip())
        clock = bridge.call_tool("it", "current_time").structured
    assert datetime.fromisoformat(clock["time"]).utcoffset() == here.utcoffset()
    assert clock["zone"] == here.tzname()


def test_an_unknown_zone_is_reported():
    zones = ("Asia/Tokio", "Europe", "../../etc/passwd", "/etc/localtime", "x" * 9999, "a\0b")
    with offering("current_time") as bridge:
        for zone in zones:
            result = bridge.call_tool("it", "current_time", {"zone": zone})
            assert result.is_error
            assert "Europe/Berlin" in result.text
            assert len(result.text) < 500


# The settings


def test_a_workspace_that_contains_the_settings_by_a_link_is_refused(tmp_path: Path):
    """`tests/settings` has the other mistakes of an entry."""
    (tmp_path / "link").symlink_to(tmp_path.parent)
    entry = {"tools": ["write_file"], "workspace": "link"}
    settings = settings_from({"builtin": {"handy": entry}}, folder=tmp_path)
    assert settings.problems["handy"].key_path == "builtin.handy.workspace"
