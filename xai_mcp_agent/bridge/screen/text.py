"""Text of strangers made fit for a screen: no control codes, only so many columns wide.

Servers and models may send anything: what moves a terminal's cursor, words of a megabyte,
letters two columns wide. All of it stays linear in time.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

Mask: TypeAlias = Callable[[str], str]
"""Gives a text without its secrets."""

# What moves a cursor or hides what was shown, and what turns the direction of writing.
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_LINE_ENDS = re.compile(r"\r\n?|[\u2028\u2029]")
_TAB_COLUMNS = 4
_PARTS = re.compile(r" +|[^ ]+")
# Enough for letters and their accents; what is longer is cut before its columns are counted.
_MOST_CODES_PER_COLUMN = 4


def as_it_is(text: str) -> str:
    """Hide nothing: a mask where no secrets are known."""
    return text


def clean(text: str) -> str:
    """The text with `?` for each character that would do something instead of being seen.

    Line ends of all kinds become newlines, tabs become spaces.
    """
    if text.isascii() and text.isprintable():
        return text
    return _CONTROLS.sub("?", _LINE_ENDS.sub("\n", text)).expandtabs(_TAB_COLUMNS)


def columns(text: str) -> int:
    """How many columns a line of cleaned text takes."""
    if text.isascii():
        return len(text)
    # Here: it costs what all the rest of the screen does, and plain text never needs it.
    from rich.cells import cell_len

    return cell_len(text)


def cut(text: str, width: int) -> str:
    """A cleaned text on one line of at most so many columns; dots stand for what is left out."""
    head = " ".join(text[: width * _MOST_CODES_PER_COLUMN].split())
    if len(text) <= width * _MOST_CODES_PER_COLUMN and columns(head) <= width:
        return head
    room = max(width - 3, 0)
    while columns(head) > room:
        head = head[: room if len(head) > room else -1]
    return f"{head}..."


def wrap(text: str, width: int, first: str = "", after: str = "") -> list[str]:
    """A cleaned text as lines of at most `width` columns: see `Flow`."""
    flow = Flow(width, first, after)
    return (flow.feed(text) + flow.rest()).split("\n")


class Flow:
    """Breaks a cleaned text into lines between its words, while it comes piece by piece.

    `first` stands before the first line, `after` before all others. A word is given out when it
    is complete, as `mask` leaves it. Spaces within a line are kept; a word that is longer than a
    line is broken.
    """

    def __init__(self, width: int, first: str = "", after: str = "", mask: Mask = as_it_is) -> None:
        self._mask = mask
        self._width = max(width, 2 * columns(after), 8)
        self._after = after
        self._indent = columns(after)
        self._lead = first  # to be written before the next word
        self._column = columns(first)
        self._is_fresh = True  # nothing but its indent stands on this line
        self._spaces = 0
        self._word = ""

    def feed(self, text: str) -> str:
        """What can be written now; it holds a newline wherever a line ends."""
        out = list[str]()
        for number, line in enumerate(text.split("\n")):
            if number:
                self._place(out)
                self._break(out)
            for part in _PARTS.findall(line):
                if part[0] == " ":
                    self._place(out)
                    self._spaces += len(part)
                else:
                    self._word += part
        if self._word and (len(self._word) > self._width or columns(self._word) > len(self._word)):
            self._place(out)  # it has no end in sight, or can be broken anywhere
        return "".join(out)

    def rest(self) -> str:
        """The last word, complete or not."""
        out = list[str]()
        self._place(out)
        return "".join(out)

    def _place(self, out: list[str]) -> None:
        """Write the word that is held, on this line or the next."""
        word, self._word = self._mask(self._word), ""
        if not word:
            return
        size, spaces = columns(word), self._spaces
        if self._is_fresh:
            spaces = min(spaces, self._width // 2)
        elif self._column + spaces + size > self._width:
            self._break(out)
            spaces = 0
        out += (self._lead, " " * spaces)
        self._lead, self._spaces, self._is_fresh = "", 0, False
        self._column += spaces
        self._write(out, word, size)

    def _write(self, out: list[str], word: str, size: int) -> None:
        """Write a word, over as many lines as it takes."""
        room = self._width - self._column
        pieces = [word] if size <= room else _pieces(word, size, room, self._width - self._indent)
        out.append(f"\n{self._after}".join(pieces))
        if len(pieces) > 1:
            self._column = self._indent
        self._column += columns(pieces[-1])

    def _break(self, out: list[str]) -> None:
        out.append("\n")
        self._lead, self._column = self._after, self._indent
        self._is_fresh, self._spaces = True, 0


def _pieces(word: str, size: int, room: int, width: int) -> list[str]:
    """A word in pieces: the first fits into `room`, the others into `width`."""
    room = max(room, 2)  # a wide letter must fit
    if len(word) == size:  # no wide letters
        return [word[:room], *(word[n : n + width] for n in range(room, len(word), width))]
    pieces, start, used = list[str](), 0, 0
    for place, letter in enumerate(word):
        used += columns(letter)
        if used > room:
            pieces.append(word[start:place])
            start, used, room = place, columns(letter), width
    return [*pieces, word[start:]]
