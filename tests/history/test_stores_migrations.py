"""A store of an older version is brought to the newest, by whoever opens it first, or stays."""

from __future__ import annotations

import threading

import pytest
from sqlalchemy import Connection, inspect, text

from xai_mcp_agent.history.place import Place
from xai_mcp_agent.history.store import Store, open_store
from xai_mcp_agent.history.tables import Step, bring_up_to_date, is_up_to_date, version_of

_SECONDS = 30.0


def add_column(connection: Connection) -> None:
    connection.execute(text("ALTER TABLE xai_mcp_projects ADD COLUMN colour VARCHAR(9)"))


def fill_column(connection: Connection) -> None:
    connection.execute(text("UPDATE xai_mcp_projects SET colour = 'green'"))


def fail(_: Connection) -> None:
    raise LookupError("a mistake in a step")


STEPS: tuple[Step, ...] = (add_column, fill_column)


def colours(store: Store) -> list[str]:
    with store.reading() as connection:
        return list(connection.execute(text("SELECT colour FROM xai_mcp_projects")).scalars())


def version(store: Store) -> int:
    with store.reading() as connection:
        return version_of(connection)


def test_the_steps_that_a_store_lacks_are_taken_in_their_order(place: Place) -> None:
    store = open_store(place)
    for steps in (STEPS[:1], STEPS, STEPS):
        with store.writing() as connection:
            bring_up_to_date(connection, steps)
    assert (version(store), colours(store)) == (3, ["green"])
    with store.reading() as connection:
        assert is_up_to_date(connection, STEPS)
    store.close()


def test_a_step_that_fails_leaves_the_store_as_it_was(place: Place) -> None:
    store = open_store(place)
    with pytest.raises(LookupError), store.writing() as connection:
        bring_up_to_date(connection, (*STEPS, fail))
    assert version(store) == 1
    with store.reading() as connection:
        columns = inspect(connection).get_columns("xai_mcp_projects")
    assert "colour" not in {x["name"] for x in columns}
    store.close()
    again = open_store(place)
    with again.writing() as connection:
        bring_up_to_date(connection, STEPS)
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
            bring_up_to_date(connection, (*STEPS, count))
        assert colours(store) == ["green"]
        store.close()

    threads = [threading.Thread(target=bring) for _ in range(ready.parties)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(_SECONDS)
    assert not any(thread.is_alive() for thread in threads)
    assert taken == ["step"]
