"""Stands for the writer thread where the history is switched off: no thread, no database."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, TypeVar

from ...core.errors import StoreFailed
from ..place import NOTHING_KEPT, OFF
from .reports import Report

if TYPE_CHECKING:
    from .report_writer import ReportWriter

T = TypeVar("T")


class NoWriter:
    """Has the methods of `HistoryWriter`: what it is told it forgets, and it answers nothing."""

    trouble = ""

    def report(self, report: Report) -> None:
        """Nothing is written down."""

    def ask(self, do: Callable[[ReportWriter], T]) -> Future[T]:
        """The future raises `StoreFailed`."""
        answer: Future[T] = Future()
        answer.set_exception(StoreFailed(OFF, *NOTHING_KEPT))
        return answer

    def close(self, seconds: float) -> None:
        """There is nothing to end."""
