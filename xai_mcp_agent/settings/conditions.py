"""Conditions of rules: what a rule tests in a call, read from the settings into values.

`policy.conditions` knows the facts of a call and evaluates conditions against them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NoReturn, TypeAlias, cast

from pydantic import PlainValidator, ValidationInfo

from ..core.names import did_you_mean
from ..core.patterns import fits, is_wild
from .document import kind_of
from .entry import trimmed_text
from .validation import mistake, prepared_by

ARGUMENT = "args."
ANY_ARGUMENT = "args.*"
DERIVED, EARLIER = "is", "run.was"
CERTAIN = ("server", "kind", "tool", "tool.params", "tag", "annotation", "agent", "toolbelt")
"""The fields that are known before a call and do not change."""
FIELDS = (
    *CERTAIN, "time", "day", DERIVED, "run.called", "run.succeeded", "run.failed", EARLIER,
)  # fmt: skip
ANNOTATIONS = ("read_only", "destructive", "idempotent", "open_world")
DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")

How: TypeAlias = Literal["fits", "equals", "contains", "above", "inside", "between", "on"]
_Parsed: TypeAlias = tuple[How, Any, str, str]
"""A parsed test: its kind and operand, then its wording as a verb and the rest."""

_OTHER_NAMES = {"tool.name": "tool"}
_ABOVE = re.compile(r"(>=|<=|>|<)\s*(-?\d+(?:\.\d+)?)")
_PREFIXED = re.compile(r"(inside|contains|is)\s+(\S.*)", re.S)
_TIMES = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)\s*-\s*([01]?\d|2[0-4]):([0-5]\d)")
_SIGN = re.compile(r"[<>]|[!=]=")
_SLIP_IN_ARGUMENT = re.compile(r"(not|inside|outside|contains)(?:\s|\Z)", re.I)
_SLIP = re.compile(r"(not)(?:\s|\Z)", re.I)
_WEEK = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_DAY_MINUTES = 24 * 60
_NEGATED = {
    "is": "is not", "is inside": "is outside", "fits": "does not fit", "has": "does not have",
    ">": "not >", ">=": "not >=", "<": "not <", "<=": "not <=",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Check:
    """One test of a value. `negated`: the test must fail. `words` describe the whole test."""

    how: How
    what: Any
    words: str
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Condition:
    """Checks of one field: no negated check may fail, and one of the others must hold, if any."""

    field: str
    checks: tuple[Check, ...]


def _tests_by_key(value: Any) -> dict[str, tuple[str, Any]]:
    """Return the tests by their keys, each with the name of its field."""
    if not isinstance(value, Mapping):
        fix = 'Write {"server": "mail", "args.to": "not *@example.org"}.'
        raise mistake(f"must be an object, but is {kind_of(value)}.", fix)
    tests = cast(Mapping[Any, Any], value).items()
    return {str(key): (_OTHER_NAMES.get(str(key), str(key)), test) for key, test in tests}


def _condition(value: tuple[str, Any], info: ValidationInfo) -> Condition:
    name, tests = value
    if name not in FIELDS and not (name.startswith(ARGUMENT) and name != ARGUMENT):
        hint = did_you_mean(name, FIELDS) or f"Known: {', '.join(FIELDS)}, args.NAME."
        raise mistake("unknown condition.", hint)
    values = cast(list[Any], tests) if isinstance(tests, list) else [tests]
    if not values:
        raise mistake("must not be empty: nothing would match.", "Write the value to match.")
    return Condition(name, tuple(_check(name, x, info) for x in values))


def _check(name: str, value: Any, info: ValidationInfo) -> Check:
    is_argument = name.startswith(ARGUMENT)
    if is_argument and isinstance(value, bool | int | float):
        return Check("equals", value, f"is {value!r}")
    if not isinstance(value, str):
        problem = f"must be a text or a list of texts, but is {kind_of(value)}."
        raise mistake(problem, "Put it in quotes.")
    text = trimmed_text(value, info)
    is_negated = text.startswith("not ")
    text = text.removeprefix("not ").strip()
    if text in ("", "not"):
        raise mistake("must not be empty.", "Write the value to match.")
    if is_argument and text.startswith("outside "):
        text, is_negated = f"inside {text.removeprefix('outside ')}", not is_negated
    parse = _PARSERS.get(name, _argument if is_argument else _pattern)
    how, what, verb, rest = parse(text)
    return Check(how, what, f"{_NEGATED[verb] if is_negated else verb} {rest}", is_negated)


def _argument(text: str) -> _Parsed:
    if match := _ABOVE.fullmatch(text):
        return "above", (match[1], float(match[2])), match[1], match[2]
    if match := _PREFIXED.fullmatch(text):
        word, what = match[1], match[2].strip()
        if word == "contains":
            return "contains", what.casefold(), "has", f"{what!r} in it"
        if word == "is":
            return "equals", what, "is", repr(what)
        return "inside", what, "is inside", what
    if _SIGN.match(text):
        fix = 'Write "> 100", without separators and units, or "is TEXT" for the text itself.'
        raise mistake(f"{text!r} is not a valid comparison.", fix)
    if match := _SLIP_IN_ARGUMENT.match(text):
        _refuse_slip(text, match[1])
    return _pattern(text)


def _pattern(text: str) -> _Parsed:
    if match := _SLIP.match(text):
        _refuse_slip(text, match[1])
    try:
        fits(text)
    except ValueError as why:
        raise mistake(f"{text!r} is not a valid pattern: {why}.", "Correct it.") from None
    return "fits", text, "fits" if is_wild(text) else "is", repr(text)


def _refuse_slip(text: str, word: str) -> NoReturn:
    """Raise for a misspelt word, which would be plain text and make the rule useless."""
    word = word.lower()
    problem = f"{text!r} looks like a condition with {word!r}, but is not one."
    raise mistake(problem, f"Write {word!r} once, in lower case, then one space and the value.")


def _annotation(text: str) -> _Parsed:
    name = text.lower().replace("-", "_")
    if match := _SLIP.match(text):
        _refuse_slip(text, match[1])
    if name not in ANNOTATIONS:
        hint = did_you_mean(name, ANNOTATIONS) or f"Known: {', '.join(ANNOTATIONS)}."
        raise mistake(f"unknown annotation {name!r}.", hint)
    return "fits", name, "is", repr(name)


def _time(text: str) -> _Parsed:
    match = _TIMES.fullmatch(text)
    if match is None:
        raise mistake(f"{text!r} is not a time range.", 'Write one such as "22:00-06:00".')
    begin, end = int(match[1]) * 60 + int(match[2]), int(match[3]) * 60 + int(match[4])
    if begin == end or end > _DAY_MINUTES:
        fix = 'Write "00:00-24:00" for the whole day.'
        raise mistake(f"{text!r} is not a valid time range.", fix)
    return "between", (begin, end), "is", text


def _days(text: str) -> _Parsed:
    """Parse a day, or a range of days, named by three letters or more."""
    names = [x.strip().lower() for x in text.split("-")]
    numbers = [n for x in names for n, day in enumerate(_WEEK) if len(x) > 2 and day.startswith(x)]
    if len(numbers) != len(names) or len(numbers) > 2:
        fix = 'Write "sat" or "mon-fri", or a list of these.'
        raise mistake(f"{text!r} is not a day of the week.", fix)
    begin, end = numbers[0], numbers[-1]
    days = [DAYS[x % 7] for x in range(begin, begin + (end - begin) % 7 + 1)]
    return "on", frozenset(days), "is", text


_PARSERS: Mapping[str, Callable[[str], _Parsed]] = {
    "time": _time, "day": _days, "annotation": _annotation,
}  # fmt: skip
Conditions = Annotated[
    dict[str, Annotated[Condition, PlainValidator(_condition)]],
    prepared_by(_tests_by_key, dict[str, Any]),
]
"""The conditions of a rule, by their keys in the file."""
