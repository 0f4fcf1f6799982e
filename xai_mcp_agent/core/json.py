"""JSON as values: types, pointers, and reading untrusted values safely."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias, TypeGuard

JsonObject: TypeAlias = dict[str, Any]
"""A JSON object as `json.loads` returns it. Read-only once it is passed on."""

_INDEX_DIGITS = 6  # no real list is longer, and Python refuses to read very long numbers


def is_object(value: Any) -> TypeGuard[JsonObject]:
    """Return whether the value is a JSON object."""
    return isinstance(value, dict)


def is_list(value: Any) -> TypeGuard[list[Any]]:
    """Return whether the value is a JSON list."""
    return isinstance(value, list)


def as_object(value: Any) -> JsonObject:
    """Return the value if it is an object, else an empty one."""
    return value if is_object(value) else {}


def as_list(value: Any) -> list[Any]:
    """Return the value if it is a list, else an empty one."""
    return value if is_list(value) else []


def as_text(value: Any) -> str:
    """Return the value if it is a string, else an empty one."""
    return value if isinstance(value, str) else ""


def as_texts(value: Any) -> list[str]:
    """Return the strings in a list, or nothing if the value is not a list."""
    return [x for x in as_list(value) if isinstance(x, str)]


def children(value: Any) -> Iterable[Any]:
    """Return the values directly inside an object or a list."""
    if is_object(value):
        return value.values()
    return value if is_list(value) else ()


def parts_of(value: Any) -> Iterator[Any]:
    """Yield the value and every value in it, level by level."""
    waiting = deque([value])
    while waiting:
        yield (part := waiting.popleft())
        waiting += children(part)


def json_type(value: Any) -> str:
    """Return the JSON Schema type of a value from `json.loads`; a tuple is an array.

    Empty for anything but JSON. `1.0` is a `number`, not an `integer`.
    """
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list() | tuple():
            return "array"
        case dict():
            return "object"
        case _:
            return ""


def at(document: Any, pointer: str, missing: Any = None) -> Any:
    """Return the part of a document at a JSON pointer (RFC 6901): `#/$defs/Size` or `/items/0`.

    `missing` if there is nothing at it, and for a fragment that is not a pointer.
    """
    if pointer.startswith("#"):
        pointer = _percent_decode(pointer[1:])
    if pointer and not pointer.startswith("/"):
        return missing
    place: Any = document
    for token in pointer.split("/")[1:]:
        name = token.replace("~1", "/").replace("~0", "~")
        if is_list(place):
            is_index = name.isdecimal() and len(name) <= _INDEX_DIGITS and int(name) < len(place)
            place = place[int(name)] if is_index else missing
        else:
            place = as_object(place).get(name, missing)
    return place


def canonical_json(value: Any) -> str:
    """Return the same text for equal values: sorted names, no spaces."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def clip(text: str, at_most: int) -> str:
    """Return the text, or its beginning and three dots."""
    return text if len(text) <= at_most else f"{text[:at_most]}..."


def _percent_decode(text: str) -> str:
    if "%" not in text:
        return text
    from urllib.parse import unquote  # takes as long to load as the whole search

    return unquote(text)
