"""Values by the form that a schema gives them: a pattern of a text, numbers of things in a map."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from ...search.terms import singular
from .mentions import Mention, whole
from .parameters import Parameter
from .parts import Part
from .words import is_stop, stem

_LONGEST_VALUE = 200  # of a text that is tried
# Any word at all would match some patterns: only what has a sign or a digit in it says something.
_PLAIN_WORDS = ("word", "two words")
_RISKY = re.compile(r"[+*}]\)?[+*{]")  # repeated repetitions take long to fail
_STATED = re.compile(
    r"(?P<name>[^\W\d_][\w'-]*)\s+(?:(?:is|are|costs?|at|for|was|were)\s+|[:=]\s*)?"
    r"(?:[$\u20ac\u00a3]\s*)?$"
)
_COUNTED = re.compile(r"\s+(?P<name>[^\W\d_][\w'-]*)")


def matches(parameter: Parameter, value: Any) -> bool:
    """Whether a value has the form that the schema asks for; where it asks for none, yes."""
    form = _compiled(parameter.pattern)
    if form is None or not isinstance(value, str):
        return True
    return len(value) <= _LONGEST_VALUE and bool(form.search(value))


def telling_form(parameter: Parameter) -> bool:
    """Whether the pattern tells a value from other words."""
    form = _compiled(parameter.pattern)
    return form is not None and not any(form.search(x) for x in _PLAIN_WORDS)


def numbered(
    part: Part, numbers: Sequence[Mention], *, whole_ones: bool
) -> list[tuple[str, Any, int, int]]:
    """Things with their numbers, and where each stands: counts before them, or what they are."""
    found = list(_counted(part, numbers) if whole_ones else _stated(part, numbers))
    return found if len({x[0] for x in found}) == len(found) else []


def _counted(part: Part, numbers: Sequence[Mention]) -> Iterator[tuple[str, Any, int, int]]:
    for number in numbers:
        after = _COUNTED.match(part.text, number.end - part.start)
        value = whole(number.value)
        if after and value is not None and not is_stop(stem(after["name"])):
            name = singular(after["name"].lower())
            yield name, value, number.start, part.start + after.end()


def _stated(part: Part, numbers: Sequence[Mention]) -> Iterator[tuple[str, Any, int, int]]:
    for number in numbers:
        before = _STATED.search(part.text[: number.start - part.start])
        if before and not is_stop(stem(before["name"])):
            yield before["name"], number.value, part.start + before.start(), number.end


@lru_cache(maxsize=500)
def _compiled(pattern: str) -> re.Pattern[str] | None:
    if not pattern or _RISKY.search(pattern):
        return None
    try:
        return re.compile(pattern)
    except (re.error, OverflowError, RecursionError):
        return None
