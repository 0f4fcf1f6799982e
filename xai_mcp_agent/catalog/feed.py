"""Hands records from the history's writer thread to the event loop, for the catalog."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import anyio

from ..core.errors import StoreFailed
from ..history.recording.recorder import HistoryRecorder
from ..history.recording.reports import RecordUpdate, by_source

if TYPE_CHECKING:
    from ..history.store import Store

logger = logging.getLogger(__name__)

_NOTHING = RecordUpdate({})  # where there is no history yet


class RecordFeed:
    """Made and used on the event loop. Gives `take` what was written or read, in that order.

    Only what is told of sources that somebody wants is passed on: a history may know a
    hundred thousand tools.
    """

    def __init__(self, recorder: HistoryRecorder, take: Callable[[RecordUpdate], None]) -> None:
        self._recorder = recorder
        self._take = take
        self._loop = asyncio.get_running_loop()
        self._wanted: set[str] = set()
        recorder.follow(self._hand_over)

    def want(self, source: str) -> None:
        """Pass on what is written of this source from now on."""
        self._wanted.add(source)

    def ask(self, source: str) -> anyio.Event:
        """Have it read what is known of all tools that the source ever had.

        The event says when that is over, however it went.
        """
        answered = anyio.Event()
        self.want(source)
        done = partial(self._answered, answered)
        self._recorder.read(partial(records_of, source), _NOTHING).add_done_callback(
            lambda x: self._on_loop(partial(done, x))
        )
        return answered

    def _hand_over(self, update: RecordUpdate) -> None:
        """In the writer thread."""
        wanted = self._wanted
        tools = {x: tools for x, tools in update.tools.items() if x.source in wanted}
        listed = {x: digests for x, digests in update.listed.items() if x.source in wanted}
        if tools or listed:
            update = replace(update, tools=tools, listed=listed)
            self._on_loop(partial(self._take, update))

    def _on_loop(self, do: Callable[[], None]) -> None:
        with suppress(RuntimeError):  # the loop has ended meanwhile
            self._loop.call_soon_threadsafe(do)

    def _answered(self, answered: anyio.Event, answer: Future[RecordUpdate]) -> None:
        try:
            self._take(answer.result())
        except StoreFailed as reason:
            logger.debug("What tools a source had is not known: %s", reason)  # it was said already
        except Exception:
            logger.exception("What tools a source had could not be read")
        answered.set()


def records_of(source: str, store: Store) -> RecordUpdate:
    """The records of all tools that this source ever had.

    Raises:
        StoreFailed: the store.
    """
    # In the thread that owns the store: SQLAlchemy takes a while.
    from ..history.projection import Projection

    with store.reading() as connection:
        tools = by_source(Projection(connection, store.project_id).tools_of([source]))
        return RecordUpdate(tools, tools, is_asked=True)
