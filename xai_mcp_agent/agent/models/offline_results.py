"""Results as the offline model reads them: outcomes of calls, values in them, and their text."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ...core.json import JsonObject, as_object, is_list, is_object
from ...search.terms import root, separate_words
from ...steps.results import parse_json_text
from ..messages import Message, text_of, with_calls
from .offline_arguments import Slot
from .offline_values import number_in

_ORDINALS = {"first": 0, "second": 1, "third": 2, "last": -1}


@dataclass(frozen=True)
class CallOutcome:
    """A completed call with its result."""

    name: str
    arguments: JsonObject
    text: str

    @property
    def is_error(self) -> bool:
        """Return whether the call failed."""
        return self.text.startswith("ERROR")

    @cached_property
    def data(self) -> Any:
        """Return the result's JSON value, else its text."""
        return parse_json_text(self.text)

    @property
    def is_empty(self) -> bool:
        """Return whether the call found nothing."""
        fields = as_object(self.data)
        lists = [x for x in fields.values() if is_list(x)]
        return self.data in ([], {}, "") or (len(fields) < 4 and lists == [[]])


def outcomes_in(messages: Sequence[Message]) -> list[CallOutcome]:
    """Return the answered calls, in order."""
    outcomes: list[CallOutcome] = []
    for message, call in with_calls(messages):
        if message.get("role") == "tool":
            function = as_object(call.get("function"))
            arguments = as_object(parse_json_text(function.get("arguments")))
            name = str(function.get("name") or message.get("name") or "")
            outcomes.append(CallOutcome(name, arguments, text_of(message)))
    return outcomes


def items_in(data: Any) -> list[Any]:
    """Return a result's items: the result itself if it is a list, else its only list."""
    if is_list(data):
        return data
    lists = [x for x in as_object(data).values() if is_list(x)]
    return lists[0] if len(lists) == 1 and len(as_object(data)) < 4 else []


def pick(items: Sequence[Any], text: str) -> Any:
    """Return the item that words point at: `the second one`; else the first."""
    words = re.findall(r"[a-z]+", text.lower())
    place = next((_ORDINALS[x] for x in words if x in _ORDINALS), 0)
    return items[place] if place < len(items) else items[0]


def id_in(data: Any, slot: Slot, name: str) -> Any:
    """Return the id of the only item, or of the only one with this name; else None."""
    items = [x for x in items_in(data) if is_object(x)]
    matches = [x for x in items if any(str(y).lower() == name.lower() for y in x.values())]
    matches = matches or items
    return value_for(slot, matches[0], strict=True) if len(matches) == 1 else None


def value_for(slot: Slot, data: Any, *, strict: bool) -> Any:
    """Return a parameter's value from a result: by field name or, unless `strict`, by form."""
    fields = as_object(data)
    words = [root(x) for x in slot.words]
    for name, value in fields.items():
        own = [root(x) for x in separate_words(name).lower().split()]
        if own == words or (slot.is_id and own == ["id"]):
            return _coerce(slot, value)
    if slot.topic == "date":
        dates = (re.search(r"\d{4}-\d{2}-\d{2}", str(x)) for x in fields.values())
        return next((x[0] for x in dates if x), None)
    if strict and (slot.is_id or not slot.is_number):
        return None
    if not fields:
        return _coerce(slot, data)
    texts = (fields[x] for x in ("title", "name", "text", "result", "value") if x in fields)
    return next((x for x in (_coerce(slot, y) for y in texts) if x is not None), None)


def _coerce(slot: Slot, value: Any) -> Any:
    if slot.kind == "array":
        return value if is_list(value) else [value]
    if slot.is_number:
        return number_of(value)
    return str(value) if isinstance(value, str | int | float) else None


def number_of(data: Any) -> int | float | None:
    """Return the number in a result, or None; of several in a text the last one."""
    value = as_object(data).get("result", data)
    if isinstance(value, str):
        numbers = re.findall(r"-?\d+(?:\.\d+)?", value)
        value = number_in(numbers[-1]) if numbers and len(value) < 200 else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if math.isfinite(value) else None


def format_result(data: Any) -> str:
    """Format a result for people: its text, or its fields line by line."""
    if _is_table(data):
        return "\n".join(f"- {_line(x)}" for x in data)
    if not is_object(data):
        return _line(data)
    fields = {k.replace("_", " "): v for k, v in data.items()}
    return "\n".join(
        f"{k}:\n{format_result(v)}" if _is_table(v) else f"{k}: {_line(v)}"
        for k, v in fields.items()
    )


def _is_table(data: Any) -> bool:
    return is_list(data) and any(isinstance(x, dict | list) for x in data)


def _line(value: Any) -> str:
    if is_object(value):
        return ", ".join(f"{k.replace('_', ' ')}: {_line(v)}" for k, v in value.items())
    if is_list(value):
        return ", ".join(map(_line, value))
    if value is None:
        return "none"
    return value.strip() if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
