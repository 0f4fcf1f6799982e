"""Hands records from the history's writer thread to the event loop, for the catalog."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Container, Iterable
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

# Most answers are there sooner. A file can be read while its writer waits for another program.
_PATIENCE_SECONDS = 0.5
_NOTHING = RecordUpdate({}, is_aside=True)  # where there is no history yet


class RecordFeed:
    """Made and used on the event loop. Gives `take` what was written or read, in that order.

    Only what is told of sources that somebody asked for is passed on: a history may know a
    hundred thousand tools. `definitions` has those accepted ones that need not be read again.
    """

    def __init__(
        self,
        recorder: HistoryRecorder,
        definitions: Container[str],
        take: Callable[[RecordUpdate], None],
    ) -> None:
        self._recorder = recorder
        self._definitions = definitions
        self._take = take
        self._loop = asyncio.get_running_loop()
        self._wanted: set[str] = set()
        self._written = 0  # updates so far
        self.known: set[str] = set()  # sources of which it was read what was decided
        self.is_new = False  # nothing was ever written, so nothing was decided
        self.trouble = "it does not answer"  # why one could not be read
        recorder.follow(self._hand_over)

    def ask(
        self, sources: Iterable[str], *, whole: bool = False, answered: anyio.Event | None = None
    ) -> anyio.Event:
        """Have it read what was decided about the tools of these, or the `whole` of their records.

        The event says when that is over, however it went.
        """
        names, answered = frozenset(sources), answered or anyio.Event()
        self._wanted |= names
        read = partial(records_of, sources=names, whole=whole, known=self._definitions)
        done = partial(self._answered, names, whole, self._written, answered)
        self._recorder.read(read, _NOTHING).add_done_callback(
            lambda x: self._on_loop(partial(done, x))
        )
        if self._recorder.place.file is not None:
            self._loop.call_later(_PATIENCE_SECONDS, self._look_aside, read, done, answered)
        return answered

    def _look_aside(
        self,
        read: Callable[[Store], RecordUpdate],
        done: Callable[[Future[RecordUpdate]], None],
        answered: anyio.Event,
    ) -> None:
        def take(seen: Future[RecordUpdate]) -> None:
            if seen.exception() is None:  # else whoever writes tells it
                self._on_loop(partial(done, seen))

        if not answered.is_set():
            self._recorder.read_aside(read, _NOTHING).add_done_callback(take)

    def _hand_over(self, update: RecordUpdate) -> None:
        """In the writer thread."""
        wanted = self._wanted
        tools = {x: tools for x, tools in update.tools.items() if x.source in wanted}
        listed = {x: digests for x, digests in update.listed.items() if x.source in wanted}
        if tools or listed or update.settled:
            update = replace(update, tools=tools, listed=listed)
            self._on_loop(partial(self._pass_on, update))

    def _on_loop(self, do: Callable[[], None]) -> None:
        with suppress(RuntimeError):  # the loop has ended meanwhile
            self._loop.call_soon_threadsafe(do)

    def _pass_on(self, update: RecordUpdate) -> None:
        self._written += 1
        self._take(update)

    def _answered(
        self,
        names: frozenset[str],
        whole: bool,
        written: int,
        answered: anyio.Event,
        answer: Future[RecordUpdate],
    ) -> None:
        try:
            update = answer.result()
            if update.is_aside and answered.is_set():
                return  # whoever writes was quicker
            if update.is_aside and written != self._written:
                self.ask(names, whole=whole, answered=answered)
                return
            self.is_new = update is _NOTHING
            if not self.is_new:
                self._take(update)
                self.known |= names
            elif trouble := self._recorder.trouble:
                self.trouble = trouble
            else:
                return  # whoever writes is about to begin it
        except StoreFailed as reason:
            logger.debug("What was decided is not known anew: %s", reason)  # it was said already
            self.trouble = str(reason)
        except Exception as reason:
            self.trouble = f"{type(reason).__name__}: {reason}"
            logger.exception("What was decided about tools could not be read")
        answered.set()


def records_of(
    store: Store, sources: Collection[str], *, whole: bool = False, known: Container[str] = ()
) -> RecordUpdate:
    """The records of tools about which something was decided, or of all that these sources had.

    Accepted definitions come along, unless their digests are `known`.

    Raises:
        StoreFailed: the store.
    """
    # In the thread that owns the store: SQLAlchemy takes a while.
    from ..history.projection import Projection

    with store.reading() as connection:
        projection = Projection(connection, store.project_id)
        found = projection.tools_of(sources) if whole else projection.decided(sources)
        accepted = {x.accepted for x in found if x.accepted and x.accepted not in known}
        tools = by_source(found)
        return RecordUpdate(
            tools, tools if whole else (), sources, projection.definitions(accepted),
            is_aside=store.is_to_read,
        )  # fmt: skip
