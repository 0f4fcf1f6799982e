"""Rules for tools: the section `rules`, as values. What they come to is decided in `policy.rules`.

A rule is written once, in one form, in the settings or in a file of its own. What is wrong in one
is an error of the whole: read without it, the others could let through what it was to hold.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal, TypeAlias, cast

from ..core.names import did_you_mean
from ..core.patterns import fits, is_wild
from ..core.ruling import RuleWord
from .document import Place, kind_of, repeated_keys
from .interpolation import Variables
from .rules_file import read_rules_file

SECTION = "rules"
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

_FROM, _REVISION = "from", "revision"
_KEYS = ("name", "when", "unless", "then", "because")
_OTHER_NAMES = {"tool.name": "tool"}
_WORDS: dict[str, RuleWord] = {"allow": "allow", "ask": "ask", "deny": "deny"}
_OUTCOMES = ("limit", "prefer", DERIVED)
_SHAPE = 'Write {"name": "...", "when": {"tool": "delete_*"}, "then": "ask"}.'
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
_MOST_PREFERRED = 1.0


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


def read_rules(written: Any, place: Place, variables: Variables) -> tuple[Rule, ...]:
    """The rules of the section: a list of them and of files that have more, or one file.

    Raises:
        SettingsError: something in one of them is wrong; says where.
    """
    rules = tuple(islice(_rules_in(written, place, variables), _MOST_RULES + 1))
    if len(rules) > _MOST_RULES:
        raise place.error(f"there are more than {_MOST_RULES:,} rules.", "Join some of them.")
    for name, times in Counter(x.name for x in rules).items():
        if times > 1:
            raise place.error(f"{times} rules are called {name!r}.", "Rename all but one.")
    _require_derived(rules, place)
    return rules


def least_revision(written: Any, place: Place) -> int | None:
    """Which revision the rules of the store must have; None where none of the store count.

    Raises:
        SettingsError: what asks for them is wrong.
    """
    found = cast(list[Any], written) if isinstance(written, list) else []
    asking = [(x, place.at(n)) for n, x in enumerate(found) if _is_of_store(x)]
    for given, there in asking:
        _refuse_unknown(given, (_FROM, _REVISION), there)
        least = given.get(_REVISION, 1)
        if given[_FROM] != STORE or len(asking) > 1:
            raise there.error("rules are from the store once.", 'Write {"from": "store"}.')
        if isinstance(least, bool) or not isinstance(least, int) or least < 1:
            raise there.at(_REVISION).error("this is no revision.", "Write a number from 1 on.")
        return least
    return None


def rules_of_store(kept: Sequence[Any], folder: str) -> tuple[Rule, ...]:
    """Rules as they are kept in the store. They may hold calls, and let none through.

    No variables of the environment stand in them, and each has a name.

    Raises:
        SettingsError: something in one of them is wrong; says where.
    """
    place = Place("the rules for the store")
    for number, one in enumerate(kept):
        if not isinstance(one, Mapping) or not cast(Mapping[str, Any], one).get("name"):
            problem = "it must be a rule with a name, by which it can be changed."
            raise place.at(number).error(problem, _SHAPE)
    rules = read_rules([*kept], place, Variables({}, folder))
    for number, rule in enumerate(rules):
        if rule.word == "allow":
            problem = "what lets calls through is not kept in the store."
            fix = "Write it in the settings, or in a file, where it can be reviewed."
            raise place.at(number).error(problem, fix)
    return rules


def _is_of_store(one: Any) -> bool:
    return isinstance(one, Mapping) and _FROM in one


def holds_rules(value: Any) -> bool:
    """Whether a value is a list with what can only be meant as a rule."""
    found = cast(list[Any], value) if isinstance(value, list) else []
    return any(isinstance(x, Mapping) and "when" in x and "then" in x for x in found)


def _rules_in(written: Any, place: Place, variables: Variables) -> Iterator[Rule]:
    if written is None:
        return
    for number, one in enumerate(_list(written, place)):
        there = place if isinstance(written, str) else place.at(number)
        if _is_of_store(one):
            continue
        if not isinstance(one, str):
            yield _rule(one, there, f"rule {number + 1}", variables)
            continue
        inner, file = read_rules_file(variables.expand(one, there), there, variables.folder)
        for index, rule in enumerate(inner):
            yield _rule(rule, file.at(index), f"rule {index + 1} of {one}", variables)


def _list(written: Any, place: Place) -> Iterable[Any]:
    if isinstance(written, str):
        return [written]
    if not isinstance(written, list | tuple):
        raise place.error(f"must be a list of rules, but is {kind_of(written)}.", f"[{_SHAPE}]")
    return cast(Iterable[Any], written)


def _rule(written: Any, place: Place, name: str, variables: Variables) -> Rule:
    given = _object(written, place, _SHAPE)
    for there in repeated_keys(given, place):
        raise there.error("this key is written more than once.", "Join them.")
    _refuse_unknown(given, _KEYS, place)
    name = _text(given.get("name") or name, place.at("name")).strip()
    because = _text(given.get("because") or "", place.at("because"))
    when = _conditions(given.get("when"), place.at("when"), variables)
    unless = _conditions(given.get("unless") or {}, place.at("unless"), variables)
    outcome = _outcome(given.get("then"), place.at("then"))
    rule = Rule(name, when, unless, because=because, **outcome)
    if rule.derived and _depends_on_lack(rule):
        problem = f"what makes something {rule.derived!r} may not depend on a word that is not so."
        raise place.error(problem, "Put that into the rule that uses the word.")
    return rule


def _depends_on_lack(rule: Rule) -> bool:
    """Whether it derives a word from the lack of another: then their order would count."""
    lacks = any(y.negated for x in rule.when if x.field == DERIVED for y in x.checks)
    return lacks or any(x.field == DERIVED for x in rule.unless)


def _outcome(written: Any, place: Place) -> dict[str, Any]:
    if isinstance(written, str) and (word := _WORDS.get(written.strip().lower())):
        return {"word": word}
    if not isinstance(written, Mapping) or len(cast(Any, written)) != 1:
        raise place.error("it does not say what follows.", _THEN)
    ((key, value),) = cast(Mapping[str, Any], written).items()
    if key not in _OUTCOMES:
        raise place.error(f"{key!r} is nothing that can follow.", _THEN)
    if key == "limit":
        return {"limit": _limit(value, place.at(key))}
    if key == DERIVED:
        return {"derived": _word(value, place.at(key))}
    return {"prefer": _preference(value, place.at(key))}


def _limit(value: Any, place: Place) -> Limit:
    found = _LIMIT.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is None:
        raise place.error("this is no limit.", 'Write "5 a run", or a minute, an hour, a day.')
    return Limit(int(found[1]), cast(Period, found[2]))


def _preference(value: Any, place: Place) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 < abs(value) <= _MOST_PREFERRED:
        raise place.error("this is no preference.", "Write a number from -1 to 1, such as 0.1.")
    return float(value)


def _word(value: Any, place: Place) -> str:
    text = _text(value, place).strip()
    if not re.fullmatch(r"\w[\w-]*", text):
        raise place.error("this is no word.", "Write one of letters, digits and _.")
    return text


def _conditions(written: Any, place: Place, variables: Variables) -> tuple[Condition, ...]:
    given = _object(written, place, 'Write {"server": "mail", "args.to": "not *@example.org"}.')
    found: list[Condition] = []
    for key, value in given.items():
        name, there = _OTHER_NAMES.get(key, key), place.at(key)
        if name not in FIELDS and not (name.startswith(ARGUMENT) and name != ARGUMENT):
            hint = did_you_mean(name, FIELDS) or f"Known: {', '.join(FIELDS)}, args.NAME."
            raise there.error("nothing of a call is called so.", hint)
        found.append(Condition(name, _checks(name, value, there, variables)))
    return tuple(found)


def _checks(name: str, value: Any, place: Place, variables: Variables) -> tuple[Check, ...]:
    values = cast(list[Any], value) if isinstance(value, list) else [value]
    if not values:
        raise place.error("is empty, so nothing would fit.", "Write what it must be.")
    return tuple(_check(name, x, place, variables) for x in values)


def _check(name: str, value: Any, place: Place, variables: Variables) -> Check:
    is_argument = name.startswith(ARGUMENT)
    if not isinstance(value, str):
        if not is_argument or not isinstance(value, bool | int | float):
            raise place.error("must be a text, or a list of texts.", f"It is {kind_of(value)}.")
        return Check("equals", value, f"is {value!r}")
    text = variables.expand(value, place).strip()
    negated = text.startswith(_NOT)
    text = text.removeprefix(_NOT).strip() if negated else text
    if text in ("", _NOT.strip()):
        raise place.error("says nothing.", "Write what it must be.")
    if name == "time":
        return _time(text, negated, place)
    if name == "day":
        return _days(text, negated, place)
    if is_argument and (found := _of_argument(text, negated)):
        return found
    _refuse_unclear(text, place, is_argument=is_argument)
    return _pattern(name, text, negated, place)


def _refuse_unclear(text: str, place: Place, *, is_argument: bool) -> None:
    """That it is neither a comparison nor a word with a slip in it: it would be a text like any."""
    if is_argument and _SIGN.match(text):
        fix = 'Write "> 100", without separators and units, or "is TEXT" for the text itself.'
        raise place.error(f"{text!r} is no comparison.", fix)
    found = _WORD.match(text)
    if found and (is_argument or found[1].lower() == "not"):
        word = found[1].lower()
        fix = f"Write {word!r} once, in small letters, then one space and what it is about."
        raise place.error(f"{text!r} may be meant as {word!r}, and is not read so.", fix)


def _of_argument(text: str, negated: bool) -> Check | None:
    """What only values of arguments are tested for."""
    if found := _ABOVE.fullmatch(text):
        return _said("above", (found[1], float(found[2])), f"{found[1]} {found[2]}", negated)
    if not (found := _PLACES.fullmatch(text)):
        return None
    kind, what = found[1], found[2].strip()
    if kind == "contains":
        return _said("contains", what.casefold(), f"has {what!r} in it", negated)
    if kind == "is":
        return _said("equals", what, f"is {what!r}", negated)
    is_out = (kind == "outside") != negated
    return Check("inside", what, f"is {'outside' if is_out else 'inside'} {what}", is_out)


def _said(how: How, what: Any, words: str, negated: bool) -> Check:
    verb, _, rest = words.partition(" ")
    return Check(how, what, f"{_NEGATED[verb]} {rest}" if negated else words, negated)


def _pattern(name: str, text: str, negated: bool, place: Place) -> Check:
    if name == "annotation":
        text = text.lower().replace("-", "_")
        if text not in ANNOTATIONS:
            hint = did_you_mean(text, ANNOTATIONS) or f"There are: {', '.join(ANNOTATIONS)}."
            raise place.error(f"{text!r} is no annotation.", hint)
    try:
        fits(text)
    except ValueError as why:
        raise place.error(f"{text!r} is no pattern: {why}.", "Correct it.") from None
    return _said("fits", text, f"{'fits' if is_wild(text) else 'is'} {text!r}", negated)


def _time(text: str, negated: bool, place: Place) -> Check:
    found = _TIMES.fullmatch(text)
    if found is None:
        raise place.error(f"{text!r} is no time of a day.", 'Write "22:00-06:00".')
    begin, end = int(found[1]) * 60 + int(found[2]), int(found[3]) * 60 + int(found[4])
    if begin == end or end > _MINUTES:
        raise place.error(f"{text!r} is never.", 'Write "00:00-24:00" for the whole day.')
    return _said("between", (begin, end), f"is {text}", negated)


def _days(text: str, negated: bool, place: Place) -> Check:
    written = [x.strip().lower() for x in text.split("-")]
    known = [_day(x) for x in written]
    if len(known) > 2 or None in known:
        raise place.error(f"{text!r} is no day.", 'Write "sat", or "mon-fri"; several in a list.')
    begin, end = cast(int, known[0]), cast(int, known[-1])
    days = [DAYS[x % 7] for x in range(begin, begin + (end - begin) % 7 + 1)]
    return _said("on", frozenset(days), f"is {text}", negated)


def _day(written: str) -> int | None:
    """Which day of the week it is, by three letters or more of its name."""
    found = (x for x, name in enumerate(_WHOLE_DAYS) if name.startswith(written))
    return next(found, None) if len(written) >= len(DAYS[0]) else None


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


def _object(written: Any, place: Place, fix: str) -> Mapping[str, Any]:
    if not isinstance(written, Mapping):
        raise place.error(f"must be an object, but is {kind_of(written)}.", fix)
    given = cast(Mapping[Any, Any], written)
    if not all(isinstance(x, str) for x in given):
        raise place.error("has a key that is no text.", fix)
    return given


def _refuse_unknown(given: Mapping[str, Any], known: tuple[str, ...], place: Place) -> None:
    for key in given:
        if key not in known:
            hint = did_you_mean(key, known) or f"The keys are: {', '.join(known)}."
            raise place.at(key).error("this key is not known.", hint)


def _text(value: Any, place: Place) -> str:
    if not isinstance(value, str):
        raise place.error(f"must be a text, but is {kind_of(value)}.", "Put it in quotes.")
    return value
