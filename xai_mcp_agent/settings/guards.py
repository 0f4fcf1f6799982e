"""Guards of a settings file, and the parts by which it lets calls through.

A file that loses a guard does more than its user agreed to. So the agreement remembers the guards,
and the user is asked again when one is removed or weakened, or when more calls are let through.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, cast

from ..core.json import JsonObject, as_list, as_object
from ..core.names import listed
from ..core.patterns import globs, with_groups
from ..core.tools import digest_of_value
from ..secrets.redactor import Redactor
from .approval import WORDS, ApprovalWords, read_words
from .conditions import DERIVED, EARLIER, Condition
from .document import Place
from .layout import Layout
from .models import Settings
from .parts import (
    APPROVAL,
    BLOCKED,
    EMBEDDINGS,
    ENV_FILE,
    RECORD,
    REGISTRIES,
    RULES,
    STORE,
    Guard,
    Part,
    approval_fact,
    line,
    part_of,
)
from .rules import Rule
from .sections import RECORD_VARIABLE, GroupSettings, GroupsSettings, ToolSearchSettings

_UNASKED = "calls it asked about are now made unasked"
_REFUSED = "calls it refused are now made"
_MOST_NAMES = 10
_LISTS = {"disabledTools": "switched off", "exclude": "excluded"}


def with_parts(settings: Settings, layout: Layout, environ: Mapping[str, str]) -> Settings:
    """The settings with their parts and guards."""
    guards, wider = [*_guards_of_sections(settings)], [*_widening(settings, environ)]
    if guards or wider:  # they may show a variable; secrets of the file hide nothing
        hide = Redactor((), environ=environ)
        guards = [replace(x, shown=hide(x.shown), lost=hide(x.lost)) for x in guards]
        wider = [replace(x, facts=tuple(map(hide, x.facts))) for x in wider]
    parts = (*_parts(layout, settings.env), *wider)
    return replace(settings, parts=parts, guards=(*_guards_of_entries(layout), *guards))


def _guards_of_entries(layout: Layout) -> Iterator[Guard]:
    for _, entries, place in layout.sources:
        for name, entry in entries.items():
            yield from _of_entry(as_object(entry), place.at(str(name)).path, str(name))


def _parts(layout: Layout, env: Mapping[str, str]) -> Iterator[Part]:
    """The entries, the sections with an address or a file, and the `.env` beside the file."""
    for _, entries, place in layout.sources:
        yield from (part_of(x, place.at(str(name)), str(name), env) for name, x in entries.items())
    for path in (STORE, REGISTRIES, EMBEDDINGS):
        value: Any = layout.sections
        for key in path.split("."):
            value = as_object(value).get(key)
        if value:
            yield part_of(value, Place("", path), env=env)
    if env:
        fact = f"gives the values of {listed(sorted(env), _MOST_NAMES)}"
        yield _part(ENV_FILE, sorted(env.items()), fact)


def _guards_of_sections(settings: Settings) -> Iterator[Guard]:
    """The guards for all sources, and the tools that groups exclude."""
    rules, groups = settings.rules, settings.groups.groups.values()
    yield from _of_words(settings.approval, APPROVAL)
    for rule in rules:
        does, lost = _does(rule)
        if lost:
            shown = f"rule `{does} {_subject(rule)}`"
            strength = -rule.limit.most if rule.limit else WORDS.index(cast(Any, rule.word))
            subject = f"{rule.limit and rule.limit.period}: {_with_derived(rule, rules)}"
            lost = f"{shown} is removed or weakened: {lost}"
            yield _guard(RULES, subject, strength, shown, lost)
    if settings.stored_rules is not None:
        lost = "the rules of the store are not used any more, or older ones may be"
        yield _guard(RULES, "store", settings.stored_rules, "the rules of the store", lost)
    for word in _blocked(settings.search, settings.groups):
        shown = f"`{word}` is blocked"
        yield _guard(BLOCKED, word, 1, shown, f"{shown} no longer: agents may see and call it")
    for group, word in ((x, word) for x in groups for word in x.exclude):
        shown = f"`{word}` is excluded"
        yield _guard(group_place(group.name), word, 1, shown, f"{shown} no longer")


def _widening(settings: Settings, environ: Mapping[str, str]) -> Iterator[Part]:
    """The parts that let calls through, add tools to groups, or record more of calls."""
    words = [settings.approval, *(x.approval for x in settings.sources.values())]
    strictest = max((WORDS.index(word) for x in words for word in x.values()), default=0)
    for pattern, word in settings.approval.items():
        # A weaker word can override a stricter one, because a name counts more than a pattern.
        if word == "allow" or WORDS.index(word) < strictest:
            yield _part(APPROVAL, (pattern, word), approval_fact(word, pattern))
    for rule in (x for x in settings.rules if x.word == "allow"):
        fact = f"rule `allow {_subject(rule)}`: these calls are made without your approval"
        yield _part(RULES, _with_derived(rule, settings.rules), fact)
    for group in settings.groups.groups.values():
        for members in _members(group):
            yield _part(group_place(group.name), members, f"has the tools with {members}")
    if not environ.get(RECORD_VARIABLE, "").strip():
        for what in sorted(settings.record):
            yield _part(RECORD, what, f"the history keeps the {what} of calls")


def word_digest(pattern: str, word: str) -> str:
    """The digest of the part for a word of `approval`."""
    return digest_of_value((pattern, word))


def group_place(name: str) -> str:
    """The path of a group in the file."""
    return Place("").at("groups", name).path


def _of_entry(entry: JsonObject, path: str, source: str) -> Iterator[Guard]:
    with suppress(ValueError):  # such an entry is unusable
        yield from _of_words(read_words(entry.get("approval") or {}), path, source)
    if entry.get("lock"):
        lost = "`lock` is removed or weakened: its tools are not held to what you accepted"
        yield _guard(path, "lock", 1 + (entry["lock"] is True), "", lost, source)
    for key, state in _LISTS.items():
        for name in as_list(entry.get(key)):
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
    """The effect of a rule, and the consequence of losing it; empty if it holds nothing back."""
    if rule.limit is not None:
        return f"at most {rule.limit.words}", "more calls are now made"
    return rule.word, {"ask": _UNASKED, "deny": _REFUSED}.get(rule.word, "")


def _subject(rule: Rule) -> str:
    unless = f" unless {_conditions(rule.unless)}" if rule.unless else ""
    return f"{_conditions(rule.when) or 'every call'}{unless}"


def _with_derived(rule: Rule, rules: Iterable[Rule]) -> str:
    """The subject of a rule, with the rules that set the words it tests for."""
    fields = {x.field for x in (*rule.when, *rule.unless)}
    derived = [x for x in rules if x.derived and fields & {DERIVED, EARLIER}]
    return "; ".join([_subject(rule), *sorted(f"{x.derived} is {_subject(x)}" for x in derived)])


def _conditions(conditions: Iterable[Condition]) -> str:
    tests = (f"{x.field} {' or '.join(sorted(y.words for y in x.checks))}" for x in conditions)
    return " and ".join(sorted(tests))


def _blocked(search: ToolSearchSettings, groups: GroupsSettings) -> Iterator[str]:
    """The blocked names and patterns, and the members of blocked groups."""
    words = with_groups(search.blocked, search.groups)
    yield from words
    is_blocked = globs(words)
    for group in (x for name, x in groups.groups.items() if is_blocked(name)):
        beside = f" but {', '.join(sorted(group.exclude))}" if group.exclude else ""
        yield from (f"{group.name}: {x}{beside}" for x in _members(group))


def _members(group: GroupSettings) -> Iterator[str]:
    for selector in group.selectors:
        fields = sorted(selector.items())
        yield " and ".join(f"{key} {' or '.join(sorted(x))}" for key, x in fields)
    yield from (f"name {tool} and source {source}" for source, tool in group.include)


def _part(path: str, what: Any, fact: str) -> Part:
    return Part(path, digest_of_value(what), (line(fact),))


def _guard(
    path: str, subject: str, strength: int, shown: str, lost: str, source: str = ""
) -> Guard:
    return Guard(path, digest_of_value(subject), strength, line(shown), line(lost), source)
