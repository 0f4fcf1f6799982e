"""The process-wide screen that concurrent runs share line by line, and what a run waits for."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Protocol

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

Clock = Callable[[], float]

# Where the line is written again: a person begins to wonder.
_PATIENCE_SECONDS = 1.0
# Where each time costs a line: the first, and then after twice the time of the one before.
_FIRST_LINE_SECONDS = 2.0
# A text that stops for a breath is not cut.
_BREATH_SECONDS = 3.0
# A tool may tell of its progress thousands of times in a second.
_REWRITE_SECONDS = 0.2


class Write(Protocol):
    """Writes text; `at_once` if it should be seen before the line is complete."""

    def __call__(self, text: str, *, at_once: bool) -> None:
        """Write it."""
        ...


class Screen:
    """Where lines go, for all threads. `SCREEN` is that of the process."""

    def __init__(self, write: Write = write_to_stdout, surface: Surface | None = None) -> None:
        self._write = write
        self._surface = surface
        self.begin_anew()

    def begin_anew(self) -> None:
        """Forget all runs: in a fork of the process, none of them goes on."""
        self._lock = threading.RLock()
        self._here = threading.local()
        self._roots: list[Voice] = []
        self._open: Voice | None = None  # whose line has no end yet
        # What waits for that end, and the thing of which only the newest drawing counts.
        self._held: list[tuple[object, Callable[[], None]]] = []
        self._status_columns = 0  # of the last line, which is to be written again

    def enter(self, name: str, detail: Detail) -> Voice:
        """A voice for a run in this thread; `leave` it at its end."""
        surface = self._surface or surface_of(sys.stdout)
        with self._lock:
            voice = Voice(self, name, detail, surface, self.current())
            if voice.parent is None:
                self._roots.append(voice)
                self._tell_apart()
            self._here.voice = voice
        return voice

    def leave(self, voice: Voice) -> None:
        """The run is over: nothing of it is left unwritten, unless that is interrupted."""
        with self._lock:
            try:
                self.end_line(voice)
                self._wipe()
            finally:  # a run that stays would be the one that all later ones are a part of
                self._here.voice = voice.parent
                if voice in self._roots:
                    self._roots.remove(voice)
                if self._open is voice:
                    self._open = None

    def current(self) -> Voice | None:
        """The innermost run of this thread."""
        return getattr(self._here, "voice", None)

    def put(self, voice: Voice, do: Callable[[], None], thing: object = None) -> None:
        """Write whole lines, when no line of another is open.

        What waits for that is dropped when the same `thing` is put again.
        """
        with self._lock:
            self.end_line(voice)
            if self._open is not None:
                if thing is not None:
                    self._held = [x for x in self._held if x[0] is not thing]
                self._held.append((thing, do))
                return
            self._wipe()
            self._write_held()
            do()

    def aside(self, do: Callable[[], None]) -> None:
        """Have something else written, such as a message in the log, when no line is open."""
        with self._lock:
            if self._open is not None:
                self._held.append((None, do))
                return
            self._wipe()
            do()

    def stream(self, voice: Voice, text: str) -> None:
        """Write pieces of lines: at once where the run is alone, else line by line."""
        with self._lock:
            *lines, last = text.split("\n")
            for line in lines:
                self._piece(voice, line)
                self.end_line(voice)
            if last:
                self._piece(voice, last)

    def end_line(self, voice: Voice) -> None:
        """End the line that a stream left open; those that waited for it are next."""
        with self._lock:
            if self._open is voice:
                self._open = None
                self._write("\n", at_once=True)
                self._write_held()
            elif voice.begun is not None:
                line, voice.begun = voice.begun, None
                self.put(voice, lambda: self.write_line(voice, Line(line)))

    def let_others(self, voice: Voice) -> None:
        """End an open line that nothing was added to for a while, if others wait for its end."""
        with self._lock:
            if self._open is voice and self._held:
                self.end_line(voice)

    def ask(self, voice: Voice, prompt: str, read: Callable[[], str]) -> str:
        """Write a prompt and read what is typed; what others write waits for its end."""
        with self._lock:
            if self._open is not None:
                self.end_line(self._open)
            self.end_line(voice)
            self._wipe()
            self._write_held()
            self._open = voice
            self._write(voice.prefix + prompt, at_once=True)
        try:
            typed = read()
        except BaseException:
            self.end_line(voice)
            raise
        with self._lock:  # the person has ended the line
            self._open = None
            self._write_held()
        return typed

    def can_rewrite(self, voice: Voice) -> bool:
        """Whether a line can be written again now: not where others write theirs below it."""
        return voice.surface.rewrites and len(self._roots) <= 1

    def show_status(self, voice: Voice, text: str) -> bool:
        """Write a line that the next one takes the place of; False if that cannot be done now."""
        with self._lock:
            if not self.can_rewrite(voice) or self._open is not None:
                return False
            shown = voice.prefix + cut_line(text, voice.surface.width - 1 - columns(voice.prefix))
            # Without colours: the lab writes over their codes as if they were letters.
            size = columns(shown) if voice.surface.kind == "terminal" else _units(shown)
            self._write(f"\r{shown}{' ' * (self._status_columns - size)}", at_once=True)
            self._status_columns = size
            return True

    def write_line(self, voice: Voice, line: Line) -> None:
        """Write one whole line; only from what `put` was given."""
        shown = line.painted() if voice.surface.has_colours else line.text
        self._write(f"{voice.prefix}{shown}".rstrip() + "\n", at_once=True)

    def _piece(self, voice: Voice, text: str) -> None:
        if self._open is voice:
            self._write(text, at_once=voice.surface.rewrites)
        elif self._open is None and voice.begun is None and len(self._roots) <= 1:
            self._wipe()
            self._open = voice
            self._write(voice.prefix + text, at_once=voice.surface.rewrites)
        else:
            voice.begun = (voice.begun or "") + text

    def _write_held(self) -> None:
        """Write what waited for the end of a line, or was left when that was interrupted."""
        while self._held:
            _, do = self._held.pop(0)
            do()

    def _wipe(self) -> None:
        """Take away the line that was to be written again."""
        if self._status_columns:
            self._write(f"\r{' ' * self._status_columns}\r", at_once=True)
            self._status_columns = 0

    def _tell_apart(self) -> None:
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
        self.begun: str | None = None  # the start of a line that is written when it is complete
        self._screen = screen
        self._depth: int = 0 if parent is None else parent._depth + 1

    @property
    def prefix(self) -> str:
        """What stands at the front of each of its lines."""
        root = self
        while root.parent is not None:
            root = root.parent
        label = f"{root.label} | " if root.label else ""
        return label + _NESTED * min(self._depth, _MOST_NESTED)

    @property
    def width(self) -> int:
        """How many columns its lines have, besides the prefix."""
        return self.surface.width - columns(self.prefix)

    def lines(self, *lines: Line) -> None:
        """Write whole lines, nothing of another run between them; with none, end the last."""

        def write() -> None:
            for line in lines:
                self._screen.write_line(self, line)

        self._screen.put(self, write)

    def fold(self, title: str, text: str, indent: int) -> None:
        """In the lab: a line that unfolds to a text."""
        self._in_lab(title, indent, lambda title, indent: show_fold(title, text, indent))

    def link(self, text: str, url: str) -> None:
        """In the lab: a line that leads to a page of ours."""
        self._in_lab(text, 4, lambda text, indent: show_link(text, url, indent))

    def card(self, draw: Callable[[], None]) -> None:
        """In the lab: draw the card of this run, between the lines of others; the newest counts."""
        self._screen.put(self, draw, self)

    @property
    def shows_cards(self) -> bool:
        """Whether a run is to be a card here."""
        return self.surface.kind == "lab" and self.detail != Detail.QUIET

    @property
    def margin(self) -> float:
        """How far what is not made of lines is indented, in em."""
        return _leading(self.prefix) * EM_PER_COLUMN

    def _in_lab(self, text: str, indent: int, show: Callable[[str, int], None]) -> None:
        prefix = self.prefix
        shown = f"{prefix.strip()} {text}".strip()
        self._screen.put(self, lambda: show(shown, indent + _leading(prefix)))


def warn_beside_runs(text: str) -> None:
    """Log a warning from any thread; on stderr it stands between the lines of runs, not in them."""
    SCREEN.aside(lambda: logger.warning("%s", text))


def cut_line(text: str, width: int) -> str:
    """The line with at most so many columns; its indent stays."""
    start = _leading(text)
    return text[:start] + cut(text[start:], width - start)


def _units(text: str) -> int:
    """How many places a browser counts, which is at least as many as there are columns."""
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

    def begin(self, key: str, what: str, *, in_speech: bool = False, anew: bool = True) -> None:
        """Something is waited for from now on; not `anew`: or as before, if it is already.

        `in_speech`: it has begun to come, and goes on.
        """
        if not self._since:
            self._next_line = _FIRST_LINE_SECONDS
            self._patience = _PATIENCE_SECONDS
        if in_speech:
            self._next_line = self._patience = _BREATH_SECONDS
        if anew or key not in self._since:
            self._since[key] = self._clock()
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
