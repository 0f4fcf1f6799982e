"""Records are what the log comes to, now and then, in memory, in a file and on a server."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import func, select

from tests.history.test_stores_log import ODD_NAMES
from tests.support.recorded import a_history, a_tool
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
    refusal_event,
)
from xai_mcp_agent.history.records import last_seen, records_of, state_of

NOON = datetime(2026, 7, 28, 12, 0, tzinfo=UTC)
DIGEST = "1" * 32


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


def test_views_of_the_past_are_what_the_events_until_then_come_to(
    writer: ReportWriter, monkeypatch: pytest.MonkeyPatch
):
    """With snapshots on the way, and in transactions of one report or several."""
    monkeypatch.setattr(log, "ROWS_BETWEEN_SNAPSHOTS", 3)
    reports = life(1)
    for first in range(0, 40, 4):
        writer.record(reports[first : first + 4])
    for report in reports[40:]:
        writer.record([report])
    store = writer.history
    events = store.events()
    with store.reading() as connection:
        count = select(func.count()).select_from(tables.snapshots)
        assert connection.execute(count).scalar_one() > 3
    for event in events[::5]:
        assert store.records(When(position=event.position)) == replayed(store, event.position)
    moment = events[len(events) // 2].time
    last = max(x.position for x in events if x.time <= moment)
    assert store.records(When(time=moment)) == replayed(store, last)
    assert store.records(When(position=0)) == Records()


def test_a_clock_that_is_set_back_changes_no_answer(place: Place):
    """What was written later happened later, also where the clock showed a time twice."""
    git, log_tool = Subject(MCP, "git"), Subject(MCP, "git", "log")
    with a_history(place) as history:
        history.connected("git", a_tool("log", "Looks."))
        history.lost("git")
        history.now -= timedelta(days=1)
        history.connected("git", a_tool("log", "Looks back."))
        store = history.store
        records = store.records()
        record, source = records.tools[log_tool], records.sources[git]
        assert state_of(record, source) == "available"
        assert record.definition == store.versions("git", "log")[-1].digest
        assert record.updated == last_seen(record, source) == source.last_sync == history.now
        first = store.events()[0].time
        since = [x.change for x in store.events(Range(since=first + timedelta(minutes=30)))]
        assert since == ["disconnected", "unavailable", "reconnected", "changed"]
        assert store.events(Range(since=first + timedelta(hours=2))) == []
        then = store.records(When(history.now + timedelta(minutes=1)))
        assert then.tools[log_tool].updated == history.now
        history.lost("git")
        records = store.records()
        assert state_of(records.tools[log_tool], records.sources[git]) == "at rest"


def test_a_secret_in_a_definition_is_hidden_wherever_it_stands(place: Place):
    """The JSON of it stays JSON."""
    schema = {
        "type": "object",
        "properties": {"12345678": {"default": 12345678, "enum": [True, 0.5, 12345678.5, "x"]}},
        "description": "use 12345678",
    }
    writer = ReportWriter(open_history(place), lambda text: text.replace("12345678", "***"))
    writer.record([listed("a", Tool(ToolKey("mcp", "a", "x"), "", schema))])
    (event,) = writer.history.events(Range(about=Subject(MCP, "a", "x")))
    assert event.payload["parameters"] == {
        "type": "object",
        "properties": {"***": {"default": "***", "enum": [True, 0.5, "***.5", "x"]}},
        "description": "use ***",
    }
    writer.close()


def test_one_tool_is_read_by_itself_as_it_is_among_all(writer: ReportWriter):
    """Whatever its names; without reading the records of a hundred thousand others."""
    named = [tool(name, x) for name in ODD_NAMES for x in (name, ODD_NAMES[3], "x")]
    drawn = Seeded(STATIC, NOON, (Tool(ToolKey("tools", "", "drawn"), "", {}),))
    writer.record([*life(3), *(listed(x.source, x, connected=True) for x in named), drawn])
    records = writer.history.records()
    for subject, record in records.tools.items():
        source = records.sources.get(subject.anchor)
        alone = writer.history.tool_record(subject.shown_source, record.name)
        assert alone == replace(record, last_seen=last_seen(record, source))
    for source in records.sources.values():
        assert writer.history.last_listed(source.name)[1] == source.last_sync
    assert writer.history.last_listed("nobody")[1] is None


def test_decisions_are_noted_and_a_refusal_changes_nothing(writer: ReportWriter):
    odd = 'o"dd\\ "is_disabled":true \u20ac_%'
    one, other = Subject(MCP, "a", "one"), Subject(MCP, "b", odd)
    drawn = Subject(STATIC, "", "drawn")

    def decide(subject: Subject, decision: Any, definition: str = "") -> None:
        writer.record([decision_event(subject, NOON, decision, definition)])

    def decided() -> dict[Subject, tuple[bool, str]]:
        records = writer.history.records().tools
        noted = {x: (y.is_enabled, y.accepted) for x, y in records.items()}
        return {x: y for x, y in noted.items() if y != (True, "")}

    writer.record([listed("a", tool("a", "one"), tool("a", odd, odd))])
    for subject in (one, other, drawn):
        decide(subject, "disabled")
    decide(other, "accepted", DIGEST)
    assert decided() == {one: (False, ""), other: (False, DIGEST), drawn: (False, "")}
    for subject in (one, drawn):
        decide(subject, "enabled")
    writer.record([refusal_event(one, NOON, "It is switched off.", DIGEST)])
    assert decided() == {other: (False, DIGEST)}
    last = writer.history.events()[-1]
    assert (last.context_id, last.change, last.reason) == (
        "mcp_tool:a_one", "refused", "It is switched off.",
    )  # fmt: skip
    assert (last.event_kind, last.source, last.definition) == ("action", "executor", DIGEST)
    assert last.links.extends == ("mcp_tool:a_one",)
