"""The last lines of a process's stderr, for errors and for people."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from ..core.visible import visible

_LOG_LINES = 200  # enough for a Python traceback
_TAIL_LINES = 12
_LOG_LINE_CHARACTERS = 2000
# A progress bar without newlines must not grow forever.
_MAX_PARTIAL_BYTES = 64 * 1024


class StderrLog:
    """The last lines of a process's stderr, with known secrets masked; `count` counts all lines."""

    def __init__(self, mask: Callable[[str], str]) -> None:
        self._mask = mask
        self._lines: deque[str] = deque(maxlen=_LOG_LINES)
        self._partial = bytearray()
        self.count = 0

    def feed(self, data: bytes) -> None:
        """Add bytes as they come; they may end within a line or a character."""
        first, *rest = data.split(b"\n")
        self._partial += first
        if rest:
            *lines, last = (bytes(self._partial), *rest)
            self._partial = bytearray(last)
            for line in lines[-_LOG_LINES:]:
                self.add(line.decode("utf-8", "replace"))
        if len(self._partial) > _MAX_PARTIAL_BYTES:
            # Between words, so that no secret is cut in two and missed.
            head, _, self._partial = self._partial.rpartition(b" ")
            self.add(head.decode("utf-8", "replace"))
            del self._partial[:-_MAX_PARTIAL_BYTES]

    def end(self) -> None:
        """Complete an unfinished line, because nothing more will come."""
        self.feed(b"\n")

    def add(self, line: str, *, at_most: int = _LOG_LINE_CHARACTERS) -> str:
        """Add a line unless it is empty, and return its displayed form."""
        if text := self._clean_line(line)[:at_most]:
            self._lines.append(text)
            self.count += 1
        return text

    def tail(self) -> tuple[str, ...]:
        """Return the last lines, newest last, including an unfinished one."""
        unfinished = self._clean_line(self._partial.decode("utf-8", "replace"))
        return (*self._lines, *([unfinished] if unfinished else []))[-_TAIL_LINES:]

    def since(self, count: int) -> tuple[str, ...]:
        """Return the last of the lines that came after the first `count`."""
        new = min(self.count - count, _TAIL_LINES)
        return tuple(self._lines)[-new:] if new else ()

    def _clean_line(self, line: str) -> str:
        # A progress bar overwrites itself; keep the last state, as on a terminal.
        last = line[:_MAX_PARTIAL_BYTES].rstrip().rpartition("\r")[2]
        # Mask before shortening: half a secret would not be recognised.
        masked = self._mask(" ".join(visible(last).split("\n")))
        return masked[:_LOG_LINE_CHARACTERS].rstrip()
