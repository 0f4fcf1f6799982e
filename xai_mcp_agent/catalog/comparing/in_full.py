"""What a person must read before accepting a changed definition: all new words in it, to the end.

A diff is short, and what is meant to mislead a model may stand where it was cut.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

from ...core.tools import JsonObject
from .diff import difference
from .wording import plain

# More than a page in one text, or than these together, nobody reads; how much there is is said.
_MOST_CHARS, _MOST_TEXTS = 4000, 30
# JSON Schema's own words need no reading; under these stand names of parameters and the like.
_WITH_NAMES = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_LONGEST_KEYWORD = len("unevaluatedProperties")


def difference_in_full(before: JsonObject, after: JsonObject) -> tuple[str, ...]:
    """As `difference`, and then every new text that it does not show whole."""
    lines = difference(before, after)
    cut = list(_not_shown(before, after, lines))
    more = [f"and {len(cut) - _MOST_TEXTS} more new texts"] if len(cut) > _MOST_TEXTS else []
    return (*lines, *(_in_full(path, text) for path, text in cut[:_MOST_TEXTS]), *more)


def _not_shown(
    before: JsonObject, after: JsonObject, lines: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """The new texts that stand in no line as a whole, each with where it is."""
    known = {text for _, text in _texts(before)}
    for path, text in _texts(after):
        if text not in known and not any(plain(text, len(line)) in line for line in lines):
            known.add(text)
            yield path, text


def _texts(definition: JsonObject) -> Iterator[tuple[str, str]]:
    """Every text in it that is not the protocol's own, with where it is. However deep."""
    left: list[tuple[str, Any]] = list(reversed(definition.items()))
    while left:
        path, value = left.pop()
        if isinstance(value, str):
            yield path, value
        elif isinstance(value, dict):
            fields = cast("dict[str, Any]", value)
            yield from ((path, x) for x in fields if _is_of_the_source(path, x))
            left += [(f"{path}.{x}", y) for x, y in reversed(fields.items())]
        elif isinstance(value, list):
            left += [(path, x) for x in reversed(cast("list[Any]", value))]


def _is_of_the_source(path: str, name: str) -> bool:
    """Whether a name of a field was thought out by whoever made the tool."""
    return len(name) > _LONGEST_KEYWORD or path.rpartition(".")[2] in _WITH_NAMES


def _in_full(path: str, text: str) -> str:
    length = f" (the first {_MOST_CHARS:,} of {len(text):,} characters)"
    more = length if len(text) > _MOST_CHARS else ""
    return f"In full, {plain(path, 100)}{more}: '{plain(text, _MOST_CHARS)}'"
