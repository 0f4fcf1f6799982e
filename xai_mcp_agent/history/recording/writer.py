"""The writer thread: a bounded queue of reports and questions, retried while it fails."""

from __future__ import annotations

import atexit
import logging
import math
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from ...core.errors import StoreFailed
from ..place import OFF, SWITCHED_OFF, Place
from .call_journal import CallReport
from .reports import Learned, Report

if TYPE_CHECKING:
    from .report_writer import ReportWriter

logger = logging.getLogger(__name__)

T = TypeVar("T")

_MOST_WAITING = 50_000  # hours of a busy agent, and some tens of megabytes
_MOST_AT_ONCE = 1000  # in one transaction: others want to write, too
# Many calls are written together; nothing waits for them.
_CALLS_SECONDS = 1.0
# So are other reports: writing each at once would slow down many connecting servers.
_BURST_SECONDS = 0.2
_BEAT_SECONDS = 30.0
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.25, 30.0
# An ending process waits this long for the last reports: on a busy machine even opening the store
# may take longer than the first call.
_EXIT_SECONDS = 8.0
_GOES_ON = "The agent goes on; events are written as soon as the history works again."
_TOO_MUCH = "Too many events wait to be written into the history, so the oldest are dropped."


@dataclass(frozen=True)
class _Question:
    """Question to the store, for a caller who waits for the answer."""

    do: Callable[[ReportWriter], Any]
    answer: Future[Any] = field(default_factory=Future[Any])

    def ask(self, writer: ReportWriter) -> None:
        """Answer it. The failure of a store is raised for the writer, too."""
        if not self.answer.set_running_or_notify_cancel():
            return
        try:
            self.answer.set_result(self.do(writer))
        except StoreFailed as reason:
            self.answer.set_exception(reason)
            raise
        except Exception as reason:  # noqa: BLE001 - raised again where it was asked
            self.answer.set_exception(reason)

    def refuse(self, reason: StoreFailed) -> None:
        """Raise this error at the caller."""
        if self.answer.set_running_or_notify_cancel():
            self.answer.set_exception(reason.with_traceback(None))


class HistoryWriter:
    """Queue and thread of the writer, used from any thread; it starts with the first report.

    `open_writer` is called in that thread and may raise `StoreFailed`. `warn` gets
    problems that a person should know, and `on_stored` the numbers of calls that were stored.
    """

    def __init__(
        self,
        place: Place,
        open_writer: Callable[[], ReportWriter],
        warn: Callable[[str], None] = logger.warning,
        on_stored: Callable[[Iterable[int]], None] = lambda _: None,
    ) -> None:
        self._is_off = place.is_off
        self._warn = warn
        self._on_stored = on_stored
        self._open_writer = open_writer
        self._writer: ReportWriter | None = None
        self._waiting: deque[tuple[Report, int] | _Question] = deque()
        self._dropped = 0
        # Reentrant: Python may run anything while the lock is held, such as a finalizer.
        self._changing = threading.Condition(threading.RLock())
        self._due = math.inf  # when the queue is written, by the monotonic clock
        self._is_closing = False
        self._trouble: StoreFailed | None = None
        self._warnings: set[str] = set()
        self._thread: threading.Thread | None = None
        self._pid = os.getpid()

    @property
    def trouble(self) -> str:
        """Reason why nothing can be written now, or ""."""
        return str(self._trouble or "")

    def report(self, report: Report, number: int = 0) -> None:
        """Queue a report. `number` is a call's number in the journal."""
        if self._is_off or self._is_over():
            return
        is_late = isinstance(report, (CallReport, Learned))
        self._put((report, number), _CALLS_SECONDS if is_late else _BURST_SECONDS)

    def ask(self, do: Callable[[ReportWriter], T]) -> Future[T]:
        """Queue a question to the store, after everything reported before.

        The future raises `StoreFailed` at once if the store cannot be used, and if this was closed.
        The store is then tried again at once.
        """
        question = _Question(do)
        if self._is_off:
            question.refuse(StoreFailed(OFF, *SWITCHED_OFF))
            return question.answer
        if self._is_over():  # checked first: in a fork the lock may be held for ever
            question.refuse(_closed())
            return question.answer
        with self._changing:
            refusal = _closed() if self._is_over() else self._trouble
            if refusal is None:
                self._put(question, 0.0)
            else:
                self._wake_up()
        if refusal is not None:
            question.refuse(refusal)
        return question.answer

    def close(self, seconds: float) -> None:
        """Write the remaining reports, end the run, and close the store; wait at most this long.

        It goes on afterwards without a wait. Python does not exit before it is done, or
        `_EXIT_SECONDS` have passed.
        """
        if self._pid != os.getpid():
            return
        with self._changing:
            self._is_closing = True
            self._wake_up()
            thread = self._thread
        if thread is None or not seconds:
            return
        thread.join(seconds)
        if not thread.is_alive():
            return
        if threading.main_thread().is_alive():
            atexit.register(self._finish)
        else:  # Python is exiting
            self._finish()

    def _finish(self) -> None:
        """Wait a last time at Python's exit, and log the number of missing events."""
        if self._thread is None or self._pid != os.getpid():
            return
        with suppress(KeyboardInterrupt):  # the user does not want to wait
            self._thread.join(_EXIT_SECONDS)
        if self._thread.is_alive() and self._waiting:
            logger.warning(
                "The history could not be written in time: %s events are missing.",
                len(self._waiting),
            )

    def _is_over(self) -> bool:
        """Return whether it has stopped: it was closed, or this is a fork without its thread."""
        return self._is_closing or self._pid != os.getpid()

    def _put(self, item: tuple[Report, int] | _Question, seconds: float) -> None:
        """Queue an item that is written within these seconds."""
        with self._changing:
            self._waiting.append(item)
            if len(self._waiting) > _MOST_WAITING:
                self._drop_oldest()
            if self._thread is None:
                self._start()
            self._wake_up(seconds)

    def _wake_up(self, seconds: float = 0.0) -> None:
        """Have the queue written within these seconds; reports wait for a failing store."""
        due = time.monotonic() + seconds
        if due < self._due and (self._trouble is None or not seconds):
            self._due = due
            self._changing.notify()

    def _drop_oldest(self) -> None:
        """Drop the oldest reports if too many wait."""
        while len(self._waiting) > _MOST_WAITING:
            oldest = next((x for x in self._waiting if not isinstance(x, _Question)), None)
            if oldest is None:
                return
            self._waiting.remove(oldest)
            self._dropped += 1

    def _start(self) -> None:
        name = "xai-mcp-history"
        self._thread = threading.Thread(target=self._serve, name=name, daemon=True)
        try:
            self._thread.start()
        except RuntimeError as reason:  # Python is about to exit
            logger.debug("Nothing more can be written: %s", reason)
            self._thread = None
            self._is_closing = True
            self._end()

    def _serve(self) -> None:
        pause = _FIRST_PAUSE_SECONDS
        while self._waiting or not self._is_closing:
            self._await_work(pause)
            is_last_try = self._is_closing
            reason = self._try_to_work()
            if self._dropped:
                self._warn_once(_TOO_MUCH)
            if reason is None:
                pause = _FIRST_PAUSE_SECONDS
                continue
            self._trouble = reason
            self._warn_once(f"{reason} {_GOES_ON}")
            self._refuse_questions(reason)
            if is_last_try:
                break
            pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)
        self._end()

    def _await_work(self, pause: float) -> None:
        """Wait until the queue is due; while the store fails, until the next try."""
        usual = _CALLS_SECONDS if self._waiting else _BEAT_SECONDS
        limit = time.monotonic() + (usual if self._trouble is None else pause)
        with self._changing:
            while (remaining := min(self._due, limit) - time.monotonic()) > 0:
                self._changing.wait(remaining)
            # Before the work: later reports cause another turn.
            self._due = math.inf

    def _try_to_work(self) -> StoreFailed | None:
        """Process the queue; return the error that prevents it, if any."""
        try:
            try:
                self._work_off()
            except StoreFailed:
                if self._writer is None or not self._writer.history.store.is_damaged:
                    raise
                self._work_off()  # in its replacement
        except StoreFailed as reason:
            return reason
        except Exception as reason:
            logger.debug("The history cannot be used", exc_info=reason)
            return StoreFailed("this project", f"{type(reason).__name__}: {reason}")
        if self._trouble is not None:
            logger.info("The history in %s works again.", self._trouble.place)
            self._trouble = None
        return None

    def _work_off(self) -> None:
        """Process the queue; if it is empty, record that this run is alive."""
        if self._writer is None:
            self._writer = self._open_writer()
        writer = self._writer
        if self._trouble is not None or writer.history.store.is_damaged:
            writer.open_again()
        if not self._waiting:
            writer.look_after()
        while self._waiting:
            if isinstance(self._waiting[0], _Question):
                with self._changing:
                    question = self._waiting.popleft()
                if isinstance(question, _Question):
                    question.ask(writer)
            else:
                self._record(writer)

    def _record(self, writer: ReportWriter) -> None:
        """Write the reports before the next question."""
        batch: list[tuple[Report, int]] = []
        with self._changing:
            while self._waiting and len(batch) < _MOST_AT_ONCE:
                if isinstance(item := self._waiting[0], _Question):
                    break
                self._waiting.popleft()
                batch.append(item)
        try:
            self._record_all(writer, batch)
        except BaseException:
            with self._changing:
                self._waiting.extendleft(reversed(batch))
                self._drop_oldest()
            raise

    def _record_all(self, writer: ReportWriter, batch: list[tuple[Report, int]]) -> None:
        """Write all of them; if that fails because of one report, all others."""
        try:
            writer.record(report for report, _ in batch)
        except StoreFailed:
            raise
        except Exception:
            if len(batch) > 1:
                while batch:
                    self._record_all(writer, batch[:1])
                    del batch[0]
                return
            logger.exception("A report was not written into the history: %.200r", batch[0][0])
        self._on_stored(number for _, number in batch if number)

    def _refuse_questions(self, reason: StoreFailed) -> None:
        with self._changing:
            items = [*self._waiting]
            self._waiting.clear()
            self._waiting.extend(x for x in items if not isinstance(x, _Question))
        for item in items:
            if isinstance(item, _Question):
                item.refuse(reason)

    def _warn_once(self, text: str) -> None:
        if text in self._warnings:
            return
        self._warnings.add(text)
        try:
            self._warn(text)
        except Exception:  # stdout may be closed
            logger.exception("A warning about the history could not be delivered: %s", text)

    def _end(self) -> None:
        atexit.unregister(self._finish)
        self._refuse_questions(self._trouble or _closed())
        if lost := self._dropped + len(self._waiting):
            what = "event" if lost == 1 else "events"
            logger.warning("%d %s could not be written into the history.", lost, what)
        if self._writer is not None:
            with suppress(StoreFailed):
                self._writer.close()


def _closed() -> StoreFailed:
    return StoreFailed("this project", "it is no longer in use.", "Open a new bridge.")
