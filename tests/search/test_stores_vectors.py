"""Vectors that were made once are kept for the next run, for no longer than they are of use."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from tests.support.databases import place_of
from xai_mcp_agent.history.history import History, open_history
from xai_mcp_agent.history.place import Place
from xai_mcp_agent.history.recording.recorder import HistoryRecorder
from xai_mcp_agent.search import stored_vectors
from xai_mcp_agent.search.stored_vectors import StoredVectors, read_vectors, write_vectors

_SECONDS = 20.0


@pytest.fixture
def store(place: Place) -> Iterator[History]:
    store = open_history(place)
    yield store
    store.close()


@pytest.fixture
def days(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many days have passed; the last one counts."""
    passed, now = [0], stored_vectors._now()
    monkeypatch.setattr(stored_vectors, "_now", lambda: now + timedelta(days=passed[-1]))
    return passed


def kept(store: History, model: str, *contents: str) -> dict[str, list[float]]:
    return {x: list(vector) for x, vector in read_vectors(store, model, contents).items()}


def test_vectors_are_found_by_model_and_content(store: History) -> None:
    write_vectors(store, "one", {"a": [0.5, 0.25], "b": [1.0, 0.0]})
    write_vectors(store, "two", {"a": [1.0]})
    assert kept(store, "one", "a", "b", "c") == {"a": [0.5, 0.25], "b": [1.0, 0.0]}
    assert kept(store, "two", "a", "b") == {"a": [1.0]}
    assert kept(store, "three", "a") == {}


def test_any_number_of_them_is_looked_up(store: History) -> None:
    many = {str(n): [float(n)] for n in range(1_203)}
    write_vectors(store, "m", many)
    assert kept(store, "m", *many, *many) == many


def test_a_new_vector_takes_the_place_of_the_old_one(store: History) -> None:
    write_vectors(store, "m", {"a": [1.0, 0.0], "b": [1.0]})
    write_vectors(store, "m", {"a": [0.5]})
    assert kept(store, "m", "a", "b") == {"a": [0.5], "b": [1.0]}


def test_what_is_used_stays_and_what_is_not_goes(store: History, days: list[int]) -> None:
    write_vectors(store, "m", {"used": [1.0], "unused": [1.0]})
    days.append(60)
    assert kept(store, "m", "used")
    days.append(100)
    write_vectors(store, "m", {"new": [1.0]})
    assert set(kept(store, "m", "used", "unused", "new")) == {"used", "new"}


def test_there_are_never_many_more_than_the_most(store: History, days: list[int]) -> None:
    for day in range(6):
        days.append(day)
        write_vectors(store, "m", {f"{day}-{n}": [1.0] for n in range(2)}, most=6)
    left = kept(store, "m", *(f"{day}-{n}" for day in range(6) for n in range(2)))
    assert {x.partition("-")[0] for x in left} == {"2", "3", "4", "5"}


@pytest.mark.parametrize("model", ["", "m" * 10_000, "a\0b\ud800", "模型 at http://x"])
def test_models_may_have_any_name(store: History, model: str) -> None:
    write_vectors(store, model, {"a": [1.0]})
    assert kept(store, model, "a") == {"a": [1.0]}


# Through the recorder


def test_the_next_run_has_the_vectors_of_this_one(lasting_place: Place) -> None:
    for before in ({}, {"a": [0.5]}):
        recorder = HistoryRecorder(lasting_place, str)
        cache = StoredVectors(recorder, "m")
        assert {x: list(vector) for x, vector in cache.read(["a"]).items()} == before
        cache.write({"a": [0.5]})
        recorder.close(_SECONDS)


def test_where_the_store_fails_nothing_is_known_and_nothing_breaks(tmp_path: Path) -> None:
    recorder = HistoryRecorder(place_of(str(tmp_path), tmp_path), str, warn=lambda _: None)
    cache = StoredVectors(recorder, "m")
    cache.write({"a": [0.5]})
    assert cache.read(["a"]) == {}
    recorder.close(_SECONDS)
    assert cache.read(["a"]) == {}
