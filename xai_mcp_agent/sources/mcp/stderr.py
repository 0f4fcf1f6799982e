"""A server's own words on stderr: bounded, line by line, with known secrets masked."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

# Enough to hold a Python traceback; what is older tells little about why it failed now.
_KEPT_LINES = 200
_TAIL_LINES = 12
# A progress bar without newlines must not grow for ever.
_MAX_LINE = 2000


class StderrLog:
    """Keeps the last lines that a server wrote to stderr, over restarts too."""

    def __init__(self, mask: Callable[[str], str]) -> None:
        self._mask = mask
        self._lines: deque[str] = deque(maxlen=_KEPT_LINES)
        self._partial = b""

    def feed(self, data: bytes) -> None:
        """Take in bytes as they come; lines may be cut anywhere, encodings may be broken."""
        *lines, rest = (self._partial + data).split(b"\n")
        self._partial = rest[-_MAX_LINE:]
        for line in lines[-_KEPT_LINES:]:
            self.add(line.decode("utf-8", "replace"))

    def add(self, line: str) -> None:
        """Note one line; an empty one is left out."""
        if line.strip():
            self._lines.append(self._mask(line.rstrip()[:_MAX_LINE]))

    def clear(self) -> None:
        """Forget everything: a new start speaks for itself."""
        self._lines.clear()
        self._partial = b""

    def tail(self) -> tuple[str, ...]:
        """The last lines, newest last, an unfinished one included."""
        if self._partial:
            self.feed(b"\n")
        return tuple(self._lines)[-_TAIL_LINES:]
