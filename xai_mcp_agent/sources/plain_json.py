"""Return values of user code as JSON: converted and written in small steps, with a size limit.

Python's own writer, and pydantic's, hold the interpreter lock for the whole value, in any thread:
for fifteen megabytes that would stop everything else for most of a second.
"""

from __future__ import annotations

import json
import math
from collections import deque
from collections.abc import Callable, Generator, Iterable
from typing import Any, cast

MAX_CHARS = 16 * 1024**2
"""Limit of a result. A longer one should have been saved to a file: it is unreadable."""

_MAX_DEPTH = 200
_ENCODER = json.JSONEncoder(ensure_ascii=False)
_SHORT = frozenset((int, bool, type(None)))
_SHORTEST = 2  # characters of a value, including its separator
_LISTS = (list, tuple, set, frozenset, deque, Generator)


class ResultTooLarge(ValueError):
    """The result is too large to be useful; says what to do."""

    def __init__(self) -> None:
        super().__init__(
            "its result has more than 16 MB. Save it to a file and return the file's name."
        )


def plain(value: Any, leaf: Callable[[Any], Any] = str) -> Any:
    """Return the value in JSON types; `leaf` converts any other value.

    NaN and infinite numbers become texts. A generator is consumed.

    Raises:
        ResultTooLarge: it has more than `MAX_CHARS`, or no end.
        ValueError: it contains itself, or is nested too deeply.
    """
    return Plain(leaf).of(value)


def write_json(value: Any) -> str:
    """Return plain JSON as text."""
    # Piece by piece in Python, because `json.dumps` would hold the interpreter lock throughout.
    return "".join(_ENCODER.iterencode(value))


class Plain:
    """Converter for values with `MAX_CHARS` in total; see `plain`."""

    def __init__(self, leaf: Callable[[Any], Any]) -> None:
        self._leaf = leaf
        self._remaining = MAX_CHARS

    def of(self, value: Any, depth: int = 0) -> Any:
        """Convert one value at this depth."""
        kind = cast(type[Any], type(value))
        if kind in _SHORT:
            return self._count(value, _SHORTEST)
        if kind is str:
            return self._count(value, len(value) + _SHORTEST)
        if kind is float:
            number = value if math.isfinite(value) else _NOT_FINITE[str(value)]
            return self._count(number, _SHORTEST)
        if depth > _MAX_DEPTH:
            raise ValueError(
                f"its result contains itself, or is nested more than {_MAX_DEPTH} deep"
            )
        if isinstance(value, dict):
            items = cast(dict[Any, Any], value).items()
            return {self._key(x, depth): self.of(y, depth + 1) for x, y in items}
        if isinstance(value, _LISTS):
            return self._list(cast(Iterable[Any], value), depth)
        return self._other(value, depth)

    def _count(self, value: Any, chars: int) -> Any:
        self._remaining -= chars
        if self._remaining < 0:
            raise ResultTooLarge
        return value

    def _list(self, values: Iterable[Any], depth: int) -> list[Any]:
        self._count(None, _SHORTEST)
        if isinstance(values, list) and all(type(x) in _SHORT for x in values):
            return list(self._count(values, _SHORTEST * len(values)))
        return [self.of(x, depth + 1) for x in values]

    def _key(self, key: Any, depth: int) -> str:
        name = self.of(key, depth + 1)
        return name if isinstance(name, str) else write_json(name)

    def _other(self, value: Any, depth: int) -> Any:
        leaf = self._leaf(value)
        for kind in (int, float, str):  # subclasses, such as numpy's
            if isinstance(leaf, kind) and type(leaf) is not bool:
                return self.of(kind(leaf), depth)
        return self.of(leaf if leaf is not value else str(value), depth + 1)


_NOT_FINITE = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
