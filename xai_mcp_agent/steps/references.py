"""Steps: calls in a few lines of text, each with a tool and the sources of its arguments.

    library/lend
    book_id = results[0].books[0].id
    borrower = "Ada"

The first line is the tool: its source, a slash, its name. Each further line is a parameter and its
value: JSON, or a part of an earlier result. `+` joins texts, and `number(...)` reads a number in a
text. `after "until "` and `before "."` cut a text at these words. `#` begins a comment.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, TypeAlias

from ..core.json import as_object, children, is_list

RESULTS = "results"
"""Name of the earlier results in a step; their numbers are the positions of the wires."""

VALUE_PLACEHOLDER = "(write the value here)"
"""Text of a literal in a drawn workflow, in place of an unknown value."""

CANVAS_SOURCE = "canvas"
"""Source of drawn tools in a step."""


class First(Enum):
    """Path step to the first item, whatever its index or key."""

    ITEM = "[]"
    VALUE = "{key}"


@dataclass(frozen=True, slots=True)
class Somewhere:
    """Path step to the value with this name at any depth; without a name, to all of it."""

    name: str


PathStep: TypeAlias = str | int | First | Somewhere


@dataclass(frozen=True, slots=True)
class Reference:
    """Part of an earlier result; `result` is the number of its wire, from 0.

    With `after` or `before` it is the text between the two, or up to the next space.
    """

    result: int
    path: tuple[PathStep, ...] = ()
    after: str = ""
    before: str = ""


@dataclass(frozen=True, slots=True)
class Joined:
    """Text made of parts, each a `Reference` or a text."""

    parts: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Number:
    """Number in a part of a result, also if it is a text there."""

    of: Reference


@dataclass(frozen=True, slots=True)
class Step:
    """One call. Its arguments are JSON that may contain `Reference`, `Joined` and `Number`."""

    source: str
    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def name(self) -> str:
        """Return the tool as in the first line."""
        source = self.source if _BARE_SOURCE.fullmatch(self.source) else _json(self.source)
        tool = self.tool if _BARE_TOOL.fullmatch(self.tool) else _json(self.tool)
        return f"{source}/{tool}"


def step_text(step: Step) -> str:
    """Return the step as text; `read_step` reads it back."""
    lines = [f"{_parameter(name)} = {_value_text(x)}" for name, x in step.arguments.items()]
    return "\n".join([step.name, *lines])


def references_in(value: Any) -> list[Reference]:
    """Return all references in an argument, in order."""
    match value:
        case Reference():
            return [value]
        case Number(of):
            return [of]
        case Joined(parts):
            return [x for part in parts for x in references_in(part)]
        case _:
            return [x for part in children(value) for x in references_in(part)]


def with_results(value: Any, place_of: Callable[[int], int]) -> Any:
    """Return an argument with the numbers of its results replaced."""
    match value:
        case Reference(result):
            return replace(value, result=place_of(result))
        case Number(of):
            return Number(with_results(of, place_of))
        case Joined(parts):
            return Joined(tuple(with_results(x, place_of) for x in parts))
        case dict():
            return {name: with_results(x, place_of) for name, x in as_object(value).items()}
        case _:
            return [with_results(x, place_of) for x in value] if is_list(value) else value


def reference_text(reference: Reference) -> str:
    """Return a reference as text."""
    text = f"{RESULTS}[{reference.result}]{path_text(reference.path)}"
    for word in ("after", "before"):
        if words := getattr(reference, word):
            text += f" {word} {_json(words)}"
    return text


def path_text(path: Sequence[PathStep]) -> str:
    """Return a path as text, as it stands after the result."""
    return "".join(_path_step(x) for x in path)


BARE = re.compile(r"[^\W\d][\w-]*")
"""A name that needs no quotation marks."""
_BARE_SOURCE = re.compile(r"\w(?:[\w .:@-]*\w)?")
_BARE_TOOL = re.compile(
    r"\w(?:[^\"\n\r\u2605\u25b6\ud800-\udfff]*[^\s\"\u2605\u25b6\ud800-\udfff])?"
)
_HALF = re.compile("[\ud800-\udfff]")  # lone surrogates, which no file can contain
# Characters that the compiler and the canvas remove from a text.
_SIGNS = {"\u2605": "\\u2605", "\u25b6": "\\u25b6"}


def _parameter(name: str) -> str:
    return name if BARE.fullmatch(name) else _json(name)


def _json(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    for sign, escaped in _SIGNS.items():
        text = text.replace(sign, escaped)
    return _HALF.sub(lambda half: f"\\u{ord(half[0]):04x}", text)


def _value_text(value: Any) -> str:
    match value:
        case Reference():
            return reference_text(value)
        case Joined(parts):
            # A text first: joined parts are a text, even if all of them come from results.
            summands = parts if parts and isinstance(parts[0], str) else ("", *parts)
            return " + ".join(_value_text(x) for x in summands)
        case Number(of):
            return f"number({reference_text(of)})"
        case dict():
            items = as_object(value).items()
            return "{" + ", ".join(f"{_json(k)}: {_value_text(x)}" for k, x in items) + "}"
        case _:
            return f"[{', '.join(map(_value_text, value))}]" if is_list(value) else _json(value)


def _path_step(step: PathStep) -> str:
    match step:
        case First.ITEM:
            return "[]"
        case First.VALUE:
            return ".{key}"
        case Somewhere(name):
            return f"..{name}"
        case int():
            return f"[{step}]"
        case _:
            return f".{step}" if BARE.fullmatch(step) else f"[{_json(step)}]"
