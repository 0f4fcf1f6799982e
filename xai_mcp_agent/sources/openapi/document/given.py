"""A document that a program gives as it read it: YAML readers give numbers as keys, and dates."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date
from typing import Any, cast


def as_json_has_it(given: Any) -> Any:
    """A copy with nothing in it but what JSON has; what is in it several times still is one.

    Keys are texts, dates and times are written as in RFC 3339. What else JSON does not have is
    left as it is: it is no part of a tool.
    """
    made: dict[int, Any] = {}
    waiting: list[Any] = []

    def copied(value: Any) -> Any:
        if isinstance(value, date):
            return value.isoformat()
        if not isinstance(value, Mapping | list | tuple):
            return value
        key = id(cast(object, value))
        if key not in made:
            made[key] = {} if isinstance(value, Mapping) else []
            waiting.append(value)
        return made[key]

    found = copied(given)
    while waiting:
        value = waiting.pop()
        if isinstance(value, Mapping):
            named = cast(Mapping[Any, Any], value).items()
            made[id(cast(object, value))].update({_key(x): copied(y) for x, y in named})
        else:
            made[id(value)].extend(map(copied, value))
    return found


def _key(key: Any) -> str:
    if isinstance(key, str):
        return key
    if isinstance(key, date):
        return key.isoformat()
    if key is None or isinstance(key, bool):
        return json.dumps(key)  # 1 equals True: no table of them
    try:
        return str(key)
    except ValueError:  # more digits than Python writes
        return "a number"
