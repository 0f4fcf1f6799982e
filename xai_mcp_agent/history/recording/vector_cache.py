"""The vectors of a store for the search, which goes on without them where the store fails."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, TypeVar

from ...core.errors import StoreFailed
from .recorder import HistoryRecorder

if TYPE_CHECKING:
    from ..history import History

logger = logging.getLogger(__name__)

T = TypeVar("T")

_SECONDS = 30.0  # a writer may wait for its turn; longer, and vectors are made anew


class StoredVectors:
    """What one model made of texts, in the recorder's store. Its methods wait: not on a loop."""

    def __init__(self, recorder: HistoryRecorder, model: str) -> None:
        self._recorder, self._model = recorder, model

    def read(self, hashes: Sequence[str]) -> Mapping[str, Sequence[float]]:
        """Those that are kept of the texts with these hashes."""

        def look(history: History) -> Mapping[str, Sequence[float]]:
            from ..vectors import read_vectors  # in the writer's thread, which has SQLAlchemy

            return read_vectors(history, self._model, hashes)

        return _answer(self._recorder.read(look, {}), {})

    def write(self, vectors: Mapping[str, Sequence[float]]) -> None:
        """Keep these."""

        def keep(history: History) -> None:
            from ..vectors import write_vectors

            write_vectors(history, self._model, vectors)

        _answer(self._recorder.ask(keep), None)


def _answer(future: Future[T], without: T) -> T:
    try:
        return future.result(_SECONDS)
    except (StoreFailed, TimeoutError) as reason:
        logger.debug("Vectors are neither looked up nor kept: %s", reason)
        return without
