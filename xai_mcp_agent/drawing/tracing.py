"""Where the arguments of recorded calls come from: found by value in the results before.

An argument that equals an earlier result, or a part of it, is a reference to that; so is an earlier
value that stands in a text, or a text's own word. Values that many things could be (true, 0, 1, a
short word) stay as they are, unless the name of the parameter is that of the part. Every reference
is tried on what was recorded: it gives the very argument.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from ..core.step_results import Given, NotInResult, filled
from ..core.steps import Joined, Number, PathStep, Reference
from ..core.tools import JsonObject
from .calls import DrawnCall
from .recorded import RecordedCall, is_cut, is_hidden

NOT_RECORDED = "The arguments of this call were not recorded."
_HIDDEN = "It looked like a secret, so it was not recorded."
_SHORTENED = "It was too long: only its beginning was recorded."

_MOST_PARTS = 20_000  # of one result that are looked at
_DEEPEST = 12
_LONG_WORD, _SHORT_WORD = 8, 4  # characters that tell a text from others; the latter with a digit
_LARGE_NUMBER = 1_000
_SAME_NAME, _LIKE_NAME = 3, 2
_MOST_TEXTS = 200  # of all results, in which a word is looked for
_CONTEXT_WORDS = 3

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_ID_WORDS = ("id", "key", "code", "number", "uuid", "ref")


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A recorded call that is not drawn, and why."""

    name: str
    why: str


def traced(calls: Sequence[RecordedCall]) -> tuple[list[DrawnCall], list[LeftOut]]:
    """The calls with their arguments traced, and those that are left out.

    Left out are calls that failed, and the agent's own tools.
    """
    drawn: list[DrawnCall] = []
    left_out: list[LeftOut] = []
    results = _Results()
    for call in calls:
        if call.is_own:
            left_out.append(LeftOut(call.name, "it is a tool of the agent itself"))
        elif call.is_made_of_others:
            left_out.append(LeftOut(call.name, "it was drawn; the calls that it made are here"))
        elif call.is_error:
            left_out.append(LeftOut(call.name, "it failed"))
        else:
            drawn.append(_drawn(call, results))
            results.add(call.value)
    return drawn, left_out


def _drawn(call: RecordedCall, results: _Results) -> DrawnCall:
    if call.arguments is None:
        return DrawnCall(call.source, call.tool, note=NOT_RECORDED)
    arguments: JsonObject = {}
    missing: dict[str, str] = {}
    for name, value in call.arguments.items():
        if is_hidden(value):
            missing[name] = _HIDDEN
        elif _has_cut(value):
            missing[name] = _SHORTENED
        else:
            arguments[name] = results.source_of(value, name)
    return DrawnCall(call.source, call.tool, arguments, missing)


def _has_cut(value: Any) -> bool:
    match value:
        case dict():
            return any(map(_has_cut, cast(dict[str, Any], value).values()))
        case list():
            return any(map(_has_cut, cast(list[Any], value)))
        case _:
            return is_cut(value)


@dataclass(frozen=True, slots=True)
class _Part:
    """A value in a result, and where."""

    value: Any
    at: Reference


class _Results:
    """The results so far, and all the values in them."""

    def __init__(self) -> None:
        self._given: list[Given] = []
        self._by_value: dict[str, list[_Part]] = {}
        self._texts: list[_Part] = []

    def add(self, value: Any) -> None:
        """Take in the result of the next call; None where it is not known."""
        number = len(self._given)
        self._given.append(Given(value, str(number)))
        if value is None:
            return
        for count, (path, part) in enumerate(_parts(value)):
            if count >= _MOST_PARTS:
                break
            found = _Part(part, Reference(number, path))
            self._by_value.setdefault(_key(part), []).append(found)
            if isinstance(part, str) and part:
                self._texts.append(found)

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
            case str() if _is_telling(value):
                return self._in_text(value) or self._joined(value) or value
            case int() | float() if _is_telling(value):
                return self._in_text(value) or value
            case _:
                return value

    def _equal(self, value: Any, name: str) -> Any:
        """The part of a result that is this value, also as a text of the number, or its number."""
        if value is None or isinstance(value, bool) or value in ("", 0, 1, "0", "1", [], {}):
            return None
        if isinstance(value, str) and len(value) <= 2 and not _is_number(value):
            return None
        if (at := self._best(_key(value), name, value)) is not None:
            return at
        if isinstance(value, str) and _is_number(value):
            at = self._best(_key(json.loads(value)), name, value)
            return at and self._tried(Joined((at,)), value)
        if isinstance(value, int | float):
            at = self._best(_key(str(value)), name, value)
            return at and self._tried(Number(at), value)
        return None

    def _best(self, key: str, name: str, value: Any) -> Reference | None:
        def rank(part: _Part) -> tuple[int, int, int]:
            return _affinity(name, part.at.path), -len(part.at.path), part.at.result

        best = max(self._by_value.get(key, ()), key=rank, default=None)
        if best is None:
            return None
        is_sure = _is_telling(value) or _affinity(name, best.at.path) >= _LIKE_NAME
        return best.at if is_sure else None

    def _joined(self, value: str) -> Joined | None:
        """A text with earlier values in it: the longest there are, each at the bounds of words."""
        parts: list[Any] = [value]
        inner = {x.value: x for x in self._texts if x.value in value and _is_telling(x.value)}
        for text in sorted(inner, key=len, reverse=True):
            parts = [y for x in parts for y in _cut_at(x, text, inner[text].at)]
        joined = Joined(tuple(parts))
        return self._tried(joined, value) if len(parts) > 1 else None

    def _in_text(self, value: str | float) -> Any:
        """The value as a word of a text in a result, by the words before it."""
        word = value if isinstance(value, str) else json.dumps(value)
        for part in reversed(self._texts[-_MOST_TEXTS:]):
            for after, before in _contexts(part.value, word):
                at = replace(part.at, after=after, before=before)
                found = self._tried(at if isinstance(value, str) else Number(at), value)
                if found is not None:
                    return found
        return None

    def _tried(self, source: Any, value: Any) -> Any:
        try:
            is_same = filled(source, self._given) == value
        except NotInResult:
            return None
        return source if is_same else None


def _parts(
    value: Any, path: tuple[PathStep, ...] = ()
) -> Iterator[tuple[tuple[PathStep, ...], Any]]:
    yield path, value
    if len(path) >= _DEEPEST:
        return
    inner: Iterable[tuple[PathStep, Any]] = ()
    if isinstance(value, dict):
        inner = cast(dict[str, Any], value).items()
    elif isinstance(value, list):
        inner = enumerate(cast(list[Any], value))
    for step, part in inner:
        yield from _parts(part, (*path, step))


def _key(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return json.dumps(value, sort_keys=True, default=str)


def _is_telling(value: Any) -> bool:
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
            return any(map(_is_telling, inner))
        case _:
            return False


def _is_number(text: str) -> bool:
    return bool(re.fullmatch(r"-?(0|[1-9]\d*)(\.\d+)?", text))


def _affinity(name: str, path: tuple[PathStep, ...]) -> int:
    """How much the name of a parameter is that of a part: `book_id` and `books[0].id`."""
    keys = [x for x in path if isinstance(x, str)]
    if not keys:
        return 0
    wanted, last = _words(name), _words(keys[-1])
    if wanted == last or (len(keys) > 1 and wanted == [*_words(keys[-2]), *last]):
        return _SAME_NAME
    if not (wanted and last):
        return 0
    if wanted[-1] == last[-1] and wanted[-1] in _ID_WORDS:
        return _LIKE_NAME
    return int(bool(set(wanted) & set(last)))


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
