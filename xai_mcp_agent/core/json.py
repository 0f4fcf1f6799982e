"""JSON as values: what type one has, what stands at a pointer, and reading it without trust."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias, TypeGuard

JsonObject: TypeAlias = dict[str, Any]
"""A JSON object as `json.loads` returns it. Treated as read-only once handed over."""

_INDEX_DIGITS = 6  # no real list is longer, and Python refuses to read very long numbers


def is_object(value: Any) -> TypeGuard[JsonObject]:
    """Whether the value is an object of JSON."""
    return isinstance(value, dict)


def is_list(value: Any) -> TypeGuard[list[Any]]:
    """Whether the value is a list of JSON."""
    return isinstance(value, list)


def as_object(value: Any) -> JsonObject:
    """The value if it is an object, else an empty one."""
    return value if is_object(value) else {}


def as_list(value: Any) -> list[Any]:
    """The value if it is a list, else an empty one."""
    return value if is_list(value) else []


def as_text(value: Any) -> str:
    """The value if it is a text, else an empty one."""
    return value if isinstance(value, str) else ""


def as_texts(value: Any) -> list[str]:
    """The texts in a list; none where the value is no list."""
    return [x for x in as_list(value) if isinstance(x, str)]


def children(value: Any) -> Iterable[Any]:
    """The values directly inside an object or a list."""
    if is_object(value):
        return value.values()
    return value if is_list(value) else ()


def parts_of(value: Any) -> Iterator[Any]:
    """The value and every value in it, level by level."""
    waiting = deque([value])
    while waiting:
        yield (part := waiting.popleft())
        waiting += children(part)


def json_type(value: Any) -> str:
    """The JSON Schema type of a value, as `json.loads` returns it or as Python has it for a list.

    Empty for what is no JSON. A number without a fraction that is written with one is a `number`.
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


def at(document: Any, pointer: str) -> Any:
    """The part of a document at a JSON pointer (RFC 6901), such as `#/$defs/Size` or `/items/0`.

    None where nothing stands there, and for a fragment that is no pointer.
    """
    if pointer.startswith("#"):
        pointer = _percent_decoded(pointer[1:])
    if pointer and not pointer.startswith("/"):
        return None
    place: Any = document
    for token in pointer.split("/")[1:]:
        name = token.replace("~1", "/").replace("~0", "~")
        if is_list(place):
            is_index = name.isdecimal() and len(name) <= _INDEX_DIGITS and int(name) < len(place)
            place = place[int(name)] if is_index else None
        else:
            place = as_object(place).get(name)
    return place


def canonical(value: Any) -> str:
    """One text for equal values: sorted names, no spaces."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def clipped(text: str, at_most: int) -> str:
    """The text, or its beginning and three dots."""
    return text if len(text) <= at_most else f"{text[:at_most]}..."


def _percent_decoded(text: str) -> str:
    if "%" not in text:
        return text
    from urllib.parse import unquote  # takes as long to load as all of the search

    return unquote(text)
