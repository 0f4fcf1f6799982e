"""Entries of sources: the keys that all kinds share, and the reader of one entry."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Annotated, Any, ClassVar, Self, cast

from pydantic import AfterValidator, Field, WithJsonSchema

from ..core.calls import DefinitionLock
from ..core.tools import SourceKind
from ..secrets.secrets import Secrets
from .approval import HOW_TO_WRITE, ApprovalWord, read_words
from .document import Place
from .fields import ALL_TOOLS as ALL_TOOLS
from .fields import Count, Flag, Seconds, Texts, ToolNames, usable_patterns
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

FIRST = "first"
CALL_TIMEOUT_SECONDS = 60.0  # long enough for a slow search or build, short enough to notice
START_TIMEOUT_SECONDS = 30.0  # npx and uvx download the server on first use
WAIT_SECONDS = 20.0  # for a first start with a download, or that of many servers on few cores
KEEP_WARM_SECONDS = 600.0  # for reading an answer and changing the workflow

# A restart of a server or a short network failure costs a call or two, not five.
_BREAKER_FAILURES = 5
# The longest pause of a source before it connects again by itself.
_BREAKER_SECONDS = 30.0


@dataclass(frozen=True)
class BreakerSettings(Section):
    """The failures in a row after which a source is not called, and for how long."""

    example: ClassVar = '{"failures": 5, "seconds": 30}, or false for none'
    is_strict: ClassVar = True

    failures: Count = _BREAKER_FAILURES
    seconds: Seconds = _BREAKER_SECONDS


def _breaker(value: Any) -> Any:
    if value is True:
        return cast(dict[str, Any], {})
    return None if value is False else value


def _approval(value: Any) -> dict[str, ApprovalWord]:
    try:
        return read_words(value)
    except ValueError as why:
        raise mistake(str(why), HOW_TO_WRITE) from None


def _lock(value: Any) -> DefinitionLock:
    if value is True or value is False or value == FIRST:
        return value
    problem = f"must be true, false or {FIRST!r}."
    raise mistake(problem, f'Write true, or "{FIRST}" to accept its first listing.')


NotNegative = Annotated[float, Field(strict=True, ge=0)]
Approval = Annotated[
    dict[str, ApprovalWord], read_by(_approval, ApprovalWord | dict[str, ApprovalWord])
]


@dataclass(frozen=True, kw_only=True, repr=False)
class SourceSettings(Section):
    """One complete entry: variables are replaced, paths absolute, and limits set.

    `auto_approve` are tools that need no approval (`ALL_TOOLS`: none does), and `approval` has
    words for patterns of tools. With `lock` its tools and instructions are held to the accepted
    ones. A run without a tool of a `required` source fails. Without a `breaker` it is called
    however often it failed. In a kernel it stays for `keep_warm_seconds` after a run, or with None
    for those of the settings. A disabled entry keeps its texts as written. `secrets` are the known
    secrets of the whole file; printing shows none of them.
    """

    kind: ClassVar[SourceKind]
    noun: ClassVar[str]  # what one is called
    # Keys that other hosts show to people, and where an entry was added from.
    ignored_keys: ClassVar = (
        "//", "$schema", "comment", "description", "displayName", "gallery", "icon", "name",
        "note", "notes", "registry", "tags", "title", "version",
    )  # fmt: skip

    name: Annotated[str, INTERNAL] = ""
    transport: Annotated[str, INTERNAL] = ""  # how it is reached, in a word
    call_timeout_seconds: Annotated[Seconds, written_as("timeout")] = CALL_TIMEOUT_SECONDS
    disabled: Flag = False
    auto_approve: ToolNames = ()
    approval: Approval = field(default_factory=dict[str, ApprovalWord], hash=False)
    disabled_tools: Annotated[Texts, AfterValidator(usable_patterns)] = ()
    lock: Annotated[DefinitionLock, read_by(_lock, DefinitionLock)] = False
    required: Flag = False
    breaker: Annotated[BreakerSettings | None, prepared_by(_breaker, BreakerSettings | bool)] = (
        BreakerSettings()
    )
    keep_warm_seconds: NotNegative | None = None
    secrets: Annotated[Secrets, INTERNAL, WithJsonSchema({})] = field(
        default_factory=Secrets, compare=False, repr=False
    )

    @classmethod
    def read(
        cls,
        name: str,
        value: Any,
        place: Place,
        variables: Variables,
        notes: list[str] | None = None,
    ) -> Self:
        """Read the entry `value` at `place`, and add its secrets to the known ones.

        Unknown and unused keys are added to the `notes`.

        Raises:
            SettingsError: something in it is wrong or missing.
        """
        notes = [] if notes is None else notes
        entry = cast(Mapping[Any, Any], value if isinstance(value, Mapping) else {})
        is_off = entry.get("disabled") is True or entry.get("enabled") is False
        context = ValidationContext(variables, is_off)
        source = read(cls.written_form(), value, place, context, notes)
        for key in source.unused_keys():
            text = f"ignored: a {cls.kind.noun} of type {source.transport} has no {key}."
            notes.append(place.at(key).note(text))
        variables.secrets.update(source.secret_texts())
        return replace(source, name=name, secrets=variables.secrets)

    @classmethod
    def written_form(cls) -> type[Self]:
        """The class that reads an entry of this kind."""
        return cls

    def unused_keys(self) -> Iterable[str]:
        """The keys of the entry that its transport does not use."""
        return ()

    @property
    def origin(self) -> object:
        """The place of its tools; two sources of one name and origin are the same."""
        return self.name

    def __repr__(self) -> str:
        shown = {x.name: getattr(self, x.name) for x in fields(self) if x.repr}
        parts = ", ".join(f"{name}={x!r}" for name, x in {**shown, **self._shown()}.items())
        return f"{type(self).__name__}({self.secrets.redact(parts)})"

    def _shown(self) -> Mapping[str, Any]:
        """The fields that are printed differently."""
        return {}
