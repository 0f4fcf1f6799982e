"""Rules for tools: the section `rules`, as values. `policy.rules` applies them.

A rule is written in one form, in the settings or in a file of its own. A mistake in one is an error
of the whole file: without that rule, the others could let through what it was to hold.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias, cast

from pydantic import Field, PlainValidator, ValidationInfo, model_validator

from ..core.approval import RuleWord
from ..core.errors import SettingsError
from ..core.names import did_you_mean
from ..core.patterns import fits, is_wild
from .document import Place, bytes_of_file, kind_of, parse_yaml
from .fields import Count, trimmed_text
from .interpolation import Variables
from .validation import (
    INTERNAL,
    Section,
    ValidationContext,
    mistake,
    prepared_by,
    read,
    read_by,
    written_as,
)

ARGUMENT = "args."
ANY_ARGUMENT = "args.*"
DERIVED, EARLIER = "is", "run.was"
CERTAIN = ("server", "kind", "tool", "tool.params", "tag", "annotation", "agent", "toolbelt")
"""The fields that are known before a call is made, and stay what they are."""
FIELDS = (
    *CERTAIN, "time", "day", DERIVED, "run.called", "run.succeeded", "run.failed", EARLIER,
)  # fmt: skip
ANNOTATIONS = ("read_only", "destructive", "idempotent", "open_world")
DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_WEEK = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")

How: TypeAlias = Literal["fits", "equals", "contains", "above", "inside", "between", "on"]
Period: TypeAlias = Literal["run", "minute", "hour", "day"]
_Parsed: TypeAlias = tuple[How, Any, str, str]
"""A parsed test: its kind and operand, then the same in words, a verb and the rest."""

_OTHER_NAMES = {"tool.name": "tool"}
_NOT = "not "
_LIMIT = re.compile(r"([1-9]\d{0,8}|0) (?:an?|per|each) (run|minute|hour|day)")
_ABOVE = re.compile(r"(>=|<=|>|<)\s*(-?\d+(?:\.\d+)?)")
_PLACES = re.compile(r"(inside|contains|is)\s+(\S.*)", re.S)
_TIMES = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)\s*-\s*([01]?\d|2[0-4]):([0-5]\d)")
_SIGN = re.compile(r"[<>]|[!=]=")
_WORD = re.compile(r"(not|inside|outside|contains)(\s|\Z)", re.I)
_SECOND_NOT = re.compile(r"(not)(\s|\Z)", re.I)
_MINUTES = 24 * 60
_NEGATED = {
    "is": "is not", "is inside": "is outside", "fits": "does not fit", "has": "does not have",
    ">": "not >", ">=": "not >=", "<": "not <", "<=": "not <=",
}  # fmt: skip
_MOST_RULES = 1_000


@dataclass(frozen=True, slots=True)
class Check:
    """One test of a value. `negated`: it must not be so. `words` say what must be so."""

    how: How
    what: Any
    words: str
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Condition:
    """Of a field: one of the checks holds, if any is not negated, and none of the negated fails."""

    field: str
    checks: tuple[Check, ...]


@dataclass(frozen=True, slots=True)
class Limit:
    """So many calls in a period."""

    most: int
    period: Period

    @property
    def words(self) -> str:
        """As it is written."""
        return f"{self.most:,} {'an' if self.period == 'hour' else 'a'} {self.period}"


@dataclass(frozen=True, slots=True)
class Rule:
    """If all of `when` holds, and not all of `unless`: one of `word`, `limit`, `prefer`, `derived`.

    `because` is a person's own reason.
    """

    name: str
    when: tuple[Condition, ...]
    unless: tuple[Condition, ...] = ()
    word: RuleWord = ""
    limit: Limit | None = None
    prefer: float = 0.0
    derived: str = ""
    because: str = ""


# Conditions


def _tests_by_key(value: Any) -> dict[str, tuple[str, Any]]:
    """The tests by the keys they are written under, each with the name of its field."""
    if not isinstance(value, Mapping):
        fix = 'Write {"server": "mail", "args.to": "not *@example.org"}.'
        raise mistake(f"must be an object, but is {kind_of(value)}.", fix)
    tests = cast(Mapping[Any, Any], value).items()
    return {str(key): (_OTHER_NAMES.get(str(key), str(key)), test) for key, test in tests}


def _condition(value: tuple[str, Any], info: ValidationInfo) -> Condition:
    name, tests = value
    if name not in FIELDS and not (name.startswith(ARGUMENT) and name != ARGUMENT):
        hint = did_you_mean(name, FIELDS) or f"Known: {', '.join(FIELDS)}, args.NAME."
        raise mistake("nothing of a call is called so.", hint)
    values = cast(list[Any], tests) if isinstance(tests, list) else [tests]
    if not values:
        raise mistake("is empty, so nothing would fit.", "Write what it must be.")
    return Condition(name, tuple(_check(name, x, info) for x in values))


def _check(name: str, value: Any, info: ValidationInfo) -> Check:
    is_argument = name.startswith(ARGUMENT)
    if is_argument and isinstance(value, bool | int | float):
        return Check("equals", value, f"is {value!r}")
    if not isinstance(value, str):
        raise mistake("must be a text, or a list of texts.", f"It is {kind_of(value)}.")
    text = trimmed_text(value, info)
    negated = text.startswith(_NOT)
    text = text.removeprefix(_NOT).strip() if negated else text
    if text in ("", _NOT.strip()):
        raise mistake("says nothing.", "Write what it must be.")
    if is_argument and text.startswith("outside "):
        text, negated = f"inside {text.removeprefix('outside ')}", not negated
    parse = _PARSERS.get(name, _argument if is_argument else _pattern)
    how, what, verb, rest = parse(text)
    return Check(how, what, f"{_NEGATED[verb] if negated else verb} {rest}", negated)


def _argument(text: str) -> _Parsed:
    if match := _ABOVE.fullmatch(text):
        return "above", (match[1], float(match[2])), match[1], match[2]
    if match := _PLACES.fullmatch(text):
        kind, what = match[1], match[2].strip()
        if kind == "contains":
            return "contains", what.casefold(), "has", f"{what!r} in it"
        if kind == "is":
            return "equals", what, "is", repr(what)
        return "inside", what, "is inside", what
    if _SIGN.match(text):
        fix = 'Write "> 100", without separators and units, or "is TEXT" for the text itself.'
        raise mistake(f"{text!r} is no comparison.", fix)
    _refuse_slip(text, _WORD.match(text))
    return _pattern(text)


def _pattern(text: str) -> _Parsed:
    _refuse_slip(text, _SECOND_NOT.match(text))
    try:
        fits(text)
    except ValueError as why:
        raise mistake(f"{text!r} is no pattern: {why}.", "Correct it.") from None
    return "fits", text, "fits" if is_wild(text) else "is", repr(text)


def _refuse_slip(text: str, match: re.Match[str] | None) -> None:
    """A word with a slip in it would be a text like any, and its rule would hold nothing."""
    if match:
        word = match[1].lower()
        fix = f"Write {word!r} once, in small letters, then one space and what it is about."
        raise mistake(f"{text!r} may be meant as {word!r}, and is not read so.", fix)


def _annotation(text: str) -> _Parsed:
    name = text.lower().replace("-", "_")
    _refuse_slip(text, _SECOND_NOT.match(text))
    if name not in ANNOTATIONS:
        hint = did_you_mean(name, ANNOTATIONS) or f"There are: {', '.join(ANNOTATIONS)}."
        raise mistake(f"{name!r} is no annotation.", hint)
    return "fits", name, "is", repr(name)


def _time(text: str) -> _Parsed:
    match = _TIMES.fullmatch(text)
    if match is None:
        raise mistake(f"{text!r} is no time of a day.", 'Write "22:00-06:00".')
    begin, end = int(match[1]) * 60 + int(match[2]), int(match[3]) * 60 + int(match[4])
    if begin == end or end > _MINUTES:
        raise mistake(f"{text!r} is never.", 'Write "00:00-24:00" for the whole day.')
    return "between", (begin, end), "is", text


def _days(text: str) -> _Parsed:
    """A day, or from one to another, by three letters or more of their names."""
    written = [x.strip().lower() for x in text.split("-")]
    numbers = [n for x in written for n, day in enumerate(_WEEK) if day.startswith(x)]
    if len(numbers) != len(written) or len(numbers) > 2 or min(map(len, written)) < len(DAYS[0]):
        raise mistake(f"{text!r} is no day.", 'Write "sat", or "mon-fri"; several in a list.')
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


# Rules as they are written


def _limit(value: Any) -> Limit:
    match = _LIMIT.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        raise mistake("this is no limit.", 'Write "5 a run", or a minute, an hour, a day.')
    return Limit(int(match[1]), cast(Period, match[2]))


def _derived_word(value: Any) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"\w[\w-]*", value.strip()):
        raise mistake("this is no word.", "Write one of letters, digits and _.")
    return value.strip()


@dataclass(frozen=True)
class Outcome(Section):
    """The outcome of a rule: one of these fields."""

    example: ClassVar = (
        '"deny", "ask", "allow", {"limit": "5 a run"}, {"prefer": 0.1} or {"is": "a_word"}'
    )
    is_strict: ClassVar = True

    word: Annotated[RuleWord, INTERNAL] = ""
    limit: Annotated[Limit | None, read_by(_limit)] = None
    prefer: Annotated[float, Field(strict=True, ge=-1, le=1)] = 0.0
    derived: Annotated[str, read_by(_derived_word), written_as(DERIVED)] = ""


def _outcome(value: Any) -> Any:
    if isinstance(value, str) and value.strip().lower() in ("allow", "ask", "deny"):
        return Outcome(word=cast(RuleWord, value.strip().lower()))
    if isinstance(value, Mapping) and len(cast(Any, value)) == 1:
        return cast(Any, value)
    raise mistake("it does not say what follows.", f"Write {Outcome.example}.")


@dataclass(frozen=True)
class RuleEntry(Section):
    """A rule as it is written."""

    example: ClassVar = '{"name": "...", "when": {"tool": "delete_*"}, "then": "ask"}'
    is_strict: ClassVar = True

    when: Conditions
    then: Annotated[Outcome, prepared_by(_outcome, Literal["allow", "ask", "deny"] | Outcome)]
    unless: Conditions = field(default_factory=dict[str, Condition])
    name: Annotated[str, Field(strict=True)] = ""
    because: Annotated[str, Field(strict=True)] = ""

    @model_validator(mode="after")
    def _check_order(self) -> Self:
        """A word must not follow from the lack of another: then their order would count."""
        tests = [y for x in self.when.values() if x.field == DERIVED for y in x.checks]
        is_less = any(x.field == DERIVED for x in self.unless.values())
        if self.then.derived and (is_less or any(x.negated for x in tests)):
            word = self.then.derived
            problem = f"what makes something {word!r} may not depend on a word that is not so."
            raise mistake(problem, "Put that into the rule that uses the word.")
        return self

    def rule(self, name: str) -> Rule:
        """The rule, which has this name if it has none of its own."""
        then = self.then
        return Rule(
            self.name.strip() or name, (*self.when.values(),), (*self.unless.values(),),
            word=then.word, limit=then.limit, prefer=then.prefer, derived=then.derived,
            because=self.because,
        )  # fmt: skip


@dataclass(frozen=True)
class StoredRules(Section):
    """The entry by which rules of the store count, from a revision on."""

    example: ClassVar = '{"from": "store"}'
    is_strict: ClassVar = True

    source: Annotated[Literal["store"], written_as("from")] = "store"
    revision: Count = 1


def read_rules(
    written: Any, place: Place, context: ValidationContext
) -> tuple[tuple[Rule, ...], int | None]:
    """The rules of the section, a list of them and of files that have more, or one file.

    The second value is the revision that the rules of the store must have; None where those do
    not count.

    Raises:
        SettingsError: something in one of them is wrong; says where.
    """
    rules, revision = list[Rule](), None
    for value, there, name in _entries(written, place, context.variables):
        if not (isinstance(value, Mapping) and "from" in value):
            rules.append(read(RuleEntry, value, there, context, []).rule(name))
        elif revision is None:
            revision = read(StoredRules, value, there, context, []).revision
        else:
            raise there.error("rules are from the store once.", 'Write {"from": "store"}.')
        if len(rules) > _MOST_RULES:
            raise place.error(f"there are more than {_MOST_RULES:,} rules.", "Join some of them.")
    for name, times in Counter(x.name for x in rules).items():
        if times > 1:
            raise place.error(f"{times} rules are called {name!r}.", "Rename all but one.")
    _require_derived(rules, place)
    return tuple(rules), revision


def _entries(written: Any, place: Place, variables: Variables) -> Iterator[tuple[Any, Place, str]]:
    """The entries of the section and of its files, each with its place and a default name."""
    if isinstance(written, str):
        yield from _entries_of_file(written, place, variables)
    elif isinstance(written, list | tuple):
        for number, value in enumerate(cast(Sequence[Any], written)):
            if isinstance(value, str):
                yield from _entries_of_file(value, place.at(number), variables)
            else:
                yield value, place.at(number), f"rule {number + 1}"
    elif written is not None:
        problem = f"must be a list of rules, but is {kind_of(written)}."
        raise place.error(problem, f"Write [{RuleEntry.example}].")


def _entries_of_file(
    name: str, place: Place, variables: Variables
) -> Iterator[tuple[Any, Place, str]]:
    rules, file = read_rules_file(variables.expand(name, place), place, variables.folder)
    for number, rule in enumerate(rules):
        yield rule, file.at(number), f"rule {number + 1} of {name}"


def rules_of_store(stored: Sequence[Any], folder: str) -> tuple[Rule, ...]:
    """Rules as they are kept in the store. They may hold calls, and let none through.

    No variables of the environment stand in them, and each has a name.

    Raises:
        SettingsError: something in one of them is wrong; says where.
    """
    place = Place("the rules for the store")
    for number, one in enumerate(stored):
        if not isinstance(one, Mapping) or not cast(Mapping[str, Any], one).get("name"):
            problem = "it must be a rule with a name, by which it can be changed."
            raise place.at(number).error(problem, f"Write {RuleEntry.example}.")
    rules, _ = read_rules([*stored], place, ValidationContext(Variables({}, folder)))
    for number, rule in enumerate(rules):
        if rule.word == "allow":
            problem = "what lets calls through is not kept in the store."
            fix = "Write it in the settings, or in a file, where it can be reviewed."
            raise place.at(number).error(problem, fix)
    return rules


def holds_rules(value: Any) -> bool:
    """Whether a value is a list with an entry that can only be a rule."""
    entries = cast(list[Any], value) if isinstance(value, list) else []
    return any(isinstance(x, Mapping) and "when" in x and "then" in x for x in entries)


def read_rules_file(name: str, place: Place, folder: str) -> tuple[list[Any], Place]:
    """The rules of a file in YAML or JSON, which is named at `place`, and their place in it.

    Raises:
        SettingsError: it cannot be read, or holds something else.
    """
    file = Path(folder, os.path.expanduser(name))
    try:
        return parse_rules(bytes_of_file(file), Place(str(file)))
    except SettingsError as reason:
        if reason.key_path or file.is_file():
            raise
        problem = f"there is no file {file}."
        raise place.error(problem, "Correct the name, or write it.") from reason


def parse_rules(content: bytes, place: Place) -> tuple[list[Any], Place]:
    """The rules in the content of a file, and their place in it.

    Raises:
        SettingsError: it holds something else.
    """
    rules = parse_yaml(content, place)
    if isinstance(rules, dict) and [*cast(dict[Any, Any], rules)] == ["rules"]:
        rules, place = cast(dict[Any, Any], rules)["rules"], place.at("rules")
    if not isinstance(rules, list):
        fix = "Begin each rule with a dash, as in: - {when: {server: mail}, then: ask}"
        raise place.error(f"it must hold a list of rules, but holds {kind_of(rules)}.", fix)
    return cast(list[Any], rules), place


def _require_derived(rules: Iterable[Rule], place: Place) -> None:
    """Refuse a derived word that no rule derives: a slip in it would make a rule useless."""
    known = {x.derived for x in rules if x.derived}
    for rule in rules:
        for condition in (*rule.when, *rule.unless):
            if condition.field not in (DERIVED, EARLIER):
                continue
            for check in condition.checks:
                if not any(map(fits(check.what), known)):
                    hint = did_you_mean(check.what, known) or "Write a rule that does."
                    problem = f"{rule.name!r} asks for {check.what!r}, which no rule derives."
                    raise place.error(problem, hint)
