"""Conditions of rules: the facts of a call, and whether a condition holds for them.

A fact is certain (server, tool, agent) or depends on the call (arguments, time, earlier calls of
the run).
"""

from __future__ import annotations

import json
import math
import operator
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol, TypeAlias, cast
from urllib.parse import unquote, urlsplit

from ..core.approval import RunFacts
from ..core.calls import Caller
from ..core.json import JsonObject, is_object
from ..core.patterns import fits, guard_of_looks, looks, names_of, sure_names_of
from ..core.schemas import properties
from ..core.tools import Tool, ToolKey
from ..secrets.secrets import Mask, mask_and_cut
from ..settings.conditions import (
    ANNOTATIONS,
    ANY_ARGUMENT,
    ARGUMENT,
    DAYS,
    DERIVED,
    EARLIER,
    Condition,
)
from ..settings.conditions import Check as CheckEntry

Check: TypeAlias = Callable[[Any], bool]


class CallWords(Protocol):
    """The words that rules derive from a call."""

    def __call__(self, *, strict: bool, unknown: bool) -> Collection[str]:
        """Return the words; the arguments mean the same as in `Test`."""
        ...


_VALUE_CHARS = 60
_URL = re.compile(r"[a-z][a-z0-9+.-]*://", re.I)
_SPOKEN = {DERIVED: "it", EARLIER: "something before in this run"}
_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    ">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Facts:
    """A call of `tool` by `caller`. Without `arguments` and `now` it stands for any call."""

    tool: Tool
    caller: Caller
    arguments: JsonObject | None = None
    now: datetime | None = None
    _values: dict[tuple[str, bool], tuple[Any, ...] | None] = field(
        default_factory=dict[tuple[str, bool], "tuple[Any, ...] | None"], compare=False, repr=False
    )

    def values(self, name: str, *, exact: bool) -> tuple[Any, ...] | None:
        """Return all values of a field, any of which may match; None while it is unknown.

        For tools these are all `Looks` of their names; `exact` returns the names, without names
        that look like a tool of another source.
        """
        key = name, exact
        if key not in self._values:
            self._values[key] = self._look(name, exact=exact)
        return self._values[key]

    def _look(self, name: str, *, exact: bool) -> tuple[Any, ...] | None:
        if name == "tool":
            return _names([self.tool.key], exact=exact)
        if name in _CERTAIN:
            return _CERTAIN[name](self)
        if self.arguments is None or self.now is None:
            return None
        if name.startswith(ARGUMENT):
            return self._argument(name, self.arguments)
        if name in _TOOLS_BEFORE:
            return _names(_TOOLS_BEFORE[name](self.caller.facts), exact=exact)
        return _OF_NOW[name](self, self.now)

    def _argument(self, name: str, arguments: JsonObject) -> tuple[Any, ...]:
        """Return every value of an argument, or of its default in the schema."""
        if name == ANY_ARGUMENT:
            return tuple(_leaves(arguments))
        parts = name.removeprefix(ARGUMENT).split(".")
        values = [*_at(arguments, parts)] or [*_defaults(self.tool.input_schema, parts)]
        return tuple(leaf for x in values for leaf in _leaves(x))


def _names(keys: Iterable[ToolKey], *, exact: bool) -> tuple[Any, ...]:
    names_in = sure_names_of if exact else names_of
    names = tuple(x for key in keys for x in names_in(key))
    return (looks(names),) if names and not exact else names


def _annotations(facts: Facts) -> tuple[str, ...]:
    return tuple(x for x in ANNOTATIONS if getattr(facts.tool.annotations, x) is True)


_CERTAIN: Mapping[str, Callable[[Facts], tuple[str, ...]]] = {
    "server": lambda x: (x.tool.source,),
    "kind": lambda x: (x.tool.key.kind,),
    "tool.params": lambda x: tuple(properties(x.tool.input_schema)),
    "tag": lambda x: x.tool.tags,
    "annotation": _annotations,
    "agent": lambda x: (x.caller.name,),
    "toolbelt": lambda x: (x.caller.toolbelt,),
}
_TOOLS_BEFORE: Mapping[str, Callable[[RunFacts], Iterable[ToolKey]]] = {
    "run.called": lambda x: x.succeeded | x.failed,
    "run.succeeded": lambda x: x.succeeded,
    "run.failed": lambda x: x.failed,
}
_OF_NOW: Mapping[str, Callable[[Facts, datetime], tuple[Any, ...]]] = {
    "time": lambda _, now: (now.hour * 60 + now.minute,),
    "day": lambda _, now: (DAYS[now.weekday()],),
    EARLIER: lambda x, _: tuple(x.caller.facts.was),
}


def _at(value: Any, parts: Sequence[str]) -> Iterator[Any]:
    """Yield all values that a path may mean: names may have dots, and lists have several values.

    All of them count: a value that the server ignores could otherwise hide the one it uses.
    """
    waiting: list[tuple[Any, Sequence[str]]] = [(value, parts)]
    while waiting:
        value, parts = waiting.pop()
        if not parts:
            yield value
        elif isinstance(value, list | tuple):
            waiting += [(x, parts) for x in cast(Sequence[Any], value)]
        elif is_object(value):
            waiting += [(value[name], rest) for name, rest in _splits(parts) if name in value]


def _defaults(schema: JsonObject, parts: Sequence[str]) -> Iterator[Any]:
    """Yield the schema's defaults for a path."""
    for name, rest in _splits(parts):
        inner = properties(schema).get(name, {})
        default = inner.get("default")
        values = [] if default is None else [*_at(default, rest)]
        yield from values or (_defaults(inner, rest) if rest else ())


def _splits(parts: Sequence[str]) -> Iterator[tuple[str, Sequence[str]]]:
    return ((".".join(parts[:x]), parts[x:]) for x in range(1, len(parts) + 1))


def _leaves(value: Any) -> Iterator[Any]:
    """Yield all plain values in a value, at any depth, without the keys of objects."""
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if is_object(value):
            waiting += value.values()
        elif isinstance(value, list | tuple):
            waiting += cast(Sequence[Any], value)
        elif value is not None:
            yield value


class Test:
    """A compiled condition of a rule; `prefix` belongs to the rule's derived words.

    It is `strict` in rules that let calls through and in exceptions: every value of an argument
    must match, and names must be exact. In rules that hold calls back, one value or a look-alike is
    enough. So another spelling of a name gets around neither.
    """

    def __init__(self, condition: Condition, prefix: str, *, strict: bool) -> None:
        self.field = condition.field
        self._prefix = prefix
        self._strict = strict
        self._words = " or ".join(x.words for x in condition.checks)
        self._positive = self._checks(condition, negated=False)
        self._negative = self._checks(condition, negated=True)

    def _checks(self, condition: Condition, *, negated: bool) -> tuple[Check, ...]:
        entries = [x for x in condition.checks if x.negated is negated]
        wide = negated is self._strict
        if entries and wide and (self.field == "tool" or self.field in _TOOLS_BEFORE):
            return (guard_of_looks(*(x.what for x in entries)),)
        return tuple(_check(x, wide=wide) for x in entries)

    def holds(self, facts: Facts, words: CallWords | None, *, unknown: bool) -> bool:
        """Return whether the condition holds.

        `unknown` is the answer while its field is unknown: for a condition of the call if there is
        no call, for a derived word without `words`.
        """
        if self.field == DERIVED:
            if words is None:
                return unknown
            unwanted = words(strict=not self._strict, unknown=not unknown) if self._negative else ()
            own = words(strict=self._strict, unknown=unknown)
            return self._fits(_own_words(own, self._prefix), _own_words(unwanted, self._prefix))
        values = facts.values(self.field, exact=self._strict)
        if values is None:
            return unknown
        if self.field == EARLIER:
            values = _own_words(values, self._prefix)
            return self._fits(values, values)
        if self.field.startswith(ARGUMENT):
            fitting = map(self._fits_value, values)
            return bool(values) and (all(fitting) if self._strict else any(fitting))
        unwanted = facts.values(self.field, exact=not self._strict) if self._negative else ()
        return self._fits(values, unwanted or ())

    def _fits(self, values: Iterable[Any], unwanted: Iterable[Any]) -> bool:
        """Return whether no unwanted value passes a negative check, and one value a positive."""
        if any(check(x) for check in self._negative for x in unwanted):
            return False
        return not self._positive or any(check(x) for check in self._positive for x in values)

    def _fits_value(self, value: Any) -> bool:
        """Return whether a value of an argument matches; if incomparable, it does unless strict."""
        try:
            return self._fits([value], [value])
        except _NotComparable:
            return not self._strict

    def describe(self, facts: Facts, mask: Mask) -> str:
        """Return the condition in words, with an argument value for which it holds.

        Secrets are masked before the value is cut: half of a secret is not recognized.
        """
        if not self.field.startswith(ARGUMENT):
            return f"{_SPOKEN.get(self.field, self.field)} {self._words}"
        values = facts.values(self.field, exact=self._strict) or ()
        fitting = [x for x in values if self._fits_value(x)]
        value: Any = fitting[0] if fitting else None
        if isinstance(value, str):
            value = mask_and_cut(value, mask, _VALUE_CHARS)
        return f"{self.field}, {json.dumps(value, ensure_ascii=False, default=str)}, {self._words}"


def _own_words(words: Iterable[str], prefix: str) -> tuple[str, ...]:
    """Return the words with this prefix, without it. A word that a rule derives has no colon."""
    own = (x.removeprefix(prefix) for x in words if x.startswith(prefix))
    return tuple(x for x in own if ":" not in x)


class _NotComparable(Exception):
    """The value cannot be compared with the condition's value."""


def _check(entry: CheckEntry, *, wide: bool) -> Check:
    if entry.how != "fits":
        return _CHECKS[entry.how](entry.what)
    fitting = fits(entry.what, across_lines=wide)
    return lambda value: fitting(value if isinstance(value, str) else _as_text(value))


def _equal(what: Any) -> Check:
    if isinstance(what, str):
        return lambda value: _as_text(value) == what

    def is_same(value: Any) -> bool:
        if isinstance(value, str):
            # A lenient server reads the text as the value.
            is_number = not isinstance(what, bool) and _as_float(value) == what
            if is_number or value.strip().casefold() == json.dumps(what):
                raise _NotComparable
            return False
        return isinstance(value, bool) is isinstance(what, bool) and value == what

    return is_same


def _above(what: tuple[str, float]) -> Check:
    sign, bound = what

    def is_above(value: Any) -> bool:
        number = math.nan if isinstance(value, bool) else _as_float(value)
        if math.isnan(number):
            raise _NotComparable
        return _COMPARISONS[sign](number, bound)

    return is_above


def _inside(folder: str) -> Check:
    root = os.path.realpath(os.path.expanduser(folder))

    def is_inside(value: Any) -> bool:
        places = {_is_below(x, root) for x in _readings(value)} or {False}
        if len(places) > 1:  # servers may read it either way
            raise _NotComparable
        return places.pop()

    return is_inside


def _readings(value: Any) -> set[str]:
    r"""Return the paths that a server may read: some strip blanks, or read `\` as a slash."""
    if not isinstance(value, str):
        raise _NotComparable
    stripped = value.strip()
    if stripped[:5].lower() != "file:":
        return set() if _URL.match(stripped) else {value, stripped, stripped.replace("\\", "/")}
    try:
        url = urlsplit(stripped)
    except ValueError:
        raise _NotComparable from None
    if url.query or url.fragment:
        raise _NotComparable
    return {unquote(url.path)}


def _is_below(path: str, root: str) -> bool:
    """Return whether a path, relative to the root, leads below it with links resolved."""
    try:
        there = os.path.realpath(os.path.join(root, os.path.expanduser(path)))
    except (OSError, ValueError):  # for example a null character
        raise _NotComparable from None
    return there == root or there.startswith(root.rstrip(os.sep) + os.sep)


def _between(times: tuple[int, int]) -> Check:
    begin, end = times
    if begin <= end:
        return lambda now: begin <= now < end
    return lambda now: now >= begin or now < end


_CHECKS: dict[str, Callable[[Any], Check]] = {
    "equals": _equal,
    "contains": lambda what: lambda value: what in _as_text(value).casefold(),
    "above": _above,
    "inside": _inside,
    "between": _between,
    "on": lambda days: frozenset(days).__contains__,
}


def _as_text(value: Any) -> str:
    """Return a value as text: 5.0 is 5, as in JSON Schema."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, str) else json.dumps(value)


def _as_float(value: Any) -> float:
    """Return a number, even if written as text; NaN for anything else."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan
