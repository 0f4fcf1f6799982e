"""Vectors of texts that were made before, by the model and a hash of the text."""

from __future__ import annotations

import hashlib
import sys
from array import array
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from sqlalchemy import ColumnElement, Connection, and_, delete, select, update

from .database import insert_rows
from .history import History
from .tables import encode_time, vectors

MOST = 50_000
"""So many of those used last are kept. Of 384 numbers each they take 80 MB."""

_UNUSED = timedelta(days=90)  # after which nobody is likely to come back for them
_DAY = timedelta(days=1)  # that they were used is written down once in it
_HASH_CHARS = 32
_AT_ONCE = 500  # in one statement, which may have no more than some thousands of parameters


def read_vectors(history: History, model: str, contents: Sequence[str]) -> dict[str, array[float]]:
    """The vectors that are kept of texts with these hashes. That they were used is noted."""
    wanted = list(dict.fromkeys(contents))
    found: dict[str, array[float]] = {}
    old: list[str] = []
    a_day_ago = _now() - _DAY
    columns = select(vectors.c.content, vectors.c.vector, vectors.c.used)
    with history.reading() as connection:
        for some in _portions(wanted):
            for row in connection.execute(columns.where(_are(model, some))):
                found[row.content] = _unpacked(row.vector)
                old += [row.content] if row.used < a_day_ago else []
    if old and not history.store.is_to_read:
        with history.writing(everything=True) as connection:
            for some in _portions(old):
                connection.execute(update(vectors).where(_are(model, some)).values(used=_now()))
    return found


def write_vectors(
    history: History, model: str, made: Mapping[str, Sequence[float]], most: int = MOST
) -> None:
    """Keep these vectors by the hashes of their texts; those long unused go."""
    now = encode_time(_now())
    rows = [(_digest(model), x, _packed(vector), now) for x, vector in made.items()]
    with history.writing(everything=True) as connection:
        for some in _portions(list(made)):  # others of this name: the model has changed
            connection.execute(delete(vectors).where(_are(model, some)))
        insert_rows(connection, vectors, rows)
        _forget_unused(connection, most)


def _forget_unused(connection: Connection, most: int) -> None:
    connection.execute(delete(vectors).where(vectors.c.used < _now() - _UNUSED))
    by_use = select(vectors.c.used).order_by(vectors.c.used.desc())
    last = connection.execute(by_use.offset(most).limit(1)).scalar()
    if last is not None:
        connection.execute(delete(vectors).where(vectors.c.used < last))


def _are(model: str, contents: Sequence[str]) -> ColumnElement[bool]:
    return and_(vectors.c.model == _digest(model), vectors.c.content.in_(contents))


def _portions(contents: Sequence[str]) -> Iterator[Sequence[str]]:
    return (contents[n : n + _AT_ONCE] for n in range(0, len(contents), _AT_ONCE))


def _digest(model: str) -> str:
    return hashlib.sha256(model.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_CHARS]


def _packed(vector: Sequence[float]) -> bytes:
    return _in_order(array("f", vector)).tobytes()


def _unpacked(packed: bytes) -> array[float]:
    numbers = array("f")
    numbers.frombytes(packed[: len(packed) // numbers.itemsize * numbers.itemsize])
    return _in_order(numbers)


def _in_order(numbers: array[float]) -> array[float]:
    """The same on all machines that use the store."""
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


def _now() -> datetime:
    return datetime.now(UTC)
