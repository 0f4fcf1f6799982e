"""What the entries of all kinds of sources have in common, and how one is read.

A class of settings is a frozen dataclass; its annotations say under which keys a field is written
and how it is checked, for pydantic. Errors and notes never quote a value: it may be a secret.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Self, TypeVar, cast, get_type_hints

from pydantic import (
    AfterValidator,
    AliasChoices,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
)
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails, PydanticCustomError, PydanticKnownError

from ..core.errors import SettingsError
from ..core.invocation import Pin
from ..core.kinds import SourceKind
from ..core.names import did_you_mean
from ..core.patterns import guard
from ..secrets.secrets import Secret, Secrets
from .approval import HOW_TO_WRITE, ApprovalWord, read_words
from .document import Place, kind_of, repeated_keys
from .interpolation import Variables

T = TypeVar("T")
S = TypeVar("S", bound="SourceSettings")

ALL_TOOLS = "*"
FIRST = "first"
CALL_TIMEOUT_SECONDS = 60.0  # long enough for a slow search or build, short enough to notice
START_TIMEOUT_SECONDS = 30.0  # npx and uvx download the server on first use
WAIT_SECONDS = 20.0  # for a first start with a download, or that of many servers on few cores

# One that is started again, or a network that stutters, costs a call or two, not five in a row.
_BREAKER_FAILURES = 5
# As long as a source at most pauses by itself before it tries to connect again.
_BREAKER_SECONDS = 30.0

# An hour: nobody waits longer for one call, and a larger number is one of milliseconds.
_MAX_SECONDS = 3600
# Python refuses to write out integers of more than 4,300 digits; no variable holds one of these.
_MAX_NUMBER = 10**100
# Keys other hosts show to people, and where an entry was added from; ignoring them changes nothing.
_HARMLESS_KEYS = (
    "//", "$schema", "comment", "description", "displayName", "gallery", "icon", "name", "note",
    "notes", "registry", "tags", "title", "version",
)  # fmt: skip


@dataclass(frozen=True)
class Reading:
    """What validators are given: the variables, and whether the entry is switched off."""

    variables: Variables
    is_off: bool


def mistake(problem: str, fix: str) -> PydanticCustomError:
    """What a validator raises; its place in the file is known by where that is called."""
    return PydanticCustomError("mistake", "{problem}", {"problem": problem, "fix": fix})


def read_text(value: Any, info: ValidationInfo) -> str:
    """A text with its variables replaced; as it is when the entry is switched off.

    Settings given in Python may hold paths, and secrets that hide themselves.
    """
    reading = cast(Reading, info.context)
    if isinstance(value, Secret):
        reading.variables.secrets.add(value)
        value = value.reveal()
    text = os.fspath(cast(os.PathLike[str], value)) if isinstance(value, os.PathLike) else value
    if not isinstance(text, str):
        raise PydanticKnownError("string_type")
    try:
        text = reading.variables.expand(text, Place(""))
    except SettingsError as cause:
        # Nobody needs to set the variables of what is not used.
        if not reading.is_off:
            raise mistake(cause.problem, cause.fix) from None
    if "\0" in text or not is_encodable(text):
        fix = "Remove the character U+0000 or the broken escape."
        raise mistake("it has a character that no program can be given.", fix)
    return text


def is_encodable(text: str) -> bool:
    """Whether the operating system can be given it."""
    try:
        # Variables may hold bytes that are not UTF-8.
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    return True


def read_list(value: Any) -> tuple[Any, ...]:
    """A list or a tuple, and nothing else that could be gone through."""
    if not isinstance(value, list | tuple):
        raise PydanticKnownError("list_type")
    return tuple(cast(list[Any], value))


def as_dict(value: Any) -> Any:
    """Any mapping as a dict, which pydantic wants."""
    return dict(cast(Mapping[Any, Any], value)) if isinstance(value, Mapping) else value


def _env_text(value: Any, info: ValidationInfo) -> str:
    """Numbers and true or false are common in `env`; the server gets them as text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) or (isinstance(value, int) and abs(value) < _MAX_NUMBER):
        return str(value)
    return read_text(value, info)


def _env(found: dict[str, str]) -> dict[str, str]:
    if any(not x or "=" in x or "\0" in x or not is_encodable(x) for x in found):
        fix = "Use letters, digits and underscores."
        raise mistake("this is not the name of a variable.", fix)
    return found


def _path(value: Any, info: ValidationInfo) -> str:
    folder = cast(Reading, info.context).variables.folder
    return os.path.normpath(os.path.join(folder, read_text(value, info).strip()))


def _seconds(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    if not value > 0:  # written so that NaN is refused too
        raise mistake("must be more than 0 seconds.", "Write seconds, such as 60.")
    if value > _MAX_SECONDS:
        problem = "counts seconds and may be at most 3600; this looks like milliseconds."
        raise mistake(problem, "Write seconds, such as 60.")
    return value


def _tool_names(value: Any) -> Any:
    if isinstance(value, bool):
        return [ALL_TOOLS] if value else []
    return value


def _pin(value: Any) -> Pin:
    if value is True or value is False or value == FIRST:
        return value
    problem = f"must be true, false or {FIRST!r}."
    raise mistake(problem, f'Write true, or "{FIRST}" to accept what it lists first.')


Text = Annotated[str, PlainValidator(read_text)]
Path = Annotated[str, PlainValidator(_path)]
Flag = Annotated[bool, Field(strict=True)]
Count = Annotated[int, Field(strict=True, ge=1)]
Seconds = Annotated[float, Field(strict=True), BeforeValidator(_seconds)]
Texts = Annotated[tuple[Text, ...], BeforeValidator(read_list)]
Paths = Annotated[tuple[Path, ...], BeforeValidator(read_list)]
Environment = Annotated[
    dict[str, Annotated[str, PlainValidator(_env_text)]],
    BeforeValidator(as_dict),
    AfterValidator(_env),
]
ToolNames = Annotated[
    tuple[Annotated[str, Field(strict=True)], ...],
    BeforeValidator(read_list),
    BeforeValidator(_tool_names),
]


def _breaker(value: Any) -> Any:
    if value is True:
        return {}
    if value is False:
        return None
    if not isinstance(value, Mapping):
        problem = f"must be an object, true or false, but is {kind_of(value)}."
        raise mistake(problem, _BREAKER_FIX)
    given = cast(Mapping[Any, Any], value)
    if wrong := [str(x) for x in given if x not in known_keys(BreakerSettings)]:
        raise mistake(f"has the unknown key {wrong[0]!r}.", _BREAKER_FIX)
    return given


def _held(patterns: tuple[str, ...]) -> tuple[str, ...]:
    try:
        guard(*patterns)
    except ValueError as why:
        raise mistake(f"has a pattern in it that is none: {why}.", "Correct it.") from None
    return patterns


_BREAKER_FIX = 'Write {"failures": 5, "seconds": 30}, or false for none.'


def _approval(value: Any) -> dict[str, ApprovalWord]:
    try:
        return read_words(value)
    except ValueError as why:
        raise mistake(str(why), HOW_TO_WRITE) from None


@dataclass(frozen=True)
class BreakerSettings:
    """After so many failures in a row a source is not called for so long."""

    failures: Count = _BREAKER_FAILURES
    seconds: Seconds = _BREAKER_SECONDS


def spelled(*keys: str) -> Any:
    """Says under which keys a field is written; without it that is the field's own name."""
    return Field(validation_alias=AliasChoices(*keys))


OURS: Any = Field(exclude=True)
"""Says that a field is not written in the entry."""


@dataclass(frozen=True, kw_only=True, repr=False)
class SourceSettings:
    """One entry, complete: variables replaced, paths absolute, limits known.

    `auto_approve` names tools that need no approval (`ALL_TOOLS`: none does), `approval` has a
    word for patterns of them, which are allowed, asked for or denied. With `pin` its tools and
    instructions are held to what was accepted. A run of an agent that has no tool of a `required`
    one fails. `breaker`: None if it is called however often it failed. The texts of a disabled
    entry are kept as they were written. `secrets` are the known secrets of the whole file; printing
    shows none of them.
    """

    __pydantic_config__: ClassVar = ConfigDict(arbitrary_types_allowed=True)
    kind: ClassVar[SourceKind]
    noun: ClassVar[str]  # what one is called
    shapes: ClassVar[tuple[str, ...]]  # of an entry, for a person

    name: Annotated[str, OURS]
    transport: Annotated[str, OURS]  # how it is reached, in a word
    call_timeout_seconds: Annotated[Seconds, spelled("timeout")] = CALL_TIMEOUT_SECONDS
    disabled: Flag = False
    auto_approve: Annotated[ToolNames, spelled("autoApprove")] = ()
    approval: Annotated[dict[str, ApprovalWord], PlainValidator(_approval)] = field(
        default_factory=dict[str, ApprovalWord], hash=False
    )
    disabled_tools: Annotated[Texts, AfterValidator(_held), spelled("disabledTools")] = ()
    pin: Annotated[Pin, PlainValidator(_pin)] = False
    required: Flag = False
    breaker: Annotated[BreakerSettings | None, BeforeValidator(_breaker)] = BreakerSettings()
    secrets: Annotated[Secrets, OURS] = field(default_factory=Secrets, compare=False, repr=False)

    @classmethod
    def read(cls, name: str, value: Any, place: Place, variables: Variables) -> Self:
        """The source that the entry `value` at `place` describes; its secrets are remembered.

        Raises:
            SettingsError: something in it is wrong or missing.
        """
        return read_entry(cls, name, value, place, variables)

    @classmethod
    def notes(cls, value: Any, place: Place) -> list[str]:
        """One line for each key of an entry that is ignored, with the one it may be meant for."""
        return [ignored(key, place, known_keys(cls)) for key in unknown_keys(cls, value)]

    def ignored_parts(self, place: Place) -> Iterator[str]:
        """A note for each part of the entry that this source has no use for."""
        return iter(())

    @property
    def origin(self) -> object:
        """What its tools come from. Two of one name and origin are one source, set up twice."""
        return self.name

    def __repr__(self) -> str:
        shown = {x.name: getattr(self, x.name) for x in fields(self) if x.repr}
        told = ", ".join(f"{name}={x!r}" for name, x in {**shown, **self._shown()}.items())
        return f"{type(self).__name__}({self.secrets.redact(told)})"

    def _shown(self) -> Mapping[str, Any]:
        """What is shown in place of fields."""
        return {}


def read_entry(cls: type[S], name: str, value: Any, place: Place, variables: Variables) -> S:
    """An entry with every field checked. A key that is null counts as not written.

    Raises:
        SettingsError: it is not an object, a key is there twice, or a field is wrong.
    """
    if not isinstance(value, Mapping):
        fix = f"Write {' or '.join(cls.shapes)}."
        raise place.error(f"an entry must be an object, but is {kind_of(value)}.", fix)
    for twice in repeated_keys(value, place):
        raise twice.error("this key is written more than once.", "Remove all but one.")
    entry = cast(Mapping[Any, Any], value)
    known = {key: entry[key] for key in known_keys(cls) if entry.get(key) is not None}
    is_off = known.get("disabled") is True or known.get("enabled") is False
    given = {**known, "name": name, "secrets": variables.secrets}
    try:
        return _adapter(cls).validate_python(given, context=Reading(variables, is_off))
    except ValidationError as cause:
        # Not chained: the exception holds the values.
        raise _settings_error(cause.errors(include_url=False)[0], place) from None


@lru_cache
def _adapter(cls: type[T]) -> TypeAdapter[T]:
    return TypeAdapter(cls)


@lru_cache
def known_keys(cls: type) -> tuple[str, ...]:
    """Every key that may stand in such an entry."""
    return tuple(key for keys in keys_by_field(cls).values() for key in keys)


def keys_by_field(cls: type) -> dict[str, list[str]]:
    """The keys that a field may be written under, for each field that is written."""
    hints = get_type_hints(cls, include_extras=True)
    found = {x.name: _keys(x.name, getattr(hints[x.name], "__metadata__", ())) for x in fields(cls)}
    return {name: keys for name, keys in found.items() if keys}


def _keys(name: str, metadata: tuple[Any, ...]) -> list[str]:
    said = [x for x in metadata if isinstance(x, FieldInfo)]
    if any(x.exclude for x in said):
        return []
    aliases = [x.validation_alias for x in said if isinstance(x.validation_alias, AliasChoices)]
    return [str(key) for alias in aliases for key in alias.choices] or [name]


def unknown_keys(cls: type, value: Any) -> list[str]:
    """The keys of an entry that mean nothing to us and may be misspelled."""
    if not isinstance(value, Mapping):
        return []
    keys = [key for key in cast(Mapping[Any, Any], value) if isinstance(key, str)]
    return [key for key in keys if key not in known_keys(cls) and key not in _HARMLESS_KEYS]


def ignored(key: str, place: Place, known: tuple[str, ...]) -> str:
    """The note about a key that is not known."""
    return place.at(key).note(f"ignored, unknown key. {did_you_mean(key, known)}".rstrip())


def _settings_error(error: ErrorDetails, place: Place) -> SettingsError:
    # An empty key stands for what is written one level above.
    there = place.at(*(key for key in error["loc"] if key not in ("[key]", "")))
    context = error.get("ctx", {})
    if "[key]" in error["loc"]:
        return there.error("the name must be a text.", "Put it in quotes.")
    if error["type"] == "mistake":
        return there.error(context["problem"], context["fix"])
    if error["type"] == "literal_error":
        known = context["expected"].replace("'", "").replace(" or ", ", ")
        return there.error(f"must be one of {known}.", "Write one of these, or leave it out.")
    if error["type"] == "missing":
        return there.error("it is missing.", "Add it.")
    if error["type"] in _OUT_OF_RANGE:
        limit = error["msg"].removeprefix("Input should be ")
        return there.error(f"must be {limit}.", "Correct the number.")
    wanted, fix = _WANTED.get(error["type"], ("something else", "Correct it."))
    return there.error(f"must be {wanted}, but is {kind_of(error['input'])}.", fix)


_OUT_OF_RANGE = ("greater_than", "greater_than_equal", "less_than_equal")
_WANTED = {
    "string_type": ("a text", "Put it in quotes."),
    "list_type": ("a list of texts", 'Write it in brackets: ["..."].'),
    "dict_type": ("an object", 'Write {"NAME": "value"}.'),
    "bool_type": ("true or false", "Write true or false, without quotes."),
    "float_type": ("a number of seconds", "Write a number, without quotes."),
    "int_type": ("a whole number", "Write a number, without quotes."),
    "dataclass_type": ("an object, true or false", 'Write {"clientId": "..."}, or leave it out.'),
}
