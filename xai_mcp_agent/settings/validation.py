"""The one reader of the settings: pydantic validates, and its errors are reworded.

A section, an entry, or an object in one is a frozen dataclass derived from `Section`; annotations
have the keys of a field and the check of its value. Errors and notes name the file, the path of
keys and the nearest name, and never quote a value, which may be a secret.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import lru_cache
from typing import Any, ClassVar, Literal, TypeAlias, TypeVar, cast, get_type_hints

from pydantic import (
    AliasChoices,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    model_validator,
)
from pydantic.alias_generators import to_camel
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails, PydanticCustomError

from ..core.errors import SettingsError
from ..core.names import did_you_mean, nearest
from ..secrets.secrets import Secret
from .document import KeyPlace, kind_of, repeated_keys
from .interpolation import Variables

T = TypeVar("T")

MISSING: Any = object()
UNTIL_THEN = "Until then it is ignored."
KeyPath: TypeAlias = tuple[str | int, ...]
"""The keys from a value down to a place in it."""


@dataclass(frozen=True)
class ValidationContext:
    """Context of validators: the variables, and whether the entry is disabled.

    `keys` maps each unknown key to the known keys of its object.
    """

    variables: Variables
    is_off: bool = False
    keys: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])


def mistake(
    problem: str, fix: str, key: str = "", *, instead: Any = MISSING
) -> PydanticCustomError:
    """Return the error for a validator to raise, at its own place or at `key` below it.

    If the mistake is only noted, the value `instead` applies until it is corrected.
    """
    context = {"problem": problem, "fix": fix, "key": key, "instead": instead}
    return PydanticCustomError("mistake", "{problem}", context)


def context_of(info: ValidationInfo) -> ValidationContext:
    """Return the context of a validator."""
    return cast(ValidationContext, info.context)


def read_by(validator: Callable[..., Any], kind: Any = str) -> Any:
    """Annotate a field: `validator` reads it. The JSON Schema shows the type `kind`."""
    return PlainValidator(validator, json_schema_input_type=kind)


def prepared_by(validator: Callable[..., Any], kind: Any) -> Any:
    """Annotate a field: `validator` converts its value. The JSON Schema shows the type `kind`."""
    return BeforeValidator(validator, json_schema_input_type=kind)


def file_keys(*keys: str) -> Any:
    """Annotate a field: these keys in the file replace its usual key."""
    return Field(validation_alias=AliasChoices(*keys))


INTERNAL_KEY = "\0internal"
INTERNAL: Any = Field(exclude=True, validation_alias=INTERNAL_KEY)
"""Annotation of a field that has no key in the file."""


def usual_key(name: str) -> str:
    """Return the key of a field without `file_keys`: `listTimeout` for `list_timeout_seconds`."""
    return to_camel(name.removesuffix("_seconds"))


@dataclass(frozen=True)
class Section:
    """An object of the settings file. A null counts as a missing key, unless it `has_nulls`.

    `example` shows how to write one. `ignored_keys` are for other programs and people. In an
    `is_strict` object an unknown key is an error: without that key, the object would let more
    through than its author intended.
    """

    __pydantic_config__: ClassVar = ConfigDict(
        arbitrary_types_allowed=True, alias_generator=usual_key
    )
    example: ClassVar[str] = "{...}"
    ignored_keys: ClassVar[tuple[str, ...]] = ()
    is_strict: ClassVar[bool] = False
    has_nulls: ClassVar[bool] = False

    @model_validator(mode="before")
    @classmethod
    def _check_keys(cls, value: Any, info: ValidationInfo) -> Any:
        if isinstance(value, cls):
            return value
        if not isinstance(value, Mapping):
            problem = f"must be an object, but is {kind_of(value)}."
            raise mistake(problem, f"Write {cls.example}.")
        items = cast(Mapping[Any, Any], value).items()
        values = {str(key): x for key, x in items if x is not None or cls.has_nulls}
        keys = valid_keys(cls)
        for key in [x for x in values if x not in keys]:
            context_of(info).keys[key] = keys
            if cls.is_strict:
                hint = did_you_mean(key, keys) or f"Known: {', '.join(keys)}."
                raise mistake("unknown key.", hint, key)
            if key in cls.ignored_keys:
                del values[key]
        return values

    def secret_texts(self) -> Iterator[str]:
        """Return the secrets in the fields, revealed."""
        return (x.reveal() for x in vars(self).values() if isinstance(x, Secret) and x)

    @classmethod
    def is_fatal(cls, path: KeyPath, value: Any) -> bool:
        """Return whether a mistake at this path is an error even if mistakes are only noted."""
        return False


@dataclass(frozen=True, slots=True)
class Mistake:
    """A mistake at a path; the value `instead`, if any, applies until it is corrected."""

    path: KeyPath
    error: SettingsError
    instead: Any


def read(
    cls: type[T],
    value: Any,
    place: KeyPlace,
    context: ValidationContext,
    notes: list[str],
    mistakes: list[Mistake] | None = None,
) -> T:
    """Read the value at `place` as an instance of `cls`, and add its unknown keys to the notes.

    With a list of `mistakes`, add mistakes to it; a wrong value then counts as missing.

    Raises:
        SettingsError: the value has a mistake; the error has its place and a fix.
    """
    section = cast(type[Section], cls)
    errors = [*_find_repeated_keys(value)]
    extra: Literal["forbid", "ignore"] = "forbid"
    while True:
        if not errors:
            try:
                return adapter(cls).validate_python(value, context=context, extra=extra)
            except ValidationError as cause:  # not chained: the exception holds the values
                errors = cause.errors(include_url=False)
                # Pydantic validates whole objects only if it may ignore unknown keys.
                extra = "ignore"
        unknown = [x for x in errors if x["type"] in _UNKNOWN_KEY]
        for error in unknown:
            key = str(error["loc"][-1])
            path, keys = (*_path_of(error)[:-1], key), context.keys.get(key, ())
            matches = nearest(key, keys, count=1) if mistakes is not None else []
            if matches and section.is_fatal((*path[:-1], *matches), value):
                raise place.at(*path).error("unknown key.", f"Rename it to {matches[0]!r}.")
            text = f"unknown key, ignored. {did_you_mean(key, keys)}".rstrip()
            notes.append(place.at(*path).note(text))
        for error in (x for x in errors if x not in unknown):
            path, instead = _path_of(error), error.get("ctx", {}).get("instead", MISSING)
            if mistakes is None or section.is_fatal(path, value):
                # Never assigned to a variable: the error's frame would keep the whole run alive.
                raise _settings_error(error, place)
            mistakes.append(Mistake(path, _settings_error(error, place), instead))
            value = _replace_at(value, path[:2], instead)
        errors = list[ErrorDetails]()


def _find_repeated_keys(value: Any, *path: str | int) -> Iterator[ErrorDetails]:
    """Yield an error for each repeated key; without it, the last value would count."""
    for key in repeated_keys(value):
        context = {"problem": "this key is written more than once.", "fix": "Remove all but one."}
        error = {"type": "mistake", "loc": path, "ctx": {**context, "key": key}, "input": None}
        yield cast(ErrorDetails, error)
    if isinstance(value, Mapping):
        for key, inner in cast(Mapping[Any, Any], value).items():
            yield from _find_repeated_keys(inner, *path, str(key))
    elif isinstance(value, list):
        for number, inner in enumerate(cast(list[Any], value)):
            yield from _find_repeated_keys(inner, *path, number)


def _replace_at(value: Any, path: KeyPath, instead: Any) -> dict[str, Any]:
    """Replace or remove the value at a path; if a parent is not an object, replace it."""
    key, *below = path
    values = dict(cast(Mapping[Any, Any], value))
    inner = values.pop(key, None)
    if below and isinstance(inner, Mapping):
        instead = _replace_at(inner, tuple(below), instead)
    return values if instead is MISSING else {**values, str(key): instead}


@lru_cache
def adapter(cls: type[T]) -> TypeAdapter[T]:
    """Return pydantic's adapter for a class, created at first use."""
    return TypeAdapter(cls)


@lru_cache
def valid_keys(cls: type) -> tuple[str, ...]:
    """Return all keys that the file may have for a class."""
    return tuple(key for keys in keys_by_field(cls).values() for key in keys)


def keys_by_field(cls: type) -> dict[str, list[str]]:
    """Return the keys that the file may have for each field."""
    by_field: dict[str, list[str]] = {}
    hints = get_type_hints(cls, include_extras=True)
    for name in (x.name for x in fields(cls)):
        metadata = getattr(hints[name], "__metadata__", ())
        infos = [x for x in metadata if isinstance(x, FieldInfo)]
        choices = [
            x.validation_alias for x in infos if isinstance(x.validation_alias, AliasChoices)
        ]
        if not any(x.exclude for x in infos):
            by_field[name] = [str(key) for x in choices for key in x.choices] or [usual_key(name)]
    return by_field


def _path_of(error: ErrorDetails) -> KeyPath:
    keys = (*error["loc"], error.get("ctx", {}).get("key", ""))
    return tuple(key for key in keys if key not in ("[key]", ""))


def _settings_error(error: ErrorDetails, place: KeyPlace) -> SettingsError:
    """Convert one of pydantic's errors into ours."""
    there, context, value = place.at(*_path_of(error)), error.get("ctx", {}), error["input"]
    if "[key]" in error["loc"]:
        return there.error("the name must be a text.", "Put it in quotes.")
    if error["type"] == "mistake":
        return there.error(context["problem"], context["fix"])
    if error["type"] == "literal_error":
        choices = context["expected"].replace("'", "").replace(" or ", ", ")
        hint = did_you_mean(value, choices.split(", ")) if isinstance(value, str) else ""
        fix = f"{hint} Write one of these, or leave it out.".lstrip()
        return there.error(f"must be one of {choices}.", fix)
    if error["type"] == "missing":
        return there.error("it is missing.", "Add it.")
    if error["type"] in _OUT_OF_RANGE:
        limit = _OUT_OF_RANGE[error["type"]].format_map(context)
        return there.error(f"must be {limit}.", "Correct the number.")
    expected, fix = _EXPECTED.get(error["type"], ("something else", "Correct it."))
    return there.error(f"must be {expected}, but is {kind_of(value)}.", fix)


_UNKNOWN_KEY = ("unexpected_keyword_argument", "extra_forbidden")
_OUT_OF_RANGE = {
    "greater_than": "more than {gt:g}",
    "greater_than_equal": "at least {ge:g}",
    "less_than_equal": "at most {le:g}",
}
_EXPECTED = {
    "string_type": ("a text", "Put it in quotes."),
    **dict.fromkeys(
        ("list_type", "tuple_type"), ("a list of texts", 'Write it in brackets: ["..."].')
    ),
    "dict_type": ("an object", 'Write {"NAME": "value"}.'),
    "bool_type": ("true or false", "Write true or false, without quotes."),
    "float_type": ("a number", "Write a number, without quotes."),
    "int_type": ("a whole number", "Write it without quotes and without a fraction."),
}
