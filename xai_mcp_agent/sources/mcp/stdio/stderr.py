"""Log of a server's stderr: bounded, line by line, with known secrets masked."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from ....core.visible import visible

# Enough to hold a Python traceback; what is older tells little about why it failed now.
_KEPT_LINES = 200
_TAIL_LINES = 12
_SHOWN_CHARACTERS = 2000
# A progress bar without newlines must not grow for ever.
_MAX_LINE_BYTES = 64 * 1024


class StderrLog:
    """Keeps the last lines that one process wrote to stderr; `count` is of all, for `since`."""

    def __init__(self, mask: Callable[[str], str]) -> None:
        self._mask = mask
        self._lines: deque[str] = deque(maxlen=_KEPT_LINES)
        self._partial = bytearray()
        self.count = 0

    def feed(self, data: bytes) -> None:
        """Take in bytes as they come; lines may be cut anywhere, encodings may be broken."""
        first, *rest = data.split(b"\n")
        self._partial += first
        if rest:
            *lines, last = (bytes(self._partial), *rest)
            self._partial = bytearray(last)
            for line in lines[-_KEPT_LINES:]:
                self.add(line.decode("utf-8", "replace"))
        if len(self._partial) > _MAX_LINE_BYTES:
            # Between words, so that no secret is cut in two and missed.
            head, _, self._partial = self._partial.rpartition(b" ")
            self.add(head.decode("utf-8", "replace"))
            del self._partial[:-_MAX_LINE_BYTES]

    def end(self) -> None:
        """Nothing more will come: an unfinished line counts as one."""
        self.feed(b"\n")

    def add(self, line: str, *, at_most: int = _SHOWN_CHARACTERS) -> str:
        """Note one line, shortened to `at_most` characters, and give it as it is shown.

        An empty one is left out.
        """
        if shown := self._shown(line)[:at_most]:
            self._lines.append(shown)
            self.count += 1
        return shown

    def tail(self) -> tuple[str, ...]:
        """The last lines, newest last, an unfinished one included."""
        unfinished = self._shown(self._partial.decode("utf-8", "replace"))
        return (*self._lines, *([unfinished] if unfinished else []))[-_TAIL_LINES:]

    def since(self, count: int) -> tuple[str, ...]:
        """The last of the lines that came after it counted so many."""
        new = min(self.count - count, _TAIL_LINES)
        return tuple(self._lines)[-new:] if new else ()

    def _shown(self, line: str) -> str:
        # A progress bar writes over itself; its last state is what a person would see.
        last = line[:_MAX_LINE_BYTES].rstrip().rpartition("\r")[2]
        # Masked before it is shortened: half a secret would not be recognised.
        seen = self._mask(" ".join(visible(last).split("\n")))
        return seen[:_SHOWN_CHARACTERS].rstrip()
