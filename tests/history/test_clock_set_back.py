"""A clock that is set back changes no answer: what was written later happened later."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

from tests.support.recorded import History, a_history, a_tool
from xai_mcp_agent import Subject
from xai_mcp_agent.core.tools import MCP
from xai_mcp_agent.history.events_table import Range
from xai_mcp_agent.history.history import When
from xai_mcp_agent.history.place import Place
from xai_mcp_agent.history.records import last_seen, state_of

GIT, LOG = Subject(MCP, "git"), Subject(MCP, "git", "log")
ONE, TWO = a_tool("log", "Looks."), a_tool("log", "Looks back.")


@pytest.fixture
def history(place: Place) -> Iterator[History]:
    """A tool that changed after the clock was set back by a day; in each kind of store."""
    with a_history(place) as history:
        history.connected("git", ONE)
        history.lost("git")
        history.now -= timedelta(days=1)
        history.connected("git", TWO)
        yield history


def test_the_records_are_those_of_what_was_written_last(history: History) -> None:
    records = history.store.records()
    tool, source = records.tools[LOG], records.sources[GIT]
    assert state_of(tool, source) == "available"
    assert tool.definition == history.store.versions("git", "log")[-1].digest
    assert tool.updated == last_seen(tool, source) == source.last_sync == history.now
    history.lost("git")
    records = history.store.records()
    assert state_of(records.tools[LOG], records.sources[GIT]) == "at rest"


def test_what_was_written_since_a_time_is_all_that_came_after_it(history: History) -> None:
    first = history.store.events()[0].time
    since = Range(since=first + timedelta(minutes=30))
    told = [x.change for x in history.store.events(since)]
    assert told == ["disconnected", "unavailable", "reconnected", "changed"]
    later = Range(since=first + timedelta(hours=2))
    assert history.store.events(later) == []


def test_a_view_of_the_past_has_what_was_written_by_then(history: History) -> None:
    """The clock showed that time twice: the second time counts."""
    then = history.store.records(When(history.now + timedelta(minutes=1)))
    assert then.tools[LOG].updated == history.now
