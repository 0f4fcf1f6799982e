"""Untrusted text and values made fit for a screen: cleaned, wrapped, shortened, in linear time."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from ..agent.models.base import Usage
from ..core.json import JsonObject, clipped
from ..core.visible import marked
from ..secrets.secrets import Mask

if TYPE_CHECKING:
    from jinja2 import Template

_TAB_COLUMNS = 4
_PARTS = re.compile(r" +|[^ ]+")
# Enough for letters and their accents; what is longer is cut before its columns are counted.
_MOST_CODES_PER_COLUMN = 4

Style: TypeAlias = Literal["", "bold", "red", "green", "cyan", "blue", "faint"]

_CODES = {"bold": "1", "red": "31", "green": "32", "cyan": "36", "blue": "34", "faint": "2"}
_MARKS: dict[str, Style] = {
    "==": "bold", "->": "cyan", "<-": "green", "++": "blue", "--": "blue", "..": "faint",
    "!!": "red", "??": "bold",
}  # fmt: skip

ARGUMENT_CHARS = 60
# Longer texts are cut even where all is wanted: nobody reads them, and a browser shows them slowly.
MOST_CHARS = 100_000
TOO_DEEP = "(nested too deeply to be shown)"


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


@cache
def template(file: Path) -> Template:
    """A page of HTML to be filled in; the words of strangers are only text in it."""
    from jinja2 import Environment  # here: whoever shows no page does not need it

    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(file.read_text(encoding="utf-8"))


def as_it_is(text: str) -> str:
    """Hide nothing: a mask where no secrets are known."""
    return text


def clean(text: str) -> str:
    """The text with `?` for what is drawn as nothing, or would do something instead of being seen.

    Line ends of all kinds become newlines, tabs become spaces.
    """
    if text.isascii() and text.isprintable():
        return text
    return marked(text, "?").expandtabs(_TAB_COLUMNS)


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


def count(number: int, thing: str) -> str:
    """A number of things: `1 turn`, `2 turns`."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def counts(numbers: Mapping[str, int]) -> str:
    """Several numbers of things: `3 tools, 1 prompt`."""
    return ", ".join(count(number, thing) for thing, number in numbers.items())


def one_line(text: str, most_chars: int) -> str:
    """The words of a text on one line; of a long one the beginning."""
    words = " ".join(text.split())
    return clipped(words, most_chars)


def wrap(text: str, width: int, first: str = "", after: str = "") -> list[str]:
    """A text, cleaned, as lines of at most `width` columns: see `Flow`."""
    flow = Flow(width, first, after)
    return (flow.feed(clean(text)) + flow.rest()).split("\n")


def marked_line(mark: str, text: str) -> Line:
    """One line of `text`, in which the mark stands."""
    return Line(text, "", text.index(mark) + len(mark), _MARKS.get(mark, ""))


def marked_lines(
    mark: str, text: str, width: int, first: str, body: str, style: Style = ""
) -> list[Line]:
    """A text, cleaned, after a mark; its further lines keep their own indents.

    `first` stands before the mark, `body` before all that follows.
    """
    head, *rest = clean(text).split("\n")
    after = f"{body}   "
    lines = wrap(head, width, f"{first}{mark} ", after)
    for line in rest:
        own = after + " " * (len(line) - len(line.lstrip()))
        if _is_address(line):  # in one piece, or nobody can click or copy it
            lines.append(own + line.lstrip())
        else:
            lines += wrap(line.lstrip(), width, own, f"{own}  ")
    opening = Line(lines[0], style, len(first) + len(mark), _MARKS.get(mark, ""))
    return [opening, *(Line(x, style) for x in lines[1:])]


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
        pieces = [word] if size <= room else _pieces(word, room, self._width - self._indent)
        out.append(f"\n{self._after}".join(pieces))
        if len(pieces) > 1:
            self._column = self._indent
        self._column += columns(pieces[-1])

    def _break(self, out: list[str]) -> None:
        out.append("\n")
        self._lead, self._column = self._after, self._indent
        self._is_fresh, self._spaces = True, 0


def _pieces(word: str, room: int, width: int) -> list[str]:
    """A word in pieces: the first fits into `room`, the others into `width`."""
    from rich.cells import chop_cells  # here: as in `columns`

    first = chop_cells(word, max(room, 2))[0]  # a wide letter must fit
    return [first, *chop_cells(word[len(first) :], width)]


def _is_address(line: str) -> bool:
    """Whether a line is an address of the web and nothing else."""
    return line.lstrip().startswith(("http://", "https://")) and len(line.split()) == 1


def _paint(text: str, style: Style) -> str:
    return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if style and text.strip() else text


@dataclass(frozen=True)
class Excerpt:
    """The first lines of a text; `more` says how much is left out, and is empty if nothing is."""

    lines: list[str]
    more: str = ""


def excerpt(text: str, width: int, most_lines: int | None) -> Excerpt:
    """A text of strangers in lines of so many columns; at most `MOST_CHARS` of it."""
    room = MOST_CHARS if most_lines is None else min(MOST_CHARS, 4 * width * most_lines)
    head = clean(text[:room])
    lines, whole, seen = list[str](), 0, 0
    for line in head.split("\n"):
        free = len(head) if most_lines is None else most_lines - len(lines)
        wrapped = wrap(line, width)
        lines += wrapped[:free]
        if len(wrapped) > free:
            seen += sum(len(x) for x in wrapped[:free])
            break
        whole += 1
        seen += len(line) + 1
    else:
        if len(text) <= room:
            return Excerpt(lines)
    left = text.count("\n") + 1 - whole
    if left > 1 or whole:
        return Excerpt(lines, f"... {count(left, 'more line')}")
    return Excerpt(lines, f"... {count(max(len(text) - seen, 1), 'more character')}")


def opening(text: str, most_lines: int, most_chars: int) -> str:
    """The beginning of a text, and how much more there is."""
    kept = "\n".join(text[:most_chars].split("\n")[:most_lines])
    left = len(text) - len(kept)
    return f"{kept}\n... {count(left, 'more character')}" if left else kept


def short_arguments(
    arguments: JsonObject | None, mask: Mask = as_it_is, most_chars: int = ARGUMENT_CHARS
) -> str:
    """Arguments in one line to read; long values are cut, when `mask` has hidden what it must."""
    given = (arguments or {}).items()
    return ", ".join(f"{name}={_value(value, most_chars, mask)}" for name, value in given)


def progress_text(done: float, total: float | None, message: str) -> str:
    """How far a call is, to read."""
    share = f"{done:g} of {total:g}" if total else f"{done:g}"
    return f"{share} {message}".rstrip()


def laid_out(text: str, indent: int | None) -> str:
    """JSON with this indent, or on one line; any other text, and a long one, as it is."""
    if text[:1] not in ("{", "[") or len(text) > MOST_CHARS:
        return text
    try:
        return json.dumps(json.loads(text), ensure_ascii=False, indent=indent)
    except (ValueError, RecursionError):
        return text


def tokens_text(usage: Usage) -> str:
    """Tokens in and out; empty if the service counted none."""
    if not usage.input_tokens + usage.output_tokens:
        return ""
    cached = f" ({usage.cached_tokens} cached)" if usage.cached_tokens else ""
    return f"{usage.input_tokens}{cached} + {usage.output_tokens} tokens"


def _value(value: Any, most_chars: int, mask: Mask) -> str:
    value = mask(value) if isinstance(value, str) else value
    if isinstance(value, str) and len(value) > most_chars:
        return f"{json.dumps(value[:most_chars], ensure_ascii=False)}..."
    try:
        text = mask(json.dumps(value, ensure_ascii=False, default=str))
    except RecursionError:
        return TOO_DEEP
    return clipped(text, most_chars)
