"""Sections of the settings file other than the sources and the rules."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self, cast

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, model_validator

from ..core.errors import SettingsError
from ..core.json import as_object
from .approval import ApprovalWord
from .document import KeyPlace, kind_of
from .entry import (
    KEEP_WARM_SECONDS,
    WAIT_SECONDS,
    Approval,
    Count,
    MaskedText,
    MaskedUrl,
    NotNegative,
    Patterns,
    SecretText,
    Text,
    TrimmedText,
    UsablePatterns,
    absolute,
    read_patterns,
    trimmed_text,
)
from .registries import USUAL_REGISTRIES, RegistrySettings
from .validation import (
    INTERNAL,
    MISSING,
    UNTIL_THEN,
    KeyPath,
    Mistake,
    Section,
    ValidationContext,
    adapter,
    file_keys,
    mistake,
    prepared_by,
    read,
    read_by,
)

BUDGET_VARIABLE = "XAI_TOOL_BUDGET"
LEARN_VARIABLE = "XAI_MCP_LEARN"
RECORD_VARIABLE = "XAI_MCP_RECORD"
DEFAULT_BUDGET_TOKENS = 3_800
"""About 22 full definitions of real servers, or 140 lines of search results."""

ARGUMENTS, RESULTS = RECORDED = "arguments", "results"
"""The parts of a call that the history may keep, besides the fact of the call."""

_SWITCH = {"on": True, "true": True, "1": True, "off": False, "false": False, "0": False}
_OTHER_WORDS = (  # not quoted: the words may be anything
    f"has words other than {ARGUMENTS} and {RESULTS}.",
    "Remove these. Until then they are ignored.",
)


def _learns(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    # The setting decides what is remembered about people, so a mistake must not enable it.
    problem = f"must be true or false, but is {kind_of(value)}."
    fix = "Write true or false. Until then it counts as false."
    raise mistake(problem, fix, instead=False)


_Learns = Annotated[bool, read_by(_learns, bool), file_keys("learn")]


# Retention of the history

_Limit = Annotated[float, Field(strict=True, gt=0)]


@dataclass(frozen=True)
class Retention(Section):
    """Limits of the history: the age of events in days, its size in megabytes; None: no limit."""

    example: ClassVar = '{"keep": 400, "max_mb": 200}'
    has_nulls: ClassVar = True

    days: Annotated[_Limit | None, file_keys("keep")] = 400
    megabytes: Annotated[_Limit | None, file_keys("max_mb")] = 200


def _read_record(value: Any) -> frozenset[str]:
    words = cast(list[Any], value if isinstance(value, list | tuple) else [])
    if not isinstance(value, list | tuple):
        fix = f'Write ["{ARGUMENTS}"], ["{RESULTS}"] or both. Until then nothing is recorded.'
        raise mistake(f"must be a list, but is {kind_of(value)}.", fix, instead=[])
    if any(x not in RECORDED for x in words):
        raise mistake(*_OTHER_WORDS, instead=[x for x in RECORDED if x in words])
    return frozenset(words)


# Selection of tools for the model


def _folder(value: Any, info: ValidationInfo) -> Path | None:
    text = trimmed_text(value, info)
    return Path(absolute(text, info)) if text else None


@dataclass(frozen=True)
class EmbeddingSettings(Section):
    """Either the `folder` of a model, or its name at an OpenAI-compatible endpoint or in a package.

    Without a `base_url` the model is the installed one of that name; if no package has it, the
    endpoint is the one in OPENAI_BASE_URL, or OpenAI's.
    """

    example: ClassVar = '{"model": "...", "baseUrl": "..."}, or {"folder": "..."}'

    model: TrimmedText = ""
    # It may contain a password.
    base_url: MaskedUrl = field(default="", repr=False)
    api_key: SecretText = None
    folder: Annotated[Path | None, read_by(_folder)] = None

    @model_validator(mode="after")
    def _check_model(self) -> Self:
        if bool(self.model) == bool(self.folder):
            problem = "must have either a `model` or a `folder`."
            raise mistake(problem, f"Write {self.example}.")
        return self


@dataclass(frozen=True)
class ToolSearchSettings(Section):
    """Settings of the tool search; `budget_tokens` limits the definitions in one request.

    `always_shown`, `blocked` and `trusted` name tools, servers and `groups`, see
    `search.preferences`. With `learns` the words that led to a tool are remembered for the next
    search. `embeddings` is the model for an additional search by meaning; None: search by words
    only.
    """

    example: ClassVar = '{"blocked": [...]}, or leave it out'

    budget_tokens: Annotated[Count, file_keys("tokenBudget")] = DEFAULT_BUDGET_TOKENS
    always_shown: Annotated[Patterns, file_keys("alwaysShown", "always_shown")] = ()
    blocked: Patterns = ()
    trusted: Patterns = ()
    groups: Mapping[str, Patterns] = field(default_factory=dict[str, tuple[str, ...]])
    learns: _Learns = True
    embeddings: EmbeddingSettings | None = None


# Groups of tools


def _not_empty(patterns: tuple[str, ...]) -> tuple[str, ...]:
    if not patterns:
        fix = 'Write a text such as "get_*" or "regex:get_.+", or a list of them.'
        raise mistake("must not be empty: nothing would match.", fix)
    return patterns


def _upper_case(patterns: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(x if x.startswith("regex:") else x.upper() for x in patterns)


_Selecting = Annotated[UsablePatterns, AfterValidator(_not_empty)]


@dataclass(frozen=True)
class Selector(Section):
    """Patterns by field of a tool; each field needs one that matches."""

    example: ClassVar = '{"source": "library"}, or use name, tags, method, path or kind'
    is_strict: ClassVar = True

    source: _Selecting = ()
    name: _Selecting = ()
    tags: _Selecting = ()
    method: Annotated[_Selecting, AfterValidator(_upper_case)] = ()  # a document may use any case
    path: _Selecting = ()
    kind: _Selecting = ()


def _selector(value: Any, info: ValidationInfo) -> dict[str, tuple[str, ...]]:
    selector = adapter(Selector).validate_python(value, context=info.context)
    patterns = {name: x for name, x in vars(selector).items() if x}
    if not patterns:
        raise mistake("it selects nothing.", 'Write {"name": "*"} to select every tool.')
    return patterns


def _selectors(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return cast(Any, value)
    fix = 'Write {"selectors": [{"source": "library", "name": "get_*"}]}.'
    raise mistake(f"must be a list, but is {kind_of(value)}.", fix)


_Selected = Annotated[Mapping[str, tuple[str, ...]], read_by(_selector, Selector)]


def _tools(value: Any, info: ValidationInfo) -> tuple[tuple[str, str], ...]:
    tools = [text.partition("/") for text in read_patterns(value, info)]
    for source, slash, tool in tools:
        if not (source and slash and tool):
            problem = f"{source + slash + tool!r} does not name the source."
            raise mistake(problem, 'Write source/tool, such as "library/lend_book".')
    return tuple((source, tool) for source, _, tool in tools)


@dataclass(frozen=True)
class GroupSettings(Section):
    """One group: the tools that match a selector or are in `include`, and are not in `exclude`.

    `selectors` have patterns (see `core.patterns.fits`) by field; each field needs one that
    matches. `include` has pairs of a source and a tool, `exclude` has patterns for tools and
    sources.
    """

    example: ClassVar = '{"selectors": [{"source": "library", "name": "get_*"}]}'
    is_strict: ClassVar = True

    name: Annotated[str, INTERNAL] = ""
    selectors: Annotated[tuple[_Selected, ...], prepared_by(_selectors, list[Selector])] = ()
    include: Annotated[tuple[tuple[str, str], ...], read_by(_tools, str | list[str])] = ()
    exclude: UsablePatterns = ()

    @model_validator(mode="after")
    def _check_members(self) -> Self:
        if not self.selectors and not self.include:
            fix = f"Write {self.example}, or name tools under `include`."
            raise mistake("it selects no tool.", fix)
        return self


@dataclass(frozen=True)
class GroupsSettings:
    """The usable groups by name, and the errors of the others."""

    groups: Mapping[str, GroupSettings] = field(default_factory=dict[str, GroupSettings])
    problems: Mapping[str, SettingsError] = field(default_factory=dict[str, SettingsError])


# All sections


def _map_of_names(example: str) -> Any:
    """Annotate a field: its value is a map of names."""

    def check(value: Any) -> Any:
        if isinstance(value, Mapping):
            return cast(Any, value)
        problem = f"must be an object, but is {kind_of(value)}."
        raise mistake(problem, f'Write {{"name": {example}}}.')

    return BeforeValidator(check)


def _none_if_false(value: Any) -> Any:
    return None if value is False else value


_Registry = Annotated[
    RegistrySettings | None,
    prepared_by(_none_if_false, RegistrySettings | str | Literal[False]),
]


@dataclass(frozen=True)
class OtherSections(Section):
    """The sections that are read as a whole: a mistake in one is noted, and its default applies."""

    search: Annotated[ToolSearchSettings, file_keys("toolSearch")] = ToolSearchSettings()
    retention: Annotated[Retention, file_keys("history")] = Retention()
    approval: Approval = field(default_factory=dict[str, ApprovalWord])
    store: MaskedText = ""
    project: Text = ""
    record: Annotated[
        frozenset[str], read_by(_read_record, list[Literal["arguments", "results"]])
    ] = frozenset()
    wait_seconds: NotNegative = WAIT_SECONDS
    keep_warm_seconds: NotNegative = KEEP_WARM_SECONDS
    groups: Annotated[dict[str, GroupSettings], _map_of_names('{"selectors": [...]}')] = field(
        default_factory=dict[str, GroupSettings]
    )
    registries: Annotated[dict[str, _Registry], _map_of_names('{"url": ...}')] = field(
        default_factory=dict[str, RegistrySettings | None]
    )

    @classmethod
    def is_fatal(cls, path: KeyPath, value: Any) -> bool:
        """Return True for mistakes in approval or blocking, which could let calls through."""
        section, key, *_ = (*path, "", "")
        if section != "toolSearch":
            return section == "approval"
        return key in ("", "blocked") or (key == "groups" and bool(value[section].get("blocked")))


def read_other_sections(
    values: Mapping[str, Any],
    place: KeyPlace,
    context: ValidationContext,
    notes: list[str],
    sources: Collection[str],
) -> dict[str, Any]:
    """Read the sections in the file, by their fields in `Settings`.

    Environment variables take precedence. A group with a mistake, or with the name of one of the
    `sources`, cannot be used: its name would stand for other tools.

    Raises:
        SettingsError: it is unclear what to block or approve.
    """
    mistakes = list[Mistake]()
    sections = OtherSections()
    if values:  # most files have none of them, and pydantic's adapter takes 10 ms
        sections = read(OtherSections, values, place, context, notes, mistakes)
    problems = dict[str, SettingsError]()
    for name in (x for x in sections.groups if x in sources):
        reason = "another section of this file uses this name too.", "Rename one of them."
        problems[name] = place.at("groups", name).error(*reason)
    _report_mistakes(mistakes, problems, notes)
    groups = {x: replace(y, name=x) for x, y in sections.groups.items() if x not in problems}
    usual = USUAL_REGISTRIES.keys() - as_object(values.get("registries")).keys()
    registries = {x: USUAL_REGISTRIES[x] for x in usual}
    registries |= {x: replace(y, name=x) for x, y in sections.registries.items() if y}
    overrides = _read_environment(sections, context.variables.environ, notes)
    return {
        **vars(sections), **overrides, "registries": registries,
        "groups": GroupsSettings(groups, problems),
    }  # fmt: skip


def _report_mistakes(
    mistakes: Iterable[Mistake], problems: dict[str, SettingsError], notes: list[str]
) -> None:
    """Add mistakes in groups to the `problems` of groups, and a note for each mistake."""
    for one in mistakes:
        section, name, *_ = (*map(str, one.path), "")
        if section == "groups" and name:
            problems.setdefault(name, one.error)
        else:
            until_then = f" {UNTIL_THEN}" if one.instead is MISSING else ""
            notes.append(f"{one.error}{until_then}")
    for name, problem in problems.items():
        notes.append(f"{problem} Until then the group {name!r} cannot be used.")


def _read_environment(
    sections: OtherSections, environ: Mapping[str, str], notes: list[str]
) -> Mapping[str, Any]:
    """Return the sections that environment variables can change, with their changes."""
    search, record = sections.search, sections.record
    if text := environ.get(LEARN_VARIABLE, "").strip().lower():
        search = replace(search, learns=_SWITCH.get(text, False))
        if text not in _SWITCH:
            fix = "Set it to on or off. Until then it counts as off."
            notes.append(str(KeyPlace(LEARN_VARIABLE).error("must be on or off.", fix)))
    if text := environ.get(BUDGET_VARIABLE, "").strip():
        if text.isascii() and text.isdecimal() and int(text[:9]) > 0:
            search = replace(search, budget_tokens=int(text[:9]))
        else:
            notes.append(
                f"{BUDGET_VARIABLE}={text[:40]} is not a whole number above 0, so "
                f"{search.budget_tokens} is used. Set it to the most tokens that the definitions "
                "of tools may take, such as 3800, or unset it."
            )
    if text := environ.get(RECORD_VARIABLE, "").strip():
        words = text.replace(",", " ").lower().split()
        record = frozenset(x for x in RECORDED if x in words)
        if any(x not in (*RECORDED, "none") for x in words):
            notes.append(str(KeyPlace(RECORD_VARIABLE).error(*_OTHER_WORDS)))
    return {"search": search, "record": record}
