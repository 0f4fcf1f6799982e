"""The log behaves the same in every kind of store."""

from __future__ import annotations

import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from tests.support.databases import Server, place_of
from tests.support.histories import rebuild
from tests.support.recorded import a_history, a_tool, tool_of
from xai_mcp_agent import Event, Records, StoreFailed, Subject, Tool, ToolKey
from xai_mcp_agent.core.tools import MCP, STATIC, SourceKind
from xai_mcp_agent.history import log, retention, tables
from xai_mcp_agent.history.event import Range, links_of
from xai_mcp_agent.history.history import History, open_history
from xai_mcp_agent.history.place import Place
from xai_mcp_agent.history.recording.call_journal import call_event
from xai_mcp_agent.history.recording.report_writer import ReportWriter
from xai_mcp_agent.history.recording.reports import (
    Listed,
    Lost,
    Report,
    Seeded,
    decision_event,
    failure_event,
    refusal_event,
)
from xai_mcp_agent.history.records import Fold
from xai_mcp_agent.history.retention import prune
from xai_mcp_agent.settings.sections import Retention

GIT = Subject(MCP, "git")
BODY = '{"description":"Looks.","input_schema":{"type":"object"},"name":"log"}'
NOON = datetime(2026, 7, 28, 12, 0, 0, 123456, UTC)
# Names that are hard for databases, links and files.
ODD_NAMES = [
    "", " ", "a_b", "a", "NULL", "\0", "a\0b", "\ud800", "\udfff\ud83d", "\\u0000", "\\", "'\"`;--",
    "%s %(a)s :a ?", "{}", "\n\r\t\x1b[31m", "\ufeff\u202e", "ü", "u\u0308", "😀", "x" * 20_000,
]  # fmt: skip


@pytest.fixture
def store(place: Place) -> Iterator[History]:
    store = open_history(place)
    yield store
    store.close()


def called(tool: str = "log", minutes: int = 0) -> Event:
    """A call of a tool of git."""
    payload = {"status": "ok", "seconds": 0.1}
    return Event(Subject(MCP, "git", tool), "called", NOON + timedelta(minutes=minutes), payload)


def connected(source: Subject, time: datetime) -> Event:
    """A source that has no tools."""
    return Event(source, "connected", time, {"tool_count": 0, "status": "connected"})


def as_read(store: History, event: Event, position: int) -> Event:
    """Return the event with its links and position, as the log returns it."""
    links = links_of(event.change, event.subject, store.project)
    return replace(event, links=links, position=position)


def append(store: History, *events: Event) -> None:
    with store.writing() as connection:
        store.log.catch_up(connection)
        store.log.append(connection, events, {})


def brief(store: History) -> list[tuple[int, str | None]]:
    return [(x.position, x.subject.tool) for x in store.events()]


def test_events_with_any_name_and_value_come_back_in_their_order(store: History):
    first = replace(connected(GIT, NOON), definition="0123", reason="It was asked for.", run="run1")
    arguments = {"ä": [1, None, {"b": 1.5e300}]}
    second = replace(called(), payload={"status": "ok", "seconds": 0.25, "arguments": arguments})
    subjects = [
        subject
        for name in ODD_NAMES
        for subject in (
            Subject(MCP, name), Subject(MCP, name, name), Subject(STATIC, name, name),
            Subject(SourceKind("acp", "agent"), name), Subject(MCP, "git", name),
        )
    ]  # fmt: skip
    odd = [Event(x, "unavailable", NOON, {x.source: x.source}, reason=x.source) for x in subjects]
    append(store, first)
    append(store, second, *odd)
    assert store.events() == [as_read(store, x, n) for n, x in enumerate((first, second, *odd), 1)]
    for position, subject in enumerate(subjects, 3):
        about = [x for x in store.events(Range(about=subject)) if x.subject == subject]
        assert [x.position for x in about] == [position]


def test_ranges_limit_positions_times_subjects_and_changes(store: History):
    append(store, connected(GIT, NOON), called("a", 1), called("b", 2), called("a", 3))
    append(store, connected(Subject(MCP, "other"), NOON + timedelta(minutes=4)))
    for which, positions in (
        (Range(), [1, 2, 3, 4, 5]),
        (Range(after=1, until=3), [2, 3]),
        (Range(about=GIT), [1, 2, 3, 4]),
        (Range(about=Subject(MCP, "git", "a")), [2, 4]),
        (Range(since=NOON + timedelta(minutes=3)), [4, 5]),
        (Range(limit=2), [4, 5]),
        (Range(until=0), []),
        (Range(changes=("called",), until=2), [2]),
        (Range(changes=("seeded", "accepted")), []),
    ):
        assert [x.position for x in store.events(which)] == positions, which


def test_concurrent_writers_see_each_other_with_any_default_isolation(
    postgresql: Server, tmp_path: Path
):
    """A writer that waited must continue after the rows of the others."""
    usual = "%20-cdefault_transaction_isolation%3Drepeatable%5C%20read"
    place = place_of(postgresql.new_database() + usual, tmp_path)
    open_history(place).close()

    def write(number: int) -> None:
        store = open_history(place)
        for _ in range(10):
            append(store, called(str(number)))
        store.close()

    with ThreadPoolExecutor(4) as writers:
        list(writers.map(write, range(4)))
    store = open_history(place)
    assert [x.position for x in store.events()] == list(range(1, 41))
    store.close()


def test_projects_in_one_database_are_separate_and_do_not_wait(postgresql: Server, tmp_path: Path):
    url = postgresql.new_database()
    one, two, same = (open_history(place_of(url, tmp_path / x)) for x in ("one", "two", "one"))
    append(one, called("first"))
    with one.writing():
        append(two, called("two"))
    append(same, called("last"))
    assert brief(one) == [(1, "first"), (2, "last")]
    assert brief(two) == [(1, "two")]
    for store in (one, two, same):
        store.close()


# Records are the fold of the log, now and in the past.


DIGEST = "1" * 32


def listed(source: str, *tools: Tool) -> Listed:
    return Listed(Subject(MCP, source), NOON, tools, "stdio", source.upper())


def life(seed: int) -> list[Report]:
    """Return random reports of every kind."""
    chance, reports = random.Random(seed), list[Report]()
    for minute in range(80):
        source, name = chance.choice("ab"), chance.choice("xyz")
        subject = Subject(MCP, source, name)
        some = [tool_of(source, x, chance.choice("12")) for x in "xyz" if chance.random() < 0.7]
        what: list[Report] = [
            listed(source, *some),
            Lost(subject.anchor, NOON, "closed"),
            failure_event(subject.anchor, NOON, chance.choice(("slow", "gone"))),
            Seeded(STATIC, NOON, (tool_of("", name, chance.choice("12")),)),
            call_event(subject, NOON, chance.random(), chance.choice(("", "", "no"))),
            call_event(subject, NOON, chance.random()),
            decision_event(subject, NOON, chance.choice(("enabled", "disabled"))),
        ]
        reports.append(replace(chance.choice(what), time=NOON + timedelta(minutes=minute)))
    return reports


def replayed(store: History, until: int) -> Records:
    """Return the records of all events up to there."""
    return Fold().take(x.event for x in store.rows(Range(until=until))).records()


def test_records_of_the_past_are_the_fold_of_the_events_until_then(
    writer: ReportWriter, monkeypatch: pytest.MonkeyPatch
):
    """With snapshots in between, and transactions of one or several reports."""
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
        assert store.records(event.position) == replayed(store, event.position)
    moment = events[len(events) // 2].time
    last = max(x.position for x in events if x.time <= moment)
    assert store.records(moment) == replayed(store, last)
    assert store.records(0) == Records()


def test_a_clock_set_back_changes_no_answer(place: Place):
    """The order of writing decides, not the times."""
    git, log_tool = Subject(MCP, "git"), Subject(MCP, "git", "log")
    with a_history(place) as history:
        history.connected("git", a_tool("log", "Looks."))
        history.lost("git")
        history.now -= timedelta(days=1)
        history.connected("git", a_tool("log", "Looks back."))
        store = history.store
        records = store.records()
        record, source = records.tools[log_tool], records.sources[git]
        assert record.state == "available"
        assert record.definition == store.versions("git", "log")[-1].digest
        assert record.updated == record.last_seen == source.last_sync == history.now
        first = store.events()[0].time
        since = [x.change for x in store.events(Range(since=first + timedelta(minutes=30)))]
        assert since == ["disconnected", "unavailable", "reconnected", "changed"]
        assert store.events(Range(since=first + timedelta(hours=2))) == []
        then = store.records(history.now + timedelta(minutes=1))
        assert then.tools[log_tool].updated == history.now
        history.lost("git")
        records = store.records()
        assert records.tools[log_tool].state == "at rest"


def test_secrets_anywhere_in_a_definition_are_masked(place: Place):
    """The definition stays valid JSON."""
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


def test_the_record_of_one_tool_equals_the_one_among_all(writer: ReportWriter):
    """This holds for any name."""
    odd_tools = [tool_of(name, x) for name in ODD_NAMES for x in (name, ODD_NAMES[3], "x")]
    seeded = Seeded(STATIC, NOON, (Tool(ToolKey("tools", "", "drawn"), "", {}),))
    writer.record([*life(3), *(listed(x.source, x) for x in odd_tools), seeded])
    records = writer.history.records()
    for subject, record in records.tools.items():
        assert writer.history.tool_record(subject.source_name, record.name) == record
    for source in records.sources.values():
        assert writer.history.last_listed(source.name)[1] == source.last_sync
    assert writer.history.last_listed("nobody")[1] is None


def test_decisions_are_recorded_and_a_refusal_changes_nothing(writer: ReportWriter):
    odd = 'o"dd\\ "is_disabled":true \u20ac_%'
    one, other = Subject(MCP, "a", "one"), Subject(MCP, "b", odd)
    canvas_tool = Subject(STATIC, "", "drawn")

    def decide(subject: Subject, decision: Any, definition: str = "") -> None:
        writer.record([decision_event(subject, NOON, decision, definition)])

    def decisions() -> dict[Subject, tuple[bool, str]]:
        records = writer.history.records().tools
        pairs = {x: (y.is_enabled, y.accepted) for x, y in records.items()}
        return {x: y for x, y in pairs.items() if y != (True, "")}

    writer.record([listed("a", tool_of("a", "one"), tool_of("a", odd, odd))])
    for subject in (one, other, canvas_tool):
        decide(subject, "disabled")
    decide(other, "accepted", DIGEST)
    assert decisions() == {one: (False, ""), other: (False, DIGEST), canvas_tool: (False, "")}
    for subject in (one, canvas_tool):
        decide(subject, "enabled")
    writer.record([refusal_event(one, NOON, "It is switched off.", DIGEST)])
    assert decisions() == {other: (False, DIGEST)}
    last = writer.history.events()[-1]
    assert (last.context_id, last.change, last.reason) == (
        "mcp_tool:a_one", "refused", "It is switched off.",
    )  # fmt: skip
    assert (last.event_kind, last.source, last.definition) == ("action", "executor", DIGEST)
    assert last.links.extends == ("mcp_tool:a_one",)


# Pruning: old rows are removed, and all other answers stay the same.


BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
MANY = Subject(MCP, "many")


def live(writer: ReportWriter, days: int) -> None:
    """A server with a hundred tools, one of which changes each day."""
    for day in range(days):
        time = BEGIN + timedelta(days=day)
        words = {7: f"since day {day}"}
        tools = tuple(tool_of("many", f"t{n}", words.get(n, "")) for n in range(100))
        writer.record([Listed(MANY, time, tools)])
        writer.record([call_event(Subject(MCP, "many", "t7"), time, 0.25)])
        writer.record([Lost(MANY, time + timedelta(hours=1), "closed")])


def test_pruning_by_age_keeps_newer_events_and_all_records(writer: ReportWriter):
    live(writer, 10)
    store = writer.history
    events, records = store.events(), store.records()
    middle = next(x for x in events if x.time > BEGIN + timedelta(days=6))
    then = store.records(middle.position)
    keep, now = Retention(4, None), BEGIN + timedelta(days=9)
    report = prune(store, keep, now, is_dry=True)
    assert store.events() == events
    assert prune(store, keep, now) == report
    remaining = store.events()
    assert remaining == [x for x in events if x.position > report.events]
    assert remaining[0].time == BEGIN + timedelta(days=5)
    assert store.records() == records
    assert store.records(middle.position) == then
    rebuild(store)
    assert store.records() == records
    with pytest.raises(StoreFailed, match="begins after event"):
        store.records(BEGIN + timedelta(days=2))
    assert store.graph().nodes
    assert len(store.versions("many", "t7")) == 5
    assert prune(store, keep, now).events == 0


def test_pruning_by_size_removes_the_oldest_events(
    writer: ReportWriter, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(retention, "_LEAST_ROWS", 10)
    live(writer, 60)
    store, records = writer.history, writer.history.records()

    def size() -> float:
        with store.reading() as connection:
            return retention.size_of(connection, store.project_id)

    before = size()
    report = prune(store, Retention(None, before / 2 / 1_000_000), datetime.now(UTC))
    assert report.events > 100
    assert before / 5 < size() < before * 0.7
    rebuild(store)
    assert store.records() == records


def test_a_history_can_be_pruned_anywhere(writer: ReportWriter):
    for seed in (6, 7):
        writer.record(life(seed))
    store, before = writer.history, writer.history.records()
    now = store.events()[-1].time
    for days in (0.05, 0.045, 0.03):
        prune(store, Retention(days, None), now)
        records = store.records()
        assert records.sources == before.sources
        assert {x: y for x, y in before.tools.items() if x in records.tools} == records.tools
        rebuild(store)
        assert store.records() == records
