"""A store of an older version is brought to the newest, by whoever opens it first, or stays."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import Connection, inspect, text

from tests.support.databases import place_of
from xai_mcp_agent.core.errors import StoreFailed
from xai_mcp_agent.history.intents import Which, intents_in, state_of
from xai_mcp_agent.history.log import Range
from xai_mcp_agent.history.place import Place
from xai_mcp_agent.history.queries import events_in
from xai_mcp_agent.history.store import Store, open_store, open_to_read
from xai_mcp_agent.history.tables import (
    NEWEST,
    STEPS,
    Step,
    bring_up_to_date,
    intents,
    is_up_to_date,
    metadata,
    vectors,
    version_of,
)
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


def make_as_at_first(place: Place) -> None:
    """A store of version 1, which had neither vectors nor intents."""
    store = open_store(place)
    with store.writing() as connection:
        for table in (vectors, intents):
            table.drop(connection)
        connection.execute(text("UPDATE xai_mcp_facts SET value = '1' WHERE name = 'version'"))
    store.close()


@pytest.mark.parametrize("opened", [open_store, open_to_read])
def test_a_store_of_the_first_version_gets_what_a_new_one_has(
    lasting_place: Place, opened: Callable[[Place], Store]
) -> None:
    make_as_at_first(lasting_place)
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


def test_an_older_store_that_nobody_can_write_is_read_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A backup, say."""
    place = place_of("", tmp_path)
    make_as_at_first(place)
    monkeypatch.setattr("xai_mcp_agent.history.store.open_store", _refuse)
    store = open_to_read(place)
    assert version(store) == 1
    assert events_in(store, Range()) == []
    assert intents_in(store, Which()) == []
    assert state_of(store, "default") == (0, None)
    store.close()


def _refuse(place: Place) -> Store:
    raise StoreFailed(place.shown, "It may only be read.")
