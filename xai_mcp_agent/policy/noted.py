"""What the history notes of decisions: asked once, in a folder that has no file of them yet."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import anyio

from ..core.errors import StoreFailed
from ..core.fingerprint import digest_of_definition
from ..core.tools import JsonObject
from ..history.recording.recorder import HistoryRecorder
from ..history.records import ToolRecord

if TYPE_CHECKING:
    from ..history.store import Store

logger = logging.getLogger(__name__)

# Most answers are there sooner. A file can be read while its writer waits for another program.
_PATIENCE_SECONDS = 0.5
# Enough to open a store on a busy machine; a second question is not waited for as long.
_FIRST_SECONDS, _AGAIN_SECONDS = 30.0, 4.0
_DEFINITIONS_SECONDS = 2.0  # what changed is shown to a person, and waits for no store


class NotedDecisions:
    """Made and used on the event loop. `trouble` is why they are not known.

    A history in memory notes nothing of before.
    """

    def __init__(self, recorder: HistoryRecorder) -> None:
        self._recorder = recorder
        self._loop = asyncio.get_running_loop()
        self._answered: anyio.Event | None = None
        self.is_known = not recorder.place.is_lasting
        self.trouble = "The history does not answer."
        self.found: Sequence[ToolRecord] = ()

    async def read(self) -> None:
        """Have them `found`, or wait for so long; again the next time, where that was in vain."""
        if self.is_known:
            return
        is_first = self._answered is None
        if self._answered is None or self._answered.is_set():
            self._answered = self._ask()
        with anyio.move_on_after(_FIRST_SECONDS if is_first else _AGAIN_SECONDS):
            await self._answered.wait()

    async def definitions(self, digests: Iterable[str]) -> dict[str, JsonObject]:
        """What sources said of tools, by digests, as far as the history can tell soon.

        Only what has its digest still: what is hidden in it, or was altered, is left out.
        """
        found: dict[str, JsonObject] = {}
        with anyio.move_on_after(_DEFINITIONS_SECONDS), suppress(StoreFailed):
            read = partial(_definitions, tuple(digests))
            found = await asyncio.wrap_future(self._recorder.read(read, {}))
        return {digest: x for digest, x in found.items() if digest_of_definition(x) == digest}

    def _ask(self) -> anyio.Event:
        answered = anyio.Event()
        take = partial(self._take, answered)
        asked = self._recorder.read(_decided, ())
        asked.add_done_callback(lambda x: self._on_loop(partial(take, x)))
        if self._recorder.place.file is not None:
            self._loop.call_later(_PATIENCE_SECONDS, self._look_aside, take, answered)
        return answered

    def _look_aside(
        self, take: Callable[[Future[Sequence[ToolRecord]]], None], answered: anyio.Event
    ) -> None:
        def looked(seen: Future[Sequence[ToolRecord]]) -> None:
            if seen.exception() is None:  # else whoever writes tells it
                self._on_loop(partial(take, seen))

        if not answered.is_set():
            self._recorder.read_aside(_decided, ()).add_done_callback(looked)

    def _take(self, answered: anyio.Event, answer: Future[Sequence[ToolRecord]]) -> None:
        if answered.is_set():
            return
        try:
            self.found, self.is_known = answer.result(), True
        except StoreFailed as reason:
            self.trouble = str(reason)
        except Exception as reason:
            self.trouble = f"{type(reason).__name__}: {reason}"
            logger.exception("What the history notes of decisions could not be read")
        answered.set()

    def _on_loop(self, do: Callable[[], None]) -> None:
        with suppress(RuntimeError):  # the loop has ended meanwhile
            self._loop.call_soon_threadsafe(do)


def _decided(store: Store) -> Sequence[ToolRecord]:
    # In the thread that owns the store: SQLAlchemy takes a while.
    from ..history.projection import Projection

    with store.reading() as connection:
        return Projection(connection, store.project_id).decided()


def _definitions(digests: Iterable[str], store: Store) -> dict[str, JsonObject]:
    from ..history.kept_definitions import definitions_of

    with store.reading() as connection:
        return definitions_of(connection, digests)
