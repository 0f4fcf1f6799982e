"""Errors and warnings of Python and the libraries, besides the calls: any fails the soak."""

from __future__ import annotations

import io
import logging
import sys
import threading
import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any

Report = Callable[[str], None]

# The SDK logs each odd answer; the errors of the calls also say it.
_FOREIGN_LOGGERS = ("mcp", "client")


@contextmanager
def report_to(report: Report) -> Generator[None]:
    """Report errors in logs, threads and finalizers, and resources that were not closed.

    The output of agents is discarded.
    """
    handler = _Handler(report)
    hooks = sys.unraisablehook, threading.excepthook
    logging.getLogger().addHandler(handler)
    sys.unraisablehook = lambda args: report(f"not raised: {args.exc_value!r} in {args.object!r}")
    threading.excepthook = lambda args: report(f"in {args.thread}: {args.exc_value!r}")
    try:
        with warnings.catch_warnings(), redirect_stdout(_Discard()), redirect_stderr(_Discard()):
            warnings.simplefilter("always", ResourceWarning)
            warnings.showwarning = lambda message, *_, **__: report(f"warned: {message}")
            yield
    finally:
        sys.unraisablehook, threading.excepthook = hooks
        logging.getLogger().removeHandler(handler)


class _Handler(logging.Handler):
    def __init__(self, report: Report) -> None:
        super().__init__(logging.ERROR)
        self._report = report

    def emit(self, record: logging.LogRecord) -> None:
        if record.name.partition(".")[0] in _FOREIGN_LOGGERS:
            return
        cause = record.exc_info[1] if record.exc_info else None
        self._report(f"logged by {record.name}: {record.getMessage()} {cause or ''}")


class _Discard(io.TextIOBase):
    def write(self, text: str) -> int:
        return len(text)

    def isatty(self) -> bool:
        return False

    def fileno(self) -> int:
        raise io.UnsupportedOperation("fileno")

    @property
    def encoding(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        return "utf-8"
