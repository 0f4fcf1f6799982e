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
from xai_mcp_agent.history.event import Links
from xai_mcp_agent.history.log import Range
from xai_mcp_agent.history.place import Place
from xai_mcp_agent.history.store import Store, open_store

GIT = Subject(MCP, "git")
BODY = '{"description":"Looks.","input_schema":{"type":"object"},"name":"log"}'
NOON = datetime(2026, 7, 28, 12, 0, 0, 123456, UTC)
# What a database, a link or a file may trip over.
ODD_NAMES = [
    "", " ", "a_b", "a", "NULL", "\0", "a\0b", "\ud800", "\udfff\ud83d", "\\u0000", "\\", "'\"`;--",
    "%s %(a)s :a ?", "{}", "\n\r\t\x1b[31m", "\ufeff\u202e", "ü", "u\u0308", "😀", "x" * 20_000,
]  # fmt: skip


@pytest.fixture
def store(place: Place) -> Iterator[Store]:
    store = open_store(place)
    yield store
    store.close()


def told(tool: str = "log", minutes: int = 0, **fields: object) -> Event:
    """An event about a tool of git."""
    event = Event(Subject(MCP, "git", tool), "called", NOON + timedelta(minutes=minutes))
    return replace(event, event_kind="action", **fields)


def append(store: Store, *events: Event, bodies: dict[str, str] | None = None) -> None:
    with store.writing() as connection:
        log.append(connection, store.project_id, events, bodies or {})


def read(store: Store, wanted: Range | None = None) -> list[Event]:
    with store.reading() as connection:
        return list(log.read(connection, store.project_id, wanted or Range()))


def positions(store: Store, **wanted: object) -> list[int]:
    return [x.position for x in read(store, Range(**wanted))]  # type: ignore[arg-type]


def test_events_are_kept_as_they_are_in_their_order(store: Store) -> None:
    links = Links(("mcp:git",), ("a:tools",), ("mcp_tool:git_log",), ("x", "y"))
    first = Event(
        GIT, "connected", NOON, {"tool_count": 1, "status": "connected"}, links,
        "0123456789abcdef", "It was asked for.", "run1",
    )  # fmt: skip
    second = told(payload={"seconds": 0.25, "arguments": {"ä": [1, None, {"b": 1.5e300}]}})
    append(store, first)
    append(store, second)
    assert read(store) == [replace(first, position=1), replace(second, position=2)]


def test_a_store_that_is_opened_again_goes_on_where_it_was(lasting_place: Place) -> None:
    for name in ("one", "two"):
        store = open_store(lasting_place)
        append(store, told(name))
        store.close()
    store = open_store(lasting_place)
    assert [(x.position, x.subject.tool) for x in read(store)] == [(1, "one"), (2, "two")]
    store.close()


def test_any_name_comes_back_as_it_was(store: Store) -> None:
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
    assert read(store) == [replace(x, position=n) for n, x in enumerate(odd, 1)]
    for position, subject in enumerate(subjects, 1):
        assert positions(store, subject=subject) == [position]


def test_subjects_that_have_the_same_id_are_told_apart(store: Store) -> None:
    """Spec 2 joins names with underscores, which names may have, too."""
    alike = [Subject(MCP, "a_b", "c"), Subject(MCP, "a", "b_c"), Subject(MCP, "", "a_b_c"[0:5])]
    alike += [Subject(MCP, "a:b"), Subject(MCP, "a", ":b"), Subject(STATIC, "", "a_b")]
    append(store, *(Event(x, "discovered", NOON) for x in alike))
    assert alike[0].context_id == alike[1].context_id
    assert [positions(store, subject=x) for x in alike] == [[n] for n in range(1, len(alike) + 1)]


def test_a_megabyte_of_description_is_kept_once(store: Store) -> None:
    text = "ä\0" * 500_000
    body = BODY.replace("Looks.", "\\u00e4\\u0000" * 500_000)
    event = replace(told(definition="d1"), change="confirmed", event_kind="fact")
    append(store, event, event, bodies={"d1": body})
    append(store, event, bodies={"d1": body})
    assert [x.payload["description"] == text for x in read(store)] == [True] * 3


def test_a_definition_that_was_lost_leaves_the_event(store: Store) -> None:
    event = replace(told(definition="gone"), change="confirmed", event_kind="fact")
    append(store, event)
    assert [(x.definition, x.payload) for x in read(store)] == [("gone", {})]


def test_ranges_are_cut_at_both_ends_and_by_subject(store: Store) -> None:
    append(store, Event(GIT, "connected", NOON), told("a", 1), told("b", 2), told("a", 3))
    append(store, Event(Subject(MCP, "other"), "connected", NOON + timedelta(minutes=4)))
    assert positions(store) == [1, 2, 3, 4, 5]
    assert positions(store, after=1, until=3) == [2, 3]
    assert positions(store, anchor=GIT) == [1, 2, 3, 4]
    assert positions(store, subject=GIT) == [1]
    assert positions(store, subject=Subject(MCP, "git", "a"), newest_first=True) == [4, 2]
    assert positions(store, since=NOON + timedelta(minutes=3)) == [4, 5]
    assert positions(store, limit=2, newest_first=True) == [5, 4]
    assert positions(store, until=0) == []
    assert positions(store, changes=("called",), until=2) == [2]
    assert positions(store, changes=("seeded", "accepted")) == []


def test_thousands_of_definitions_are_read_at_once(store: Store) -> None:
    many = {f"d{i}": BODY.replace("Looks", f"Looks {i}") for i in range(1200)}
    append(store, told(), bodies=many)
    with store.reading() as connection:
        found = log.definitions_of(connection, [*many, "lost"])
    assert found.keys() == many.keys()
    assert found["d7"]["description"] == "Looks 7."


def test_a_time_is_found_among_the_positions(store: Store) -> None:
    append(store, *(told(minutes=minutes) for minutes in (1, 2, 2, 9)))

    def at(minutes: float) -> int:
        with store.reading() as connection:
            moment = NOON + timedelta(minutes=minutes)
            return log.position_at(connection, store.project_id, moment)

    assert [at(x) for x in (0, 1, 1.5, 2, 8.9, 9, 99)] == [0, 1, 1, 3, 3, 4, 4]


def test_times_of_other_zones_are_the_same_moments(store: Store) -> None:
    there = NOON.astimezone(datetime.now().astimezone().tzinfo)
    old = datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC)
    append(store, replace(told(), time=old), replace(told(), time=there))
    assert [x.time for x in read(store)] == [old, NOON]
    assert positions(store, since=NOON) == [2]


def test_a_transaction_that_fails_leaves_nothing(store: Store) -> None:
    def half(connection: Connection) -> None:
        log.append(connection, store.project_id, [told("half")], {"d": BODY})
        raise LookupError

    append(store, told("before", payload={"seconds": 0.1}))
    with pytest.raises(LookupError), store.writing() as connection:
        half(connection)
    append(store, told("after", payload={"seconds": 0.1}))
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
    open_store(place).close()

    def write(number: int) -> None:
        store = open_store(place)
        for _ in range(10):
            append(store, told(str(number)))
        store.close()

    with ThreadPoolExecutor(4) as writers:
        list(writers.map(write, range(4)))
    store = open_store(place)
    assert [x.position for x in read(store)] == list(range(1, 41))
    store.close()


def test_two_that_write_in_turn_share_one_count(lasting_place: Place) -> None:
    one, other = open_store(lasting_place), open_store(lasting_place)
    for store, name in ((one, "a"), (other, "b"), (one, "c")):
        append(store, told(name))
    assert [(x.position, x.subject.tool) for x in read(other)] == [(1, "a"), (2, "b"), (3, "c")]
    one.close()
    other.close()


def test_projects_in_one_database_do_not_see_each_other(postgresql: Server, tmp_path: Path) -> None:
    url = postgresql.new_database()
    stores = [open_store(place_of(url, tmp_path / name)) for name in ("one", "two", "one")]
    for store in stores:
        append(store, told(store.project.name))
    assert [x.subject.tool for x in read(stores[0])] == ["one", "one"]
    assert [x.position for x in read(stores[1])] == [1]
    for store in stores:
        store.close()
