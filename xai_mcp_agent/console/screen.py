"""The screen of the process: a queue of whole lines for all runs, and one rewritable line."""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Callable
from typing import TypeAlias

from .surface import (
    EM_PER_COLUMN,
    Detail,
    Surface,
    show_link,
    surface_of,
    write_to_stdout,
)
from .text import Line, clean, columns, cut

logger = logging.getLogger(__name__)

_NESTED = "    "
_MOST_NESTED = 5  # deeper runs use the same indent; lines need their room
_LABEL_COLUMNS = 16
_LINK_MARGIN = 2.4  # em


Write: TypeAlias = Callable[[str], None]
"""Writes text where a person sees it at once."""


class Screen:
    """A queue of lines for all threads. `SCREEN` is the process's."""

    def __init__(self, write: Write = write_to_stdout, surface: Surface | None = None) -> None:
        self._write = write
        self._surface = surface
        self.reset()

    def reset(self) -> None:
        """Remove all runs: none of them continues in a fork."""
        self._lock = threading.RLock()
        self._here = threading.local()
        self._roots: list[Voice] = []
        self._is_asking = False  # a person types; the queue waits until they are done
        self._queue = dict[object, Callable[[], None]]()
        self._status_columns = 0  # length of the last line, which can be rewritten

    def enter(self, name: str, detail: Detail) -> Voice:
        """Return a voice for a run in this thread; `leave` it at its end."""
        surface = self._surface or surface_of(sys.stdout)
        with self._lock:
            voice = Voice(self, name, detail, surface, self.current())
            if voice.parent is None:
                self._roots.append(voice)
                for root in self._roots if len(self._roots) > 1 else ():
                    root.label = root.name
            self._here.voice = voice
        return voice

    def leave(self, voice: Voice) -> None:
        """Remove the voice of a finished run."""
        with self._lock:
            self._here.voice = voice.parent
            if voice in self._roots:
                self._roots.remove(voice)
            self._wipe()

    def current(self) -> Voice | None:
        """Return the innermost run of this thread."""
        return getattr(self._here, "voice", None)

    def put(self, do: Callable[[], None], thing: object = None) -> None:
        """Write whole lines with `do`, now or when the person has typed.

        Only the newest of the same `thing` waits for that.
        """
        with self._lock:
            if self._is_asking:
                key = thing or object()
                self._queue.pop(key, None)
                self._queue[key] = do
                return
            self._wipe()
            do()

    def ask(self, voice: Voice, prompt: str, read: Callable[[], str]) -> str:
        """Write a prompt and read the answer; other output waits."""
        with self._lock:
            self._wipe()
            self._is_asking = True
            self._write(voice.prefix + prompt)
        try:
            return read()
        except BaseException:
            self._write("\n")
            raise
        finally:
            with self._lock:
                self._is_asking = False
                queue, self._queue = self._queue, {}
                for do in queue.values():
                    do()

    def can_rewrite(self, voice: Voice) -> bool:
        """Return whether the last line can be rewritten now, without others' lines below it."""
        return voice.surface.kind == "terminal" and len(self._roots) <= 1

    def show_status(self, voice: Voice, text: str) -> None:
        """Write a line that the next one replaces, if possible now."""
        with self._lock:
            if not self.can_rewrite(voice) or self._is_asking:
                return
            room = voice.surface.width - 1 - columns(voice.prefix)
            line = voice.prefix + _cut_line(text, room)
            size = columns(line)
            self._write(f"\r{line}{' ' * (self._status_columns - size)}")
            self._status_columns = size

    def write_line(self, voice: Voice, line: Line) -> None:
        """Write one whole line; only from functions passed to `put`."""
        content = line.with_colours() if voice.surface.has_colours else line.text
        self._write(f"{voice.prefix}{content}".rstrip() + "\n")

    def _wipe(self) -> None:
        """Remove the rewritable line."""
        if self._status_columns:
            size, self._status_columns = self._status_columns, 0
            self._write(f"\r{' ' * size}\r")


class Voice:
    """One run on the screen, for use in its thread. `Screen.enter` makes it."""

    def __init__(
        self, screen: Screen, name: str, detail: Detail, surface: Surface, parent: Voice | None
    ) -> None:
        self.name = cut(clean(name), _LABEL_COLUMNS)
        self.detail = detail
        self.surface = surface
        self.parent = parent
        self.label = ""
        self._screen = screen
        self._depth: int = 0 if parent is None else parent._depth + 1

    @property
    def prefix(self) -> str:
        """Return the prefix of each of its lines."""
        root = self
        while root.parent is not None:
            root = root.parent
        label = f"{root.label} | " if root.label else ""
        return label + _NESTED * min(self._depth, _MOST_NESTED)

    @property
    def width(self) -> int:
        """Return the columns of its lines after the prefix."""
        return self.surface.width - columns(self.prefix)

    def lines(self, *lines: Line) -> None:
        """Write whole lines without another run's between them; no lines only end a status line."""

        def write() -> None:
            for line in lines:
                self._screen.write_line(self, line)

        self._screen.put(write)

    def link(self, text: str, url: str) -> None:
        """Write a line that links to a page of ours, in the lab."""
        content = f"{self.prefix.strip()} {text}".strip()
        self._screen.put(lambda: show_link(content, url, self.margin + _LINK_MARGIN))

    def card(self, draw: Callable[[], None]) -> None:
        """Draw the card of this run between the lines of others, in the lab; the newest counts."""
        self._screen.put(draw, self)

    @property
    def shows_cards(self) -> bool:
        """Return whether a run is shown as a card here."""
        return self.surface.kind == "lab" and self.detail != Detail.QUIET

    @property
    def margin(self) -> float:
        """Return the indent of cards, in em."""
        return _leading(self.prefix) * EM_PER_COLUMN


def warn_beside_runs(text: str) -> None:
    """Log a warning from any thread; on stderr it stands between the lines of runs."""
    SCREEN.put(lambda: logger.warning("%s", text))


def _cut_line(text: str, width: int) -> str:
    """Cut the line to this many columns; its indent stays."""
    start = _leading(text)
    return text[:start] + cut(text[start:], width - start)


def _leading(text: str) -> int:
    return len(text) - len(text.lstrip(" "))


SCREEN = Screen()
if hasattr(os, "register_at_fork"):  # not on Windows, which has no forks
    # Another thread may have held the lock, and would never release it in the child.
    os.register_at_fork(after_in_child=SCREEN.reset)
