"""Vectors of texts in the history's database, by model and hash of the text, of all projects."""

from __future__ import annotations

import hashlib
import logging
import sys
from array import array
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TypeVar

from sqlalchemy import ColumnElement, and_, delete, insert, select, update

from ..core.errors import StoreFailed
from ..history.database import portions
from ..history.history import History
from ..history.recording.recorder import HistoryRecorder
from ..history.tables import vectors

logger = logging.getLogger(__name__)

T = TypeVar("T")

MOST = 50_000
"""So many of those used last are kept. Of 384 numbers each they take 80 MB."""

_UNUSED = timedelta(days=90)  # after which nobody is likely to come back for them
_DAY = timedelta(days=1)  # that they were used is written once in it
_HASH_CHARS = 32
_SECONDS = 30.0  # a writer may wait for its turn; longer, and vectors are made anew


class StoredVectors:
    """`VectorCache` of one model in the recorder's store. Its methods block: not on a loop.

    Where the store fails the search goes on without them.
    """

    def __init__(self, recorder: HistoryRecorder, model: str) -> None:
        self._recorder, self._model = recorder, model

    def read(self, hashes: Sequence[str]) -> Mapping[str, Sequence[float]]:
        """The stored vectors of texts with these hashes."""
        look = partial(read_vectors, model=self._model, contents=hashes)
        return _result(self._recorder.read(look, {}), {})

    def write(self, made: Mapping[str, Sequence[float]]) -> None:
        """Store these vectors."""
        _result(self._recorder.ask(partial(write_vectors, model=self._model, made=made)), None)


def read_vectors(history: History, model: str, contents: Sequence[str]) -> dict[str, array[float]]:
    """The stored vectors of texts with these hashes. Their use is noted once a day."""
    found: dict[str, array[float]] = {}
    old: list[str] = []
    a_day_ago = _now() - _DAY
    columns = select(vectors.c.content, vectors.c.vector, vectors.c.used)
    with history.reading() as connection:
        for some in portions(dict.fromkeys(contents)):
            for row in connection.execute(columns.where(_are(model, some))):
                found[row.content] = _from_bytes(row.vector)
                old += [row.content] if row.used < a_day_ago else []
    if old and not history.store.is_to_read:
        with history.writing(everything=True) as connection:
            for some in portions(old):
                connection.execute(update(vectors).where(_are(model, some)).values(used=_now()))
    return found


def write_vectors(
    history: History, model: str, made: Mapping[str, Sequence[float]], most: int = MOST
) -> None:
    """Store vectors by the hashes of their texts; the long unused ones go."""
    if not made:
        return
    rows = [
        {"model": _digest(model), "content": x, "vector": _as_bytes(vector), "used": _now()}
        for x, vector in made.items()
    ]
    with history.writing(everything=True) as connection:
        for some in portions(made):  # others of this name: the model has changed
            connection.execute(delete(vectors).where(_are(model, some)))
        connection.execute(insert(vectors), rows)
        connection.execute(delete(vectors).where(vectors.c.used < _now() - _UNUSED))
        by_use = select(vectors.c.used).order_by(vectors.c.used.desc())
        last = connection.execute(by_use.offset(most).limit(1)).scalar()
        if last is not None:
            connection.execute(delete(vectors).where(vectors.c.used < last))


def _result(future: Future[T], without: T) -> T:
    try:
        return future.result(_SECONDS)
    except (StoreFailed, TimeoutError) as reason:
        logger.debug("Vectors are neither looked up nor stored: %s", reason)
        return without


def _are(model: str, contents: Sequence[str]) -> ColumnElement[bool]:
    return and_(vectors.c.model == _digest(model), vectors.c.content.in_(contents))


def _digest(model: str) -> str:
    return hashlib.sha256(model.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_CHARS]


def _as_bytes(vector: Sequence[float]) -> bytes:
    return _little_endian(array("f", vector)).tobytes()


def _from_bytes(data: bytes) -> array[float]:
    numbers = array("f")
    numbers.frombytes(data)
    return _little_endian(numbers)


def _little_endian(numbers: array[float]) -> array[float]:
    """The order of bytes that is the same on all machines which use the store."""
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


def _now() -> datetime:
    return datetime.now(UTC)
