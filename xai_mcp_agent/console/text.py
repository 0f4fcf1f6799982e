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
_WORDS = re.compile(r" *[^ ]+")  # each with the spaces before it
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


@dataclass(frozen=True)
class Line:
    """One line in a style; the `mark` that it begins with has a colour of its own."""

    text: str
    style: Style = ""
    mark: str = ""

    def painted(self) -> str:
        """The line with colours."""
        if not self.mark:
            return _paint(self.text, self.style)
        before, mark, after = self.text.partition(self.mark)
        return before + _paint(mark, _MARKS.get(mark, "")) + _paint(after, self.style)


def _paint(text: str, style: Style) -> str:
    return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if style and text.strip() else text


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
    """The columns that a line of cleaned text takes."""
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
    """A text, cleaned, in lines of at most `width` columns, broken between words.

    `first` stands before the first line, `after` before all others. A word that is longer than a
    line is broken.
    """
    width = max(width, 2 * columns(after), 8)
    lines = list[str]()
    for line in clean(text).split("\n"):
        lines += _wrap_line(line, width, after if lines else first, after)
    return lines


def _wrap_line(line: str, width: int, first: str, after: str) -> list[str]:
    lines, current, is_empty = list[str](), first, True
    for piece in _WORDS.findall(line):
        if not is_empty and columns(current) + columns(piece) > width:
            lines.append(current)
            current, piece = after, piece.lstrip(" ")
        if columns(current) + columns(piece) > width:
            *full, piece = _pieces(piece, width - columns(current), width - columns(after))
            lines += [f"{after if n else current}{x}" for n, x in enumerate(full)]
            current = after if full else current
        current, is_empty = current + piece, False
    return [*lines, current.rstrip() if is_empty else current]


def _pieces(word: str, room: int, width: int) -> list[str]:
    """A word in pieces: the first fits into `room`, the others into `width`."""
    from rich.cells import chop_cells  # here: as in `columns`

    first = chop_cells(word, room)[0]
    return [first, *chop_cells(word[len(first) :], width)]


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
        words = line.lstrip()
        own = after + " " * (len(line) - len(words))
        # An address stays in one piece, or nobody can click or copy it.
        lines += [own + words] if _is_address(words) else wrap(words, width, own, f"{own}  ")
    return [Line(lines[0], style, mark), *(Line(x, style) for x in lines[1:])]


def _is_address(words: str) -> bool:
    return words.startswith(("http://", "https://")) and " " not in words


def shorten(text: str, most_lines: int, most_chars: int) -> tuple[str, str]:
    """The beginning of a text, and how much more there is; nothing where that is all."""
    head = "\n".join(text[:most_chars].split("\n")[:most_lines])
    rest = text[len(head) :]
    if not rest:
        return text, ""
    lines = rest.count("\n")
    more = count(lines, "more line") if lines > 1 else count(len(rest), "more character")
    return head, f"... {more}"


def opening(text: str, most_lines: int, most_chars: int) -> str:
    """The beginning of a text, with a line that says how much more there is."""
    head, more = shorten(text, most_lines, most_chars)
    return f"{head}\n{more}" if more else head


def short_arguments(
    arguments: JsonObject | None, mask: Mask = as_it_is, most_chars: int = ARGUMENT_CHARS
) -> str:
    """Arguments in one line to read; long values are cut, when `mask` has hidden what it must."""
    pairs = (arguments or {}).items()
    return ", ".join(f"{name}={_value(value, most_chars, mask)}" for name, value in pairs)


def progress_text(done: float, total: float | None, message: str) -> str:
    """The progress of a call, to read."""
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
    return clipped(mask(json.dumps(value, ensure_ascii=False, default=str)), most_chars)
