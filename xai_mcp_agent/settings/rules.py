"""Rules for tools: the section `rules`, as values. What they come to is decided in `policy.rules`.

A rule is written once, in one form, in the settings or in a file of its own. What is wrong in one
is an error of the whole: read without it, the others could let through what it was to hold.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias, cast

from pydantic import Field, PlainValidator, TypeAdapter, ValidationInfo, model_validator

from ..core.approval import RuleWord
from ..core.errors import SettingsError
from ..core.names import did_you_mean
from ..core.patterns import fits, is_wild
from .document import Place, bytes_of_file, kind_of, parse_yaml
from .fields import trimmed_text
from .interpolation import Variables
from .validation import (
    INTERNAL,
    Section,
    ValidationContext,
    adapter,
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
_WHOLE_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")

How: TypeAlias = Literal["fits", "equals", "contains", "above", "inside", "between", "on"]
Period: TypeAlias = Literal["run", "minute", "hour", "day"]

STORE = "store"
"""Where rules may be from, beside the settings and files."""

_OTHER_NAMES = {"tool.name": "tool"}
_WORDS = ("allow", "ask", "deny")
_THEN = 'Write "deny", "ask", "allow", {"limit": "5 a run"}, {"prefer": 0.1} or {"is": "a_word"}.'
_NOT = "not "
_LIMIT = re.compile(r"([1-9]\d{0,8}|0) (?:an?|per|each) (run|minute|hour|day)")
_ABOVE = re.compile(r"(>=|<=|>|<)\s*(-?\d+(?:\.\d+)?)")
_PLACES = re.compile(r"(inside|outside|contains|is)\s+(\S.*)", re.S)
_TIMES = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)\s*-\s*([01]?\d|2[0-4]):([0-5]\d)")
_SIGN = re.compile(r"[<>]|[!=]=")
_WORD = re.compile(r"(not|inside|outside|contains)(\s|\Z)", re.I)
_MINUTES = 24 * 60
_NEGATED = {
    "is": "is not", "fits": "does not fit", "has": "does not have",
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


def _limit(value: Any) -> Limit:
    match = _LIMIT.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        raise mistake("this is no limit.", 'Write "5 a run", or a minute, an hour, a day.')
    return Limit(int(match[1]), cast(Period, match[2]))


def _preference(value: Any) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 < abs(value) <= 1:
        raise mistake("this is no preference.", "Write a number from -1 to 1, such as 0.1.")
    return float(value)


def _derived_word(value: Any) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"\w[\w-]*", value.strip()):
        raise mistake("this is no word.", "Write one of letters, digits and _.")
    return value.strip()


def _revision(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise mistake("this is no revision.", "Write a number from 1 on.")
    return value


def _named_tests(value: Any) -> dict[str, tuple[str, Any]]:
    """The tests of a call by the keys they are written under, each with the name of its field."""
    if not isinstance(value, Mapping):
        fix = 'Write {"server": "mail", "args.to": "not *@example.org"}.'
        raise mistake(f"must be an object, but is {kind_of(value)}.", fix)
    tests = cast(Mapping[Any, Any], value).items()
    return {str(key): (_OTHER_NAMES.get(str(key), str(key)), test) for key, test in tests}


def _condition(value: Any, info: ValidationInfo) -> Condition:
    name, tests = cast(tuple[str, Any], value)
    if name not in FIELDS and not (name.startswith(ARGUMENT) and name != ARGUMENT):
        hint = did_you_mean(name, FIELDS) or f"Known: {', '.join(FIELDS)}, args.NAME."
        raise mistake("nothing of a call is called so.", hint)
    values = cast(list[Any], tests) if isinstance(tests, list) else [tests]
    if not values:
        raise mistake("is empty, so nothing would fit.", "Write what it must be.")
    return Condition(name, tuple(_check(name, x, info) for x in values))


def _check(name: str, value: Any, info: ValidationInfo) -> Check:
    is_argument = name.startswith(ARGUMENT)
    if not isinstance(value, str):
        if not is_argument or not isinstance(value, bool | int | float):
            raise mistake("must be a text, or a list of texts.", f"It is {kind_of(value)}.")
        return Check("equals", value, f"is {value!r}")
    text = trimmed_text(value, info)
    negated = text.startswith(_NOT)
    text = text.removeprefix(_NOT).strip() if negated else text
    if text in ("", _NOT.strip()):
        raise mistake("says nothing.", "Write what it must be.")
    if name == "time":
        return _time(text, negated)
    if name == "day":
        return _days(text, negated)
    if is_argument and (check := _argument_check(text, negated)):
        return check
    _refuse_unclear(text, is_argument=is_argument)
    return _pattern(name, text, negated)


def _refuse_unclear(text: str, *, is_argument: bool) -> None:
    """That it is neither a comparison nor a word with a slip in it: it would be a text like any."""
    if is_argument and _SIGN.match(text):
        fix = 'Write "> 100", without separators and units, or "is TEXT" for the text itself.'
        raise mistake(f"{text!r} is no comparison.", fix)
    match = _WORD.match(text)
    if match and (is_argument or match[1].lower() == "not"):
        word = match[1].lower()
        fix = f"Write {word!r} once, in small letters, then one space and what it is about."
        raise mistake(f"{text!r} may be meant as {word!r}, and is not read so.", fix)


def _argument_check(text: str, negated: bool) -> Check | None:
    """What only values of arguments are tested for."""
    if match := _ABOVE.fullmatch(text):
        return _said("above", (match[1], float(match[2])), f"{match[1]} {match[2]}", negated)
    if not (match := _PLACES.fullmatch(text)):
        return None
    kind, what = match[1], match[2].strip()
    if kind == "contains":
        return _said("contains", what.casefold(), f"has {what!r} in it", negated)
    if kind == "is":
        return _said("equals", what, f"is {what!r}", negated)
    is_out = (kind == "outside") != negated
    return Check("inside", what, f"is {'outside' if is_out else 'inside'} {what}", is_out)


def _said(how: How, what: Any, words: str, negated: bool) -> Check:
    verb, _, rest = words.partition(" ")
    return Check(how, what, f"{_NEGATED[verb]} {rest}" if negated else words, negated)


def _pattern(name: str, text: str, negated: bool) -> Check:
    if name == "annotation":
        text = text.lower().replace("-", "_")
        if text not in ANNOTATIONS:
            hint = did_you_mean(text, ANNOTATIONS) or f"There are: {', '.join(ANNOTATIONS)}."
            raise mistake(f"{text!r} is no annotation.", hint)
    try:
        fits(text)
    except ValueError as why:
        raise mistake(f"{text!r} is no pattern: {why}.", "Correct it.") from None
    return _said("fits", text, f"{'fits' if is_wild(text) else 'is'} {text!r}", negated)


def _time(text: str, negated: bool) -> Check:
    match = _TIMES.fullmatch(text)
    if match is None:
        raise mistake(f"{text!r} is no time of a day.", 'Write "22:00-06:00".')
    begin, end = int(match[1]) * 60 + int(match[2]), int(match[3]) * 60 + int(match[4])
    if begin == end or end > _MINUTES:
        raise mistake(f"{text!r} is never.", 'Write "00:00-24:00" for the whole day.')
    return _said("between", (begin, end), f"is {text}", negated)


def _days(text: str, negated: bool) -> Check:
    written = [x.strip().lower() for x in text.split("-")]
    numbers = [_day(x) for x in written]
    if len(numbers) > 2 or None in numbers:
        raise mistake(f"{text!r} is no day.", 'Write "sat", or "mon-fri"; several in a list.')
    begin, end = cast(int, numbers[0]), cast(int, numbers[-1])
    days = [DAYS[x % 7] for x in range(begin, begin + (end - begin) % 7 + 1)]
    return _said("on", frozenset(days), f"is {text}", negated)


def _day(written: str) -> int | None:
    """Which day of the week it is, by three letters or more of its name."""
    days = (x for x, name in enumerate(_WHOLE_DAYS) if name.startswith(written))
    return next(days, None) if len(written) >= len(DAYS[0]) else None


_ConditionsByKey: TypeAlias = dict[str, Annotated[Condition, PlainValidator(_condition)]]


def _conditions(value: Any, info: ValidationInfo) -> tuple[Condition, ...]:
    conditions: TypeAdapter[dict[str, Condition]] = adapter(cast(Any, _ConditionsByKey))
    tests = conditions.validate_python(_named_tests(value), context=info.context)
    return tuple(tests.values())


Conditions = Annotated[tuple[Condition, ...], read_by(_conditions, dict[str, Any])]


@dataclass(frozen=True)
class Outcome(Section):
    """What follows from a rule: one of these."""

    example: ClassVar = (
        '"deny", "ask", "allow", {"limit": "5 a run"}, {"prefer": 0.1} or {"is": "a_word"}'
    )
    is_strict: ClassVar = True

    word: Annotated[RuleWord, INTERNAL] = ""
    limit: Annotated[Limit | None, read_by(_limit)] = None
    prefer: Annotated[float, read_by(_preference, float)] = 0.0
    derived: Annotated[str, read_by(_derived_word), written_as(DERIVED)] = ""


def _outcome(value: Any) -> Any:
    if isinstance(value, str) and value.strip().lower() in _WORDS:
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
    unless: Conditions = ()
    name: Annotated[str, Field(strict=True)] = ""
    because: Annotated[str, Field(strict=True)] = ""

    @model_validator(mode="after")
    def _check_order(self) -> Self:
        """A word must not follow from the lack of another: then their order would count."""
        lacks = any(y.negated for x in self.when if x.field == DERIVED for y in x.checks)
        if self.then.derived and (lacks or any(x.field == DERIVED for x in self.unless)):
            word = self.then.derived
            problem = f"what makes something {word!r} may not depend on a word that is not so."
            raise mistake(problem, "Put that into the rule that uses the word.")
        return self

    def rule(self, name: str) -> Rule:
        """The rule, which has this name if it has none of its own."""
        then = self.then
        return Rule(
            self.name.strip() or name, self.when, self.unless, word=then.word, limit=then.limit,
            prefer=then.prefer, derived=then.derived, because=self.because,
        )  # fmt: skip


@dataclass(frozen=True)
class StoredRules(Section):
    """Says that rules of the store count, too, from a revision on."""

    example: ClassVar = '{"from": "store"}'
    is_strict: ClassVar = True

    source: Annotated[Literal["store"], written_as("from")] = STORE
    revision: Annotated[int, read_by(_revision, int)] = 1


def read_rules(
    written: Any, place: Place, context: ValidationContext
) -> tuple[tuple[Rule, ...], int | None]:
    """The rules of the section, a list of them and of files that have more, or one file.

    The second value is the revision that the rules of the store must have; None where those do
    not count.

    Raises:
        SettingsError: something in one of them is wrong; says where.
    """
    entries = _entries(written, place)
    stored = [(x, there) for x, there in entries if _is_of_store(x)]
    if len(stored) > 1:
        raise stored[1][1].error("rules are from the store once.", 'Write {"from": "store"}.')
    revisions = [read(StoredRules, x, there, context, []).revision for x, there in stored]
    rules = tuple(islice(_rules_in(entries, context), _MOST_RULES + 1))
    if len(rules) > _MOST_RULES:
        raise place.error(f"there are more than {_MOST_RULES:,} rules.", "Join some of them.")
    for name, times in Counter(x.name for x in rules).items():
        if times > 1:
            raise place.error(f"{times} rules are called {name!r}.", "Rename all but one.")
    _require_derived(rules, place)
    return rules, next(iter(revisions), None)


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
    """Whether a value is a list with what can only be meant as a rule."""
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


def _is_of_store(one: Any) -> bool:
    return isinstance(one, Mapping) and "from" in one


def _rules_in(entries: Sequence[tuple[Any, Place]], context: ValidationContext) -> Iterator[Rule]:
    variables = context.variables
    for number, (one, there) in enumerate(entries):
        if _is_of_store(one):
            continue
        if not isinstance(one, str):
            yield read(RuleEntry, one, there, context, []).rule(f"rule {number + 1}")
            continue
        name = variables.expand(one, there)
        inner, file = read_rules_file(name, there, variables.folder)
        for index, rule in enumerate(inner):
            own_name = f"rule {index + 1} of {one}"
            yield read(RuleEntry, rule, file.at(index), context, []).rule(own_name)


def _entries(written: Any, place: Place) -> Sequence[tuple[Any, Place]]:
    """What stands in the section, each with its place."""
    if written is None:
        return ()
    if isinstance(written, str):
        return [(written, place)]
    if not isinstance(written, list | tuple):
        problem = f"must be a list of rules, but is {kind_of(written)}."
        raise place.error(problem, f"Write [{RuleEntry.example}].")
    return [(x, place.at(n)) for n, x in enumerate(cast(Sequence[Any], written))]


def _require_derived(rules: Iterable[Rule], place: Place) -> None:
    """That a word is derived by some rule: with a slip in it, a rule would say nothing."""
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
