"""Reads large JSON in small steps, for a thread beside the event loop.

Python's own reader, and pydantic's, hold the interpreter for the whole text, in whatever thread
they run: 50 MB would stop everything else for a third of a second. Here the text is taken apart
from the top until the parts are small, and only those are given to Python's reader.
"""

from __future__ import annotations

import json
import re
from typing import Any

# Tried one after the other: most values are short, and a wrong guess costs reading that much.
_STEPS = (256, 8 * 1024, 256 * 1024)
# More objects and lists than this, and collecting garbage alone would hold up everybody.
MAX_CONTAINERS = 500_000
_MAX_DEPTH = 100
_PIECE = _STEPS[-1]
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?", re.ASCII)
_BLANK = re.compile(r"[ \t\r\n]*")
# How objects and lists begin or end where no text can look like it: its quotes have backslashes,
# and its line breaks are not in it as such.
_MARKS = ('{"', '{ "', "{\n", "[\n", "],")
_ESCAPE_LENGTH = 6  # of \uXXXX
_FIRST_HALF = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}")

_decode = json.JSONDecoder(strict=False).raw_decode


class TooMuch(ValueError):
    """It has more parts than can be handled without holding up everybody."""


def read_json(text: str) -> Any:
    """The value that the text holds.

    Raises:
        ValueError: it is not JSON.
        TooMuch: it is made of too many objects and lists.
    """
    if sum(text.count(mark) for mark in _MARKS) > MAX_CONTAINERS:
        raise TooMuch("it is made of too many parts")
    value, end = _value(text, _after_blank(text, 0), _MAX_DEPTH)
    if _after_blank(text, end) != len(text):
        raise ValueError("something follows the value")
    return value


def _value(text: str, at: int, depth: int) -> tuple[Any, int]:
    if number := _NUMBER.match(text, at):  # cut, it would be another number
        return _decode(number[0])[0], number.end()
    for step in _STEPS:
        piece = text[at : at + step]
        try:
            value, end = _decode(piece)
        except (ValueError, RecursionError):
            if at + step >= len(text):
                break  # there is no more of it
            continue
        return value, at + end
    if not depth:
        raise ValueError("nested too deeply")
    match text[at : at + 1]:
        case "{":
            return _object(text, at, depth - 1)
        case "[":
            return _list(text, at, depth - 1)
        case '"':
            return _text(text, at + 1)
        case _:
            raise ValueError(f"no value at {at}")


def _object(text: str, at: int, depth: int) -> tuple[dict[str, Any], int]:
    found: dict[str, Any] = {}
    at = _after_blank(text, at + 1)
    while text[at : at + 1] == '"':
        name, at = _value(text, at, depth)
        at = _after(text, at, ":")
        found[name], at = _value(text, at, depth)
        at, goes_on = _next(text, at, "}")
        if not goes_on:
            return found, at
    raise ValueError(f"no name at {at}")


def _list(text: str, at: int, depth: int) -> tuple[list[Any], int]:
    found: list[Any] = []
    at, goes_on, is_even = _after_blank(text, at + 1), True, True
    while goes_on:
        many, end = _several(text, at) if is_even else ([], at)
        found += many
        # Where its members do not end where they seem to, they are read one by one.
        is_even, at = bool(many), end
        value, at = _value(text, at, depth)
        found.append(value)
        at, goes_on = _next(text, at, "]")
    return found, at


def _several(text: str, at: int) -> tuple[list[Any], int]:
    """The next members of a list, as many as a piece holds, and where the one after them begins."""
    for mark in ("},", "],", ","):
        end = text.rfind(mark, at, at + _PIECE)
        if end > at:
            try:
                whole = f"[{text[at : end + len(mark) - 1]}]"
                many, read = _decode(whole)
            except (ValueError, RecursionError):
                continue
            if read == len(whole):
                return many, _after_blank(text, end + len(mark))
    return [], at


def _text(text: str, at: int) -> tuple[str, int]:
    """A text longer than a piece, from its first character on."""
    parts: list[str] = []
    while True:
        end, is_last = _part_of_text(text, at)
        raw = text[at:end]
        parts.append(_decode(f'"{raw}"')[0] if "\\" in raw else raw)
        if is_last:
            return "".join(parts), end + 1
        if end <= at:
            raise ValueError(f"no end of the text at {at}")
        at = end


def _part_of_text(text: str, at: int) -> tuple[int, bool]:
    """Up to where a text can be read without cutting an escape, and whether it ends there."""
    end = text.find('"', at, at + _PIECE)
    while end >= 0 and (end - _before_backslashes(text, end, at)) % 2:
        end = text.find('"', end + 1, at + _PIECE)
    if end >= 0:
        return end, True
    end = min(at + _PIECE, len(text))
    begun = text.find("\\", max(at, end - 2 * _ESCAPE_LENGTH), end)
    if begun >= 0:
        end = _start_of_escape(text, begun, at)
    first_half = max(at, end - _ESCAPE_LENGTH)
    if _FIRST_HALF.fullmatch(text, first_half, end) and (
        _start_of_escape(text, first_half, at) == first_half
    ):
        end = first_half
    return end, False


def _start_of_escape(text: str, backslash: int, start: int) -> int:
    """Where the escape begins that this backslash belongs to: two of them are one."""
    run = _before_backslashes(text, backslash, start)
    return backslash - (backslash - run) % 2


def _before_backslashes(text: str, at: int, start: int) -> int:
    """Where the backslashes before `at` begin, at `start` at the earliest."""
    while at > start and text[at - 1] == "\\":
        at -= 1
    return at


def _next(text: str, at: int, closing: str) -> tuple[int, bool]:
    """The place after a comma, or after the end; and whether it goes on."""
    at = _after_blank(text, at)
    sign = text[at : at + 1]
    if sign not in (",", closing) or not sign:
        raise ValueError(f"no comma at {at}")
    return (_after_blank(text, at + 1), True) if sign == "," else (at + 1, False)


def _after(text: str, at: int, sign: str) -> int:
    at = _after_blank(text, at)
    if text[at : at + 1] != sign:
        raise ValueError(f"no {sign} at {at}")
    return _after_blank(text, at + 1)


def _after_blank(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at
