"""`xai-mcp-agent history prune` removes what is old, and says what."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_history import command
from tests.history.test_stores_records import tool
from tests.support.databases import place_of
from xai_mcp_agent import Subject
from xai_mcp_agent.core.tools import MCP
from xai_mcp_agent.history.history import open_history
from xai_mcp_agent.history.recording.report_writer import ReportWriter
from xai_mcp_agent.history.recording.reports import Listed


@pytest.fixture(autouse=True)
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that was listed twelve times, each a month after the other, until today."""
    monkeypatch.delenv("XAI_MCP_STORE", raising=False)
    monkeypatch.delenv("XAI_MCP_SETTINGS", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mcp_settings.json").write_text('{"mcpServers": {}}')
    writer = ReportWriter(open_history(place_of("", tmp_path)), str)
    for month in range(12):
        time = datetime.now(UTC) - timedelta(days=30 * (11 - month))
        writer.record([Listed(Subject(MCP, "a"), time, (tool("a", f"t{month}"),))])
    writer.close()


def left(capsys: Any) -> int:
    return len(json.loads(command(capsys, "history", "show", "--json")[1]))


def test_what_would_go_is_reported_and_then_removed(capsys: Any):
    before = left(capsys)
    _, out, _ = command(capsys, "history", "prune", "--older-than", "100", "--dry-run")
    assert "events would go, until" in out
    assert left(capsys) == before
    _, out, _ = command(capsys, "history", "prune", "--older-than", "100")
    assert "events removed, until" in out
    assert left(capsys) < before / 2
    assert command(capsys, "history", "prune", "--older-than", "100")[1].startswith("Nothing is")


def test_views_from_before_say_that_it_is_not_kept(capsys: Any):
    command(capsys, "history", "prune", "--older-than", "100")
    status, _, err = command(capsys, "tools", "list", "--at", "200d")
    assert status == 1
    assert "is not kept any more" in err
    assert command(capsys, "tools", "list", "--at", "50d")[0] == 0


def test_without_options_the_settings_decide(capsys: Any, tmp_path: Path):
    assert command(capsys, "history", "prune")[1].startswith("Nothing is")
    settings = {"mcpServers": {}, "history": {"keep": 100}}
    (tmp_path / "mcp_settings.json").write_text(json.dumps(settings))
    assert "removed" in command(capsys, "history", "prune")[1]
