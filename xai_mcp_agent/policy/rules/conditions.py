"""Whether a condition of a rule holds for a call: yes, no, or not known yet."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias
from urllib.parse import unquote, urlsplit

from ...core.patterns import fits, guard
from ...secrets.secrets import Mask, masked_and_cut
from ...settings.rules import ARGUMENT, DERIVED, EARLIER, Check, Condition
from .facts import NAMES, Facts

Passes: TypeAlias = Callable[[Any], bool]

_SHOWN_CHARS = 60
_URL = re.compile(r"[a-z][a-z0-9+.-]*://", re.I)
_SPOKEN = {DERIVED: "it", EARLIER: "something before in this run"}
_COMPARED: dict[str, Callable[[float, float], bool]] = {
    ">": lambda x, y: x > y,
    ">=": lambda x, y: x >= y,
    "<": lambda x, y: x < y,
    "<=": lambda x, y: x <= y,
}


@dataclass(frozen=True, slots=True)
class Words:
    """Words that were derived, and that would be if what is not known yet were so.

    Of a list of values some follow from `every` one of them, others from `one`.
    """

    one: frozenset[str] = frozenset()
    one_perhaps: frozenset[str] = frozenset()
    every: frozenset[str] = frozenset()
    every_perhaps: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class _Checks:
    """What values must be, one of them, and what none of them may be."""

    positive: tuple[Passes, ...]
    negative: tuple[Passes, ...]

    @staticmethod
    def of(condition: Condition, *, wide: bool) -> _Checks:
        """Those of a condition; `wide` ones take what only looks like a tool's name for it."""
        is_name = condition.field in NAMES
        passes = [(_passes(x, wide=wide, is_name=is_name), x.negated) for x in condition.checks]
        return _Checks(
            tuple(x for x, is_negated in passes if not is_negated),
            tuple(x for x, is_negated in passes if is_negated),
        )

    def fit(self, wanted: Collection[Any], unwanted: Collection[Any]) -> bool:
        """Whether what a call is, all together, is as they say."""
        if any(x(value) for x in self.negative for value in unwanted):
            return False
        return not self.positive or any(x(value) for x in self.positive for value in wanted)


@dataclass(frozen=True, slots=True)
class Test:
    """A condition that is ready to be asked often. For a place files are looked at.

    `holding` is for what holds calls back, `letting` for what lets them through: neither must be
    got round by another spelling.
    """

    field: str
    holding: _Checks
    letting: _Checks
    words: str
    asks_for_a_place: bool

    @staticmethod
    def of(condition: Condition) -> Test:
        """The one for this condition."""
        wide, exact = _Checks.of(condition, wide=True), _Checks.of(condition, wide=False)
        return Test(
            condition.field,
            _Checks(wide.positive, exact.negative),
            _Checks(exact.positive, wide.negative),
            " or ".join(x.words for x in condition.checks),
            any(x.how == "inside" for x in condition.checks),
        )

    def holds(self, facts: Facts, words: Words, *, every: bool) -> bool | None:
        """Whether it does; `every`: not only for one of the values of an argument."""
        if self.field == DERIVED:
            return self._fits_words(words, every=every)
        values = facts.known(self.field)
        if values is None:
            return None
        if self.field.startswith(ARGUMENT):
            found = [self._fits_one(x, every=every) for x in values]
            return bool(found) and (all(found) if every else any(found))
        sure = facts.known_surely(self.field) or ()
        # What lets through is sure of what it names, what holds calls of what it leaves out.
        return self.letting.fit(sure, values) if every else self.holding.fit(values, sure)

    def _fits_words(self, words: Words, *, every: bool) -> bool | None:
        """What must be so is taken strictly where `every` value counts, what must not otherwise."""
        if every:
            wanted, wanted_perhaps = words.every, words.every_perhaps
            unwanted, unwanted_perhaps = words.one, words.one_perhaps
        else:
            wanted, wanted_perhaps = words.one, words.one_perhaps
            unwanted, unwanted_perhaps = words.every, words.every_perhaps
        checks = self.letting if every else self.holding
        surely = checks.fit(wanted, unwanted_perhaps)
        return surely if surely == checks.fit(wanted_perhaps, unwanted) else None

    def told(self, facts: Facts, mask: Mask) -> str:
        """In words, for a reason; of an argument with a value that it holds for.

        Its secrets are hidden before it is cut: half of one is not known.
        """
        if not self.field.startswith(ARGUMENT):
            return f"{_SPOKEN.get(self.field, self.field)} {self.words}"
        values = facts.known(self.field) or ()
        value = next((x for x in values if self._fits_one(x, every=False)), None)
        if isinstance(value, str):
            value = masked_and_cut(value, mask, _SHOWN_CHARS)
        return f"{self.field}, {json.dumps(value, ensure_ascii=False, default=str)}, {self.words}"

    def _fits_one(self, value: Any, *, every: bool) -> bool:
        """Whether a value is as it says. One that cannot be compared is, unless `every` must be."""
        try:
            return (self.letting if every else self.holding).fit([value], [value])
        except _NotComparable:
            return not every


class _NotComparable(Exception):
    """A value is of another kind than what it is compared with."""


def _passes(check: Check, *, wide: bool, is_name: bool) -> Passes:
    if check.how != "fits":
        return _MADE[check.how](check.what)
    is_guard = wide and is_name
    is_fitting = guard(check.what) if is_guard else fits(check.what, across_lines=wide)
    return lambda value: is_fitting(value if isinstance(value, str) else _as_text(value))


def _equal(what: Any) -> Passes:
    if isinstance(what, str):
        return lambda value: _as_text(value) == what
    return lambda value: _is_same(value, what)


def _is_same(value: Any, what: bool | float) -> bool:
    """Whether a value is this one. A text that says the same is not compared with it."""
    if isinstance(value, str):
        if value.strip().casefold() == json.dumps(what) or _reads_as(value, what):
            raise _NotComparable
        return False
    return isinstance(value, bool) is isinstance(what, bool) and value == what


def _reads_as(text: str, what: bool | float) -> bool:
    """Whether servers that are not strict would take this text for the number."""
    try:
        return not isinstance(what, bool) and float(text) == what
    except ValueError:
        return False


def _containing(what: str) -> Passes:
    return lambda value: what in _as_text(value).casefold()


def _above(what: tuple[str, float]) -> Passes:
    sign, bound = what
    return lambda value: _COMPARED[sign](_number(value), bound)


def _inside(folder: str) -> Passes:
    root = os.path.realpath(os.path.expanduser(folder))

    def is_inside(value: Any) -> bool:
        found = {_is_below(x, root) for x in _readings(value)} or {False}
        if len(found) > 1:  # a server may take it for the one or the other
            raise _NotComparable
        return found.pop()

    return is_inside


def _readings(value: Any) -> set[str]:
    """What paths a value may be for a server: some strip blanks, or take `\\` for a slash."""
    if not isinstance(value, str):
        raise _NotComparable
    stripped = value.strip()
    if stripped[:5].lower() == "file:":
        return {_path_of(stripped)}
    return set() if _URL.match(stripped) else {value, stripped, stripped.replace("\\", "/")}


def _path_of(url: str) -> str:
    try:
        split = urlsplit(url)
    except ValueError:
        raise _NotComparable from None
    if split.query or split.fragment:
        raise _NotComparable
    return unquote(split.path)


def _is_below(path: str, root: str) -> bool:
    """Where it leads, links followed; a relative one begins at the root."""
    try:
        there = os.path.realpath(os.path.join(root, os.path.expanduser(path)))
    except (OSError, ValueError):  # such as a null character
        raise _NotComparable from None
    return there == root or there.startswith(root.rstrip(os.sep) + os.sep)


def _between(times: tuple[int, int]) -> Passes:
    begin, end = times
    if begin <= end:
        return lambda now: begin <= now < end
    return lambda now: now >= begin or now < end


def _on(days: Iterable[str]) -> Passes:
    return frozenset(days).__contains__


_MADE: dict[str, Callable[[Any], Passes]] = {
    "equals": _equal,
    "contains": _containing,
    "above": _above,
    "inside": _inside,
    "between": _between,
    "on": _on,
}


def _as_text(value: Any) -> str:
    """As JSON, where 5.0 is the integer 5."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, str) else json.dumps(value)


def _number(value: Any) -> float:
    """The value, which may be written as a text."""
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        raise _NotComparable from None
    if math.isnan(number):
        raise _NotComparable
    return number
