"""Rules for tools: the section `rules`, as values. `policy.rules` applies them.

Rules are written the same way in the settings, in their own file and in the store. A mistake in one
rule is an error of the whole settings file: the other rules could let through what it holds back.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias, cast

from pydantic import Field, model_validator

from ..core.approval import RuleWord
from ..core.errors import SettingsError
from ..core.names import did_you_mean
from ..core.patterns import fits
from .conditions import DERIVED, EARLIER, Condition, Conditions
from .document import KeyPlace, bytes_of_file, kind_of, parse_yaml
from .entry import Count
from .interpolation import Variables
from .validation import (
    INTERNAL,
    Section,
    ValidationContext,
    file_keys,
    mistake,
    prepared_by,
    read,
    read_by,
)

Period: TypeAlias = Literal["run", "minute", "hour", "day"]
_LIMIT = re.compile(r"([1-9]\d{0,8}|0) (?:an?|per|each) (run|minute|hour|day)")


@dataclass(frozen=True, slots=True)
class Limit:
    """The most calls in a period."""

    most: int
    period: Period

    @property
    def words(self) -> str:
        """The limit as a person writes it."""
        return f"{self.most:,} {'an' if self.period == 'hour' else 'a'} {self.period}"


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: if all of `when` and not all of `unless` hold, the one outcome that is set applies.

    The outcome is `word`, `limit`, `prefer` or `derived`. `because` is a person's own reason.
    """

    name: str
    when: tuple[Condition, ...]
    unless: tuple[Condition, ...] = ()
    word: RuleWord = ""
    limit: Limit | None = None
    prefer: float = 0.0
    derived: str = ""
    because: str = ""

    @property
    def outcome(self) -> str:
        """The outcome in words."""
        if self.derived:
            return f"says {self.derived!r}"
        if self.limit is not None:
            return f"at most {self.limit.words}"
        return self.word or f"prefer {self.prefer:+g}"


# Rules in the file


def _limit(value: Any) -> Limit:
    match = _LIMIT.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        raise mistake(
            "this is not a valid limit.", 'Write "5 a run", or use a minute, an hour or a day.'
        )
    return Limit(int(match[1]), cast(Period, match[2]))


def _derived_word(value: Any) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"\w[\w-]*", value.strip()):
        raise mistake("this is not a word.", "Use letters, digits, _ and -.")
    return value.strip()


@dataclass(frozen=True)
class RuleOutcome(Section):
    """The outcome of a rule: exactly one of these fields."""

    example: ClassVar = (
        '"deny", "ask", "allow", {"limit": "5 a run"}, {"prefer": 0.1} or {"is": "a_word"}'
    )
    is_strict: ClassVar = True

    word: Annotated[RuleWord, INTERNAL] = ""
    limit: Annotated[Limit | None, read_by(_limit)] = None
    prefer: Annotated[float, Field(strict=True, ge=-1, le=1)] = 0.0
    derived: Annotated[str, read_by(_derived_word), file_keys(DERIVED)] = ""


def _outcome(value: Any) -> Any:
    if isinstance(value, str) and value.strip().lower() in ("allow", "ask", "deny"):
        return RuleOutcome(word=cast(RuleWord, value.strip().lower()))
    if isinstance(value, Mapping) and len(cast(Any, value)) == 1:
        return cast(Any, value)
    raise mistake("must say what the rule does.", f"Write {RuleOutcome.example}.")


@dataclass(frozen=True)
class RuleEntry(Section):
    """A rule as the file has it."""

    example: ClassVar = '{"name": "...", "when": {"tool": "delete_*"}, "then": "ask"}'
    is_strict: ClassVar = True

    when: Conditions
    then: Annotated[
        RuleOutcome, prepared_by(_outcome, Literal["allow", "ask", "deny"] | RuleOutcome)
    ]
    unless: Conditions = field(default_factory=dict[str, Condition])
    name: Annotated[str, Field(strict=True)] = ""
    because: Annotated[str, Field(strict=True)] = ""

    @model_validator(mode="after")
    def _check_order(self) -> Self:
        """Refuse a word that depends on the absence of another: order would then matter."""
        checks = [y for x in self.when.values() if x.field == DERIVED for y in x.checks]
        has_exception = any(x.field == DERIVED for x in self.unless.values())
        if self.then.derived and (has_exception or any(x.negated for x in checks)):
            word = self.then.derived
            problem = f"a rule that sets the word {word!r} must not test that a word is absent."
            raise mistake(problem, "Move that condition to the rule that uses the word.")
        return self

    def rule(self, name: str) -> Rule:
        """Return the rule as a value; `name` applies if the rule has no name of its own."""
        then = self.then
        return Rule(
            self.name.strip() or name, (*self.when.values(),), (*self.unless.values(),),
            word=then.word, limit=then.limit, prefer=then.prefer, derived=then.derived,
            because=self.because,
        )  # fmt: skip


@dataclass(frozen=True)
class StoredRulesEntry(Section):
    """The entry that adds the rules of the store, in this revision or a later one."""

    example: ClassVar = '{"from": "store"}'
    is_strict: ClassVar = True

    source: Annotated[Literal["store"], file_keys("from")] = "store"
    revision: Count = 1


def read_rules(
    section: Any, place: KeyPlace, context: ValidationContext
) -> tuple[tuple[Rule, ...], int | None]:
    """Read the rules of the section: a list of rules and names of files, or the name of one file.

    The second value is the lowest revision that the rules of the store must have; None if the
    settings do not use them.

    Raises:
        SettingsError: a rule has a mistake; the error has its place.
    """
    rules, revision = list[Rule](), None
    for value, there, name in _entries(section, place, context.variables):
        if not (isinstance(value, Mapping) and "from" in value):
            rules.append(read(RuleEntry, value, there, context, []).rule(name))
        elif revision is None:
            revision = read(StoredRulesEntry, value, there, context, []).revision
        else:
            problem = "the rules of the store are already used."
            raise there.error(problem, 'Keep one {"from": "store"}.')
    for name, times in Counter(x.name for x in rules).items():
        if times > 1:
            raise place.error(f"{times} rules have the name {name!r}.", "Rename all but one.")
    _require_derived(rules, place)
    return tuple(rules), revision


def _entries(
    section: Any, place: KeyPlace, variables: Variables
) -> Iterator[tuple[Any, KeyPlace, str]]:
    """Yield the entries of the section and of its files, each with its place and a default name."""
    if isinstance(section, str):
        rules, file = read_rules_file(variables.expand(section, place), place, variables.folder)
        for number, rule in enumerate(rules):
            yield rule, file.at(number), f"rule {number + 1} of {section}"
    elif isinstance(section, list | tuple):
        for number, value in enumerate(cast(Sequence[Any], section)):
            if isinstance(value, str):
                yield from _entries(value, place.at(number), variables)
            else:
                yield value, place.at(number), f"rule {number + 1}"
    elif section is not None:
        problem = f"must be a list of rules, but is {kind_of(section)}."
        raise place.error(problem, f"Write [{RuleEntry.example}].")


def _require_derived(rules: Iterable[Rule], place: KeyPlace) -> None:
    """Refuse a word that no rule sets: a misspelt word would make a rule useless."""
    words = {x.derived for x in rules if x.derived}
    for rule in rules:
        conditions = [x for x in (*rule.when, *rule.unless) if x.field in (DERIVED, EARLIER)]
        for word in (check.what for x in conditions for check in x.checks):
            if not any(map(fits(word), words)):
                hint = did_you_mean(word, words) or f'Write a rule with {{"is": "{word}"}}.'
                problem = f"{rule.name!r} tests for the word {word!r}, but no rule sets it."
                raise place.error(problem, hint)


def rules_of_store(stored: Sequence[Any], folder: str) -> tuple[Rule, ...]:
    """Read rules of the store: each has a name, none allows calls or uses environment variables.

    Raises:
        SettingsError: a rule has a mistake; the error has its place.
    """
    place = KeyPlace("the rules for the store")
    for number, entry in enumerate(stored):
        if not isinstance(entry, Mapping) or not cast(Mapping[str, Any], entry).get("name"):
            problem = "must be a rule with a name, by which it can be changed."
            raise place.at(number).error(problem, f"Write {RuleEntry.example}.")
    rules, _ = read_rules([*stored], place, ValidationContext(Variables({}, folder)))
    for number, rule in enumerate(rules):
        if rule.word == "allow":
            fix = "Write it in the settings or in a file, where it can be reviewed."
            raise place.at(number).error("the store keeps no rule that allows calls.", fix)
    return rules


def holds_rules(value: Any) -> bool:
    """Return whether a value is a list with an entry that can only be a rule."""
    entries = cast(list[Any], value) if isinstance(value, list) else []
    return any(isinstance(x, Mapping) and "when" in x and "then" in x for x in entries)


def read_rules_file(name: str, place: KeyPlace, folder: str) -> tuple[list[Any], KeyPlace]:
    """Return the rules of the file named at `place`, in YAML or JSON, and their place in it.

    Raises:
        SettingsError: the file cannot be read, or has no list of rules.
    """
    file = Path(folder, os.path.expanduser(name))
    try:
        return parse_rules(bytes_of_file(file), KeyPlace(str(file)))
    except SettingsError as reason:
        if reason.key_path or file.is_file():
            raise
        fix = "Correct the name, or create the file."
        raise place.error(f"there is no file {file}.", fix) from reason


def parse_rules(content: bytes, place: KeyPlace) -> tuple[list[Any], KeyPlace]:
    """Parse the rules in the content of a file; return them with their place in it.

    Raises:
        SettingsError: the content is not a list of rules.
    """
    rules = parse_yaml(content, place)
    if isinstance(rules, dict) and [*cast(dict[Any, Any], rules)] == ["rules"]:
        rules, place = cast(dict[Any, Any], rules)["rules"], place.at("rules")
    if not isinstance(rules, list):
        fix = "Begin each rule with a dash, as in: - {when: {server: mail}, then: ask}"
        raise place.error(f"must be a list of rules, but is {kind_of(rules)}.", fix)
    return cast(list[Any], rules), place
