"""Vectors of one model in the history's store, from run to run."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from ..core.errors import StoreFailed

if TYPE_CHECKING:
    from ..history.history import History
    from ..history.recording.recorder import HistoryRecorder

logger = logging.getLogger(__name__)

T = TypeVar("T")

_MAX_STORED = 50_000  # the last used; 80 MB with 384 numbers each
_UNUSED, _DAY = timedelta(days=90), timedelta(days=1)
_STORE_SECONDS = 30.0  # limit for the store; then vectors are made again
_HASH_CHARS = 32


def hash_of(text: str) -> str:
    """Return the hash of a text, which a store uses instead of its words."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_CHARS]


class StoredVectors:
    """Vectors of one model in the history's store. Its methods block: not for an event loop.

    A store that fails has no vectors.
    """

    def __init__(self, recorder: HistoryRecorder, model: str) -> None:
        self._recorder, self._model = recorder, hash_of(model)

    def read(self, hashes: Sequence[str]) -> Mapping[str, Any]:
        """Return the stored vectors of texts with these hashes."""
        read = partial(_read_vectors, model=self._model, hashes=hashes)
        return _result(self._recorder.read(read, {}), {})

    def write(self, vectors: Mapping[str, Any]) -> None:
        """Store vectors by the hashes of their texts."""
        _result(self._recorder.ask(partial(_write, model=self._model, new_vectors=vectors)), None)


# The following functions run in a thread that owns the store, and import SQLAlchemy there.


def _read_vectors(history: History, model: str, hashes: Sequence[str]) -> dict[str, Any]:
    """Return the stored vectors of texts with these hashes. Their use is noted once a day."""
    import numpy
    from sqlalchemy import select, update

    from ..history.tables import vectors

    these = vectors.c.model == model, vectors.c.content.in_(hashes)
    old = *these, vectors.c.used < datetime.now(UTC) - _DAY
    with history.reading() as connection:
        rows = connection.execute(select(vectors.c.content, vectors.c.vector).where(*these)).all()
        is_old = connection.execute(select(vectors.c.content).where(*old).limit(1)).first()
    if is_old and not history.store.is_to_read:
        with history.writing(everything=True) as connection:
            connection.execute(update(vectors).where(*old).values(used=datetime.now(UTC)))
    return {x.content: numpy.frombuffer(x.vector, "<f4") for x in rows}


def _write(history: History, model: str, new_vectors: Mapping[str, Any]) -> None:
    """Store vectors, and remove those that were not used for long."""
    from sqlalchemy import delete, insert, select

    from ..history.tables import vectors

    now = datetime.now(UTC)
    rows = [
        {"model": model, "content": x, "vector": vector.astype("<f4").tobytes(), "used": now}
        for x, vector in new_vectors.items()
    ]
    same = vectors.c.model == model, vectors.c.content.in_(new_vectors)
    with history.writing(everything=True) as connection:
        connection.execute(delete(vectors).where(*same))
        connection.execute(insert(vectors), rows)
        connection.execute(delete(vectors).where(vectors.c.used < now - _UNUSED))
        by_use = select(vectors.c.used).order_by(vectors.c.used.desc())
        last = connection.execute(by_use.offset(_MAX_STORED).limit(1)).scalar()
        if last is not None:
            connection.execute(delete(vectors).where(vectors.c.used < last))


def _result(future: Future[T], default: T) -> T:
    try:
        return future.result(_STORE_SECONDS)
    except (StoreFailed, TimeoutError) as reason:
        logger.debug("Vectors are neither read nor stored: %s", reason)
        return default
