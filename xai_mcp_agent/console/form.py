"""A server's form (a JSON Schema) as fields, and typed text as checked values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any, Literal, TypeAlias, cast

from jsonschema_rs import is_valid

from ..core.json import JsonObject, as_list, as_text
from ..core.questions import visible_label
from ..core.schema_check import SchemaCheck
from ..core.schemas import properties, required, types_of, value_from_text

Kind: TypeAlias = Literal["text", "integer", "number", "boolean", "one", "many"]

NO_DEFAULT = object()
_YES, _NO = ("yes", "y", "true", "1", "on"), ("no", "n", "false", "0", "off")
# Formats in words, with an example.
_FORMATS = {
    "email": "an e-mail address such as ada@example.org",
    "uri": "an address such as https://example.org/page",
    "date": "a date such as 2026-03-01",
    "date-time": "a date and time such as 2026-03-01T14:30:00Z",
}


class Unfit(ValueError):
    """A typed value does not fit the field; the message says why, for the person who typed it."""


@dataclass(frozen=True)
class Field:
    """Field of a form. `schema` describes its value.

    `choices` has a label for each allowed value.
    """

    name: str
    schema: JsonObject
    kind: Kind
    is_needed: bool
    choices: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def label(self) -> str:
        """Return its name for a person."""
        return as_text(self.schema.get("title")) or visible_label(self.name)

    @property
    def description(self) -> str:
        """Return the server's description of it."""
        return as_text(self.schema.get("description"))

    @property
    def default(self) -> Any:
        """Return its default, or `NO_DEFAULT`."""
        value = self.schema.get("default", NO_DEFAULT)
        return value if value is NO_DEFAULT or not self.problems(value) else NO_DEFAULT

    def expected(self) -> str:
        """Return the kind of value in words."""
        match self.kind:
            case "boolean":
                return "yes or no"
            case "integer":
                return _join("a whole number", _range(self.schema, "minimum", "maximum"))
            case "number":
                return _join("a number", _range(self.schema, "minimum", "maximum"))
            case "one":
                return "one of these"
            case "many":
                return _join("any of these", _range(self.schema, "minItems", "maxItems"))
            case "text":
                format_ = _FORMATS.get(as_text(self.schema.get("format")), "text")
                sizes = _range(self.schema, "minLength", "maxLength")
                return _join(format_, sizes and f"{sizes} characters")

    def read(self, text: str) -> Any:
        """Return the typed value.

        Raises:
            Unfit: it does not fit; the message says what would.
        """
        value = self._value(text.strip() if self.kind != "text" else text)
        problems = self.problems(value)
        if problems:
            raise Unfit(f"{problems[0]}.")
        return value

    def value_text(self, value: Any) -> str:
        """Return a value as a person reads it."""
        if isinstance(value, bool):
            return "yes" if value else "no"
        if isinstance(value, list):
            return ", ".join(self.value_text(x) for x in cast(list[Any], value))
        return self.choices.get(value) or visible_label(str(value))

    def problems(self, value: Any) -> list[str]:
        """Return the problems of a value, one line each."""
        format_ = as_text(self.schema.get("format"))
        schema = {"format": format_}
        if format_ in _FORMATS and not is_valid(schema, value, validate_formats=True):
            return [f"{value!r} is not {_FORMATS[format_]}"]
        return SchemaCheck(self.schema).problems(value)

    def _value(self, text: str) -> Any:
        match self.kind:
            case "boolean":
                return yes_or_no(text)
            case "integer" | "number":
                return _number(text, self.kind)
            case "one":
                return self._choice(text)
            case "many":
                texts = (x.strip() for x in text.split(","))
                return list(dict.fromkeys(self._choice(x) for x in texts if x))
            case "text":
                return value_from_text(text, self.schema)

    def _choice(self, text: str) -> str:
        """Return the choice with this value, label, or number in the list."""
        if text in self.choices:
            return text
        for value, label in self.choices.items():
            if text.casefold() == label.casefold():
                return value
        if text.isascii() and text.isdigit() and 0 < int(text[:9]) <= len(self.choices):
            return list(self.choices)[int(text[:9]) - 1]
        raise Unfit(f"{text!r} is not one of them. Type a number from the list, or the words.")


def fields_of(schema: Mapping[str, Any]) -> list[Field]:
    """Return the fields of a form, in its order."""
    required_names = required(schema)
    return [_field(name, spec, name in required_names) for name, spec in properties(schema).items()]


def _field(name: str, spec: JsonObject, is_needed: bool) -> Field:
    kinds = types_of(spec)
    items = spec.get("items")
    if "array" in kinds and isinstance(items, dict):
        choices = _choices(cast(JsonObject, items))
        return Field(name, spec, "many" if choices else "text", is_needed, choices)
    if choices := _choices(spec):
        return Field(name, spec, "one", is_needed, choices)
    kind = next((x for x in kinds if x in ("boolean", "integer", "number")), "text")
    return Field(name, spec, cast(Kind, kind), is_needed)


def _choices(spec: JsonObject) -> dict[str, str]:
    for key in ("oneOf", "anyOf"):
        options = [cast(JsonObject, x) for x in as_list(spec.get(key)) if isinstance(x, dict)]
        if options and all(isinstance(x.get("const"), str) for x in options):
            pairs = [(as_text(x["const"]), as_text(x.get("title"))) for x in options]
            return {value: title or visible_label(value) for value, title in pairs}
    values = as_list(spec.get("enum"))
    if not values or not all(isinstance(x, str) for x in values):
        return {}
    names = [as_text(x) for x in as_list(spec.get("enumNames"))]
    return {x: name or visible_label(x) for x, name in zip_longest(values, names[: len(values)])}


def yes_or_no(text: str) -> bool:
    """Return whether a yes was typed; raise `Unfit` for anything but yes and no."""
    word = text.strip().casefold()
    if word in (*_YES, *_NO):
        return word in _YES
    raise Unfit("Type yes or no.")


def _number(text: str, kind: str) -> float:
    try:
        number = int(text) if kind == "integer" else float(text)
    except ValueError:
        number = math.nan
    # Not checked for whole numbers: they may be larger than any float.
    if isinstance(number, float) and not math.isfinite(number):
        raise Unfit(f"{text!r} is not {_NUMBERS[kind]}.")
    return number


_NUMBERS = {"integer": "a whole number, such as 3", "number": "a number, such as 2.5"}


def _range(schema: Mapping[str, Any], least: str, most: str) -> str:
    low, high = schema.get(least), schema.get(most)
    if low is not None and high is not None:
        return f"{low} to {high}"
    if low is not None:
        return f"at least {low}"
    return f"at most {high}" if high is not None else ""


def _join(*words: str) -> str:
    return ", ".join(x for x in words if x)
