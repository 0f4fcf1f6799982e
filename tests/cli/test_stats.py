"""`xai-mcp-agent history stats`, over a history that was written without servers."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.support.recorded import NOON
from xai_mcp_agent import Subject
from xai_mcp_agent.cli.main import run
from xai_mcp_agent.core.tools import MCP
from xai_mcp_agent.history.history import open_history
from xai_mcp_agent.history.place import Place
from xai_mcp_agent.history.recording.report_writer import ReportWriter
from xai_mcp_agent.history.recording.reports import call_event

ODD = "\x1b]0;x\x07\u202e" + "long " * 40


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A history of calls: one tool is called often, one fails, one is slow and oddly named."""
    file = tmp_path_factory.mktemp("project") / "history.db"
    place = Place(f"sqlite:///{file}", str(file), file.parent, file, is_own=True)
    writer = ReportWriter(open_history(place), str)
    fails = Subject(MCP, "library", "lend")
    writer.record([call_event(fails, NOON, 0.001, "no") for _ in range(3)])
    writer.record([call_event(Subject(MCP, "web", ODD), NOON, 70.0)])
    for number in range(30):
        at = NOON + timedelta(minutes=number)
        writer.record([call_event(Subject(MCP, "library", "search"), at, 0.012)])
    writer.close()
    return file


def command(capsys: Any, store: Path, *words: str) -> str:
    """Run the command on that history; what it printed."""
    with pytest.raises(SystemExit) as ended:
        run(["history", "stats", *words, "--store", str(store)])
    assert not ended.value.code
    return capsys.readouterr().out


def test_each_tool_has_a_line_and_each_server_its_sum(store: Path, capsys: Any):
    lines = command(capsys, store).splitlines()
    assert lines[0].split() == ["calls", "failed", "median", "p95", "last", "used"]
    assert lines[1].split()[:4] == ["library.search", "30", "-", "12"]
    assert lines[2].split()[:3] == ["library.lend", "3", "3"]
    assert lines[3].startswith("web.?]0;x?")
    assert [x.split()[0] for x in lines[5:]] == ["library", "web"]
    assert lines[5].startswith("library (2 tools)")
    assert lines[5].split()[3:5] == ["33", "3"]
    assert len(ODD) < max(map(len, lines)), "a program gets names whole"
    assert "\x1b" not in "".join(lines)


@pytest.mark.parametrize(
    ("order", "first"), [("calls", "search"), ("errors", "lend"), ("slow", ODD)]
)
def test_what_stands_first_can_be_chosen(store: Path, capsys: Any, order: str, first: str):
    found = json.loads(command(capsys, store, "--sort", order, "--json"))
    assert found["tools"][0]["tool"] == first


def test_programs_get_every_number(store: Path, capsys: Any):
    found = json.loads(command(capsys, store, "--json"))
    assert found["since"] is None
    tool, source = found["tools"][0], found["sources"][0]
    assert {x: tool[x] for x in ("server", "kind", "tool", "calls", "errors")} == {
        "server": "library", "kind": "mcp", "tool": "search", "calls": 30, "errors": 0,
    }  # fmt: skip
    assert 0.012 <= tool["median_seconds"] <= tool["p95_seconds"] < 0.0127
    assert tool["last_used"] == "2026-07-28T12:29:00+00:00"
    assert (source["server"], source["calls"], source["errors"]) == ("library", 33, 3)


def test_only_calls_since_a_time_count(store: Path, capsys: Any):
    found = json.loads(command(capsys, store, "--since", "2026-07-28T12:20+00:00", "--json"))
    assert [(x["tool"], x["calls"]) for x in found["tools"]] == [("search", 10)]
    assert found["since"] == "2026-07-28T12:20:00+00:00"
    assert command(capsys, store, "--since", "2099-01-01") == "No tool was called.\n"


def test_where_nothing_was_ever_kept_that_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(SystemExit):
        run(["history", "stats"])
    assert "Nothing is remembered yet" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        run(["history", "stats", "--json"])
    assert json.loads(capsys.readouterr().out) == {"since": None, "tools": [], "sources": []}
