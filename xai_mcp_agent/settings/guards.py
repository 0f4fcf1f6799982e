"""What a settings file holds back, and what widens that: a yes to the file is a yes to both.

Without its guards a file does more than somebody agreed to. So they are remembered with what was
agreed to, and one that is missing or weaker later is asked about, as is what is let through anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from ..core.patterns import Patterns, with_groups
from .approval import WORDS, ApprovalWords, read_words
from .document import Place
from .models import Settings
from .parts import APPROVAL, BLOCKED, RECORD, RULES, Guard, Part, approval_fact, digest_of, line
from .rules import DERIVED, EARLIER, Condition, Rule
from .sections import GroupSettings, GroupsSettings, ToolSearchSettings

_UNASKED = "calls it asked about are now made unasked"
_REFUSED = "calls it refused are now made"
_LISTS = {"disabledTools": "switched off", "exclude": "excluded"}


def guards_of_entries(sections: Iterable[tuple[Mapping[Any, Any], Place]]) -> Iterator[Guard]:
    """Those of the entries of these sections, as they are written."""
    for entries, place in sections:
        for name, entry in entries.items():
            if isinstance(entry, Mapping):
                yield from _of_entry(cast(Any, entry), place.at(str(name)).path, str(name))


def guards_beside(settings: Settings) -> Iterator[Guard]:
    """Those that hold for all sources, and what groups leave out."""
    rules, search, groups = settings.rules, settings.search, settings.groups
    yield from _of_words(settings.approval, APPROVAL)
    for rule in rules:
        does, lost = _does(rule)
        if lost:
            shown = f"rule `{does} {_subject(rule)}`"
            strength = -rule.limit.most if rule.limit else WORDS.index(cast(Any, rule.word))
            period = f"a {rule.limit.period}: " if rule.limit else ""
            identity = f"{period}{_with_derived(rule, rules)}"
            yield _guard(
                RULES, identity, strength, shown, f"{shown} is removed or weakened: {lost}"
            )
    if settings.stored_rules is not None:
        lost = "the rules of the store are not used any more, or older ones may be"
        yield _guard(RULES, "store", settings.stored_rules, "the rules of the store", lost)
    for word in _blocked(search, groups):
        shown = f"`{word}` is blocked"
        yield _guard(BLOCKED, word, 1, shown, f"{shown} no longer: agents may see and call it")
    for group in groups.groups.values():
        for word in group.exclude:
            shown = f"`{word}` is excluded"
            yield _guard(_place(group), word, 1, shown, f"{shown} no longer")


def widening(settings: Settings, strictest: int, *, is_recorded_here: bool) -> Iterator[Part]:
    """What lets calls through, shows more tools, or keeps more of calls.

    A word may let through what the `strictest` one holds back: a name counts for more than a
    pattern.
    """
    rules = settings.rules
    for pattern, word in settings.approval.items():
        if word == "allow" or WORDS.index(word) < strictest:
            yield _part(APPROVAL, (pattern, word), approval_fact(word, pattern))
    for rule in rules:
        if rule.word == "allow":
            fact = f"rule `allow {_subject(rule)}`: these calls are made without your approval"
            yield _part(RULES, _with_derived(rule, rules), fact)
    for group in settings.groups.groups.values():
        for words in _members(group):
            yield _part(_place(group), words, f"has the tools with {words}")
    for what in sorted(settings.record if is_recorded_here else ()):
        yield _part(RECORD, what, f"the history keeps the {what} of calls")


def word_digest(pattern: str, word: str) -> str:
    """The digest of a word of `approval`, as a part has it."""
    return digest_of((pattern, word))


def group_place(name: str) -> str:
    """Where a group stands in the file."""
    return Place("").at("groups", name).path


def _of_entry(entry: Mapping[str, Any], path: str, source: str) -> Iterator[Guard]:
    try:
        yield from _of_words(read_words(entry.get("approval") or {}), path, source)
    except ValueError:  # then the entry cannot be used
        return
    if entry.get("lock"):
        lost = "`lock` is removed or weakened: its tools are not held to what you accepted"
        yield _guard(path, "lock", 1 + (entry["lock"] is True), "", lost, source)
    for key, state in _LISTS.items():
        names = entry.get(key)
        for name in cast(list[Any], names) if isinstance(names, list) else []:
            lost = f"`{name}` is {state} no longer"
            yield _guard(path, f"{key}: {name}", 1, "", lost, source)


def _of_words(words: ApprovalWords, path: str, source: str = "") -> Iterator[Guard]:
    for pattern, word in words.items():
        if word != "allow":
            lost = f"`approval` of `{pattern}` was `{word}`, and is removed or weakened: "
            lost += _REFUSED if word == "deny" else _UNASKED
            fact = approval_fact(word, pattern)
            yield _guard(path, f"approval: {pattern}", WORDS.index(word), fact, lost, source)


def _does(rule: Rule) -> tuple[str, str]:
    """What a rule does in a word or more, and what it means that it does not any more."""
    if rule.limit is not None:
        return f"at most {rule.limit.words}", "more calls are now made"
    return rule.word, {"ask": _UNASKED, "deny": _REFUSED}.get(rule.word, "")


def _subject(rule: Rule) -> str:
    unless = f" unless {_conditions(rule.unless)}" if rule.unless else ""
    return f"{_conditions(rule.when) or 'every call'}{unless}"


def _with_derived(rule: Rule, rules: Iterable[Rule]) -> str:
    """What a rule is about, with the rules that say what its derived words mean, if it has any."""
    fields = {x.field for x in (*rule.when, *rule.unless)}
    derived = [x for x in rules if x.derived and fields & {DERIVED, EARLIER}]
    return "; ".join([_subject(rule), *sorted(f"{x.derived} is {_subject(x)}" for x in derived)])


def _conditions(conditions: Iterable[Condition]) -> str:
    tests = (f"{x.field} {' or '.join(sorted(y.words for y in x.checks))}" for x in conditions)
    return " and ".join(sorted(tests))


def _blocked(search: ToolSearchSettings, groups: GroupsSettings) -> Iterator[str]:
    """What is blocked, with what a group has that is."""
    words = with_groups(search.blocked, search.groups)
    yield from words
    named = Patterns.of(words)
    for group in (x for name, x in groups.groups.items() if named.fit_any([name])):
        beside = f" but {', '.join(sorted(group.exclude))}" if group.exclude else ""
        yield from (f"{group.name}: {x}{beside}" for x in _members(group))


def _members(group: GroupSettings) -> Iterator[str]:
    for selector in group.selectors:
        fields = sorted(selector.items())
        yield " and ".join(f"{key} {' or '.join(sorted(x))}" for key, x in fields)
    yield from (f"name {tool} and source {source}" for source, tool in group.include)


def _place(group: GroupSettings) -> str:
    return group_place(group.name)


def _part(path: str, what: Any, fact: str) -> Part:
    return Part(path, digest_of(what), (line(fact),))


def _guard(
    path: str, subject: str, strength: int, shown: str, lost: str, source: str = ""
) -> Guard:
    return Guard(path, digest_of(subject), strength, line(shown), line(lost), source)
