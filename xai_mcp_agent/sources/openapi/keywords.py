"""Checks of values of schema keywords, and adjustments of values from older versions."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import Any, cast

from ...core.json import JsonObject, as_object, json_type
from .document import texts_of

OMIT = object()
"""Marks a keyword to omit."""

_NULL: JsonObject = {"type": "null"}
_MAX_CHARS = 200  # characters of a default or an example, as JSON


def json_text_of(value: Any) -> str:
    """Write a value as JSON; empty if that is impossible."""
    try:
        return json.dumps(value, allow_nan=False, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return ""


def is_short(value: Any) -> bool:
    """Return whether a value can be written as short JSON."""
    return 0 < len(json_text_of(value)) <= _MAX_CHARS


def is_example(value: Any) -> bool:
    """Return whether an example is useful: a text or a number, not too long."""
    is_plain = isinstance(value, str | int | float) and not isinstance(value, bool)
    return is_plain and value != "" and is_short(value)


def is_number(value: Any) -> bool:
    """Return whether a value is a number that JSON can hold."""
    # Most languages cannot represent larger numbers.
    return json_type(value) in ("integer", "number") and abs(value) <= sys.float_info.max


def count_of(value: Any) -> Any:
    """Return a whole number from zero on, or `OMIT`."""
    is_count = is_number(value) and value >= 0 and value == int(value)
    return int(value) if is_count else OMIT


def names_by_name(value: Any) -> Any:
    """Return the lists of names in an object, or `OMIT` if there are none."""
    members = as_object(value).items()
    names = {x: texts_of(y) for x, y in members if isinstance(y, list)}
    return names or OMIT


def adjust_enum(result: JsonObject) -> None:
    """Keep the values that match the type. YAML reads an unquoted `1.0` as a number."""
    types = types_of(result)
    if not types:
        return
    values = cast(list[Any], result["enum"])
    valid = [x for x in values if _is_of(x, types)]
    if len(valid) < len(values) and types == {"string"}:
        valid = [x if isinstance(x, str) else json.dumps(x) for x in values if x is not None]
    if valid:
        result["enum"] = valid
    else:
        del result["type"]


def _is_of(value: Any, types: set[str]) -> bool:
    kind = json_type(value)
    if kind == "integer" or (isinstance(value, float) and value.is_integer()):
        return bool(types & {"integer", "number"})
    return kind in types


def allow_null(result: JsonObject) -> None:
    """Let a translated schema accept null as well."""
    if any(word in result for word in ("$ref", "allOf", "anyOf", "oneOf")):
        description = result.pop("description", None)
        inner = dict(result)
        result.clear()
        result["anyOf"] = [inner, _NULL]
        if description:
            result["description"] = description
        return
    if "type" in result:
        types = result["type"]
        names: Iterable[str] = [types] if isinstance(types, str) else types
        result["type"] = list(dict.fromkeys((*names, "null")))
    if "enum" in result and None not in result["enum"]:
        result["enum"] = [*result["enum"], None]


def types_of(schema: JsonObject) -> set[str]:
    """Return the types of a translated schema."""
    types = schema.get("type", [])
    return {types} if isinstance(types, str) else set(types)
