"""Untrusted values and texts, shortened to one line that shows the difference."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Any

from ..core.visible import escape_hidden

LINE_CHARS = 76
"""Fits a terminal of 80 columns, with some space before it."""

_LEAST_CHARS = 10  # minimum length of a value after a long prefix
_CONTEXT_PART = 3  # of a long text, a third of the room is before the first difference
_MOST_PASSAGES = 5
_MOST_WORDS = 800  # words and spaces; the comparison of more takes long
_WORD = re.compile(r"\S+|\s+")


def is_same(old: Any, new: Any) -> bool:
    """Return whether two JSON values have the same text: 1 is neither 1.0 nor true."""
    return old is new or (type(old) is type(new) and canonical(old) == canonical(new))


def canonical(value: Any) -> str:
    """Return the JSON text of a value, the same for any order of its keys."""
    return json.dumps(value, sort_keys=True)


def plain(text: str, chars: int) -> str:
    """Return the text on one line, without control characters, cut if it is long."""
    return _clipped(escape_hidden(text), chars)


def quoted(text: str, chars: int, keep_end: bool = False) -> str:
    """Return the text in quotes, cut if it is long: at its start with `keep_end`."""
    visible, room = escape_hidden(text), max(chars - 2, 1)
    if keep_end and len(visible) > room:
        return f"'…{visible[-room + 1 :]}'"
    return f"'{_clipped(visible, room)}'"


def value_text(value: Any, chars: int) -> str:
    """Return a JSON value as text of at most so many characters; a string is quoted."""
    return quoted(value, chars) if isinstance(value, str) else plain(_json_text(value), chars)


def from_to(old: Any, new: Any, chars: int) -> Iterator[str]:
    """Yield the difference between two values; for long texts a line for each changed passage."""
    room = max(chars, 2 * _LEAST_CHARS + 3)
    each = (room - 3) // 2
    if not (isinstance(old, str) and isinstance(new, str)):
        yield _arrow(_text_of(old), _text_of(new), each)
    elif max(len(escape_hidden(old)), len(escape_hidden(new))) + 2 <= each:
        yield f"{quoted(old, each)} → {quoted(new, each)}"
    else:
        yield from _passages(old, new, room)


def _clipped(text: str, chars: int) -> str:
    return text if len(text) <= chars else f"{text[: max(chars - 1, 0)]}…"


def _json_text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _text_of(value: Any) -> str:
    return (
        f"'{escape_hidden(value)}'" if isinstance(value, str) else escape_hidden(_json_text(value))
    )


def _arrow(old: str, new: str, each: int) -> str:
    start = _first_difference(old, new)
    return f"{_window(old, start, each)} → {_window(new, start, each)}"


def _first_difference(old: Sequence[str], new: Sequence[str]) -> int:
    pairs = enumerate(zip(old, new, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(old), len(new)))


def _window(text: str, start: int, chars: int) -> str:
    """Return the text, or a part of it around the difference at `start`."""
    if len(text) <= chars:
        return text
    begin = max(0, min(start - chars // _CONTEXT_PART, len(text) - chars + 1))
    return _clipped(("…" if begin else "") + text[begin:], chars)


def _passages(old: str, new: str, room: int) -> Iterator[str]:
    """Yield the changed passages of a long text: the longest ones, in order."""
    passages = _different_passages(_WORD.findall(old), _WORD.findall(new))
    by_length = sorted(range(len(passages)), key=lambda i: -sum(map(len, passages[i])))
    for i in sorted(by_length[:_MOST_PASSAGES]):
        yield _passage(*passages[i], room)
    if len(passages) > _MOST_PASSAGES:
        yield f"is different in {len(passages) - _MOST_PASSAGES} more places"


def _passage(old: str, new: str, room: int) -> str:
    if old and new:
        return _arrow(_text_of(old), _text_of(new), (room - 3) // 2)
    part, verb = (new, "added") if new else (old, "removed")
    length = f" ({len(part)} characters)" if len(part) > room else ""
    end = f" was {verb}{length}"
    return quoted(part.strip() or part, max(room - len(end), _LEAST_CHARS)) + end


def _different_passages(old: list[str], new: list[str]) -> list[tuple[str, str]]:
    start = _first_difference(old, new)
    end = _first_difference(old[start:][::-1], new[start:][::-1])
    before, after = old[start : len(old) - end], new[start : len(new) - end]
    if max(len(before), len(after)) > _MOST_WORDS:
        return [("".join(before), "".join(after))]
    passages: list[tuple[str, str]] = []
    is_joined = False
    for tag, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        pair = "".join(before[a:b]), "".join(after[c:d])
        if passages and (is_joined or (tag == "equal" and pair[0].isspace())):
            passages[-1] = passages[-1][0] + pair[0], passages[-1][1] + pair[1]
            is_joined = not is_joined
        elif tag != "equal":
            passages.append(pair)
    return passages
