"""What waits for the clerk: reports, and questions of somebody who waits for the answer.

Reports are put in while the clerk is held up, which may be for hours. So of too much the oldest
reports are left out, and counted.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...core.errors import StoreFailed
from .reports import Called, Listed, Report, Seeded

if TYPE_CHECKING:
    from .recorder import Recorder

# Hours of a busy agent, and some tens of megabytes. Listed tools and long texts count, too.
_MOST_WAITING = 50_000
_CHARS_PER_REPORT = 250  # of what is kept of a call, which take about as much room as a report
_TOOLS_PER_REPORT = 2  # of the newest listing, which the session has as well
# In one transaction: others want to write, too.
_MOST_AT_ONCE = 1000


@dataclass(frozen=True)
class Question:
    """Something to be done with the store, for somebody who waits for it."""

    do: Callable[[Recorder], Any]
    answer: Future[Any] = field(default_factory=Future[Any])

    def ask(self, recorder: Recorder) -> None:
        """Answer it. A store that fails is the clerk's trouble, too."""
        if not self.answer.set_running_or_notify_cancel():
            return
        try:
            self.answer.set_result(self.do(recorder))
        except StoreFailed as reason:
            self.answer.set_exception(reason)
            raise
        except Exception as reason:  # noqa: BLE001 - raised again where it was asked
            self.answer.set_exception(reason)

    def refuse(self, reason: StoreFailed) -> None:
        """Have whoever waits for it told why there is no answer."""
        if self.answer.set_running_or_notify_cancel():
            self.answer.set_exception(reason.with_traceback(None))


class Waiting:
    """Reports and questions in their order. Used from any thread.

    `left_out` is how many reports were; the newest one is always kept.
    """

    def __init__(self) -> None:
        self.left_out = 0
        self._items: deque[tuple[Report | Question, int]] = deque()
        self._weight = 0
        # Again by the same thread: Python may do anything while it holds it, such as a finalizer.
        self._changing = threading.RLock()

    def __len__(self) -> int:
        """How many reports and questions there are."""
        return len(self._items)

    def put(self, item: Report | Question) -> None:
        """Add it at the end."""
        weight = _weight(item)
        with self._changing:
            self._items.append((item, weight))
            self._weight += weight
            self._leave_out()

    def put_back(self, reports: Iterable[Report]) -> None:
        """Have these, which were taken, come first again."""
        weighed = [(x, _weight(x)) for x in reports]
        with self._changing:
            self._items.extendleft(reversed(weighed))
            self._weight += sum(weight for _, weight in weighed)
            self._leave_out()

    def take_question(self) -> Question | None:
        """The first of all, if it is a question."""
        with self._changing:
            if self._items and isinstance(self._items[0][0], Question):
                item, _ = self._items.popleft()
                return item if isinstance(item, Question) else None
        return None

    def take_reports(self) -> list[Report]:
        """Some before the next question."""
        taken: list[Report] = []
        with self._changing:
            while self._items and len(taken) < _MOST_AT_ONCE:
                item, weight = self._items[0]
                if isinstance(item, Question):
                    break
                self._items.popleft()
                self._weight -= weight
                taken.append(item)
        return taken

    def take_questions(self) -> list[Question]:
        """All of them; the reports stay."""
        with self._changing:
            items, self._items = self._items, deque()
            self._items.extend(x for x in items if not isinstance(x[0], Question))
        return [x for x, _ in items if isinstance(x, Question)]

    def _leave_out(self) -> None:
        questions: list[tuple[Report | Question, int]] = []
        while self._weight > _MOST_WAITING and len(self._items) > 1:
            item, weight = self._items.popleft()
            if isinstance(item, Question):
                questions.append((item, weight))
            else:
                self._weight -= weight
                self.left_out += 1
        self._items.extendleft(reversed(questions))


def _weight(item: Report | Question) -> int:
    """How much room it takes, in reports that tell little. A question is soon answered."""
    match item:
        case Question():
            return 0
        case Listed() | Seeded():
            return 1 + len(item.tools) // _TOOLS_PER_REPORT
        case Called():
            kept = (item.arguments, item.result)
            chars = sum(len(str(x)) for x in kept if x is not None)
            return 1 + chars // _CHARS_PER_REPORT
        case _:
            return 1
