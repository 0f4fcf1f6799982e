"""A text that fits a regular expression, for the plain ones that stand in schemas of tools.

What looks around, or refers back, is passed over: whoever needs to know checks the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

# A pattern is one line of somebody's, and an example is read.
_MAX_PATTERN, _MAX_TEXT = 2_000, 1_000
_MAX_NESTED = 50

# The first that a set of characters has is taken.
_LIKED = "a1A-_ ./"
_CLASSES = {"d": "0-9", "w": "a-zA-Z0-9_", "s": " \t-\r"}
_CONTROLS = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "v": "\v", "0": "\0"}
_QUANTIFIER = re.compile(r"(?:([*+?])|\{(\d{1,6})(,(\d{1,6})?)?\})[?+]?")
_GROUP = re.compile(r"\?(?:[imsux-]*:|P?<\w+>|(<?[=!])|>)")
_NUMBERED = re.compile(r"x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]{1,6})\}")


def texts_for(pattern: str, least: int = 0) -> Iterator[str]:
    """Texts that should fit the pattern: a short one first, then some with more in what repeats.

    `least` is how many characters are wanted. None for a pattern that cannot be read.
    """
    if len(pattern) <= _MAX_PATTERN:
        for repeats in dict.fromkeys((1, least, 0, 2)):
            try:
                yield _Reader(pattern, repeats).read()
            except ValueError:
                return


class _Reader:
    """Reads a pattern from left to right, and writes what each part of it takes."""

    def __init__(self, pattern: str, repeats: int) -> None:
        self._pattern = pattern
        self._at = 0
        self._depth = 0
        self._repeats = repeats  # of what may be repeated as often as one likes

    def read(self) -> str:
        """A text for the whole.

        Raises:
            ValueError: it is none that can be read.
        """
        text = self._choice()
        if self._at < len(self._pattern):
            raise ValueError("a group ends that has not begun")
        return text

    def _next(self) -> str:
        if self._at >= len(self._pattern):
            raise ValueError("it ends in the middle")
        self._at += 1
        return self._pattern[self._at - 1]

    def _sees(self, characters: str) -> bool:
        return self._at < len(self._pattern) and self._pattern[self._at] in characters

    def _choice(self) -> str:
        first = self._sequence()
        while self._sees("|"):
            self._at += 1
            self._sequence()
        return first

    def _sequence(self) -> str:
        text = ""
        while self._at < len(self._pattern) and not self._sees("|)"):
            part = self._part()
            text += part * min(self._times(), _MAX_TEXT // max(len(part), 1))
            if len(text) > _MAX_TEXT:
                raise ValueError("its texts are too long")
        return text

    def _times(self) -> int:
        found = _QUANTIFIER.match(self._pattern, self._at)
        if found is None:
            return 1
        self._at = found.end()
        sign, low, is_range, high = found.groups()
        if sign:
            return {"?": 0, "*": self._repeats, "+": max(self._repeats, 1)}[sign]
        most = int(high or (_MAX_TEXT if is_range else low))
        return max(int(low), min(self._repeats, most))

    def _part(self) -> str:
        match sign := self._next():
            case "(":
                return self._group()
            case "[":
                return self._set()
            case "\\":
                return _taken(*self._escaped())
            case "^" | "$":
                return ""
            case ".":
                return _LIKED[0]
            case _:
                return sign

    def _group(self) -> str:
        self._depth += 1
        if self._depth > _MAX_NESTED:
            raise ValueError("it is nested too deeply")
        opening = _GROUP.match(self._pattern, self._at)
        self._at = opening.end() if opening else self._at
        text = self._choice()
        if self._next() != ")":
            raise ValueError("a group has no end")
        self._depth -= 1
        return "" if opening and opening[1] else text

    def _escaped(self) -> tuple[list[tuple[str, str]], bool]:
        """The characters that an escape stands for, as ranges; or all but those."""
        if numbered := _NUMBERED.match(self._pattern, self._at):
            self._at = numbered.end()
            character = chr(min(int(next(x for x in numbered.groups() if x), 16), 0x10FFFF))
            return [(character, character)], False
        letter = self._next()
        if letter in "bBAzZ":
            return [], False
        if letter.lower() in _CLASSES:
            return _ranges(_CLASSES[letter.lower()]), letter.isupper()
        character = _CONTROLS.get(letter, letter)
        return [(character, character)], False

    def _set(self) -> str:
        is_negated = self._sees("^")
        self._at += is_negated
        ranges: list[tuple[str, str]] = []
        while not self._sees("]") or not ranges:
            ranges += self._members()
        self._at += 1
        return _taken(ranges, is_negated)

    def _members(self) -> list[tuple[str, str]]:
        """The next characters in a set, as ranges."""
        low = self._next()
        if low == "\\":
            ranges, is_negated = self._escaped()
            # All but those: some of them that are liked.
            found = [(x, x) for x in _LIKED if not _has(ranges, x)] if is_negated else ranges
            if len(found) != 1 or found[0][0] != found[0][1]:
                return found or [("\b", "\b")]
            low = found[0][0]
        if not self._sees("-") or self._pattern[self._at + 1 : self._at + 2] in ("]", ""):
            return [(low, low)]
        self._at += 1
        high = self._next()
        return [(low, self._next() if high == "\\" else high)]


def _ranges(text: str) -> list[tuple[str, str]]:
    return [(x[0], x[-1]) for x in re.findall(r".-.|.", text, re.DOTALL)]


def _has(ranges: list[tuple[str, str]], character: str) -> bool:
    return any(low <= character <= high for low, high in ranges)


def _taken(ranges: list[tuple[str, str]], is_negated: bool) -> str:
    """One of these characters, or one of all but these; nothing where there are none."""
    liked = (x for x in _LIKED if _has(ranges, x) != is_negated)
    return next(liked, "~" if is_negated else ranges[0][0] if ranges else "")
