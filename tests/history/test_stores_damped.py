"""A server that changes its tools for ever does not fill the history, and is named."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from tests.history.test_stores_records import tool
from xai_mcp_agent import Subject
from xai_mcp_agent.core.tools import MCP
from xai_mcp_agent.history.log import Range
from xai_mcp_agent.history.place import Place
from xai_mcp_agent.history.queries import When, events_in, records_at
from xai_mcp_agent.history.recording.damping import MOST_CHANGES
from xai_mcp_agent.history.recording.report_writer import ReportWriter
from xai_mcp_agent.history.recording.reports import Listed, Lost
from xai_mcp_agent.history.store import open_store

WILD = Subject(MCP, "wild\x1b[31m")
TOOL = Subject(MCP, WILD.source, "t")


class Wild:
    """The writer, and what it said."""

    def __init__(self, place: Place) -> None:
        self.said: list[str] = []
        self.writer = ReportWriter(open_store(place), str, warn=self.said.append)
        self.time = datetime.now(UTC) + timedelta(days=1)
        self.lists("at first")

    def lists(self, words: str) -> None:
        """A minute later it describes its tool so."""
        self.time += timedelta(minutes=1)
        self.writer.record([Listed(WILD, self.time, (tool(WILD.source, "t", words),))])

    def rows(self, change: str) -> list[int]:
        """How many changes were left out before each of those events."""
        told = events_in(self.writer.store, Range(subject=WILD))
        return [x.payload.get("changes_left_out", 0) for x in told if x.change == change]

    def described(self) -> list[str]:
        """How its tool was described, as far as that is kept."""
        told = events_in(self.writer.store, Range(subject=TOOL, changes=("discovered", "changed")))
        return [x.payload["description"] for x in told]


@pytest.fixture
def wild(place: Place) -> Iterator[Wild]:
    made = Wild(place)
    yield made
    made.writer.close()


def test_of_further_changes_their_number_is_kept_and_what_they_came_to(wild: Wild):
    for number in range(MOST_CHANGES + 10):
        wild.lists(f"for the {number}th time")
    assert wild.rows("refreshed") == [0] * MOST_CHANGES
    (said,) = wild.said
    assert said.startswith("wild")
    assert "\x1b" not in said
    wild.time += timedelta(minutes=40)
    wild.lists("at last")
    assert wild.rows("refreshed")[-1] == 10
    assert wild.described()[-1] == "at last"
    assert len(wild.said) == 1


def test_when_it_is_lost_what_it_had_at_last_is_known(wild: Wild):
    for number in range(MOST_CHANGES + 3):
        wild.lists(f"for the {number}th time")
    before = records_at(wild.writer.store, When()).tools[TOOL].definition
    wild.writer.record([Lost(WILD, wild.time, "closed")])
    assert records_at(wild.writer.store, When()).tools[TOOL].definition != before
    assert wild.described()[-1] == f"for the {MOST_CHANGES + 2}th time"
    assert wild.rows("refreshed")[-1] == 3


def test_one_that_is_as_before_again_is_told_at_once(wild: Wild):
    for number in range(MOST_CHANGES + 3):
        wild.lists(f"for the {number}th time")
    wild.lists(f"for the {MOST_CHANGES - 1}th time")
    assert wild.rows("refreshed")[-1] == 3
    assert not wild.writer._damping.held  # pyright: ignore[reportPrivateUsage]
