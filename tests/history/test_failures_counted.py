"""The same failure of the same source, again and again, is told once, and how often it came."""

from __future__ import annotations

import pytest

from tests.support.recorded import History, a_history, a_tool
from xai_mcp_agent import Subject
from xai_mcp_agent.core.tools import MCP
from xai_mcp_agent.history.events_table import Range
from xai_mcp_agent.history.place import Place
from xai_mcp_agent.history.recording import report_writer
from xai_mcp_agent.views.history import events_text

GIT = Subject(MCP, "git")
ONE = a_tool("log", "Looks.")


def told(history: History) -> list[tuple[str, int]]:
    found = history.store.events()
    return [(x.change, x.payload.get("times", 1)) for x in found if x.subject == GIT]


def test_repeated_failures_are_counted_until_something_else_happens(history: History) -> None:
    for _ in range(6):
        history.failed("git", "no such program")
    assert told(history) == [("failed", 1)]
    history.failed("git", "out of memory")
    for _ in range(3):
        history.failed("git", "no such program")
    history.connected("git", ONE)
    history.failed("git", "no such program")
    expected = [("failed", 1), ("failed", 5), ("failed", 1), ("failed", 1), ("failed", 2)]
    assert told(history) == [*expected, ("connected", 1), ("failed", 1)]
    assert history.store.records().sources[GIT].failures == 1
    lines = events_text(history.store.events(Range(until=2)), 200)
    assert "failed 6 times: no such program" in lines


def test_what_was_counted_is_written_at_the_end(lasting_place: Place) -> None:
    with a_history(lasting_place) as history:
        for _ in range(5):
            history.failed("git", "no such program")
    with a_history(lasting_place) as history:
        assert told(history) == [("failed", 1), ("failed", 4)]
        assert history.store.records().sources[GIT].failures == 5


def test_a_source_that_fails_for_ever_is_told_of_once_an_hour(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(3):
        history.failed("git", "no such program")
    now = report_writer.time.monotonic()
    monkeypatch.setattr(report_writer.time, "monotonic", lambda: now + 3600)
    history.failed("git", "no such program")
    assert told(history) == [("failed", 1), ("failed", 3)]
