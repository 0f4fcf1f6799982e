"""Untrusted text and values made fit for a screen: cleaned, wrapped, cut, in linear time."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from ..agent.models.base import TokenUsage
from ..core.json import JsonObject, clip
from ..core.visible import mark_hidden
from ..secrets.secrets import Mask

if TYPE_CHECKING:
    from jinja2 import Template

_TAB_COLUMNS = 4
_WORDS = re.compile(r" *[^ ]+")  # words, each with the spaces before it
# Enough for letters and their accents; longer text is cut before its columns are counted.
_MOST_CODES_PER_COLUMN = 4

Style: TypeAlias = Literal["", "bold", "red", "green", "cyan", "blue", "faint"]

_CODES = {"bold": "1", "red": "31", "green": "32", "cyan": "36", "blue": "34", "faint": "2"}
_MARKS: dict[str, Style] = {
    "==": "bold", "->": "cyan", "<-": "green", "++": "blue", "--": "blue", "..": "faint",
    "!!": "red", "??": "bold",
}  # fmt: skip

ARGUMENT_CHARS = 60
# Longer texts are always cut: nobody reads them, and a browser shows them slowly.
MOST_CHARS = 100_000


@dataclass(frozen=True)
class Line:
    """Line in a style; its initial `mark` has a colour of its own."""

    text: str
    style: Style = ""
    mark: str = ""

    def with_colours(self) -> str:
        """Return the line with colours."""
        if not self.mark:
            return _paint(self.text, self.style)
        before, mark, after = self.text.partition(self.mark)
        return before + _paint(mark, _MARKS.get(mark, "")) + _paint(after, self.style)


def _paint(text: str, style: Style) -> str:
    return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if style and text.strip() else text


@cache
def template(file: Path) -> Template:
    """Return a page template that escapes all values."""
    from jinja2 import Environment  # imported here: only pages need it

    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(file.read_text(encoding="utf-8"))


def as_it_is(text: str) -> str:
    """Return the text unchanged: a mask where no secrets are known."""
    return text


def clean(text: str) -> str:
    """Return the text with `?` for invisible and control characters.

    All line ends become newlines, tabs become spaces.
    """
    if text.isascii() and text.isprintable():
        return text
    return mark_hidden(text, "?").expandtabs(_TAB_COLUMNS)


def columns(text: str) -> int:
    """Return the columns of a line of cleaned text."""
    if text.isascii():
        return len(text)
    # Imported here: it costs as much as the rest of the screen, and plain text does not need it.
    from rich.cells import cell_len

    return cell_len(text)


def cut(text: str, width: int) -> str:
    """Return a text on one line of at most this many columns; dots mark a cut."""
    head = " ".join(text[: width * _MOST_CODES_PER_COLUMN].split())
    if len(text) <= width * _MOST_CODES_PER_COLUMN and columns(head) <= width:
        return head
    room = max(width - 3, 0)
    while columns(head) > room:
        head = head[: room if len(head) > room else -1]
    return f"{head}..."


def count(number: int, thing: str) -> str:
    """Return a number of things: `1 turn`, `2 turns`."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def counts(numbers: Mapping[str, int]) -> str:
    """Return several counts: `3 tools, 1 prompt`."""
    return ", ".join(count(number, thing) for thing, number in numbers.items())


def one_line(text: str, indent: str = "") -> str:
    """Return a text, perhaps of several lines, cleaned and on one line after an indent."""
    return indent + " ".join(clean(text).split())


def wrap(text: str, width: int, first: str = "", after: str = "") -> list[str]:
    """Return a cleaned text in lines of at most `width` columns, broken between words.

    `first` goes before the first line, `after` before the others. A word longer than a line is
    broken.
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
    """Return a word in pieces: the first fits into `room`, the others into `width`."""
    from rich.cells import chop_cells  # imported here, as in `columns`

    first = chop_cells(word, room)[0]
    return [first, *chop_cells(word[len(first) :], width)]


def marked_lines(
    mark: str, text: str, width: int, first: str, body: str, style: Style = ""
) -> list[Line]:
    """Return a cleaned text after a mark; its further lines keep their own indents.

    `first` goes before the mark, `body` before the rest.
    """
    head, *rest = clean(text).split("\n")
    after = f"{body}   "
    lines = wrap(head, width, f"{first}{mark} ", after)
    for line in rest:
        words = line.lstrip()
        own = after + " " * (len(line) - len(words))
        # An address stays in one piece, so that it can be clicked or copied.
        lines += [own + words] if _is_address(words) else wrap(words, width, own, f"{own}  ")
    return [Line(lines[0], style, mark), *(Line(x, style) for x in lines[1:])]


def _is_address(words: str) -> bool:
    return words.startswith(("http://", "https://")) and " " not in words


def opening(text: str, most_lines: int, most_chars: int) -> str:
    """Return the beginning of a text, with a line that says how much more there is."""
    head = "\n".join(text[:most_chars].split("\n")[:most_lines])
    rest = text[len(head) :]
    if not rest:
        return text
    lines = rest.count("\n")
    more = count(lines, "more line") if lines > 1 else count(len(rest), "more character")
    return f"{head}\n... {more}"


def short_arguments(
    arguments: JsonObject | None, mask: Mask = as_it_is, most_chars: int = ARGUMENT_CHARS
) -> str:
    """Return arguments on one line; long values are cut after masking."""
    pairs = (arguments or {}).items()
    return ", ".join(f"{name}={_value(value, most_chars, mask)}" for name, value in pairs)


def progress_text(current: float, total: float | None, message: str) -> str:
    """Return the progress of a call in words."""
    share = f"{current:g} of {total:g}" if total else f"{current:g}"
    return f"{share} {message}".rstrip()


def lay_out(text: str, indent: int | None) -> str:
    """Return JSON with this indent, or on one line; other text, and a long one, as it is."""
    if text[:1] not in ("{", "[") or len(text) > MOST_CHARS:
        return text
    try:
        return json.dumps(json.loads(text), ensure_ascii=False, indent=indent)
    except (ValueError, RecursionError):
        return text


def tokens_text(usage: TokenUsage) -> str:
    """Return tokens in and out, or "" if the service counted none."""
    if not usage.input_tokens + usage.output_tokens:
        return ""
    cached = f" ({usage.cached_tokens} cached)" if usage.cached_tokens else ""
    return f"{usage.input_tokens}{cached} + {usage.output_tokens} tokens"


def _value(value: Any, most_chars: int, mask: Mask) -> str:
    value = mask(value) if isinstance(value, str) else value
    if isinstance(value, str) and len(value) > most_chars:
        return f"{json.dumps(value[:most_chars], ensure_ascii=False)}..."
    return clip(mask(json.dumps(value, ensure_ascii=False, default=str)), most_chars)
