"""Complaints of Python and the libraries beside the calls: any of them fails the soak."""

from __future__ import annotations

import io
import logging
import sys
import threading
import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any

Tell = Callable[[str], None]

# The SDK logs each odd answer; what matters of it is in the errors of the calls.
_FOREIGN_LOGGERS = ("mcp", "client")


@contextmanager
def told_to(tell: Tell) -> Generator[None]:
    """Tell of errors in logs, threads and finalizers, and of what was not closed.

    What agents print meanwhile is thrown away.
    """
    handler = _Handler(tell)
    hooks = sys.unraisablehook, threading.excepthook
    logging.getLogger().addHandler(handler)
    sys.unraisablehook = lambda seen: tell(f"not raised: {seen.exc_value!r} in {seen.object!r}")
    threading.excepthook = lambda seen: tell(f"in {seen.thread}: {seen.exc_value!r}")
    try:
        with warnings.catch_warnings(), redirect_stdout(_Nowhere()), redirect_stderr(_Nowhere()):
            warnings.simplefilter("always", ResourceWarning)
            warnings.showwarning = lambda message, *_, **__: tell(f"warned: {message}")
            yield
    finally:
        sys.unraisablehook, threading.excepthook = hooks
        logging.getLogger().removeHandler(handler)


class _Handler(logging.Handler):
    def __init__(self, tell: Tell) -> None:
        super().__init__(logging.ERROR)
        self._tell = tell

    def emit(self, record: logging.LogRecord) -> None:
        if record.name.partition(".")[0] in _FOREIGN_LOGGERS:
            return
        cause = record.exc_info[1] if record.exc_info else None
        self._tell(f"logged by {record.name}: {record.getMessage()} {cause or ''}")


class _Nowhere(io.TextIOBase):
    def write(self, text: str) -> int:
        return len(text)

    def isatty(self) -> bool:
        return False

    def fileno(self) -> int:
        raise io.UnsupportedOperation("fileno")

    @property
    def encoding(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        return "utf-8"
