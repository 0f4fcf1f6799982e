"""Definitions of tools in shorter and shorter forms, for where the whole ones take too much room.

Only what a model reads gets shorter: arguments are checked against the tool's own schema, and
`tool_explain` shows it whole.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, cast

from ..catalog.definitions import ToolDefinition, definition_with
from ..core.json import JsonObject
from ..core.provider_schema import FunctionSpec

# Nothing that tells a model how to call: it may be left out first.
_METADATA = ("title", "examples", "deprecated", "additionalProperties")
_DESCRIPTION_CHARS, _PARAMETER_CHARS = 160, 60
_OUTLINE_CHARS = 80
_MOST_CHOICES = 8  # of a parameter, in an outline
# More than fits any budget that people set; walking through it would hold up the loop.
_HUGE_TOKENS = 10_000
_MAPS = ("properties", "$defs", "definitions")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s|\n")
_MORE = " ..."


def _without_metadata(function: FunctionSpec) -> FunctionSpec:
    return replace(function, parameters=_each_schema(function.parameters, _plain))


def _with_short_texts(function: FunctionSpec) -> FunctionSpec:
    described = _each_schema(function.parameters, _briefly_described)
    text = first_sentence(function.description, _DESCRIPTION_CHARS)
    return replace(function, description=text, parameters=described)


def _without_parameter_texts(function: FunctionSpec) -> FunctionSpec:
    return replace(function, parameters=_each_schema(function.parameters, _undescribed))


def _outline(function: FunctionSpec) -> FunctionSpec:
    """The parameters with their types alone."""
    text = first_sentence(function.description, _OUTLINE_CHARS)
    schema: JsonObject = {"type": "object"}
    named = cast(JsonObject, function.parameters.get("properties") or {})
    schema["properties"] = {name: _typed(x) for name, x in named.items()}
    if needed := function.parameters.get("required"):
        schema["required"] = needed
    return replace(function, description=text, parameters=schema)


# Each is made from the one before.
_STEPS: tuple[Callable[[FunctionSpec], FunctionSpec], ...] = (
    _without_metadata,
    _with_short_texts,
    _without_parameter_texts,
    _outline,
)
MOST_STEPS = len(_STEPS)
"""In how many steps a definition gets shorter: without metadata, with short texts, without texts of
parameters, and as an outline of names and types."""


def shortened(definition: ToolDefinition, step: int) -> ToolDefinition:
    """The definition after this step, from 1 to `MOST_STEPS`, given as it is after the one before.

    It never gets longer. Of a huge one each step makes the outline.
    """
    shorten = _outline if definition.tokens > _HUGE_TOKENS else _STEPS[step - 1]
    shorter = definition_with(definition, shorten(definition.function))
    return shorter if shorter.tokens < definition.tokens else definition


def first_sentence(text: str, most_chars: int) -> str:
    """The first sentence of a text, on one line, cut where it is longer."""
    folded = " ".join(_SENTENCE_END.split(text.strip(), maxsplit=1)[0].split())
    if len(folded) <= most_chars:
        return folded
    room = most_chars - len(_MORE)
    return folded[: room + 1].rsplit(" ", 1)[0][:room] + _MORE


def _each_schema(schema: JsonObject, change: Callable[[JsonObject], JsonObject]) -> JsonObject:
    """A schema in which this was done to it, and to each schema in it."""
    return {word: _inner(word, value, change) for word, value in change(schema).items()}


def _inner(word: str, value: Any, change: Callable[[JsonObject], JsonObject]) -> Any:
    if word in _MAPS and isinstance(value, dict):
        named = cast(JsonObject, value).items()
        return {name: _inner("", part, change) for name, part in named}
    if word in ("enum", "const", "default", "required", "examples"):
        return value
    if isinstance(value, dict):
        return _each_schema(cast(JsonObject, value), change)
    if isinstance(value, list):
        return [_inner("", x, change) for x in cast(list[Any], value)]
    return value


def _plain(schema: JsonObject) -> JsonObject:
    return {
        word: x
        for word, x in schema.items()
        # One that says what further properties are tells how to call.
        if word not in _METADATA or (word == "additionalProperties" and isinstance(x, dict) and x)
    }


def _briefly_described(schema: JsonObject) -> JsonObject:
    text = schema.get("description")
    if not isinstance(text, str):
        return schema
    return {**schema, "description": first_sentence(text, _PARAMETER_CHARS)}


def _undescribed(schema: JsonObject) -> JsonObject:
    return {word: x for word, x in schema.items() if word != "description"}


def _typed(schema: Any) -> JsonObject:
    given: Mapping[str, Any] = cast(JsonObject, schema) if isinstance(schema, dict) else {}
    kept: JsonObject = {"type": given["type"]} if "type" in given else {}
    choices = given.get("enum")
    if isinstance(choices, list) and len(cast(list[Any], choices)) <= _MOST_CHOICES:
        kept["enum"] = choices
    if isinstance(items := given.get("items"), dict):
        kept["items"] = _typed(items)
    return kept
