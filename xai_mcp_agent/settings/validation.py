"""How values of the settings are checked: by pydantic, with errors in our own words.

A section, an entry, or an object in one is a frozen dataclass derived from `Section`; annotations
say under which keys a field is written and how it is checked. Errors and notes name the place in
the file, the path of keys and the nearest name, and never quote a value: it may be a secret.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import lru_cache
from typing import Any, ClassVar, Literal, TypeVar, cast, get_type_hints

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
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails, PydanticCustomError

from ..core.errors import SettingsError
from ..core.names import did_you_mean, nearest
from .document import Place, kind_of, repeated_in
from .interpolation import Variables

T = TypeVar("T")
S = TypeVar("S", bound="Section")


@dataclass(frozen=True)
class ValidationContext:
    """What validators need beside a value: the variables, and whether the entry is switched off.

    `keys` are the keys of an object in which an unknown one stands, by that one.
    """

    variables: Variables
    is_off: bool = False
    keys: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])


def mistake(problem: str, fix: str, key: str = "") -> PydanticCustomError:
    """What a validator raises. Its place follows from where it is called, or is `key` below it."""
    context = {"problem": problem, "fix": fix, "key": key}
    return PydanticCustomError("mistake", "{problem}", context)


def context_of(info: ValidationInfo) -> ValidationContext:
    """The context of a validator."""
    return cast(ValidationContext, info.context)


def read_by(validator: Callable[..., Any], kind: Any = str) -> Any:
    """Says that a function reads a field by itself; the JSON Schema describes it as `kind`."""
    return PlainValidator(validator, json_schema_input_type=kind)


def prepared_by(validator: Callable[..., Any], kind: Any) -> Any:
    """Says that a function goes over a value first; the JSON Schema describes it as `kind`."""
    return BeforeValidator(validator, json_schema_input_type=kind)


def written_as(*keys: str) -> Any:
    """Says under which keys a field is written; without it that is the field's own name."""
    return Field(validation_alias=AliasChoices(*keys))


INTERNAL_KEY = "\0internal"
INTERNAL: Any = Field(exclude=True, validation_alias=INTERNAL_KEY)
"""Says that a field is not written in the file: its own name is an unknown key there."""


@dataclass(frozen=True)
class Section:
    """An object of the settings file. A key that is null counts as not written, save `has_nulls`.

    `example` shows how to write one. Keys in `ignored_keys` mean nothing to us and are no mistake.
    With `is_strict` an unknown key is a mistake too: read without it, the object would let more
    through than somebody meant. `if_wrong` counts in place of the default where a key is wrong.
    """

    __pydantic_config__: ClassVar = ConfigDict(arbitrary_types_allowed=True)
    example: ClassVar[str] = "{...}"
    ignored_keys: ClassVar[tuple[str, ...]] = ()
    is_strict: ClassVar[bool] = False
    has_nulls: ClassVar[bool] = False
    if_wrong: ClassVar[Mapping[str, Any]] = {}

    @model_validator(mode="before")
    @classmethod
    def _check_keys(cls, value: Any, info: ValidationInfo) -> Any:
        return value if isinstance(value, cls) else checked_keys(cls, value, context_of(info))

    @classmethod
    def strict_keys(cls, value: Mapping[str, Any]) -> tuple[str, ...]:
        """The keys whose mistakes are errors of the whole file, where other mistakes are notes."""
        return ()


def checked_keys(cls: type[Section], value: Any, context: ValidationContext) -> dict[str, Any]:
    """The written keys of an object: no doubled one, and with `is_strict` no unknown one."""
    if not isinstance(value, Mapping):
        raise mistake(f"must be an object, but is {kind_of(value)}.", f"Write {cls.example}.")
    refuse_doubled_keys(value)
    known = known_keys(cls)
    items = cast(Mapping[Any, Any], value).items()
    written = {str(key): x for key, x in items if x is not None or cls.has_nulls}
    unknown = [x for x in written if x not in known]
    for key in unknown:
        context.keys[key] = known
        if cls.is_strict:
            hint = did_you_mean(key, known) or f"The keys are: {', '.join(known)}."
            raise mistake("this key is not known.", hint, key)
    ignored = {x for x in unknown if x in cls.ignored_keys}
    return {key: x for key, x in written.items() if key not in ignored}


def refuse_doubled_keys(value: Any) -> None:
    """Raise a mistake for a key that is written more than once; the last one would count."""
    for key in repeated_in(value):
        raise mistake("this key is written more than once.", "Remove all but one.", key)


def read(cls: type[T], value: Any, place: Place, context: ValidationContext, notes: list[str]) -> T:
    """The value at `place` as an instance of `cls`; its unknown keys are added to the notes.

    Raises:
        SettingsError: something in it is wrong; says what, where and how to correct it.
    """
    errors = list[ErrorDetails]()
    # The checks of a whole object run only where pydantic is told to pass over unknown keys.
    for extra in ("forbid", "ignore"):
        try:
            return adapter(cls).validate_python(value, context=context, extra=extra)
        except ValidationError as cause:
            # Not chained: the exception holds the values.
            errors = cause.errors(include_url=False)
        unknown = [x for x in errors if _is_unknown_key(x)]
        notes += (_unknown_key(x, place, context) for x in unknown)
        if len(unknown) < len(errors):
            break
    raise _settings_error(next(x for x in errors if not _is_unknown_key(x)), place)


def read_lenient(
    cls: type[S], value: Any, place: Place, context: ValidationContext, notes: list[str]
) -> S:
    """The section at `place`; what is wrong in it is added to the notes, and the default counts.

    Raises:
        SettingsError: a mistake in one of its `strict_keys`.
    """
    if value is None or value == {}:
        return cls()
    strict = cls.strict_keys(cast(Any, value) if isinstance(value, Mapping) else {})
    extra: Literal["forbid", "ignore"] = "forbid"
    while True:
        try:
            return adapter(cls).validate_python(value, context=context, extra=extra)
        except ValidationError as cause:
            errors = cause.errors(include_url=False)
        wrong = set[str]()
        for error in errors:
            key = str((*error["loc"], error.get("ctx", {}).get("key", ""))[0])
            if _is_unknown_key(error):
                if strict and nearest(key, known_keys(cls), count=1) == [strict[0]]:
                    fix = f"Rename it to {strict[0]!r}."
                    raise place.at(key).error("this key is not known.", fix)
                notes.append(_unknown_key(error, place, context))
                continue
            reason = _settings_error(error, place)
            if key in strict or (strict and not error["loc"]):
                raise reason
            notes.append(str(reason))
            wrong.add(key)
        written: dict[str, Any] = {} if "" in wrong else dict(cast(Mapping[str, Any], value))
        usual = {x: y for x, y in cls.if_wrong.items() if wrong & {x, ""}}
        value = {x: y for x, y in written.items() if x not in wrong} | usual
        extra = "ignore"


@lru_cache
def adapter(cls: type[T]) -> TypeAdapter[T]:
    """Pydantic's reader of a class; made once, when it is needed."""
    return TypeAdapter(cls)


@lru_cache
def known_keys(cls: type) -> tuple[str, ...]:
    """Every key that may stand in such an object."""
    return tuple(key for keys in keys_by_field(cls).values() for key in keys)


def keys_by_field(cls: type) -> dict[str, list[str]]:
    """The keys that a field may be written under, for each field that is written."""
    hints = get_type_hints(cls, include_extras=True)
    keys = {x.name: _keys(x.name, getattr(hints[x.name], "__metadata__", ())) for x in fields(cls)}
    return {name: written for name, written in keys.items() if written}


def _keys(name: str, metadata: tuple[Any, ...]) -> list[str]:
    infos = [x for x in metadata if isinstance(x, FieldInfo)]
    if any(x.exclude for x in infos):
        return []
    aliases = [x.validation_alias for x in infos if isinstance(x.validation_alias, AliasChoices)]
    return [str(key) for alias in aliases for key in alias.choices] or [name]


def _is_unknown_key(error: ErrorDetails) -> bool:
    return error["type"] in ("unexpected_keyword_argument", "extra_forbidden")


def _unknown_key(error: ErrorDetails, place: Place, context: ValidationContext) -> str:
    there = _place_of(error, place)
    hint = did_you_mean(key := str(error["loc"][-1]), context.keys.get(key, ()))
    return there.note(f"ignored, unknown key. {hint}".rstrip())


def _place_of(error: ErrorDetails, place: Place) -> Place:
    # An empty key stands for what is written one level above.
    keys = (*error["loc"], error.get("ctx", {}).get("key", ""))
    return place.at(*(key for key in keys if key not in ("[key]", "")))


def _settings_error(error: ErrorDetails, place: Place) -> SettingsError:
    there = _place_of(error, place)
    context = error.get("ctx", {})
    if "[key]" in error["loc"]:
        return there.error("the name must be a text.", "Put it in quotes.")
    if error["type"] == "mistake":
        return there.error(context["problem"], context["fix"])
    if error["type"] == "literal_error":
        choices = context["expected"].replace("'", "").replace(" or ", ", ")
        hint = did_you_mean(error["input"], choices.split(", ")) if _is_text(error) else ""
        fix = f"{hint} Write one of these, or leave it out.".lstrip()
        return there.error(f"must be one of {choices}.", fix)
    if error["type"] == "missing":
        return there.error("it is missing.", "Add it.")
    if error["type"] in _OUT_OF_RANGE:
        limit = error["msg"].removeprefix("Input should be ")
        return there.error(f"must be {limit}.", "Correct the number.")
    expected, fix = _EXPECTED.get(error["type"], ("something else", "Correct it."))
    return there.error(f"must be {expected}, but is {kind_of(error['input'])}.", fix)


def _is_text(error: ErrorDetails) -> bool:
    return isinstance(error["input"], str)


_OUT_OF_RANGE = ("greater_than", "greater_than_equal", "less_than_equal")
_EXPECTED = {
    "string_type": ("a text", "Put it in quotes."),
    "list_type": ("a list of texts", 'Write it in brackets: ["..."].'),
    "dict_type": ("an object", 'Write {"NAME": "value"}.'),
    "bool_type": ("true or false", "Write true or false, without quotes."),
    "float_type": ("a number of seconds", "Write a number, without quotes."),
    "int_type": ("a whole number", "Write a number, without quotes."),
}
