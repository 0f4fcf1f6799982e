"""The one thread that owns the store: it writes what is reported, and answers what is asked.

A report is put into a queue, and nobody waits for it. While the store cannot be used, which is
said once, what was reported is kept, up to a limit, and tried again.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from ..core.errors import StoreFailed
from .reports import Called, Report

if TYPE_CHECKING:
    from .recorder import Recorder

logger = logging.getLogger(__name__)

T = TypeVar("T")

# Calls come in numbers and are written down together; nothing waits for them.
_CALLS_SECONDS = 0.5
_BEAT_SECONDS = 30.0
_FIRST_PAUSE_SECONDS = 1.0
_LONGEST_PAUSE_SECONDS = 30.0
# While the store cannot be used: hours of a busy agent, some megabytes.
_MOST_WAITING = 50_000
# In one transaction: others want to write, too.
_MOST_AT_ONCE = 1000


@dataclass(frozen=True)
class _Question:
    """Something to be done with the store, for somebody who waits for it."""

    do: Callable[[Recorder], Any]
    answer: Future[Any] = field(default_factory=Future[Any])


class Clerk:
    """Used from any thread. Its own begins with the first report or question.

    `open_recorder` is called in that thread, and may raise `StoreFailed`.
    """

    def __init__(self, open_recorder: Callable[[], Recorder]) -> None:
        self._open_recorder = open_recorder
        self._recorder: Recorder | None = None
        self._waiting: deque[Report | _Question] = deque()
        self._is_work, self._is_urgent = threading.Event(), threading.Event()
        self._is_closing = threading.Event()
        self._trouble: StoreFailed | None = None
        self._has_said = False
        self._left_out = 0
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None

    @property
    def trouble(self) -> str:
        """Why nothing can be written down now; empty while all is well."""
        return str(self._trouble or "")

    def report(self, report: Report) -> None:
        """Have this written down soon."""
        self._put(report)
        if not isinstance(report, Called):
            self._is_urgent.set()

    def ask(self, do: Callable[[Recorder], T]) -> Future[T]:
        """Have something done with the store, after all that was reported before.

        The future raises `StoreFailed` when the store cannot be used, without a wait for it.
        """
        question = _Question(do)
        if self._trouble is None:
            self._put(question)
            self._is_urgent.set()
        else:
            question.answer.set_exception(self._trouble.with_traceback(None))
        return question.answer

    def close(self, seconds: float) -> None:
        """Write what is left, end the run and let go of the store, within so long."""
        with self._starting:
            self._is_closing.set()
            thread = self._thread
        self._is_work.set()
        self._is_urgent.set()
        if thread is not None:
            thread.join(seconds)

    def _put(self, item: Report | _Question) -> None:
        self._waiting.append(item)
        if not self._is_work.is_set():
            self._is_work.set()
        if self._thread is None:
            self._start()

    def _start(self) -> None:
        with self._starting:
            if self._thread is None and not self._is_closing.is_set():
                name = "xai-mcp-history"
                self._thread = threading.Thread(target=self._serve, name=name, daemon=True)
                self._thread.start()

    def _serve(self) -> None:
        pause = _FIRST_PAUSE_SECONDS
        while self._waiting or not self._is_closing.is_set():
            self._await_work()
            try:
                self._work_off()
            except StoreFailed as reason:
                self._refuse(reason)
                if self._is_closing.wait(pause):
                    break
                pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)
            else:
                self._trouble, pause = None, _FIRST_PAUSE_SECONDS
        self._end()

    def _await_work(self) -> None:
        if self._trouble is None and self._is_work.wait(_BEAT_SECONDS):
            self._is_urgent.wait(_CALLS_SECONDS)
        # Cleared before looking: what comes meanwhile asks for one more turn.
        self._is_work.clear()
        self._is_urgent.clear()

    def _work_off(self) -> None:
        """Do all that waits; without any, say that this run is still there."""
        if self._recorder is None:
            self._recorder = self._open_recorder()
        if not self._waiting:
            self._recorder.beat()
        while self._waiting:
            item = self._waiting[0]
            if isinstance(item, _Question):
                self._waiting.popleft()
                _answer(item, self._recorder)
            else:
                self._record(self._recorder)

    def _record(self, recorder: Recorder) -> None:
        """Write down the reports before the next question; until that is done they wait."""
        batch = self._taken()
        try:
            recorder.record(batch)
        except StoreFailed:
            self._waiting.extendleft(reversed(batch))
            raise
        except Exception as reason:  # noqa: BLE001 - one of them is told below
            logger.debug("A batch of reports is written one by one: %r", reason)
            _record_singly(recorder, batch)

    def _taken(self) -> list[Report]:
        batch: list[Report] = []
        while self._waiting and len(batch) < _MOST_AT_ONCE:
            item = self._waiting.popleft()
            if isinstance(item, _Question):
                self._waiting.appendleft(item)
                break
            batch.append(item)
        return batch

    def _refuse(self, reason: StoreFailed) -> None:
        """The store cannot be used: say so once, answer who asks, keep what is not too much."""
        self._trouble = reason
        if not self._has_said:
            self._has_said = True
            logger.warning("%s Until then nothing is remembered of what tools do.", reason)
        kept: list[Report | _Question] = []
        while self._waiting:
            item = self._waiting.popleft()
            if isinstance(item, _Question):
                if item.answer.set_running_or_notify_cancel():  # else nobody waits any more
                    item.answer.set_exception(reason.with_traceback(None))
            else:
                kept.append(item)
        too_many = max(0, len(kept) - _MOST_WAITING)
        self._left_out += too_many
        self._waiting.extendleft(reversed(kept[too_many:]))

    def _end(self) -> None:
        if lost := len(self._waiting) + self._left_out:
            logger.warning("%s of what happened could not be written into the history.", lost)
        if self._recorder is not None:
            with suppress(StoreFailed):
                self._recorder.close()


def _answer(question: _Question, recorder: Recorder) -> None:
    if not question.answer.set_running_or_notify_cancel():
        return
    try:
        question.answer.set_result(question.do(recorder))
    except Exception as reason:  # noqa: BLE001 - raised again where it was asked
        question.answer.set_exception(reason)


def _record_singly(recorder: Recorder, batch: list[Report]) -> None:
    for report in batch:
        try:
            recorder.record([report])
        except StoreFailed:
            raise
        except Exception:
            logger.exception("A report was not written into the history: %.200r", report)
