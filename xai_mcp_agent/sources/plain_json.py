"""What a person's code gave back as JSON: made and written in small steps, and never too large.

Python's own writer, and pydantic's, hold the interpreter for the whole value, in whatever thread
they run: for fifteen megabytes that would stop everything else for most of a second.
"""

from __future__ import annotations

import json
import math
from collections import deque
from collections.abc import Callable, Generator, Iterable
from typing import Any, cast

MAX_CHARS = 16 * 1024**2
"""Of a result. More is a file that somebody forgot to save: nobody can read it."""

_MAX_DEPTH = 200
_ENCODER = json.JSONEncoder(ensure_ascii=False)
_SHORT = frozenset((int, bool, type(None)))
_SHORTEST = 2  # characters of a value, with what parts it from the next
_LISTS = (list, tuple, set, frozenset, deque, Generator)


class TooLarge(ValueError):
    """A result that nobody can use; says what to do."""

    def __init__(self) -> None:
        super().__init__(
            "its result has more than 16 MB. Save it to a file and give back the file's name."
        )


def plain(value: Any, leaf: Callable[[Any], Any] = str) -> Any:
    """The value made of what JSON knows; `leaf` says what stands for anything else.

    Numbers that are none, and infinite ones, become texts. A generator is gone through.

    Raises:
        TooLarge: it has more than `MAX_CHARS`, or no end.
        ValueError: it holds itself, or is nested too deeply.
    """
    return Plain(leaf).of(value)


def written(value: Any) -> str:
    """Plain JSON as text."""
    # Piece by piece in Python, for `json.dumps` would hold the interpreter for all of it.
    return "".join(_ENCODER.iterencode(value))


class Plain:
    """Values made plain, which come to `MAX_CHARS` together at most; see `plain`."""

    def __init__(self, leaf: Callable[[Any], Any]) -> None:
        self._leaf = leaf
        self._left = MAX_CHARS

    def of(self, value: Any, depth: int = 0) -> Any:
        """One value, at this depth in the whole."""
        kind = cast(type[Any], type(value))
        if kind in _SHORT:
            return self._counted(value, _SHORTEST)
        if kind is str:
            return self._counted(value, len(value) + _SHORTEST)
        if kind is float:
            number = value if math.isfinite(value) else _NOT_FINITE[str(value)]
            return self._counted(number, _SHORTEST)
        if depth > _MAX_DEPTH:
            raise ValueError(f"its result holds itself, or is nested more than {_MAX_DEPTH} deep")
        if isinstance(value, dict):
            items = cast(dict[Any, Any], value).items()
            return {self._key(x, depth): self.of(y, depth + 1) for x, y in items}
        if isinstance(value, _LISTS):
            return self._list(cast(Iterable[Any], value), depth)
        return self._other(value, depth)

    def _counted(self, value: Any, chars: int) -> Any:
        self._left -= chars
        if self._left < 0:
            raise TooLarge
        return value

    def _list(self, values: Iterable[Any], depth: int) -> list[Any]:
        self._counted(None, _SHORTEST)
        if isinstance(values, list) and all(type(x) in _SHORT for x in values):
            return list(self._counted(values, _SHORTEST * len(values)))
        return [self.of(x, depth + 1) for x in values]

    def _key(self, key: Any, depth: int) -> str:
        name = self.of(key, depth + 1)
        return name if isinstance(name, str) else written(name)

    def _other(self, value: Any, depth: int) -> Any:
        leaf = self._leaf(value)
        for kind in (int, float, str):  # subclasses, such as those of numpy
            if isinstance(leaf, kind) and type(leaf) is not bool:
                return self.of(kind(leaf), depth)
        return self.of(leaf if leaf is not value else str(value), depth + 1)


_NOT_FINITE = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
