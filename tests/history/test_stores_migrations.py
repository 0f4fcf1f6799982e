"""A store of an older version is brought to the newest, by whoever opens it first, or stays."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import Connection, inspect, text

from tests.history.test_stores_log import ODD_NAMES
from tests.history.test_stores_records import NOON, life, listed, tool
from tests.support.databases import place_of
from tests.support.histories import rebuild
from tests.support.old_stores import make_version_3, make_version_4
from xai_mcp_agent import Subject
from xai_mcp_agent.core.tools import MCP
from xai_mcp_agent.history.backup import forget_backup
from xai_mcp_agent.history.integrity import is_file_intact
from xai_mcp_agent.history.intents import Which, intents_in, state_of
from xai_mcp_agent.history.log import Range
from xai_mcp_agent.history.migrations import (
    NEWEST,
    STEPS,
    Step,
    bring_up_to_date,
    is_up_to_date,
    version_of,
)
from xai_mcp_agent.history.place import Place, identity_of
from xai_mcp_agent.history.queries import When, events_in, records_at
from xai_mcp_agent.history.recording.report_writer import ReportWriter
from xai_mcp_agent.history.recording.reports import Called, Lost
from xai_mcp_agent.history.records import Records, records_of
from xai_mcp_agent.history.repair import set_aside
from xai_mcp_agent.history.store import Store, open_store, open_to_read
from xai_mcp_agent.history.tables import metadata
from xai_mcp_agent.history.vectors import read_vectors, write_vectors

_SECONDS = 30.0


def add_column(connection: Connection) -> None:
    connection.execute(text("ALTER TABLE xai_mcp_projects ADD COLUMN colour VARCHAR(9)"))


def fill_column(connection: Connection) -> None:
    connection.execute(text("UPDATE xai_mcp_projects SET colour = 'green'"))


def fail(_: Connection) -> None:
    raise LookupError("a mistake in a step")


LATER: tuple[Step, ...] = (*STEPS, add_column, fill_column)


def colours(store: Store) -> list[str]:
    with store.reading() as connection:
        return list(connection.execute(text("SELECT colour FROM xai_mcp_projects")).scalars())


def version(store: Store) -> int:
    with store.reading() as connection:
        return version_of(connection)


def test_the_steps_that_a_store_lacks_are_taken_in_their_order(place: Place) -> None:
    store = open_store(place)
    for steps in (LATER[:-1], LATER, LATER):
        with store.writing() as connection:
            bring_up_to_date(connection, steps)
    assert (version(store), colours(store)) == (NEWEST + 2, ["green"])
    with store.reading() as connection:
        assert is_up_to_date(connection, LATER)
    store.close()


FIRST = (
    "DROP TABLE xai_mcp_vectors",
    "DROP TABLE xai_mcp_intents",
    "UPDATE xai_mcp_facts SET value = '1' WHERE name = 'version'",
)
"""What makes a store of version 3 one of version 1, which had neither vectors nor intents."""


@pytest.mark.parametrize("opened", [open_store, open_to_read])
def test_a_store_of_the_first_version_gets_what_a_new_one_has(
    lasting_place: Place, opened: Callable[[Place], Store]
) -> None:
    make_version_3(lasting_place, *FIRST)
    store = opened(lasting_place)
    assert version(store) == NEWEST
    with store.reading() as connection:
        inspected = inspect(connection)
        for table in metadata.sorted_tables:
            columns = {x["name"] for x in inspected.get_columns(table.name)}
            assert columns == {x.name for x in table.columns}
            indexes = {x["name"] for x in inspected.get_indexes(table.name)}
            assert {x.name for x in table.indexes} <= indexes
    write_vectors(store, "m", {"x": [1.0]})
    assert list(read_vectors(store, "m", ["x"])["x"]) == [1.0]
    store.close()


def test_a_step_that_fails_leaves_the_store_as_it_was(place: Place) -> None:
    store = open_store(place)
    with pytest.raises(LookupError), store.writing() as connection:
        bring_up_to_date(connection, (*LATER, fail))
    assert version(store) == NEWEST
    with store.reading() as connection:
        columns = inspect(connection).get_columns("xai_mcp_projects")
    assert "colour" not in {x["name"] for x in columns}
    store.close()
    again = open_store(place)
    with again.writing() as connection:
        bring_up_to_date(connection, LATER)
    assert colours(again) == ["green"]
    again.close()


def test_of_several_that_open_an_older_store_at_once_one_takes_the_steps(
    lasting_place: Place,
) -> None:
    taken: list[str] = []
    ready = threading.Barrier(6)

    def count(connection: Connection) -> None:
        taken.append("step")

    def bring() -> None:
        store = open_store(lasting_place)
        ready.wait(_SECONDS)
        with store.writing() as connection:
            bring_up_to_date(connection, (*LATER, count))
        assert colours(store) == ["green"]
        store.close()

    threads = [threading.Thread(target=bring) for _ in range(ready.parties)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(_SECONDS)
    assert not any(thread.is_alive() for thread in threads)
    assert taken == ["step"]


def lived_in(place: Place) -> Records:
    """Write something of everything that can happen; what it comes to."""
    writer = ReportWriter(open_store(place), str)
    for seed in (4, 5):
        writer.record(life(seed))
    many = [tool("many", f"t{number}") for number in range(50)]
    for words in ("", "", "new"):
        writer.record([listed("many", *many[:-1], tool("many", "t7", words), connected=True)])
        writer.record([Lost(Subject(MCP, "many"), NOON, "closed")])
    for name in ODD_NAMES[2::5]:
        odd = [tool(name, x) for x in ODD_NAMES]
        writer.record([listed(name, *odd, connected=True), listed(name, *odd[3:])])
        writer.record([Called(Subject(MCP, name, name), NOON, 0.5, name)])
    writer.close()
    store = open_store(place)
    records = records_at(store, When())
    store.close()
    return records


def test_an_old_store_reads_as_it_did_and_goes_on(lasting_place: Place) -> None:
    """Every event at its position, now, then, and made anew."""
    records = lived_in(lasting_place)
    events = make_version_3(lasting_place)
    store = open_store(lasting_place)
    assert events_in(store, Range()) == events
    for subject in {x.subject for x in events[::7]}:
        about = [x for x in events if x.subject == subject]
        assert events_in(store, Range(subject=subject)) == about
    known = records_at(store, When())
    assert known.tools == records.tools
    unknown = {x: replace(y, synced_before=None) for x, y in records.sources.items()}
    assert known.sources == unknown
    for position in range(1, len(events), 97):
        then = records_of(events[:position])
        assert records_at(store, When(position=position)) == then
    rebuild(store)
    assert records_at(store, When()) == records
    writer = ReportWriter(store, str)
    writer.record([listed("a", tool("a", "x"), connected=True)])
    assert events_in(store, Range(after=len(events)))[0].position == len(events) + 1
    writer.close()


def test_calls_of_a_store_that_did_not_tell_who_made_them_read_as_they_did(
    lasting_place: Place,
) -> None:
    lived_in(lasting_place)
    events = make_version_4(lasting_place)
    store = open_store(lasting_place)
    assert events_in(store, Range()) == events
    writer = ReportWriter(store, str)
    by = (("call_id", "call_1"), ("caller", "agent"), ("agent", "helper"))
    writer.record([Called(Subject(MCP, "a", "x"), NOON, 0.5, by=by)])
    (call,) = events_in(store, Range(after=len(events), changes=("called",)))
    assert call.payload == {"status": "ok", "seconds": 0.5, **dict(by)}
    writer.close()


def test_an_old_store_takes_less_room_when_it_is_brought_up_to_date(tmp_path: Path) -> None:
    place = place_of("", tmp_path)
    assert place.file is not None
    writer = ReportWriter(open_store(place), str)
    many = [tool("many", f"t{number}") for number in range(500)]
    for _ in range(10):
        writer.record([listed("many", *many, connected=True)])
        writer.record([Lost(Subject(MCP, "many"), NOON, "closed")])
    writer.close()
    make_version_3(place)
    before = place.file.stat().st_size
    open_store(place).close()
    assert place.file.stat().st_size < before / 5


def test_an_older_store_that_was_brought_up_to_date_is_not_taken_for_damaged(
    tmp_path: Path,
) -> None:
    """Some of its columns are in another order."""
    place = place_of("", tmp_path)
    assert place.file is not None
    lived_in(place)
    make_version_3(place, *FIRST)
    store = open_store(place)
    events = events_in(store, Range())
    store.close()
    assert is_file_intact(place.file)
    forget_backup(place.file)
    assert set_aside(place, identity_of(place.file))
    store = open_store(place)
    assert events_in(store, Range()) == events
    store.close()


def test_an_older_store_that_is_only_read_is_read_as_a_copy(tmp_path: Path) -> None:
    """Reading never writes."""
    place = place_of("", tmp_path)
    assert place.file is not None
    lived_in(place)
    events = make_version_3(place, *FIRST)
    kept = place.file.read_bytes()
    store = open_to_read(place)
    assert events_in(store, Range()) == events
    assert intents_in(store, Which()) == []
    assert state_of(store, "default") == (0, None)
    store.close()
    assert place.file.read_bytes() == kept
