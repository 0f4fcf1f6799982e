"""Results of tools as the offline model sees them: data, and words for a person."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from ...core.json import JsonObject, as_object, is_list, is_object
from ...search.terms import root, spaced
from ..messages import Message, text_of, with_calls
from .offline_arguments import Slot

_MOST_SHOWN = 6_000  # characters of a result
_ORDINALS = {"first": 0, "second": 1, "third": 2, "fourth": 3, "fifth": 4, "last": -1}
# Which field a superlative looks at, and whether it wants the greatest.
_SUPERLATIVES = {
    "oldest": ("year date published", False), "newest": ("year date published", True),
    "latest": ("date year published", True), "earliest": ("date year due", False),
    "cheapest": ("price cost", False), "dearest": ("price cost", True),
    "largest": ("size count total", True), "smallest": ("size count total", False),
    "longest": ("length pages", True), "shortest": ("length pages", False),
}  # fmt: skip
_OFFERS = re.compile(
    r"\b(?:did you mean|"
    r"(?:known|valid|available|allowed|possible|supported|one of)\b[^:\n]{0,40}):?"
    r"([^\n]{1,300})", re.IGNORECASE,
)  # fmt: skip
SUPERLATIVE = re.compile(rf"\b(?:{'|'.join(_SUPERLATIVES)})\b", re.IGNORECASE)


@dataclass(frozen=True)
class Outcome:
    """A call that was made, and what came back."""

    name: str
    arguments: JsonObject
    text: str

    @property
    def is_error(self) -> bool:
        """Whether it failed."""
        return self.text.startswith("ERROR")

    @property
    def data(self) -> Any:
        """The result as JSON, or its text."""
        return data_in(self.text)


def outcomes_in(messages: Sequence[Message]) -> Iterator[Outcome]:
    """Every answered call, in order."""
    for message, call in with_calls(messages):
        if message.get("role") == "tool":
            function = as_object(call.get("function"))
            try:
                arguments = as_object(json.loads(str(function.get("arguments") or "{}")))
            except (ValueError, RecursionError):
                arguments = {}
            name = str(function.get("name") or message.get("name") or "")
            yield Outcome(name, arguments, text_of(message))


def data_in(text: str) -> Any:
    """A result as data: its JSON value, a list where it holds several, else the text itself."""
    several = re.sub(r"(?<=})\s*\n(?={)", ",", text.strip())
    for written in (text, f"[{several}]"):
        try:
            return json.loads(written) if text.lstrip()[:1] in ("{", "[") else text
        except (ValueError, RecursionError):
            continue
    return text


def items_in(data: Any) -> list[Any]:
    """The things that a result is about: a list, or the one list that it holds."""
    if is_list(data):
        return data
    lists = [x for x in as_object(data).values() if is_list(x)]
    return lists[0] if len(lists) == 1 and len(as_object(data)) < 4 else []


def is_empty(outcome: Outcome) -> bool:
    """Whether nothing was found."""
    data = outcome.data
    lists = [x for x in as_object(data).values() if is_list(x)]
    is_bare = is_object(data) and len(data) < 4 and len(lists) == 1 and not lists[0]
    return not outcome.is_error and (data in ([], {}, "") or is_bare)


def share_said(outcome: Outcome, sought: Sequence[str]) -> float:
    """How much of what is sought a result says."""
    text = outcome.text.lower()
    return sum(x.lower() in text for x in sought) / max(1, len(sought))


def pick(items: Sequence[Any], text: str) -> Any:
    """The item that words point at: `the second one`, `the cheapest`; else the first."""
    words = re.findall(r"[a-z]+", text.lower())
    for word in words:
        fields, greatest = _SUPERLATIVES.get(word, ("", False))
        for name in fields.split():
            ranked = [x for x in items if is_object(x) and name in x]
            if ranked:
                return (max if greatest else min)(ranked, key=lambda x: str(x[name]).zfill(20))
    place = next((_ORDINALS[x] for x in words if x in _ORDINALS), 0)
    return items[place] if place < len(items) else items[0]


def ids_in(outcome: Outcome, slot: Slot, name: str) -> list[Any]:
    """The id of the one thing that was found, or of the one that is called so."""
    items = [x for x in items_in(outcome.data) if is_object(x)]
    exact = [x for x in items if any(str(y).lower() == name.lower() for y in x.values())]
    chosen = exact or items
    value = value_for(slot, chosen[0], strict=True) if len(chosen) == 1 else None
    return [] if value is None else [value]


def value_for(slot: Slot, data: Any, *, strict: bool) -> Any:
    """What a result offers for a parameter: the field of its name; unless `strict`, of its form."""
    fields = as_object(data)
    sought = [root(x) for x in slot.words]
    for name, value in fields.items():
        own = [root(x) for x in spaced(name).lower().split()]
        if own == sought or (slot.is_id and own == ["id"]):
            return _fitted(slot, value)
    if form := {"date": r"\d{4}-\d{2}-\d{2}", "url": r"https?://\S+"}.get(slot.topic):
        matches = (re.search(form, str(x)) for x in fields.values())
        return next((x[0] for x in matches if x), None)
    if strict and (slot.is_id or not slot.is_number):
        return None
    if not fields:
        return _fitted(slot, data)
    texts = (fields[x] for x in ("title", "name", "text", "result", "value") if x in fields)
    return next((x for x in (_fitted(slot, y) for y in texts) if x is not None), None)


def _fitted(slot: Slot, value: Any) -> Any:
    if slot.kind == "array":
        return value if is_list(value) else [value]
    if slot.is_number:
        return number_of(value)
    if slot.topic == "date" and isinstance(value, str):
        return value[:10]
    return str(value) if isinstance(value, str | int | float) else None


def number_of(data: Any) -> int | float | None:
    """The number that a result is."""
    value = as_object(data).get("result", data)
    if isinstance(value, str):
        numbers = re.findall(r"-?\d+(?:\.\d+)?", value)
        value = json.loads(numbers[-1]) if numbers and len(value) < 200 else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if math.isfinite(value) else None


def mended_by(arguments: JsonObject, outcome: Outcome) -> JsonObject | None:
    """The same call with one value replaced by what the error offers, if it is alike."""
    offer = _OFFERS.search(outcome.text)
    for name, value in arguments.items() if offer else ():
        if offer and isinstance(value, str) and value.lower() in outcome.text.lower():
            values = re.findall(r"[\w./+-]*\w", offer[1])
            if near := get_close_matches(value.lower(), values, 1, 0.5):
                return {**arguments, name: near[0]}
    return None


def as_text(data: Any, indent: str = "") -> str:
    """A result for a person: its text, or its fields line by line."""
    if is_list(data):
        if all(not isinstance(x, dict | list) for x in data):
            return ", ".join(map(_plain, data))
        return "\n".join(f"{indent}- {_line(x)}" for x in data)
    if not is_object(data):
        return _plain(data)
    lines: list[str] = []
    for name, value in data.items():
        is_long = is_list(value) and any(isinstance(x, dict | list) for x in value)
        rendered = f"\n{as_text(value, indent)}" if is_long else f" {_line(value)}"
        lines.append(f"{indent}{_label(name)}:{rendered}")
    return "\n".join(lines)


def _line(value: Any) -> str:
    if is_object(value):
        return ", ".join(f"{_label(k)}: {_line(v)}" for k, v in value.items())
    return ", ".join(map(_line, value)) if is_list(value) else _plain(value)


def _label(name: str) -> str:
    return name.replace("_", " ")


def _plain(value: Any) -> str:
    if value is None:
        return "none"
    return value.strip() if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def shortened(text: str) -> str:
    """A text as it is shown, with how much of it is not."""
    left = len(text) - _MOST_SHOWN
    return text if left <= 0 else f"{text[:_MOST_SHOWN]} ... ({left} more characters)"
