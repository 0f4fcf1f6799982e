"""A text that fits a regular expression, for the plain ones that stand in schemas of tools.

Python reads the expression. What looks around is passed over: whoever needs to know checks the
text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

# A pattern is one line of somebody's, and an example is read.
_MAX_PATTERN, _MAX_GROUPS, _MAX_TEXT = 2_000, 100, 1_000
# The first that a set of characters has is taken, or one that it names.
_LIKED = "a1A-_ ./~"
_CLASSES = {"DIGIT": r"\d", "NOT_DIGIT": r"\D", "SPACE": r"\s", "NOT_SPACE": r"\S", "WORD": r"\w",
            "NOT_WORD": r"\W"}  # fmt: skip
# A named group as JavaScript writes it, and what Python warns of in sets, where it may change.
_NAMED, _UNSETTLED = re.compile(r"\(\?<(?![=!])"), re.compile(r"\[\[|--|&&|~~|\|\|")


def texts_for(pattern: str, least: int = 0) -> Iterator[str]:
    """Texts that should fit the pattern: a short one first, then some with more in what repeats.

    `least` is how many characters are wanted. None for a pattern that cannot be read.
    """
    is_long = len(pattern) > _MAX_PATTERN or pattern.count("(") > _MAX_GROUPS
    if is_long or _UNSETTLED.search(pattern):
        return
    try:
        # Inside of Python, but there is no other way to it; without it there is no example.
        parsed = import_module("re._parser").parse(_NAMED.sub("(?P<", pattern))
    except (ImportError, re.error, RecursionError, OverflowError):
        return
    for repeats in dict.fromkeys((1, least, 0, 2)):
        text = _text(parsed, repeats)
        if len(text) <= _MAX_TEXT:
            yield text


def _text(parts: Any, repeats: int) -> str:
    """For parts that follow one another; `repeats` of what may repeat as often as one likes."""
    found = ""
    for kind, value in parts:
        found += _part(str(kind), value, repeats)
        if len(found) > _MAX_TEXT:
            break  # it is of no use
    return found


def _part(kind: str, value: Any, repeats: int) -> str:
    match kind:
        case "ANY":
            return _LIKED[0]
        case "LITERAL":
            return chr(value)
        case "NOT_LITERAL":
            return _one_of([("NEGATE", None), ("LITERAL", value)])
        case "IN":
            return _one_of(value)
        case "BRANCH":
            return _text(value[1][0], repeats)
        case "SUBPATTERN":
            return _text(value[-1], repeats)
        case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
            least, most, inner = value
            text = _text(inner, repeats)
            # One more than is of use says that it is of none.
            return text * min(max(least, min(repeats, most)), _MAX_TEXT // max(len(text), 1) + 1)
        case "ATOMIC_GROUP":
            return _text(value, repeats)
        case _:
            return ""


def _one_of(members: Sequence[tuple[Any, Any]]) -> str:
    """One of the characters of a set; nothing where there are none."""
    kinds = [(str(kind), value) for kind, value in members]
    is_negated = kinds[0][0] == "NEGATE"
    named = [chr(x) for kind, x in kinds if kind == "LITERAL"]
    named += [chr(x[0]) for kind, x in kinds if kind == "RANGE"]
    return next((x for x in (*_LIKED, *named) if _has(kinds, x) != is_negated), "")


def _has(members: Sequence[tuple[str, Any]], character: str) -> bool:
    return any(_is_of(kind, value, character) for kind, value in members)


def _is_of(kind: str, value: Any, character: str) -> bool:
    match kind:
        case "LITERAL":
            return ord(character) == value
        case "RANGE":
            return value[0] <= ord(character) <= value[1]
        case "CATEGORY":
            return re.match(_CLASSES[str(value).removeprefix("CATEGORY_")], character) is not None
        case _:
            return False
