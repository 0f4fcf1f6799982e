"""Large JSON: what takes long to read, and reading it in small steps, in a thread.

Python's own reader, and pydantic's, hold the interpreter for the whole text, in whatever thread
they run. For a plain text that is no time at all, and for a hundred thousand objects it would stop
everything else for a tenth of a second. Such JSON is taken apart from the top until the parts are
small, and only those are given to Python's reader.

What no other reader takes is read so too: what is nested more deeply than they can go is replaced,
and a number too long for Python stays a text.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import Any

from pydantic_core import from_json

TOO_DEEP = "xai-mcp-agent: nested too deeply"
"""Stands for a part that is nested more deeply than can be read."""

SHORT_BYTES = 128 * 1024
"""Up to here nothing takes long, whatever it is made of."""

# From here on even looking at it takes long.
_LONG_BYTES = 16 * 1024**2
# What reading costs, in units of about 0.05 microseconds: one for each value or escape, and for
# each object and list so many. The limit is what others can wait for.
_WORK_OF_A_CONTAINER = 12
_MUCH_WORK = 600_000
_FEW = 1000  # are found one by one

# Tried one after the other: most values are short, and a wrong guess costs reading that much.
_STEPS = (256, 8 * 1024, 256 * 1024)
# With so many, one pass of Python's collector of garbage takes about 0.1 s, and it holds everybody.
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

# Python refuses to read longer ones, for the time that takes.
_MAX_DIGITS = 4000
# The bracket or text that begins here; a text without an end goes to the end.
_SIGN = re.compile(r'[\[\]{}]|"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)', re.DOTALL)


def integer(digits: str) -> int | str:
    """The number, or its digits if there are absurdly many."""
    return int(digits) if len(digits) < _MAX_DIGITS else digits


_decode = json.JSONDecoder(parse_int=integer, strict=False).raw_decode


class TooMuch(ValueError):
    """It has more parts than can be handled without holding up everybody."""


def takes_long(data: bytes) -> bool:
    """Whether reading this JSON at once would hold up others for longer than they should wait."""
    size = len(data)
    return size > SHORT_BYTES and (size > _LONG_BYTES or _is_much_work(data))


def read_large(data: bytes) -> Any:
    """The value that the JSON holds; never holds the interpreter for long.

    Raises:
        ValueError: it is not JSON.
        TooMuch: it is made of too many objects and lists.
    """
    # Outside of ASCII even a plain text is work.
    if not _is_much_work(data) and (len(data) <= _LONG_BYTES or data.isascii()):
        with suppress(ValueError):  # read below, more patiently, if at all
            return from_json(data)
    return read_in_steps(data.decode())


def _is_much_work(data: bytes) -> bool:
    work = sum(_count(data, sign) for sign in (b"{", b"[")) * _WORK_OF_A_CONTAINER
    if len(data) > _MUCH_WORK * 2:  # with less, there cannot be so many
        work += sum(_count(data, sign) for sign in (b",", b"\\"))
    return work > _MUCH_WORK


def _count(data: bytes, sign: bytes) -> int:
    """As `data.count`, which takes 30 times as long where there are few, as in a plain text."""
    at = -1
    for number in range(_FEW):
        at = data.find(sign, at + 1)
        if at < 0:
            return number
    return data.count(sign)


def read_in_steps(text: str, most_containers: int | None = None) -> Any:
    """The value that the text holds, whatever it is made of.

    Raises:
        ValueError: it is not JSON.
        TooMuch: it is made of too many objects and lists.
    """
    most = most_containers or MAX_CONTAINERS
    if sum(text.count(mark) for mark in _MARKS) > most:
        raise TooMuch(f"it is made of more than {most:,} objects and lists")
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
        return TOO_DEEP, _end_of(text, at)
    match text[at : at + 1]:
        case "{":
            return _object(text, at, depth - 1)
        case "[":
            return _list(text, at, depth - 1)
        case '"':
            return _text(text, at + 1)
        case _:
            raise ValueError(f"no value at {at}")


def _end_of(text: str, at: int) -> int:
    """Where the value that begins here ends; what is in it is not read."""
    depth = 0
    for sign in _SIGN.finditer(text, at):
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(sign[0], 0)
        if depth <= 0:
            return sign.end()
    raise ValueError(f"no end of the value at {at}")


def _object(text: str, at: int, depth: int) -> tuple[dict[str, Any], int]:
    members: dict[str, Any] = {}
    at = _after_blank(text, at + 1)
    while text[at : at + 1] == '"':
        name, at = _value(text, at, depth)
        at = _after(text, at, ":")
        members[name], at = _value(text, at, depth)
        at, goes_on = _next(text, at, "}")
        if not goes_on:
            return members, at
    raise ValueError(f"no name at {at}")


def _list(text: str, at: int, depth: int) -> tuple[list[Any], int]:
    items: list[Any] = []
    at, goes_on, is_even = _after_blank(text, at + 1), True, True
    while goes_on:
        many, end = _several(text, at) if is_even else ([], at)
        items += many
        # Where its members do not end where they seem to, they are read one by one.
        is_even, at = bool(many), end
        value, at = _value(text, at, depth)
        items.append(value)
        at, goes_on = _next(text, at, "]")
    return items, at


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
    blank = _BLANK.match(text, at)
    return blank.end() if blank else at
