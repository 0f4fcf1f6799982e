"""The one screen that all runs of a process write on: whole lines, and each says whose it is.

Runs in several threads take turns line by line; from then on each line begins with its agent's
name. A run inside another, by a drawn tool, is moved to the right: it runs in the thread of the
other, which waits for it. Where a run is alone its text appears as it comes, piece by piece.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from .detail import Detail
from .surface import Surface, show_fold, show_link, surface_of, write_to_stdout
from .text import clean, columns, cut

Style: TypeAlias = Literal["", "bold", "red", "green", "cyan", "blue", "faint"]

_CODES = {"bold": "1", "red": "31", "green": "32", "cyan": "36", "blue": "34", "faint": "2"}
_NESTED = "    "
_MOST_NESTED = 5  # deeper ones stand there too; lines need their room
_LABEL_COLUMNS = 16


class Write(Protocol):
    """Writes text; `at_once` if it should be seen before the line is complete."""

    def __call__(self, text: str, *, at_once: bool) -> None:
        """Write it."""
        ...


@dataclass(frozen=True)
class Line:
    """One line; `text` begins with its mark, whose style may differ from that of the rest."""

    text: str
    style: Style = ""
    mark_columns: int = 0
    mark_style: Style = ""

    def painted(self) -> str:
        """It with colours."""
        mark, rest = self.text[: self.mark_columns], self.text[self.mark_columns :]
        return _paint(mark, self.mark_style) + _paint(rest, self.style)


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
        self._held: list[Callable[[], None]] = []  # what waits for that end
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

    def put(self, voice: Voice, do: Callable[[], None]) -> None:
        """Write whole lines, when no line of another is open."""
        with self._lock:
            self.end_line(voice)
            if self._open is not None:
                self._held.append(do)
                return
            self._wipe()
            self._write_held()
            do()

    def aside(self, do: Callable[[], None]) -> None:
        """Have something else written, such as a message in the log, when no line is open."""
        with self._lock:
            if self._open is not None:
                self._held.append(do)
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
            self._held.pop(0)()

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
        """Write whole lines, with nothing of another run between them."""

        def write() -> None:
            for line in lines:
                self._screen.write_line(self, line)

        self._screen.put(self, write)

    @property
    def can_rewrite(self) -> bool:
        """Whether `status` can be used now."""
        return self._screen.can_rewrite(self)

    def stream(self, text: str) -> None:
        """Write text as it comes."""
        self._screen.stream(self, text)

    def end_line(self) -> None:
        """End what was streamed, and take a status away: what comes next begins a line."""
        self._screen.put(self, _nothing)

    def let_others(self) -> None:
        """Tell that nothing came for a while."""
        self._screen.let_others(self)

    def status(self, text: str) -> bool:
        """Write a line that the next one takes the place of; False if that cannot be done now."""
        return self._screen.show_status(self, text)

    def fold(self, title: str, text: str, indent: int) -> None:
        """In the lab: a line that unfolds to a text."""
        prefix = self.prefix
        shown = f"{prefix.strip()} {title}".strip()
        self._screen.put(self, lambda: show_fold(shown, text, indent + _leading(prefix)))

    def link(self, text: str, url: str) -> None:
        """In the lab: a line that leads to a page of ours."""
        prefix = self.prefix
        shown = f"{prefix.strip()} {text}".strip()
        self._screen.put(self, lambda: show_link(shown, url, _leading(prefix) + 4))

    def ask(self, prompt: str, read: Callable[[], str]) -> str:
        """Write a prompt and read what is typed."""
        return self._screen.ask(self, prompt, read)

    def leave(self) -> None:
        """The run is over."""
        self._screen.leave(self)


def cut_line(text: str, width: int) -> str:
    """The line with at most so many columns; its indent stays."""
    start = _leading(text)
    return text[:start] + cut(text[start:], width - start)


def _units(text: str) -> int:
    """How many places a browser counts, which is at least as many as there are columns."""
    return max(columns(text), len(text.encode("utf-16-le", "replace")) // 2)


def _leading(text: str) -> int:
    return len(text) - len(text.lstrip(" "))


def _paint(text: str, style: Style) -> str:
    return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if style and text.strip() else text


def _free_label(name: str, taken: set[str]) -> str:
    """The name, or with a number if another run has it too."""
    label, number = name, 2
    while label in taken:
        label, number = f"{name} ({number})", number + 1
    return label


def _nothing() -> None:
    pass


SCREEN = Screen()
if hasattr(os, "register_at_fork"):  # not on Windows, which has no forks
    # Another thread may have held the lock, and will never let it go in there.
    os.register_at_fork(after_in_child=SCREEN.begin_anew)
