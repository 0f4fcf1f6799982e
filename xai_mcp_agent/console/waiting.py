"""Waits of a run, from its events: for servers, the model, tools."""

from __future__ import annotations

import time
from collections.abc import Callable

from ..agent.events import (
    ModelAsked,
    ModelAskedAgain,
    RunEvent,
    RunFailed,
    RunFinished,
    RunStarted,
    TextArrived,
    ThoughtFinished,
    ToolFinished,
    ToolProgressed,
    ToolReturned,
    ToolStarted,
)
from .text import progress_text

Clock = Callable[[], float]

_MODEL = "model"
# Delay before a rewritable line: a person begins to wonder.
_PATIENCE_SECONDS = 1.0
# Delay before the first new line; each further one takes twice as long.
_FIRST_LINE_SECONDS = 2.0
_BREATH_SECONDS = 3.0  # a short pause does not interrupt streamed text
_REWRITE_SECONDS = 0.2  # a tool may report progress thousands of times in a second


class Waiting:
    """The waits of one run; several may overlap."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._model = "the model"
        self._waits = dict[str, tuple[str, float]]()  # what for, and since when
        self._news = ""
        self._next_line = 0.0
        self._last_time = 0.0
        self._patience = _PATIENCE_SECONDS

    def follow(self, event: RunEvent) -> None:
        """Begin and end waits according to an event."""
        match event:
            case RunStarted():
                self._end_all()
                self._model = f"the model {event.model}"
            case ModelAsked() | ModelAskedAgain():
                self.begin(_MODEL, self._model)
            case TextArrived():
                self.begin(_MODEL, f"{self._model} to go on")
                self._next_line = self._patience = _BREATH_SECONDS
            case ThoughtFinished():
                self.end(_MODEL)
            case ToolStarted():
                self.begin(event.call_id, event.tool)
            case ToolProgressed():
                progress = progress_text(event.done, event.total, event.message)
                self._news = f"{event.tool} {progress}"
            case ToolReturned() | ToolFinished():
                self.end(event.call_id)
            case RunFinished() | RunFailed():
                self._end_all()
            case _:
                pass

    def begin(self, key: str, what: str, *, anew: bool = True) -> None:
        """Begin a wait; unless `anew`, a wait in progress continues."""
        if not self._waits:
            self._next_line, self._patience = _FIRST_LINE_SECONDS, _PATIENCE_SECONDS
        since = self._clock() if anew or key not in self._waits else self._waits[key][1]
        self._waits[key] = what, since

    def end(self, key: str) -> None:
        """End the wait with this key, if there is one."""
        self._waits.pop(key, None)
        self._news = ""

    def to_rewrite(self) -> str:
        """Return the text for a rewritable line, or "" if nothing is new."""
        seconds, now = self._seconds(), self._clock()
        is_early = seconds < self._patience and not self._news
        if not self._waits or is_early or now - self._last_time < _REWRITE_SECONDS:
            return ""
        self._last_time = now
        return self._text(seconds)

    def to_add(self) -> str:
        """Return the text for a new line, or "" if it is not time for one."""
        seconds = self._seconds()
        if not self._waits or seconds < self._next_line:
            return ""
        self._next_line = max(2 * self._next_line, seconds + _FIRST_LINE_SECONDS)
        return self._text(seconds)

    def _end_all(self) -> None:
        self._waits.clear()
        self._news = ""

    def _seconds(self) -> float:
        now = self._clock()
        return now - min((since for _, since in self._waits.values()), default=now)

    def _text(self, seconds: float) -> str:
        news = f" ({self._news})" if self._news else ""
        names = ", ".join(what for what, _ in self._waits.values())
        return f"waiting for {names}: {_duration(seconds)}{news}"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
