"""What single words of a schema say in JSON Schema of 2020-12, and how some depend on others."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from typing import Any, cast

from ....core.json import JsonObject, children
from ..document.values import is_whole, text_of

NOTHING = object()
"""A word that is left out."""

TYPES = frozenset(("string", "number", "integer", "boolean", "object", "array", "null"))
# Characters: of what is said of one value. All of a tool's are in the model's window.
_MAX_DESCRIPTION = 1_000
_MAX_SHOWN_VALUE = 200  # characters of a default or an example, as JSON
_MAX_SHORT = 60
_NULL: JsonObject = {"type": "null"}
_CHOICES = ("$ref", "allOf", "anyOf", "oneOf")
# As JavaScript writes one. Like this it would fit nothing: something comes before the beginning.
_DELIMITED = re.compile(r"/(\^.*)/([dgimsuvy]*)", re.DOTALL)


def words(value: Any) -> Any:
    """A description."""
    return text_of(value, _MAX_DESCRIPTION) or NOTHING


def short(value: Any) -> Any:
    """A format."""
    return text_of(value, _MAX_SHORT) or NOTHING


def shown(value: Any) -> Any:
    """A default or an example: any JSON that is not too much to show."""
    text = _as_json(value) if size_of(value, _MAX_SHOWN_VALUE) <= _MAX_SHOWN_VALUE else None
    return NOTHING if text is None or len(text) > _MAX_SHOWN_VALUE else value


def exact(value: Any) -> Any:
    """A value that is compared with."""
    return NOTHING if _as_json(value) is None else value


def number(value: Any) -> Any:
    """A limit."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    # Of larger ones most languages make no number.
    return value if is_number and abs(value) <= sys.float_info.max else NOTHING


def step(value: Any) -> Any:
    """What a number is a multiple of."""
    found = number(value)
    return found if found is not NOTHING and found > 0 else NOTHING


def count(value: Any) -> Any:
    """How many."""
    found = number(value)
    is_count = found is not NOTHING and found >= 0 and found == int(found)
    return int(found) if is_count else NOTHING


def flag(value: Any) -> Any:
    """Said only where it is so."""
    return True if value is True else NOTHING


def bare_pattern(pattern: str) -> str:
    """A regular expression without slashes around it; empty if a letter behind them counts."""
    found = _DELIMITED.fullmatch(pattern)
    return pattern if found is None else "" if "i" in found[2] else found[1]


def size_of(value: Any, at_most: int) -> int:
    """How many values are in this one; counted no further than this."""
    found, waiting = 0, [value]
    while waiting and found <= at_most:
        part = waiting.pop()
        held = children(part)
        found += 1 + len(cast(Any, held))
        if found <= at_most:
            waiting += held
    return found


def _as_json(value: Any) -> str | None:
    try:
        text = json.dumps(value, allow_nan=False, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return None
    return text if is_whole(text) else None


# Words that depend on each other


def adjust_enum(found: JsonObject) -> None:
    """Values that are of its type. YAML reads `1.0` as a number where a text was meant."""
    kinds = _types_in(found)
    values = cast(list[Any], found["enum"])
    if not kinds:
        return
    fitting = [x for x in values if _type_of(x) & kinds]
    if len(fitting) < len(values) and kinds == {"string"}:
        fitting = [x if isinstance(x, str) else json.dumps(x) for x in values if x is not None]
    if fitting:
        found["enum"] = fitting
    else:
        del found["type"]


def allow_null(found: JsonObject) -> None:
    """Let null be one of the values."""
    if any(word in found for word in _CHOICES):
        description = found.pop("description", None)
        inner = dict(found)
        found.clear()
        found.update({"anyOf": [inner, _NULL]})
        if description:
            found["description"] = description
        return
    if kinds := found.get("type"):
        found["type"] = list(dict.fromkeys((*_listed(kinds), "null")))
    if "enum" in found and None not in found["enum"]:
        found["enum"] = [*found["enum"], None]


def takes_null(found: JsonObject) -> bool:
    """Whether null may be one of the values, by the types it names."""
    kinds = _types_in(found)
    return not kinds or "null" in kinds


def _types_in(found: JsonObject) -> set[str]:
    return set(_listed(found.get("type", [])))


def _listed(kinds: Any) -> Iterable[str]:
    return [kinds] if isinstance(kinds, str) else cast(list[str], kinds)


def _type_of(value: Any) -> set[str]:
    match value:
        case None:
            return {"null"}
        case bool():
            return {"boolean"}
        case int():
            return {"integer", "number"}
        case float():
            return {"number", "integer"} if value.is_integer() else {"number"}
        case str():
            return {"string"}
        case list():
            return {"array"}
        case _:
            return {"object"}
