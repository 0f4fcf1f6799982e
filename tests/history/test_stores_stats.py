"""How often tools were called is counted by the database, and is what the events come to."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.support.recorded import NOON
from xai_mcp_agent import CallStats, Subject
from xai_mcp_agent.core.tools import MCP
from xai_mcp_agent.history.database import add_functions
from xai_mcp_agent.history.recording.report_writer import ReportWriter
from xai_mcp_agent.history.recording.reports import Called, refusal

NAMES = ("log", "blame", "", "'; DROP TABLE x", "\x1b[31m\u202eö", "x" * 300)
GIT, FILES = Subject(MCP, "git"), Subject(MCP, "files")
FIRST = datetime.min.replace(year=1970, tzinfo=NOON.tzinfo)


def some_calls(count: int = 400) -> list[Called]:
    chance = random.Random(15)
    return [
        Called(
            Subject(MCP, chance.choice(("git", "files")), chance.choice(NAMES)),
            NOON + timedelta(seconds=number),
            chance.choice((0.0, 2e-7, 0.004, 0.03, 1.0, 100.0)) * chance.uniform(1, 2),
            "There is no shelf 9." if chance.random() < 0.2 else "",
        )
        for number in range(count)
    ]


def counted(writer: ReportWriter, since: datetime | None) -> dict[Subject, CallStats]:
    return {x.subject: x for x in writer.history.stats(since).tools}


@pytest.mark.parametrize("since", [None, FIRST, NOON + timedelta(seconds=250)])
def test_calls_errors_and_the_last_use_are_those_of_the_events(
    writer: ReportWriter, since: datetime | None
) -> None:
    writer.record(some_calls())
    wanted = [x for x in some_calls() if since is None or x.time >= since]
    found = counted(writer, since)
    assert found.keys() == {x.tool for x in wanted}
    for tool, of in found.items():
        mine = [x for x in wanted if x.tool == tool]
        assert (of.calls, of.errors) == (len(mine), sum(bool(x.error) for x in mine))
        assert of.last_used == max(x.time for x in mine)
        assert of.total_seconds == pytest.approx(sum(round(x.seconds, 6) for x in mine))
        seconds = sorted(x.seconds for x in mine)
        assert of.median_seconds is not None
        assert of.p95_seconds is not None
        half, most = seconds[(len(mine) - 1) // 2], seconds[-(len(mine) // 20) - 1]
        assert max(half, 1e-6) <= of.median_seconds * 1.0001 <= max(half, 1e-6) * 1.06
        assert max(most, 1e-6) <= of.p95_seconds * 1.0001 <= max(most, 1e-6) * 1.06


def test_sums_of_servers_are_those_of_their_tools(writer: ReportWriter) -> None:
    writer.record(some_calls())
    for since in (None, FIRST):
        found = writer.history.stats(since)
        sums = {x.subject: (x.calls, x.errors) for x in found.sources}
        assert sums == {
            source: (
                sum(x.calls for x in found.tools if x.subject.anchor == source),
                sum(x.errors for x in found.tools if x.subject.anchor == source),
            )
            for source in (GIT, FILES)
        }


def test_a_refused_call_is_none_and_an_argument_called_error_is_no_error(
    writer: ReportWriter,
) -> None:
    tool = Subject(MCP, "git", "log")
    given: Any = {"error": "x", "status": "error"}
    writer.record([
        Called(tool, NOON, 0.5, arguments=given), Called(tool, NOON, 0.5, "bad", given),
        Called(tool, NOON, 1, "bad"), refusal(tool, NOON, "It is switched off."),
    ])  # fmt: skip
    for since in (None, FIRST):
        of = counted(writer, since)[tool]
        assert (of.calls, of.errors) == (3, 2)


def test_where_nothing_was_called_there_is_nothing(writer: ReportWriter) -> None:
    writer.record([refusal(Subject(MCP, "git", "log"), NOON, "It is switched off.")])
    for since in (None, FIRST):
        assert writer.history.stats(since).tools == []
        assert writer.history.stats(since).sources == []


def test_sqlite_without_a_logarithm_is_given_one() -> None:
    class Bare:
        """One that was built without mathematics."""

        def __init__(self, connection: sqlite3.Connection) -> None:
            self.connection = connection
            self.given: list[str] = []

        def execute(self, statement: str) -> None:
            raise sqlite3.OperationalError(f"no such function: {statement}")

        def create_function(self, name: str, *options: Any, **more: Any) -> None:
            self.given.append(name)
            self.connection.create_function(name, *options, **more)

    with closing(sqlite3.connect(":memory:")) as connection:
        bare = Bare(connection)
        add_functions(bare)
        assert bare.given == ["ln", "floor"]
        assert connection.execute("SELECT floor(ln(0.5))").fetchone() == (-1,)
