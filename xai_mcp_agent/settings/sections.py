"""The sections of the settings file beside the sources and the rules."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias, cast

from pydantic import AfterValidator, BeforeValidator, ValidationInfo, model_validator

from ..core.errors import SettingsError
from ..secrets.redactor import redact_url, secrets_in_text, secrets_in_url
from .document import Place, kind_of, repeated_in, with_key, without_frames
from .entry import WAIT_SECONDS
from .fields import (
    OptionalUrl,
    Patterns,
    SecretText,
    Text,
    TrimmedText,
    UsablePatterns,
    absolute,
    read_object,
    read_patterns,
    trimmed_text,
)
from .validation import (
    INTERNAL,
    Section,
    ValidationContext,
    adapter,
    context_of,
    mistake,
    prepared_by,
    read,
    read_by,
    read_lenient,
    written_as,
)

BUDGET_VARIABLE = "XAI_TOOL_BUDGET"
LEARN_VARIABLE = "XAI_MCP_LEARN"
RECORD_VARIABLE = "XAI_MCP_RECORD"
DEFAULT_BUDGET_TOKENS = 3_800
"""About 22 full definitions of real servers, or 140 lines of a search."""

ARGUMENTS, RESULTS = RECORDED = "arguments", "results"
"""What the history may keep of calls, beside that they were made."""

_SWITCH = {"on": True, "true": True, "1": True, "off": False, "false": False, "0": False}


def _learns(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    # Somebody meant to say something about what is remembered of people.
    fix = "Write true or false, or on or off in the variable; it counts as false until then."
    raise mistake(f"must be true or false, but is {kind_of(value)}.", fix)


_Learns = Annotated[bool, read_by(_learns, bool)]


# How the history is kept


def _limit(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if value is None or (is_number and value > 0):
        return value
    raise mistake("must be a number above 0.", "Write a number above 0, or null for no limit.")


_Limit = Annotated[float | None, read_by(_limit, float | None)]


@dataclass(frozen=True)
class Retention(Section):
    """Events are kept for so many days, and no more than so many megabytes; None: no limit."""

    example: ClassVar = '{"keep": 400, "max_mb": 200}'
    has_nulls: ClassVar = True

    days: Annotated[_Limit, written_as("keep")] = 400
    megabytes: Annotated[_Limit, written_as("max_mb")] = 200


def recorded(
    written: Any, place: Place, environ: Mapping[str, str], notes: list[str]
) -> frozenset[str]:
    """What is kept of calls: arguments, results, both, or nothing.

    `XAI_MCP_RECORD` decides when it is set: both words, one, or `none`.
    """
    if named := environ.get(RECORD_VARIABLE, "").strip():
        words = named.replace(",", " ").lower().split()
        written, place = [x for x in words if x != "none"], Place(RECORD_VARIABLE)
    words: Any = [] if written is None else written
    problem = ""
    if not isinstance(words, list):
        words, problem = [], f"must be a list, but is {kind_of(words)}."
    elif any(x not in RECORDED for x in cast(list[Any], words)):
        problem = "has something in it that cannot be recorded."  # not quoted: it may be anything
    if problem:
        fix = f'Write "{ARGUMENTS}", "{RESULTS}", or both. It is not recorded until then.'
        notes.append(str(place.error(problem, fix)))
    return frozenset(x for x in RECORDED if x in words)


def store_of(written: Any, place: Place, context: ValidationContext, notes: list[str]) -> str:
    """Where the history is kept; what is wrong with it is no reason to do nothing at all."""
    try:
        store = "" if written is None else read(cast(type[str], Text), written, place, context, [])
    except SettingsError as reason:
        notes.append(f"{reason} Until then the history is kept beside the settings.")
        return ""
    context.variables.secrets.update(secrets_in_text(store))
    return store


def wait_of(written: Any, place: Place, notes: list[str]) -> float:
    """How long a run waits for sources that nobody named, in seconds."""
    if written is None:
        return WAIT_SECONDS
    if isinstance(written, bool) or not isinstance(written, int | float) or not written >= 0:
        fix = f"Write seconds, such as 60; {WAIT_SECONDS:g} count until then."
        notes.append(str(place.error("must be a number, 0 or more.", fix)))
        return WAIT_SECONDS
    return written


# Which tools a model is shown, and what is learned


def _folder(value: Any, info: ValidationInfo) -> Path | None:
    text = trimmed_text(value, info)
    return Path(absolute(text, info)) if text else None


@dataclass(frozen=True)
class EmbeddingSettings(Section):
    """Either the `folder` of a model, or its name at an OpenAI-compatible endpoint or in a package.

    Without a `base_url` it is the installed model of that name; where no package brings it, the
    endpoint is the one in OPENAI_BASE_URL, or OpenAI's.
    """

    example: ClassVar = '{"model": "...", "baseUrl": "..."}, or {"folder": "..."}'

    model: TrimmedText = ""
    # A password may stand in it.
    base_url: Annotated[OptionalUrl, written_as("baseUrl")] = field(default="", repr=False)
    api_key: Annotated[SecretText, written_as("apiKey")] = None
    folder: Annotated[Path | None, read_by(_folder)] = None

    @model_validator(mode="after")
    def _check_model(self, info: ValidationInfo) -> Self:
        if bool(self.model) == bool(self.folder):
            problem = "must name either a model of an endpoint or a folder."
            raise mistake(problem, f"Write {self.example}.")
        key = [self.api_key.reveal()] if self.api_key else []
        context_of(info).variables.secrets.update([*key, *secrets_in_url(self.base_url)])
        return self


def _budget(value: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    fix = f"Write the most tokens for tools, such as 3800; {DEFAULT_BUDGET_TOKENS} until then."
    raise mistake("must be a whole number above 0.", fix)


@dataclass(frozen=True)
class ToolSearchSettings(Section):
    """`budget_tokens` is the most that the definitions in one request take.

    `always_shown`, `blocked` and `trusted` name tools, servers and `groups`, see
    `search.preferences`. With `learns` the words that led to a tool are remembered for the next
    search. `embeddings` is the model that searches by meaning besides; None: words alone count.
    """

    example: ClassVar = '{"blocked": [...]}, or leave it out'
    if_wrong: ClassVar = {"learn": False}

    budget_tokens: Annotated[int, read_by(_budget, int), written_as("tokenBudget")] = (
        DEFAULT_BUDGET_TOKENS
    )
    always_shown: Annotated[Patterns, written_as("alwaysShown", "always_shown")] = ()
    blocked: Patterns = ()
    trusted: Patterns = ()
    groups: Annotated[Mapping[str, Patterns], BeforeValidator(read_object)] = field(
        default_factory=dict[str, tuple[str, ...]]
    )
    learns: Annotated[_Learns, written_as("learn")] = True
    embeddings: EmbeddingSettings | None = None

    @classmethod
    def strict_keys(cls, value: Mapping[str, Any]) -> tuple[str, ...]:
        """What is blocked, with the groups that it may name: a slip must not open a door."""
        return ("blocked", "groups") if value.get("blocked") else ("blocked",)


@dataclass(frozen=True)
class PlanningSettings(Section):
    """With `learns`, runs that went well are remembered for plans: see `bridge.learning`."""

    example: ClassVar = '{"learn": true}, or leave it out; nothing is learned until then'
    if_wrong: ClassVar = {"learn": False}

    learns: Annotated[_Learns, written_as("learn")] = True


def read_tool_search(
    written: Any, place: Place, context: ValidationContext, notes: list[str]
) -> ToolSearchSettings:
    """Which tools a model is shown; the variables of the environment decide when they are set.

    Raises:
        SettingsError: what is blocked is unclear.
    """
    environ = context.variables.environ
    named = environ.get(BUDGET_VARIABLE, "").strip()
    value = with_learning(written, environ, notes)
    is_budget = named.isascii() and named.isdecimal() and int(named[:9]) > 0
    if is_budget and isinstance(value, Mapping):
        value = with_key(cast(Mapping[str, Any], value), "tokenBudget", int(named[:9]))
    search = read_lenient(ToolSearchSettings, value, place, context, notes)
    if named and not is_budget:
        notes.append(
            f"{BUDGET_VARIABLE}={named[:40]} is no whole number above 0, so "
            f"{search.budget_tokens} is used. "
            "Set it to the most tokens for tools, such as 3800, or unset it."
        )
    return search


def with_learning(written: Any, environ: Mapping[str, str], notes: list[str]) -> Any:
    """A section with its key `learn` as `XAI_MCP_LEARN` has it, where that is set."""
    value: Any = {} if written is None else written
    named = environ.get(LEARN_VARIABLE, "").strip().lower()
    if not named or not isinstance(value, Mapping):
        return value
    if named not in _SWITCH:
        problem = "must be true or false, but is a text."
        fix = "Write true or false, or on or off in the variable; it counts as false until then."
        note = str(Place(LEARN_VARIABLE).error(problem, fix))
        notes += [] if note in notes else [note]
    return with_key(cast(Mapping[str, Any], value), "learn", _SWITCH.get(named, False))


# Groups of tools


def _not_empty(patterns: tuple[str, ...]) -> tuple[str, ...]:
    if not patterns:
        fix = 'Write a text such as "get_*" or "regex:get_.+", or a list of them.'
        raise mistake("is empty, so nothing would fit.", fix)
    return patterns


def _upper_case(patterns: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(x if x.startswith("regex:") else x.upper() for x in patterns)


_Selecting = Annotated[UsablePatterns, AfterValidator(_not_empty)]


@dataclass(frozen=True)
class Selector(Section):
    """Patterns by what a selector may ask for; one of each field must fit."""

    example: ClassVar = '{"source": "library"}, or "name", "tags", "method", "path", "kind" in it'
    is_strict: ClassVar = True

    source: _Selecting = ()
    name: _Selecting = ()
    tags: _Selecting = ()
    method: Annotated[_Selecting, AfterValidator(_upper_case)] = ()  # in any case in a document
    path: _Selecting = ()
    kind: _Selecting = ()


def _selector(value: Any, info: ValidationInfo) -> dict[str, tuple[str, ...]]:
    selector = adapter(Selector).validate_python(value, context=info.context)
    patterns = {name: x for name, x in vars(selector).items() if x}
    if not patterns:
        raise mistake("it says nothing.", 'Write {"name": "*"} if all tools are meant.')
    return patterns


def _selectors(value: Any) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        fix = 'Write {"selectors": [{"source": "library", "name": "get_*"}]}.'
        raise mistake(f"must be a list, but is {kind_of(value)}.", fix)
    return tuple(cast(list[Any], value))


def _tools(value: Any, info: ValidationInfo) -> tuple[tuple[str, str], ...]:
    tools = [text.partition("/") for text in read_patterns(value, info)]
    for source, slash, tool in tools:
        if not (source and slash and tool):
            problem = f"{source + slash + tool!r} does not say of which source it is."
            raise mistake(problem, 'Write source/tool, such as "library/lend_book".')
    return tuple((source, tool) for source, _, tool in tools)


@dataclass(frozen=True)
class GroupSettings(Section):
    """One group. A tool is in it that fits a selector, or is in `include`, and not in `exclude`.

    `selectors` have patterns (see `core.patterns.fits`) by fields; one of each field must fit.
    `include` are sources and names of tools, `exclude` patterns for tools and sources.
    """

    example: ClassVar = '{"selectors": [{"source": "library", "name": "get_*"}]}'
    is_strict: ClassVar = True

    name: Annotated[str, INTERNAL] = ""
    selectors: Annotated[
        tuple[Annotated[Mapping[str, tuple[str, ...]], read_by(_selector, Selector)], ...],
        prepared_by(_selectors, list[Selector]),
    ] = ()
    include: Annotated[tuple[tuple[str, str], ...], read_by(_tools, str | list[str])] = ()
    exclude: UsablePatterns = ()

    @model_validator(mode="after")
    def _check_members(self) -> Self:
        if not self.selectors and not self.include:
            fix = f"Write {self.example}. Or name tools under `include`."
            raise mistake("no tool can be in it.", fix)
        return self


@dataclass(frozen=True)
class GroupsSettings:
    """All groups by their names, and why others cannot be used."""

    groups: Mapping[str, GroupSettings] = field(default_factory=dict[str, GroupSettings])
    problems: Mapping[str, SettingsError] = field(default_factory=dict[str, SettingsError])


def read_groups(
    written: Any,
    place: Place,
    context: ValidationContext,
    sources: Collection[str],
    notes: list[str],
) -> GroupsSettings:
    """The groups that are written there; `sources` are the names that they may not have.

    A mistake makes a group unusable, and nothing else: read without it, the group would be another
    one than somebody meant. It is added to the notes too.
    """
    groups: dict[str, GroupSettings] = {}
    problems: dict[str, SettingsError] = {}
    for name, value in _items(written, place, '{"name": {"selectors": [...]}}', notes):
        there = place.at(name)
        try:
            _refuse_doubled(name, written, there)
            if not name.strip():
                raise there.error("a group needs a name.", "Put one before the colon.")
            if name in sources:
                problem = "a source of this file has this name too."
                raise there.error(problem, "Rename one of them.")
            groups[name] = replace(read(GroupSettings, value, there, context, notes), name=name)
        except SettingsError as raised:
            problems[name] = without_frames(raised)
            notes.append(f"{raised} Until then the group {name!r} cannot be used.")
    return GroupsSettings(groups, problems)


# Registries

RegistryType: TypeAlias = Literal["api", "list", "github", "npm"]
_KEYS_OF: Mapping[RegistryType, tuple[str, ...]] = {
    "api": ("url",),
    "list": ("url", "path"),
    "github": ("repository", "ref", "path", "url"),
    "npm": ("url", "keywords"),
}
_OFFICIAL_URL = "https://registry.modelcontextprotocol.io"
_REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*/[A-Za-z0-9_.-]+")
_REF = re.compile(r"[A-Za-z0-9][A-Za-z0-9_./-]*")


@dataclass(frozen=True)
class RegistrySettings(Section):
    """One registry.

    `type`: `api` has the API of the official one at `url`; `list` is a file or folder at `path`, or
    a document at `url`; `github` is what a repository has under `path` at `ref`; `npm` are the
    packages there that have `keywords`. An empty `url` is the usual one of that type.
    """

    example: ClassVar = (
        '{"url": ...} for one with the API, {"path": ...} for a folder or a list, '
        '{"repository": "owner/name"} for one of GitHub, or {"type": "npm"}'
    )
    is_strict: ClassVar = True

    name: Annotated[str, INTERNAL] = ""
    type: RegistryType = "api"
    url: OptionalUrl = field(default="", repr=False)  # a password may stand in it
    path: TrimmedText = ""
    repository: TrimmedText = ""
    ref: TrimmedText = ""
    keywords: TrimmedText = "mcp-server"

    @model_validator(mode="after")
    def _check_type(self, info: ValidationInfo) -> Self:
        context_of(info).variables.secrets.update(secrets_in_url(self.url))
        keys = _KEYS_OF[self.type]
        usual = RegistrySettings()
        for key in {x for y in _KEYS_OF.values() for x in y if x not in keys}:
            if getattr(self, key) != getattr(usual, key):
                problem = f"a registry of type {self.type} has no {key}."
                raise mistake(problem, f"Its keys are: {', '.join(keys)}.", key)
        fix = f"Write {self.example}."
        if self.type == "api" and not self.url:
            raise mistake("it has no `url`.", fix)
        if self.type == "list" and bool(self.url) == bool(self.path):
            raise mistake("a list needs either a `url` or a `path`.", fix)
        if self.type == "github" and not _REPOSITORY.fullmatch(self.repository):
            raise mistake("is no repository.", 'Write "owner/name".', "repository")
        if self.type == "github" and not _REF.fullmatch(self.ref):
            fix = 'Write the commit to read, such as "ref": "818bf169...", or a branch.'
            raise mistake("it is missing, or names no commit or branch.", fix, "ref")
        return self

    @property
    def address(self) -> str:
        """Where it is, in a word, without secrets: equal for what is the same registry."""
        parts = (redact_url(self.url), self.repository, self.ref, self.path)
        return " ".join(x for x in parts if x) or self.type

    @property
    def noted_as(self) -> str:
        """What entries that came from it note: a place on this machine by its name in settings."""
        return self.name if self.type == "list" and self.path else self.address

    @property
    def is_official(self) -> bool:
        """Whether it is the registry that has publishers prove their names."""
        return self.type == "api" and self.url.rstrip("/") == _OFFICIAL_URL


USUAL_REGISTRIES = {"official": RegistrySettings("official", "api", _OFFICIAL_URL)}
"""The registries where the settings say nothing."""


def read_registries(
    written: Any, place: Place, context: ValidationContext, notes: list[str]
) -> dict[str, RegistrySettings]:
    """The usual ones and those that are written there; `false` takes one away.

    What is wrong is added to the notes, and that registry is left out.
    """
    registries = dict(USUAL_REGISTRIES)
    for name, value in _items(written, place, '{"name": {"url": ...}}', notes):
        registries.pop(name, None)
        if value is False or value is None:
            continue
        entry = {"url": value} if isinstance(value, str) else value
        if isinstance(entry, Mapping) and "type" not in entry:
            keys = cast(Mapping[str, Any], entry)
            kind = "github" if keys.get("repository") else "list" if keys.get("path") else "api"
            entry = with_key(keys, "type", kind)
        try:
            _refuse_doubled(name, written, place.at(name))
            registry = read(RegistrySettings, entry, place.at(name), context, notes)
        except SettingsError as reason:
            notes.append(str(reason))
            continue
        path = os.path.expanduser(registry.path)
        if registry.type == "list" and path:
            path = os.path.join(context.variables.folder, path)
        registries[name] = replace(registry, name=name, path=path)
    return registries


def _items(written: Any, place: Place, example: str, notes: list[str]) -> Iterator[tuple[str, Any]]:
    """The members of a section that is a map of names."""
    if written is None:
        return
    if not isinstance(written, Mapping):
        problem = f"must be an object, but is {kind_of(written)}."
        notes.append(str(place.error(problem, f"Write {example}.")))
        return
    yield from ((str(x), y) for x, y in cast(Mapping[Any, Any], written).items())


def _refuse_doubled(name: str, written: Any, place: Place) -> None:
    if name in repeated_in(written):
        problem = "this name is written more than once."
        raise place.error(problem, "Rename or remove all but one.")
