"""Records are what the log comes to, now and then, in memory, in a file and on a server."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import func, select

from tests.history.test_stores_log import ODD_NAMES
from xai_mcp_agent import Records, Subject, Tool, ToolKey
from xai_mcp_agent.core.tools import MCP, STATIC
from xai_mcp_agent.history import log, tables
from xai_mcp_agent.history.events_table import Range
from xai_mcp_agent.history.history import History, When, open_history
from xai_mcp_agent.history.place import Place
from xai_mcp_agent.history.recording.report_writer import ReportWriter
from xai_mcp_agent.history.recording.reports import (
    Failed,
    Listed,
    Lost,
    Report,
    Seeded,
    call_event,
    decision_event,
)
from xai_mcp_agent.history.records import last_seen, records_of

NOON = datetime(2026, 7, 28, 12, 0, tzinfo=UTC)


def tool(source: str, name: str, words: str = "") -> Tool:
    return Tool(ToolKey("mcp", source, name), words, {"type": "object"})


def listed(source: str, *tools: Tool, connected: bool = False) -> Listed:
    return Listed(Subject(MCP, source), NOON, tools, connected, "stdio", source.upper())


def life(seed: int) -> list[Report]:
    """Something of everything that can happen, by chance."""
    chance, reports = random.Random(seed), list[Report]()
    for minute in range(80):
        source, name = chance.choice("ab"), chance.choice("xyz")
        subject = Subject(MCP, source, name)
        some = [tool(source, x, chance.choice("12")) for x in "xyz" if chance.random() < 0.7]
        what: list[Report] = [
            listed(source, *some, connected=chance.random() < 0.3),
            Lost(subject.anchor, NOON, "closed"),
            Failed(subject.anchor, NOON, chance.choice(("slow", "gone"))),
            Seeded(STATIC, NOON, (tool("", name, chance.choice("12")),)),
            call_event(subject, NOON, chance.random(), chance.choice(("", "", "no"))),
            call_event(subject, NOON, chance.random()),
            decision_event(subject, NOON, chance.choice(("enabled", "disabled"))),
        ]
        reports.append(replace(chance.choice(what), time=NOON + timedelta(minutes=minute)))
    return reports


def replayed(store: History, until: int) -> Records:
    """What is in the log up to there, event by event."""
    return records_of(store.events(Range(until=until)))


def taken(store: History) -> int:
    with store.reading() as connection:
        return connection.execute(select(func.count()).select_from(tables.snapshots)).scalar_one()


def test_views_of_the_past_are_what_the_events_until_then_come_to(
    writer: ReportWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With snapshots on the way, and in transactions of one report or several."""
    monkeypatch.setattr(log, "ROWS_BETWEEN_SNAPSHOTS", 3)
    reports = life(1)
    for first in range(0, 40, 4):
        writer.record(reports[first : first + 4])
    for report in reports[40:]:
        writer.record([report])
    store = writer.history
    events = store.events()
    assert taken(store) > 3
    for event in events:
        assert store.records(When(position=event.position)) == replayed(store, event.position)
    moment = events[len(events) // 2].time
    last = max(x.position for x in events if x.time <= moment)
    assert store.records(When(time=moment)) == replayed(store, last)
    assert store.records(When(position=0)) == Records()


def test_what_is_secret_in_a_definition_is_hidden_wherever_it_stands(place: Place) -> None:
    """The JSON of it stays JSON."""
    schema = {
        "type": "object",
        "properties": {"12345678": {"default": 12345678, "enum": [True, 0.5, 12345678.5, "x"]}},
        "description": "use 12345678",
    }
    made = ReportWriter(open_history(place), lambda text: text.replace("12345678", "***"))
    made.record([listed("a", Tool(ToolKey("mcp", "a", "x"), "", schema))])
    (event,) = made.history.events(Range(about=Subject(MCP, "a", "x")))
    assert event.payload["parameters"] == {
        "type": "object",
        "properties": {"***": {"default": "***", "enum": [True, 0.5, "***.5", "x"]}},
        "description": "use ***",
    }
    made.close()


def test_one_tool_is_known_by_itself_as_it_is_among_all(writer: ReportWriter):
    """Whatever its names; without what is known of a hundred thousand others."""
    named = [tool(name, other) for name in ODD_NAMES for other in (*ODD_NAMES, "x")]
    drawn = Seeded(STATIC, NOON, (Tool(ToolKey("tools", "", "drawn"), "", {}),))
    writer.record([*life(3), *(listed(x.source, x, connected=True) for x in named), drawn])
    known = writer.history.records()
    for subject, record in known.tools.items():
        source = known.sources.get(subject.anchor)
        told = writer.history.tool_record(subject.shown_source, record.name)
        assert told == replace(record, last_seen=last_seen(record, source))
    for source in known.sources.values():
        assert writer.history.last_listed(source.name)[1] == source.last_sync
    assert writer.history.last_listed("nobody")[1] is None
