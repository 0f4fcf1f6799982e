"""Conditions of rules: the facts of a call, and whether a condition holds for them.

A fact is certain (server, tool, agent) or depends on the call (arguments, time, earlier calls of
the run). While there is no call, `unknown` decides whether a condition of the call holds.
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
from typing import Any, TypeAlias, cast
from urllib.parse import unquote, urlsplit

from ..core.calls import Caller
from ..core.json import JsonObject, is_object
from ..core.patterns import fits, guard_of_looks, looks, names_of, sure_names_of
from ..core.schemas import properties
from ..core.tools import Tool, ToolKey
from ..secrets.secrets import Mask, masked_and_cut
from ..settings.conditions import (
    ANNOTATIONS,
    ANY_ARGUMENT,
    ARGUMENT,
    CERTAIN,
    DAYS,
    DERIVED,
    EARLIER,
    Condition,
)
from ..settings.conditions import Check as CheckEntry

Check: TypeAlias = Callable[[Any], bool]
Words: TypeAlias = Callable[[bool, bool], Collection[str]]
"""Returns the derived words of a call, for `every` and `unknown` as in `Test.holds`."""

_SHOWN_CHARS = 60
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

    @property
    def is_of_a_call(self) -> bool:
        """Whether the facts of the call are known."""
        return self.now is not None and self.arguments is not None

    def values(self, name: str, *, exact: bool = False) -> tuple[Any, ...] | None:
        """Return all values of a field, any of which may match; None while it is unknown.

        For tools these are all `Looks` of their names; `exact` returns the names, without names
        that look like a tool of another source.
        """
        key = name, exact
        if key not in self._values:
            self._values[key] = self._look(name, exact=exact)
        return self._values[key]

    def _look(self, name: str, *, exact: bool) -> tuple[Any, ...] | None:
        if name.startswith(ARGUMENT):
            return None if self.arguments is None else self._argument(name, self.arguments)
        if name in _TOOLS:
            if name != "tool" and self.now is None:
                return None
            names_in = sure_names_of if exact else names_of
            names = tuple(x for y in _TOOLS[name](self) for x in names_in(y))
            return (looks(names),) if names and not exact else names
        if name in _CERTAIN:
            return _CERTAIN[name](self)
        return None if self.now is None else _OF_NOW[name](self, self.now)

    def _argument(self, name: str, arguments: JsonObject) -> tuple[Any, ...]:
        """Return every value of an argument, or of its default in the schema."""
        if name == ANY_ARGUMENT:
            return tuple(_leaves(arguments))
        parts = name.removeprefix(ARGUMENT).split(".")
        values = [*_at(arguments, parts)] or [*_defaults(self.tool.input_schema, parts)]
        return tuple(leaf for x in values for leaf in _leaves(x))


def _annotations(facts: Facts) -> tuple[str, ...]:
    return tuple(x for x in ANNOTATIONS if getattr(facts.tool.annotations, x) is True)


_TOOLS: Mapping[str, Callable[[Facts], Iterable[ToolKey]]] = {
    "tool": lambda x: (x.tool.key,),
    "run.called": lambda x: x.caller.facts.succeeded | x.caller.facts.failed,
    "run.succeeded": lambda x: x.caller.facts.succeeded,
    "run.failed": lambda x: x.caller.facts.failed,
}
_CERTAIN: Mapping[str, Callable[[Facts], tuple[str, ...]]] = {
    "server": lambda x: (x.tool.source,),
    "kind": lambda x: (x.tool.key.kind,),
    "tool.params": lambda x: tuple(properties(x.tool.input_schema)),
    "tag": lambda x: x.tool.tags,
    "annotation": _annotations,
    "agent": lambda x: (x.caller.name,),
    "toolbelt": lambda x: (x.caller.toolbelt,),
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


@dataclass(frozen=True, slots=True)
class _Checks:
    """Checks of a field: one value must pass a positive check, and no value a negative one."""

    positive: tuple[Check, ...]
    negative: tuple[Check, ...]

    def fit(self, values: Iterable[Any], unwanted: Iterable[Any]) -> bool:
        for check in self.negative:
            if any(map(check, unwanted)):
                return False
        return not self.positive or any(any(map(x, values)) for x in self.positive)


@dataclass(frozen=True, slots=True, eq=False)
class Test:
    """A compiled condition; `prefix` belongs to the rule's derived words.

    `holding` has the checks for rules that hold calls back, `letting` has the checks for rules that
    let them through: another spelling of a name must get around neither.
    """

    field: str
    holding: _Checks
    letting: _Checks
    words: str
    prefix: str
    is_certain: bool

    @staticmethod
    def of(condition: Condition, prefix: str = "") -> Test:
        """Compile a condition."""
        is_name = condition.field in _TOOLS

        def checks(*, wide: bool, negated: bool) -> tuple[Check, ...]:
            entries = [x for x in condition.checks if x.negated is negated]
            if entries and wide and is_name:
                return (guard_of_looks(*(x.what for x in entries)),)
            return tuple(_check(x, wide=wide) for x in entries)

        return Test(
            condition.field,
            _Checks(checks(wide=True, negated=False), checks(wide=False, negated=True)),
            _Checks(checks(wide=False, negated=False), checks(wide=True, negated=True)),
            " or ".join(x.words for x in condition.checks),
            prefix,
            condition.field in CERTAIN,
        )

    def holds(self, facts: Facts, words: Words, *, every: bool, unknown: bool = False) -> bool:
        """Return whether the condition holds, for one value of an argument or for `every` value.

        `unknown` is the answer for a condition of the call while there is no call.
        """
        checks = self.letting if every else self.holding
        if self.field == DERIVED:
            unwanted = words(not every, not unknown) if checks.negative else ()
            own = own_words(words(every, unknown), self.prefix)
            return checks.fit(own, own_words(unwanted, self.prefix))
        values = facts.values(self.field)
        if values is None:
            return unknown
        if self.field == EARLIER:
            values = own_words(values, self.prefix)
            return checks.fit(values, values)
        return self._fits(facts, values, every=every)

    def _fits(self, facts: Facts, values: Collection[Any], *, every: bool) -> bool:
        if self.field.startswith(ARGUMENT):
            fitting = (self._fits_value(x, every=every) for x in values)
            return bool(values) and (all(fitting) if every else any(fitting))
        # A rule that lets through needs exact names; a rule that holds back excepts only exact
        # names.
        checks = self.letting if every else self.holding
        needs_exact = checks.positive if every else checks.negative
        exact = facts.values(self.field, exact=True) or () if needs_exact else ()
        return checks.fit(exact, values) if every else checks.fit(values, exact)

    def _fits_value(self, value: Any, *, every: bool) -> bool:
        """Return whether a value matches; an incomparable one does, unless `every` value must."""
        try:
            return (self.letting if every else self.holding).fit([value], [value])
        except _NotComparable:
            return not every

    def describe(self, facts: Facts, mask: Mask) -> str:
        """Return the condition in words, with an argument value for which it holds.

        Secrets are masked before the value is cut: half of a secret is not recognized.
        """
        if not self.field.startswith(ARGUMENT):
            return f"{_SPOKEN.get(self.field, self.field)} {self.words}"
        values = facts.values(self.field) or ()
        value = next((x for x in values if self._fits_value(x, every=False)), None)
        if isinstance(value, str):
            value = masked_and_cut(value, mask, _SHOWN_CHARS)
        return f"{self.field}, {json.dumps(value, ensure_ascii=False, default=str)}, {self.words}"


def own_words(words: Iterable[str], prefix: str) -> tuple[str, ...]:
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
