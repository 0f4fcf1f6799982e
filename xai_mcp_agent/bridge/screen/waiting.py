"""What a run waits for, since when, and when it is time to say so."""

from __future__ import annotations

import time
from collections.abc import Callable

Clock = Callable[[], float]

# Where the line is written again: a person begins to wonder.
_PATIENCE_SECONDS = 1.0
# Where each time costs a line: the first, and then after twice the time of the one before.
_FIRST_LINE_SECONDS = 2.0
# A text that stops for a breath is not cut.
_BREATH_SECONDS = 3.0
# A tool may tell of its progress thousands of times in a second.
_REWRITE_SECONDS = 0.2


class Waiting:
    """The waits of one run. Several may overlap: servers, the model, tools."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._since = dict[str, float]()
        self._what = dict[str, str]()
        self._news = ""
        self._next_line = 0.0
        self._last_written = 0.0
        self._patience = _PATIENCE_SECONDS

    def begin(self, key: str, what: str, *, in_speech: bool = False) -> None:
        """Something is waited for from now on; `in_speech`: it has begun to come, and goes on."""
        if not self._since:
            self._next_line = _FIRST_LINE_SECONDS
            self._patience = _PATIENCE_SECONDS
        if in_speech:
            self._next_line = self._patience = _BREATH_SECONDS
        self._since[key] = self._clock()
        self._what[key] = what

    def has(self, key: str) -> bool:
        """Whether this is waited for."""
        return key in self._since

    def rename(self, key: str, what: str) -> None:
        """The same wait is for something else: some of it is there."""
        self._what[key] = what

    def end(self, key: str) -> None:
        """It is there, or will not come; nothing happens if it was not waited for."""
        self._since.pop(key, None)
        self._what.pop(key, None)
        self._news = ""

    def end_all(self) -> None:
        """Nothing is waited for."""
        for key in list(self._since):
            self.end(key)

    def tell(self, news: str) -> None:
        """How far it is, in the words of what is waited for."""
        self._news = news

    def to_rewrite(self) -> str:
        """What a line that can be written again should say now; empty if nothing new."""
        seconds, now = self._seconds(), self._clock()
        is_early = seconds < self._patience and not self._news
        if not self._since or is_early or now - self._last_written < _REWRITE_SECONDS:
            return ""
        self._last_written = now
        return self._text(seconds)

    def to_add(self) -> str:
        """What a further line should say now; empty if it is not time for one."""
        seconds = self._seconds()
        if not self._since or seconds < self._next_line:
            return ""
        self._next_line = max(2 * self._next_line, seconds + _FIRST_LINE_SECONDS)
        return self._text(seconds)

    def _seconds(self) -> float:
        return self._clock() - min(self._since.values(), default=self._clock())

    def _text(self, seconds: float) -> str:
        told = f" ({self._news})" if self._news else ""
        return f"waiting for {', '.join(self._what.values())}: {_duration(seconds)}{told}"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
