"""Parts of a settings file that need a person's agreement, and the guards in the file.

A part starts a program, loads code, reaches an address, or lets calls through. Each of its values
has a line: a sentence, or `key: value`. Only values that look like secrets are masked: the author
of the file could declare a command to be a secret.

A guard holds something back. A file that loses a guard does more than its user agreed to. So the
agreement remembers the guards, and the user is asked again when one is removed or weakened.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from typing import Any, cast

from ..core.json import JsonObject, as_list, as_object
from ..core.names import join_names
from ..core.patterns import globs, with_groups
from ..core.tools import digest_of_value
from ..core.visible import escape_hidden
from ..secrets.redactor import Redactor, redact_args
from ..secrets.search import is_secret
from ..secrets.secrets import MASK, Secrets
from .approval import EVERY_TOOL, WORDS, ApprovalWords, read_words
from .conditions import DERIVED, EARLIER, Condition
from .document import KeyPlace
from .interpolation import ENV_FILE, MOST_NAMES, split_variables, variables_in
from .models import Guard, Settings, SettingsPart, SourceSection
from .rules import Rule
from .sections import RECORD_VARIABLE, GroupSettings, GroupsSettings, ToolSearchSettings

# Keys that start nothing, reach nothing and let nothing through.
_HARMLESS = frozenset({
    "breaker", "description", "disabled", "elicitationTimeout", "enabled", "keepWarm",
    "listTimeout", "logLevel", "maxResponseBytes", "probeTimeout", "registry", "required",
    "startTimeout", "start_timeout", "timeout",
})  # fmt: skip
STORE, EMBEDDINGS, REGISTRIES = "store", "toolSearch.embeddings", "registries"
"""Sections with an address or a file."""

APPROVAL, RULES, BLOCKED, RECORD = "approval", "rules", "toolSearch.blocked", "record"
"""Sections that hold calls back, let them through, or record them."""

_ADDRESSES = ("url", "serverUrl", "httpUrl", "baseUrl", "base_url", "spec")
_SENTENCES = {
    **dict.fromkeys(_ADDRESSES, "reaches {}"),
    "file": "runs the code in {}",
    "module": "runs the code of the module {}",
    "cwd": "works in the folder {}",
    "workspace": "may use the files in {}",
    "tools": "has the tools {}",
    "roots": "gets the folders {} as its roots",
    "sampling": "use of your model (sampling): {}",
}
_OF_APPROVAL = {
    "allow": "called without your approval: {}",
    "ask_unless_read_only": "called without your approval where it only reads: {}",
    "ask": "called after your approval only: {}",
    "deny": "never called: {}",
}
_VERBS = {"env": ("gets", "environment variable"), "headers": ("is sent", "header")}
_TAKES = {
    "command": "is given your {} in its command",
    "args": "is given your {} in its arguments",
    **dict.fromkeys(("", *_ADDRESSES), "is sent your {} in the address"),
}
_SCHEME = re.compile(r"\s*(?:bearer|basic|token)?\s*", re.I)
_DEFAULT = re.compile(r"(?<=:-).+(?=\})", re.S)
_HOST = re.compile(r"(?<=://)[^/?#\s'\"\\]+")
_MOST_CHARS, _TAIL_CHARS = 2_000, 500


def part_of(
    value: Any, place: KeyPlace, source: str = "", env: Mapping[str, str] | None = None
) -> SettingsPart:
    """Return the part for the entry of a source, or for a section.

    The values of `env` that it uses belong to it, because they come from a file, too.
    """
    if source and isinstance(value, Mapping):
        entry = cast(Mapping[Any, Any], value)
        value = {str(key): x for key, x in entry.items() if key not in _HARMLESS}
    facts = facts_of(value)
    names = variables_in(json.dumps(value, default=str)) if env else ()
    values = {x: env[x] for x in names if x in env} if env else {}
    if not values:
        return SettingsPart(place.path, digest_of_value(value), facts, source)
    fact = f"the file {ENV_FILE} gives {join_names(sorted(values), MOST_NAMES)}"
    return SettingsPart(place.path, digest_of_value([value, values]), (*facts, fact), source)


def facts_of(value: Any) -> tuple[str, ...]:
    """Return a line for each fact, without hidden characters or line breaks."""
    if not isinstance(value, Mapping):
        return tuple(map(line, _facts("", value)))
    # A key such as "approval.delete_*" must not look like a line about `approval`.
    items = ((str(key), x) for key, x in cast(Mapping[Any, Any], value).items())
    entry = {key if key.isidentifier() else json.dumps(key): x for key, x in items}
    keys = sorted(entry.keys() - {"command", "args"}, key=lambda x: (x not in _ADDRESSES, x))
    return tuple(map(line, chain(_describe_start(entry), *(_facts(x, entry[x]) for x in keys))))


def approval_fact(word: str, pattern: str) -> str:
    """Word the approval for a pattern as a fact; an empty pattern means every tool."""
    return _OF_APPROVAL[word].format(pattern if pattern not in ("", EVERY_TOOL) else "every tool")


def _describe_start(entry: Mapping[str, Any]) -> Iterator[str]:
    args = entry.get("args")
    texts = cast(list[Any], args) if isinstance(args, list | tuple) else [args]
    words = [str(x) for x in (entry.get("command"), *texts) if x is not None]
    if words:
        yield f"starts {' '.join(map(shlex.quote, redact_args(words, Secrets())))}"
    yield from _takes("command", entry.get("command"))
    yield from _takes("args", args)


def _facts(key: str, value: Any) -> Iterator[str]:
    """Yield the lines for the values at and below a key."""
    if isinstance(value, Mapping) and value:
        for name, inner in cast(Mapping[Any, Any], value).items():
            yield from _facts(f"{key}.{name}" if key else str(name), inner)
    elif isinstance(value, list | tuple) and any(isinstance(x, Mapping) for x in cast(Any, value)):
        for number, inner in enumerate(cast(list[Any], value)):
            yield from _facts(f"{key}[{number}]", inner)
    else:
        yield from _fact(key, value)


def _fact(key: str, value: Any) -> Iterator[str]:
    section, _, name = key.partition(".")
    text, variables = _format_value(key, value), _variables(value)
    is_variable = value == f"${{{variables}}}"
    if section in _VERBS and name:
        verb, noun = _VERBS[section]
        if not variables:
            yield f"{verb} the {noun} {name}: {text}"
        else:
            yield f"{verb} your {variables} as {noun} {name}{'' if is_variable else f': {text}'}"
        return
    if section == "approval" and isinstance(value, str) and value in _OF_APPROVAL:
        yield approval_fact(value, name)
    elif key in ("autoApprove", "alwaysAllow") and value:
        yield approval_fact("allow", "" if value is True else text)
    elif key in _SENTENCES:
        yield _SENTENCES[key].format(text)
    elif not is_variable:
        yield f"{key}: {text}" if key else text
    yield from _takes(key, value)


def _takes(key: str, value: Any) -> Iterator[str]:
    if names := _variables(value):
        yield _TAKES[key].format(names) if key in _TAKES else f"is given your {names} as {key}"


def _variables(value: Any) -> str:
    """List the environment variables in a value, for a sentence."""
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return " and ".join(dict.fromkeys(variables_in(text)))


def _format_value(key: str, value: Any) -> str:
    if isinstance(value, list | tuple) and value:
        return ", ".join(shlex.quote(_format_item(key, x)) for x in cast(list[Any], value))
    return _format_item(key, value)


def _format_item(key: str, value: Any) -> str:
    # A list in a list is shown as JSON: quoting it again doubles its length at each level.
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    if key in _ADDRESSES or not key:
        return Redactor((), guesses=True, environ={})(text)
    name = key.rpartition(".")[2]
    if value is None or isinstance(value, bool) or not is_secret(name, text):
        return redact_args([text], Secrets())[0]
    return "".join(_mask_piece(x) for x in split_variables(text))


def _mask_piece(piece: str) -> str:
    """Mask a piece of a secret; names of variables and schemes stay readable."""
    if piece.startswith("${"):
        return _DEFAULT.sub(MASK, piece)
    return piece if _SCHEME.fullmatch(piece) else MASK


def line(text: str) -> str:
    """Fit a text on one line, with hidden characters escaped and hosts as in DNS."""
    plain = _HOST.sub(lambda host: _ascii_host(host[0]), escape_hidden(text))
    more = len(plain) - _MOST_CHARS
    if more <= 0:
        return plain
    head, tail = plain[: _MOST_CHARS - _TAIL_CHARS], plain[-_TAIL_CHARS:]
    return f"{head} ... ({more} more characters: read them) ... {tail}"


def _ascii_host(text: str) -> str:
    """Return a host in ASCII, as DNS looks it up."""
    user, at, address = text.rpartition("@")
    host, colon, port = address.partition(":")
    if not host.isascii():
        with suppress(UnicodeError):
            host = host.encode("idna").decode()
    return ascii(f"{user}{at}{host}{colon}{port}")[1:-1]


_LOST = {
    "ask": "calls that needed approval no longer do", "deny": "calls it refused are now made",
}  # fmt: skip
_LISTS = {"disabledTools": "switched off", "exclude": "excluded"}


def with_parts(
    settings: Settings,
    sources: Sequence[SourceSection],
    sections: Mapping[str, Any],
    environ: Mapping[str, str],
) -> Settings:
    """Return the settings with their parts and guards."""
    guards, widening = [*_guards_of_sections(settings)], [*_widening_parts(settings, environ)]
    if guards or widening:  # facts may show a variable; secrets of the file hide nothing
        hide = Redactor((), environ=environ)
        guards = [replace(x, description=hide(x.description), lost=hide(x.lost)) for x in guards]
        widening = [replace(x, facts=tuple(map(hide, x.facts))) for x in widening]
    parts, own_guards = list[SettingsPart](), list[Guard]()
    for _, entries, place in sources:
        for name, entry in entries.items():
            there, source = place.at(str(name)), str(name)
            parts.append(part_of(entry, there, source, settings.env))
            own_guards += _guards_of_entry(as_object(entry), there.path, source)
    parts += (*_parts_of_sections(sections, settings.env), *widening)
    return replace(settings, parts=tuple(parts), guards=(*own_guards, *guards))


def _parts_of_sections(
    sections: Mapping[str, Any], env: Mapping[str, str]
) -> Iterator[SettingsPart]:
    """Yield the sections with an address or a file, and the `.env` beside the file."""
    for path in (STORE, REGISTRIES, EMBEDDINGS):
        value: Any = sections
        for key in path.split("."):
            value = as_object(value).get(key)
        if value:
            yield part_of(value, KeyPlace("", path), env=env)
    if env:
        fact = f"gives the values of {join_names(sorted(env), MOST_NAMES)}"
        yield _part(ENV_FILE, sorted(env.items()), fact)


def _guards_of_sections(settings: Settings) -> Iterator[Guard]:
    """Yield the guards for all sources, and the tools that groups exclude."""
    rules, groups = settings.rules, settings.groups.groups.values()
    yield from _guards_of_words(settings.approval, APPROVAL)
    for rule in rules:
        if lost := "more calls are now made" if rule.limit else _LOST.get(rule.word):
            description = f"rule `{rule.outcome} {_subject(rule)}`"
            strength = -rule.limit.most if rule.limit else WORDS.index(cast(Any, rule.word))
            subject = f"{rule.limit and rule.limit.period}: {_with_derived(rule, rules)}"
            lost = f"{description} is removed or weakened: {lost}"
            yield _guard(RULES, subject, strength, description, lost)
    if settings.stored_rules is not None:
        lost = "the rules of the store are not used any more, or older ones may be"
        yield _guard(RULES, "store", settings.stored_rules, "the rules of the store", lost)
    for word in _list_blocked(settings.search, settings.groups):
        description = f"`{word}` is blocked"
        yield _guard(
            BLOCKED, word, 1, description, f"{description} no longer: agents may see and call it"
        )
    for group, word in ((x, word) for x in groups for word in x.exclude):
        description = f"`{word}` is excluded"
        yield _guard(group_place(group.name), word, 1, description, f"{description} no longer")


def _widening_parts(settings: Settings, environ: Mapping[str, str]) -> Iterator[SettingsPart]:
    """Yield the parts that let calls through, add tools to groups, or record more of calls."""
    words = [settings.approval, *(x.approval for x in settings.sources.values())]
    strictest = max((WORDS.index(word) for x in words for word in x.values()), default=0)
    for pattern, word in settings.approval.items():
        # A weaker word can override a stricter one, because a name takes precedence over a pattern.
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
    """Return the digest of the part for an approval word."""
    return digest_of_value((pattern, word))


def group_place(name: str) -> str:
    """Return the path of a group in the file."""
    return KeyPlace("").at("groups", name).path


def _guards_of_entry(entry: JsonObject, path: str, source: str) -> Iterator[Guard]:
    with suppress(ValueError):  # the entry is unusable anyway
        yield from _guards_of_words(read_words(entry.get("approval") or {}), path, source)
    if entry.get("lock"):
        lost = "`lock` is removed or weakened: its tools are not held to what you accepted"
        yield _guard(path, "lock", 1 + (entry["lock"] is True), "", lost, source)
    for key, state in _LISTS.items():
        for name in as_list(entry.get(key)):
            lost = f"`{name}` is {state} no longer"
            yield _guard(path, f"{key}: {name}", 1, "", lost, source)


def _guards_of_words(words: ApprovalWords, path: str, source: str = "") -> Iterator[Guard]:
    for pattern, word in words.items():
        if word != "allow":
            why = _LOST.get(word, _LOST["ask"])
            lost = f"`approval` of `{pattern}` was `{word}`, and is removed or weakened: {why}"
            fact = approval_fact(word, pattern)
            yield _guard(path, f"approval: {pattern}", WORDS.index(word), fact, lost, source)


def _subject(rule: Rule) -> str:
    unless = f" unless {_conditions(rule.unless)}" if rule.unless else ""
    return f"{_conditions(rule.when) or 'every call'}{unless}"


def _with_derived(rule: Rule, rules: Iterable[Rule]) -> str:
    """Return the subject of a rule, with the rules that set the words it tests for."""
    fields = {x.field for x in (*rule.when, *rule.unless)}
    derived = [x for x in rules if x.derived and fields & {DERIVED, EARLIER}]
    return "; ".join([_subject(rule), *sorted(f"{x.derived} is {_subject(x)}" for x in derived)])


def _conditions(conditions: Iterable[Condition]) -> str:
    tests = (f"{x.field} {' or '.join(sorted(y.words for y in x.checks))}" for x in conditions)
    return " and ".join(sorted(tests))


def _list_blocked(search: ToolSearchSettings, groups: GroupsSettings) -> Iterator[str]:
    """Yield the blocked names and patterns, and the members of blocked groups."""
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


def _part(path: str, what: Any, fact: str) -> SettingsPart:
    return SettingsPart(path, digest_of_value(what), (line(fact),))


def _guard(
    path: str, subject: str, strength: int, description: str, lost: str, source: str = ""
) -> Guard:
    return Guard(path, digest_of_value(subject), strength, line(description), line(lost), source)
