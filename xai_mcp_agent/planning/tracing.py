"""Where the arguments of calls come from: found by value in the results before.

An argument that equals an earlier result, or a part of it, is a reference to that; so is an earlier
value that stands in a text, or a text's own word. Values that many things could be (true, 0, 1, a
short word) stay as they are, unless the name of the parameter is that of the part. Every reference
is tried on what was given: it gives the very argument.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, cast

from ..steps.references import Joined, Number, PathStep, Reference
from ..steps.results import NotInResult, StepResult, fill

_MOST_PARTS = 20_000  # of one result that are looked at
DEEPEST = 12
_LONG_WORD, _SHORT_WORD = 8, 4  # characters that tell a text from others; the latter with a digit
_LARGE_NUMBER = 1_000
_MOST_DIGITS = 300  # of a number that a text is
SAME_NAME, LIKE_NAME = 3, 2
_MOST_TEXTS = 200  # of all results, in which a word is looked for
# Characters in which texts are looked for, for all arguments together: half a second's worth.
_MOST_SEARCHED = 50_000_000
_CONTEXT_WORDS = 3

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_ID_WORDS = ("id", "key", "code", "number", "uuid", "ref")


@dataclass(frozen=True, slots=True)
class Part:
    """A value in a result, and where."""

    value: Any
    at: Reference


class TracedResults:
    """The results so far, and all the values in them."""

    def __init__(self) -> None:
        self._given: list[StepResult] = []
        self._by_value: dict[Any, list[Part]] = {}
        self._texts: list[Part] = []
        self._left = _MOST_SEARCHED

    def add(self, value: Any, most: int = _MOST_PARTS) -> None:
        """Take in so many parts of the next call's result; None where it is not known."""
        number = len(self._given)
        self._given.append(StepResult(value, str(number)))
        if value is None:
            return
        for path, part in islice(parts_of(value), most):
            self._take(Part(part, Reference(number, path)))

    def _take(self, part: Part) -> None:
        self._by_value.setdefault(key_of_value(part.value), []).append(part)
        if isinstance(part.value, str) and part.value:
            self._texts.append(part)

    def source_of(self, value: Any, name: str) -> Any:
        """The argument of this name, with references where it comes from results."""
        found = self._equal(value, name)
        if found is not None:
            return found
        match value:
            case dict():
                items = cast(dict[str, Any], value).items()
                return {key: self.source_of(x, key) for key, x in items}
            case list():
                return [self.source_of(x, name) for x in cast(list[Any], value)]
            case str() if is_telling(value):
                return self._in_text(value) or self._joined(value) or value
            case int() | float() if is_telling(value):
                return self._in_text(value) or value
            case _:
                return value

    def _equal(self, value: Any, name: str) -> Any:
        """The part of a result that is this value, also as a text of the number, or its number."""
        if value is None or isinstance(value, bool) or value in ("", 0, 1, "0", "1", [], {}):
            return None
        if isinstance(value, str) and len(value) <= 2 and not _is_number(value):
            return None
        if (at := self._best(key_of_value(value), name, value)) is not None:
            return at
        if isinstance(value, str) and _is_number(value):
            at = self._best(key_of_value(json.loads(value)), name, value)
            return at and self._tried(Joined((at,)), value)
        if isinstance(value, int | float):
            at = self._best(key_of_value(str(value)), name, value)
            return at and self._tried(Number(at), value)
        return None

    def _best(self, key: Any, name: str, value: Any) -> Reference | None:
        def rank(part: Part) -> tuple[int, ...]:
            return self._rank(name, part)

        best = max(self._by_value.get(key, ()), key=rank, default=None)
        return best.at if best is not None and self._is_sure(value, name, best) else None

    def _rank(self, name: str, part: Part) -> tuple[int, ...]:
        """The greatest of several equal values is the one that is meant."""
        return affinity(name, part.at.path), -len(part.at.path), part.at.result

    def _is_sure(self, value: Any, name: str, part: Part) -> bool:
        """Whether it is no chance that they are equal."""
        return is_telling(value) or affinity(name, part.at.path) >= LIKE_NAME

    def _joined(self, value: str) -> Joined | None:
        """A text with earlier values in it: the longest there are, each at the bounds of words."""
        parts: list[Any] = [value]
        texts = self._within_budget(self._texts, len(value))
        inner = {x.value: x for x in texts if x.value in value and is_telling(x.value)}
        for text in sorted(inner, key=len, reverse=True):
            parts = [y for x in parts for y in _cut_at(x, text, inner[text].at)]
        joined = Joined(tuple(parts))
        return self._tried(joined, value) if len(parts) > 1 else None

    def _in_text(self, value: str | float) -> Any:
        """The value as a word of a text in a result, by the words before it."""
        word = value if isinstance(value, str) else json.dumps(value)
        for part in reversed(self._texts[-_MOST_TEXTS:]):
            if not self._within_budget([part], len(part.value)):
                break
            for after, before in _contexts(part.value, word):
                at = replace(part.at, after=after, before=before)
                found = self._tried(at if isinstance(value, str) else Number(at), value)
                if found is not None:
                    return found
        return None

    def _within_budget(self, parts: Sequence[Part], chars: int) -> Sequence[Part]:
        """The newest of these, as many as may be searched in or for, each in so many characters."""
        many = min(self._left // max(chars, 1), len(parts))
        self._left -= many * chars
        return parts[len(parts) - many :]

    def _tried(self, source: Any, value: Any) -> Any:
        try:
            is_same = fill(source, self._given) == value
        except NotInResult:
            return None
        return source if is_same else None


def parts_of(
    value: Any, path: tuple[PathStep, ...] = ()
) -> Iterator[tuple[tuple[PathStep, ...], Any]]:
    """All that is in a value, itself first, each with its path."""
    yield path, value
    if len(path) >= DEEPEST:
        return
    inner: Iterable[tuple[PathStep, Any]] = ()
    if isinstance(value, dict):
        inner = cast(dict[str, Any], value).items()
    elif isinstance(value, list):
        inner = enumerate(cast(list[Any], value))
    for step, part in inner:
        yield from parts_of(part, (*path, step))


def key_of_value(value: Any) -> Any:
    """Something to look equal values up by; a text itself, of which no copy is made."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return "json", json.dumps(value, sort_keys=True, default=str)


def is_telling(value: Any) -> bool:
    """Whether this value is hardly there twice by chance."""
    match value:
        case bool() | None:
            return False
        case str():
            has_digit = any(x.isdigit() for x in value)
            return len(value) >= (_SHORT_WORD if has_digit else _LONG_WORD)
        case int():
            return abs(value) >= _LARGE_NUMBER
        case float():
            return len(str(value).strip("-0.").replace(".", "")) >= _SHORT_WORD
        case dict() | list():
            inner = cast(
                Iterable[Any],
                cast(dict[str, Any], value).values() if isinstance(value, dict) else value,
            )
            return any(map(is_telling, inner))
        case _:
            return False


def _is_number(text: str) -> bool:
    is_short = len(text) <= _MOST_DIGITS
    return is_short and bool(re.fullmatch(r"-?(0|[1-9]\d*)(\.\d+)?", text))


def affinity(name: str, path: tuple[PathStep, ...]) -> int:
    """How much the name of a parameter is that of a part: `book_id` and `books[0].id`."""
    keys = [x for x in path if isinstance(x, str)]
    if not keys:
        return 0
    wanted, last = _words(name), _words(keys[-1])
    if wanted == last or (len(keys) > 1 and wanted == [*_words(keys[-2]), *last]):
        return SAME_NAME
    if not (wanted and last):
        return 0
    if wanted[-1] == last[-1] and wanted[-1] in _ID_WORDS:
        return LIKE_NAME
    return int(bool(set(wanted) & set(last)))


def is_id_name(name: str) -> bool:
    """Whether it is called as what identifies something."""
    return _words(name)[-1:] in [[x] for x in _ID_WORDS]


def _words(name: str) -> list[str]:
    words = [x.lower() for x in _WORD.findall(name)]
    return [x[:-1] if len(x) > 3 and x.endswith("s") else x for x in words]


def _cut_at(part: Any, text: str, at: Reference) -> list[Any]:
    if not isinstance(part, str):
        return [part]
    found = re.search(rf"(?<!\w){re.escape(text)}(?!\w)", part)
    if found is None:
        return [part]
    around = [part[: found.start()], at, part[found.end() :]]
    return [x for x in around if x != ""]


def _contexts(text: str, word: str) -> Iterator[tuple[str, str]]:
    """The words before a word that is once in a text, and what ends it; the shortest first."""
    found = list(re.finditer(rf"(?<![\w.-]){re.escape(word)}(?![\w-])", text))
    if len(found) != 1 or word == text:
        return
    begin, end = found[0].span()
    line = text[text.rfind("\n", 0, begin) + 1 : begin]
    follows = text[end : end + 1]
    before = "" if not follows or (follows.isspace() and not re.search(r"\s", word)) else follows
    starts = [x.start() for x in re.finditer(r"\S+", line)]
    for start in reversed(starts[-_CONTEXT_WORDS:]):
        yield line[start:], before
    if not starts and begin == 0 and (before or not re.search(r"\s", word)):
        yield "", before
