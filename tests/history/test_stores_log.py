"""The log is the same in memory, in a file and on a server: one suite for all of them."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import Connection

from tests.support.databases import Server, place_of
from xai_mcp_agent import Event, Subject
from xai_mcp_agent.core.tools import MCP, STATIC, SourceKind
from xai_mcp_agent.history import log
from xai_mcp_agent.history.event import links_of
from xai_mcp_agent.history.events_table import Range
from xai_mcp_agent.history.history import History, open_history
from xai_mcp_agent.history.place import Place

GIT = Subject(MCP, "git")
BODY = '{"description":"Looks.","input_schema":{"type":"object"},"name":"log"}'
NOON = datetime(2026, 7, 28, 12, 0, 0, 123456, UTC)
# What a database, a link or a file may trip over.
ODD_NAMES = [
    "", " ", "a_b", "a", "NULL", "\0", "a\0b", "\ud800", "\udfff\ud83d", "\\u0000", "\\", "'\"`;--",
    "%s %(a)s :a ?", "{}", "\n\r\t\x1b[31m", "\ufeff\u202e", "ü", "u\u0308", "😀", "x" * 20_000,
]  # fmt: skip


@pytest.fixture
def store(place: Place) -> Iterator[History]:
    store = open_history(place)
    yield store
    store.close()


def told(tool: str = "log", minutes: int = 0, **fields: object) -> Event:
    """An event about a tool of git."""
    event = Event(Subject(MCP, "git", tool), "called", NOON + timedelta(minutes=minutes))
    payload = {"status": "ok", "seconds": 0.1}
    return replace(event, payload=payload, **fields)


def connected(source: Subject, time: datetime) -> Event:
    """A source that has no tools."""
    return Event(source, "connected", time, {"tool_count": 0, "status": "connected"})


def as_read(store: History, event: Event, position: int) -> Event:
    """The event with what the log gives it."""
    links = links_of(event.change, event.subject, store.project)
    return replace(event, links=links, position=position)


def append(store: History, *events: Event, bodies: dict[str, str] | None = None) -> None:
    with store.writing() as connection:
        store.log.catch_up(connection)
        store.log.append(connection, events, bodies or {})


def read(store: History, wanted: Range | None = None) -> list[Event]:
    return store.events(wanted or Range())


def positions(store: History, **wanted: object) -> list[int]:
    return [x.position for x in read(store, Range(**wanted))]  # type: ignore[arg-type]


def own(store: History, subject: Subject) -> list[int]:
    return [x.position for x in read(store, Range(about=subject)) if x.subject == subject]


def test_events_are_kept_as_they_are_in_their_order(store: History) -> None:
    first = Event(
        GIT, "connected", NOON, {"tool_count": 1, "status": "connected"},
        definition="0123456789abcdef", reason="It was asked for.", run="run1",
    )  # fmt: skip
    arguments = {"ä": [1, None, {"b": 1.5e300}]}
    payload = {"status": "ok", "seconds": 0.25, "arguments": arguments}
    second = replace(told(), payload=payload)
    append(store, first)
    append(store, second)
    assert read(store) == [as_read(store, first, 1), as_read(store, second, 2)]


def test_a_store_that_is_opened_again_goes_on_where_it_was(lasting_place: Place) -> None:
    for name in ("one", "two"):
        store = open_history(lasting_place)
        append(store, told(name))
        store.close()
    store = open_history(lasting_place)
    assert [(x.position, x.subject.tool) for x in read(store)] == [(1, "one"), (2, "two")]
    store.close()


def test_any_name_comes_back_as_it_was(store: History) -> None:
    subjects = [
        subject
        for name in ODD_NAMES
        for subject in (
            Subject(MCP, name), Subject(MCP, name, name), Subject(STATIC, name, name),
            Subject(SourceKind("acp", "agent"), name), Subject(MCP, "git", name),
        )
    ]  # fmt: skip
    odd = [Event(x, "unavailable", NOON, {x.source: x.source}, reason=x.source) for x in subjects]
    append(store, *odd)
    assert read(store) == [as_read(store, x, n) for n, x in enumerate(odd, 1)]
    for position, subject in enumerate(subjects, 1):
        assert own(store, subject) == [position]


def test_ranges_are_cut_at_both_ends_and_by_subject(store: History) -> None:
    append(store, connected(GIT, NOON), told("a", 1), told("b", 2), told("a", 3))
    append(store, connected(Subject(MCP, "other"), NOON + timedelta(minutes=4)))
    assert positions(store) == [1, 2, 3, 4, 5]
    assert positions(store, after=1, until=3) == [2, 3]
    assert positions(store, about=GIT) == [1, 2, 3, 4]
    assert positions(store, about=Subject(MCP, "git", "a")) == [2, 4]
    assert positions(store, since=NOON + timedelta(minutes=3)) == [4, 5]
    assert positions(store, limit=2) == [4, 5]
    assert positions(store, until=0) == []
    assert positions(store, changes=("called",), until=2) == [2]
    assert positions(store, changes=("seeded", "accepted")) == []


def test_a_transaction_that_fails_leaves_nothing(store: History) -> None:
    def half(connection: Connection) -> None:
        store.log.append(connection, [told("half")], {"d": BODY})
        raise LookupError

    append(store, told("before"))
    with pytest.raises(LookupError), store.writing() as connection:
        half(connection)
    append(store, told("after"))
    assert [(x.position, x.subject.tool) for x in read(store)] == [(1, "before"), (2, "after")]
    with store.reading() as connection:
        assert log.definitions_of(connection, ["d"]) == {}


def test_those_that_write_at_once_see_each_other_whatever_is_usual_on_the_server(
    postgresql: Server, tmp_path: Path
) -> None:
    """Whoever waited for its turn must count from what was written meanwhile."""
    url = postgresql.new_database()
    name = url.rpartition("/")[2]
    usual = "SET default_transaction_isolation = 'repeatable read'"
    postgresql.execute(f"ALTER DATABASE {name} {usual}")
    place = place_of(url, tmp_path)
    open_history(place).close()

    def write(number: int) -> None:
        store = open_history(place)
        for _ in range(10):
            append(store, told(str(number)))
        store.close()

    with ThreadPoolExecutor(4) as writers:
        list(writers.map(write, range(4)))
    store = open_history(place)
    assert [x.position for x in read(store)] == list(range(1, 41))
    store.close()


def test_projects_in_one_database_do_not_see_each_other(postgresql: Server, tmp_path: Path) -> None:
    url = postgresql.new_database()
    stores = [open_history(place_of(url, tmp_path / name)) for name in ("one", "two", "one")]
    for store in stores:
        append(store, told(store.project.name))
    assert [x.subject.tool for x in read(stores[0])] == ["one", "one"]
    assert [x.position for x in read(stores[1])] == [1]
    for store in stores:
        store.close()
