"""The screen of the process: a queue of whole lines that all runs share, and one last line that
is written again.
"""

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
    show_fold,
    show_link,
    surface_of,
    write_to_stdout,
)
from .text import Line, clean, columns, cut

logger = logging.getLogger(__name__)

_NESTED = "    "
_MOST_NESTED = 5  # deeper ones stand there too; lines need their room
_LABEL_COLUMNS = 16


Write: TypeAlias = Callable[[str], None]
"""Writes text where a person sees it at once."""


class Screen:
    """A queue of lines for all threads. `SCREEN` is that of the process."""

    def __init__(self, write: Write = write_to_stdout, surface: Surface | None = None) -> None:
        self._write = write
        self._surface = surface
        self.begin_anew()

    def begin_anew(self) -> None:
        """Forget all runs: in a fork of the process, none of them goes on."""
        self._lock = threading.RLock()
        self._here = threading.local()
        self._roots: list[Voice] = []
        self._is_asking = False  # a person types; the queue waits until they are done
        self._queue = dict[object, Callable[[], None]]()
        self._status_columns = 0  # of the last line, which is to be written again

    def enter(self, name: str, detail: Detail) -> Voice:
        """A voice for a run in this thread; `leave` it at its end."""
        surface = self._surface or surface_of(sys.stdout)
        with self._lock:
            voice = Voice(self, name, detail, surface, self.current())
            if voice.parent is None:
                self._roots.append(voice)
                self._label_roots()
            self._here.voice = voice
        return voice

    def leave(self, voice: Voice) -> None:
        """The run is over."""
        with self._lock:
            self._here.voice = voice.parent
            if voice in self._roots:
                self._roots.remove(voice)
            self._wipe()

    def current(self) -> Voice | None:
        """The innermost run of this thread."""
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
        """Write a prompt and read what is typed; what others write waits for its end."""
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
        """Whether a line can be written again now: not where others write theirs below it."""
        return voice.surface.rewrites and len(self._roots) <= 1

    def show_status(self, voice: Voice, text: str) -> None:
        """Write a line that the next one takes the place of, if that can be done now."""
        with self._lock:
            if not self.can_rewrite(voice) or self._is_asking:
                return
            room = voice.surface.width - 1 - columns(voice.prefix)
            shown = voice.prefix + _cut_line(text, room)
            # Without colours: the lab writes over their codes as if they were letters.
            size = columns(shown) if voice.surface.kind == "terminal" else _units(shown)
            self._write(f"\r{shown}{' ' * (self._status_columns - size)}")
            self._status_columns = size

    def write_line(self, voice: Voice, line: Line) -> None:
        """Write one whole line; only from what `put` was given."""
        shown = line.painted() if voice.surface.has_colours else line.text
        self._write(f"{voice.prefix}{shown}".rstrip() + "\n")

    def _wipe(self) -> None:
        """Take away the line that was to be written again."""
        if self._status_columns:
            size, self._status_columns = self._status_columns, 0
            self._write(f"\r{' ' * size}\r")

    def _label_roots(self) -> None:
        """From now on their lines say whose they are, if there are several."""
        if len(self._roots) < 2:
            return
        taken = {x.label for x in self._roots if x.label}
        for voice in self._roots:
            if not voice.label:
                voice.label = _free_label(voice.name, taken)
                taken.add(voice.label)


class Voice:
    """One run on the screen; used in its thread. Made by `Screen.enter`."""

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
        """The start of each of its lines."""
        root = self
        while root.parent is not None:
            root = root.parent
        label = f"{root.label} | " if root.label else ""
        return label + _NESTED * min(self._depth, _MOST_NESTED)

    @property
    def width(self) -> int:
        """The columns of its lines, besides the prefix."""
        return self.surface.width - columns(self.prefix)

    def lines(self, *lines: Line) -> None:
        """Write whole lines, nothing of another run between them; with none, end a status line."""

        def write() -> None:
            for line in lines:
                self._screen.write_line(self, line)

        self._screen.put(write)

    def fold(self, title: str, text: str, indent: int) -> None:
        """In the lab: a line that unfolds to a text."""
        self._in_lab(title, indent, lambda title, indent: show_fold(title, text, indent))

    def link(self, text: str, url: str) -> None:
        """In the lab: a line that leads to a page of ours."""
        self._in_lab(text, 4, lambda text, indent: show_link(text, url, indent))

    def card(self, draw: Callable[[], None]) -> None:
        """In the lab: draw the card of this run, between the lines of others; the newest counts."""
        self._screen.put(draw, self)

    @property
    def shows_cards(self) -> bool:
        """Whether a run is to be a card here."""
        return self.surface.kind == "lab" and self.detail != Detail.QUIET

    @property
    def margin(self) -> float:
        """The indent of cards and links, in em."""
        return _leading(self.prefix) * EM_PER_COLUMN

    def _in_lab(self, text: str, indent: int, show: Callable[[str, int], None]) -> None:
        prefix = self.prefix
        shown = f"{prefix.strip()} {text}".strip()
        self._screen.put(lambda: show(shown, indent + _leading(prefix)))


def warn_beside_runs(text: str) -> None:
    """Log a warning from any thread; on stderr it stands between the lines of runs, not in them."""
    SCREEN.put(lambda: logger.warning("%s", text))


def _cut_line(text: str, width: int) -> str:
    """The line with at most so many columns; its indent stays."""
    start = _leading(text)
    return text[:start] + cut(text[start:], width - start)


def _units(text: str) -> int:
    """The places that a browser counts: at least as many as there are columns."""
    return max(columns(text), len(text.encode("utf-16-le", "replace")) // 2)


def _leading(text: str) -> int:
    return len(text) - len(text.lstrip(" "))


def _free_label(name: str, taken: set[str]) -> str:
    """The name, or with a number if another run has it too."""
    label, number = name, 2
    while label in taken:
        label, number = f"{name} ({number})", number + 1
    return label


SCREEN = Screen()
if hasattr(os, "register_at_fork"):  # not on Windows, which has no forks
    # Another thread may have held the lock, and will never let it go in there.
    os.register_at_fork(after_in_child=SCREEN.begin_anew)
