"""Traces arguments of recorded calls to earlier results.

An argument that equals an earlier result, or a part of it, is a reference to it; so is an earlier
value inside a text, or a word of an earlier text. Ambiguous values (true, 0, 1, a short word) stay
as they are, unless the part has the parameter's name. Every reference is tried on the recorded
results: it must give exactly the argument.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, TypeAlias

from ..core.json import JsonObject, as_object, children, is_list, is_object, parts_of
from ..steps.references import Joined, Number, PathStep, Reference
from ..steps.results import NotInResult, StepResult, fill
from .flow import CallToDraw
from .runs import RecordedCall, is_cut, is_hidden

Hides: TypeAlias = Callable[[str, str], bool]
"""Returns whether a text of this name is a secret."""

NOT_RECORDED = "The arguments of this call were not recorded."
_HIDDEN = "It looked like a secret, so it was not recorded."
_SECRET = "It looks like a secret, so it is not in this file."
_SHORTENED = "It was too long: only its beginning was recorded."

_MOST_PARTS = 20_000  # values of one result, and texts of all results, that are searched
_DEEPEST = 12
# characters that make a text distinctive; the second if it has a digit
_LONG_WORD, _SHORT_WORD = 8, 4
_LARGE_NUMBER = 1_000
_COMMON = (1, "0", "1")
_SAME_NAME, _LIKE_NAME = 3, 2
_CONTEXT_WORDS = 3
_NUMBER = re.compile(r"-?(0|[1-9]\d{0,299})(\.\d{1,300})?")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_ID_WORDS = ("id", "key", "code", "number", "uuid", "ref")


@dataclass(frozen=True, slots=True)
class OmittedCall:
    """Recorded call that is not drawn, and why."""

    name: str
    why: str


def trace_calls(
    calls: Sequence[RecordedCall], hides: Hides = lambda name, text: False
) -> tuple[list[CallToDraw], list[OmittedCall]]:
    """Return the calls with traced arguments, and the omitted calls.

    It omits failed calls and those of the agent's own tools. A text that `hides` takes for a secret
    is not in the result; its argument is missing.
    """
    traced: list[CallToDraw] = []
    omitted: list[OmittedCall] = []
    results = _Results()
    for call in calls:
        if call.is_own:
            omitted.append(OmittedCall(call.name, "it is a tool of the agent itself"))
        elif call.has_inner_calls:
            omitted.append(OmittedCall(call.name, "it is a drawn tool; its own calls are here"))
        elif call.is_error:
            omitted.append(OmittedCall(call.name, "it failed"))
        else:
            traced.append(_trace_call(call, results, hides))
            results.add(call.value)
    return traced, omitted


def _trace_call(call: RecordedCall, results: _Results, hides: Hides) -> CallToDraw:
    if call.arguments is None:
        return CallToDraw(call.source, call.tool, note=NOT_RECORDED)
    arguments: JsonObject = {}
    missing: dict[str, str] = {}
    for name, value in call.arguments.items():
        if is_hidden(value):
            missing[name] = _HIDDEN
        elif any(map(is_cut, parts_of(value))):
            missing[name] = _SHORTENED
        elif _has_secret(source := results.source_of(value, name), name, hides):
            missing[name] = _SECRET
        else:
            arguments[name] = source
    return CallToDraw(call.source, call.tool, arguments, missing)


def _has_secret(value: Any, name: str, hides: Hides) -> bool:
    """Return whether an argument contains a secret that no result supplies."""
    match value:
        case str():
            return hides(name, value)
        case Reference(after=after, before=before):
            return hides("", after) or hides("", before)
        case Number(of):
            return _has_secret(of, name, hides)
        case Joined(parts):
            return any(_has_secret(x, name, hides) for x in parts)
        case dict():
            items = as_object(value).items()
            return any(_has_secret(x, key, hides) or hides("", key) for key, x in items)
        case _:
            return any(_has_secret(x, name, hides) for x in children(value))


class _Results:
    """Results so far, and all the values in them."""

    def __init__(self) -> None:
        self._results: list[StepResult] = []
        self._places: dict[Any, list[Reference]] = {}
        self._texts: deque[tuple[str, Reference]] = deque(maxlen=_MOST_PARTS)

    def add(self, value: Any) -> None:
        """Add the next call's result; None if it is unknown."""
        number = len(self._results)
        self._results.append(StepResult(value, str(number)))
        for path, part in islice(_parts_of(value), _MOST_PARTS):
            at = Reference(number, path)
            self._places.setdefault(_key(part), []).append(at)
            if isinstance(part, str) and part:
                self._texts.append((part, at))

    def source_of(self, value: Any, name: str) -> Any:
        """Return an argument with references for the parts that come from results."""
        if (source := self._equal(value, name)) is not None:
            return source
        if is_object(value):
            return {key: self.source_of(x, key) for key, x in value.items()}
        if is_list(value):
            return [self.source_of(x, name) for x in value]
        if not _is_distinctive(value):
            return value
        return self._word(value) or self._join(value) or value

    def _equal(self, value: Any, name: str) -> Any:
        """Return the part of a result that equals a value, also as a text or a number."""
        if not value or value in _COMMON:
            return None
        forms: list[tuple[Any, Callable[[Reference], Any]]] = [(value, lambda at: at)]
        if isinstance(value, int | float):
            forms.append((str(value), Number))
        elif isinstance(value, str) and _NUMBER.fullmatch(value):
            forms.append((json.loads(value), lambda at: Joined((at,))))
        elif isinstance(value, str) and len(value) <= 2:
            return None
        for other, form in forms:
            at = self._best(other, name)
            is_sure = at and (_is_distinctive(value) or _affinity(name, at.path) >= _LIKE_NAME)
            if at and is_sure and self._gives(form(at), value):
                return form(at)
        return None

    def _best(self, value: Any, name: str) -> Reference | None:
        """Return the best equal value: the most similar name, the shortest path, the newest."""

        def rank(at: Reference) -> tuple[int, ...]:
            return _affinity(name, at.path), -len(at.path), at.result

        return max(self._places.get(_key(value), ()), key=rank, default=None)

    def _join(self, value: Any) -> Joined | None:
        """Return a text with references for earlier values: the longest, at word boundaries."""
        if not isinstance(value, str):
            return None
        inner = {text: at for text, at in self._texts if text in value and _is_distinctive(text)}
        parts: list[Any] = [value]
        for text in sorted(inner, key=len, reverse=True):
            parts = [y for x in parts for y in _cut_at(x, text, inner[text])]
        joined = Joined(tuple(parts))
        return joined if len(parts) > 1 and self._gives(joined, value) else None

    def _word(self, value: str | float) -> Any:
        """Return a reference to the value as a word of an earlier text, by the words before it."""
        word = value if isinstance(value, str) else json.dumps(value)
        for text, place in reversed(self._texts):
            for after, before in _contexts(text, word) if word in text else ():
                at = replace(place, after=after, before=before)
                source = at if isinstance(value, str) else Number(at)
                if self._gives(source, value):
                    return source
        return None

    def _gives(self, source: Any, value: Any) -> bool:
        try:
            return fill(source, self._results) == value
        except NotInResult:
            return False


def _parts_of(
    value: Any, path: tuple[PathStep, ...] = ()
) -> Iterator[tuple[tuple[PathStep, ...], Any]]:
    """Yield all values inside a value, itself first, each with its path."""
    yield path, value
    if len(path) >= _DEEPEST:
        return
    inner = value.items() if is_object(value) else enumerate(value) if is_list(value) else ()
    for step, part in inner:
        yield from _parts_of(part, (*path, step))


def _key(value: Any) -> Any:
    """Return a key for equal values; a text is its own key, without a copy."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return "json", json.dumps(value, sort_keys=True, default=str)


def _is_distinctive(value: Any) -> bool:
    """Return whether a value is so distinctive that it does not occur twice by chance."""
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
        case _:
            return any(map(_is_distinctive, children(value)))


def _affinity(name: str, path: Sequence[PathStep]) -> int:
    """Return how similar a parameter's name is to a part's: `book_id` and `books[0].id`."""
    keys = [x for x in path if isinstance(x, str)]
    name_words, *key_words = map(_words, (name, *reversed(keys)))
    if not (name_words and key_words and key_words[0]):
        return 0
    last, *outer = key_words
    if name_words == last or (outer and name_words == [*outer[0], *last]):
        return _SAME_NAME
    if name_words[-1] == last[-1] and name_words[-1] in _ID_WORDS:
        return _LIKE_NAME
    return int(bool({*name_words} & {*last}))


def _words(name: str) -> list[str]:
    words = [x.lower() for x in _WORD.findall(name)]
    return [x[:-1] if len(x) > 3 and x.endswith("s") else x for x in words]


def _cut_at(part: Any, text: str, at: Reference) -> list[Any]:
    match = re.search(rf"(?<!\w){re.escape(text)}(?!\w)", part) if isinstance(part, str) else None
    if match is None:
        return [part]
    return [x for x in (part[: match.start()], at, part[match.end() :]) if x != ""]


def _contexts(text: str, word: str) -> Iterator[tuple[str, str]]:
    """Yield the words before a word that occurs once in a text, and the sign after it.

    The shortest come first.
    """
    matches = list(re.finditer(rf"(?<![\w.-]){re.escape(word)}(?![\w-])", text))
    if len(matches) != 1 or word == text:
        return
    begin, end = matches[0].span()
    line = text[text.rfind("\n", 0, begin) + 1 : begin]
    follows, has_space = text[end : end + 1], bool(re.search(r"\s", word))
    before = "" if not follows or (follows.isspace() and not has_space) else follows
    starts = [x.start() for x in re.finditer(r"\S+", line)]
    for start in reversed(starts[-_CONTEXT_WORDS:]):
        yield line[start:], before
    if begin == 0 and (before or not has_space):
        yield "", before
