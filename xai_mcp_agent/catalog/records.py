"""Newest records of tools from the history, in memory, by source."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import anyio

from ..core.errors import StoreFailed
from ..core.tools import ToolKey
from ..history.event import Subject, tool_subject
from ..history.recording.recorder import HistoryRecorder
from ..history.recording.reports import RecordUpdate
from ..history.records import ToolRecord

if TYPE_CHECKING:
    from ..history.history import History

logger = logging.getLogger(__name__)

_NOTHING = RecordUpdate({})  # if there is no history yet
_MOST_FORMER = 1000  # former tools of a source

_Records = dict[Subject, ToolRecord]


class ToolRecords:
    """Newest records of the tools of some sources. Made and used on the event loop.

    Only requested sources are followed: a history may have a hundred thousand tools. `on_update` is
    called after each change.
    """

    def __init__(
        self, recorder: HistoryRecorder | None, on_update: Callable[[RecordUpdate], None]
    ) -> None:
        self._recorder = recorder
        self._on_update = on_update
        self._records: dict[Subject, _Records] = {}  # by source
        self._followed: set[str] = set()
        if recorder is not None:
            self._loop = asyncio.get_running_loop()
            recorder.follow(self._hand_over)

    def get(self, key: ToolKey) -> ToolRecord | None:
        """Return the record of a tool."""
        subject = tool_subject(key)
        return self._records.get(subject.anchor, {}).get(subject)

    def of(self, source: str) -> Iterator[ToolRecord]:
        """Yield the records of the tools of a source."""
        for records in [x for anchor, x in self._records.items() if anchor.source == source]:
            yield from records.values()

    def follow(self, source: str) -> None:
        """Keep the records of this source up to date from now on."""
        self._followed.add(source)

    async def read(self, source: str) -> None:
        """Read the records of all tools the source ever had, if the history can be read."""
        if self._recorder is None:
            return
        self.follow(source)
        is_done, request = anyio.Event(), self._recorder.read(partial(records_of, source), _NOTHING)
        request.add_done_callback(lambda x: self._on_loop(partial(self._finish_read, is_done, x)))
        await is_done.wait()

    def take(self, update: RecordUpdate) -> None:
        """Store newer records."""
        for source, records in update.tools.items():
            if source in update.complete:
                self._records[source] = dict(records)
            else:
                self._records.setdefault(source, {}).update(records)
            if not update.was_requested:  # a caller gets all of them
                _drop_oldest_former(self._records[source])
        self._on_update(update)

    def _hand_over(self, update: RecordUpdate) -> None:
        """Pass an update to the loop; called in the writer thread."""
        sources = self._followed
        tools = {x: tools for x, tools in update.tools.items() if x.source in sources}
        listed = {x: digests for x, digests in update.listed.items() if x.source in sources}
        if tools or listed:
            self._on_loop(partial(self.take, replace(update, tools=tools, listed=listed)))

    def _on_loop(self, do: Callable[[], None]) -> None:
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(do)

    def _finish_read(self, is_done: anyio.Event, answer: Future[RecordUpdate]) -> None:
        try:
            self.take(answer.result())
        except StoreFailed as reason:
            logger.debug("The former tools of a source are unknown: %s", reason)  # reported already
        except Exception:
            logger.exception("The former tools of a source could not be read")
        is_done.set()


def records_of(source: str, history: History) -> RecordUpdate:
    """Return the records of all tools this source ever had.

    Raises:
        StoreFailed: the store failed.
    """
    tools = history.records_of_source(source)
    return RecordUpdate(tools, tools, was_requested=True)


def _drop_oldest_former(records: _Records) -> None:
    """Drop the oldest former tools; the history still has them."""
    if len(records) > _MOST_FORMER:
        former = [k for k, x in records.items() if not x.is_available]
        for subject in former[:-_MOST_FORMER]:
            del records[subject]
