"""The log is the same in memory, in a file and on a server: one suite for all of them."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

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


def called(tool: str = "log", minutes: int = 0) -> Event:
    """A call of a tool of git."""
    payload = {"status": "ok", "seconds": 0.1}
    return Event(Subject(MCP, "git", tool), "called", NOON + timedelta(minutes=minutes), payload)


def connected(source: Subject, time: datetime) -> Event:
    """A source that has no tools."""
    return Event(source, "connected", time, {"tool_count": 0, "status": "connected"})


def as_read(store: History, event: Event, position: int) -> Event:
    """The event with what the log gives it."""
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


def test_a_store_that_is_opened_again_goes_on_where_it_was(lasting_place: Place):
    for name in ("one", "two"):
        store = open_history(lasting_place)
        append(store, called(name))
        store.close()
    store = open_history(lasting_place)
    assert brief(store) == [(1, "one"), (2, "two")]
    store.close()


def test_ranges_are_cut_at_both_ends_and_by_subject(store: History):
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


def test_a_transaction_that_fails_leaves_nothing(store: History):
    def half() -> None:
        with store.writing() as connection:
            store.log.append(connection, [called("half")], {"d": BODY})
            raise LookupError

    append(store, called("before"))
    with pytest.raises(LookupError):
        half()
    append(store, called("after"))
    assert brief(store) == [(1, "before"), (2, "after")]
    with store.reading() as connection:
        assert log.definitions_of(connection, ["d"]) == {}


def test_writers_at_once_see_each_other_whatever_is_usual_on_the_server(
    postgresql: Server, tmp_path: Path
):
    """Whoever waited for its turn must count from what was written meanwhile."""
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


def test_projects_in_one_database_neither_see_each_other_nor_wait(
    postgresql: Server, tmp_path: Path
):
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
