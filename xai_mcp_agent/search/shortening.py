"""Shorter and shorter forms of a tool's definition, for requests without room for the whole.

Only the model's view gets shorter: arguments are checked against the tool's own schema, and
`tool_explain` shows it whole.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ..catalog.definitions import ToolDefinition
from ..core.json import JsonObject, as_list, as_object
from ..core.provider_schema import FunctionSpec
from ..core.schemas import rewrite

# A model can call without these, so they are left out first.
_METADATA = ("title", "examples", "deprecated")
_DESCRIPTION_CHARS, _PARAMETER_CHARS, _OUTLINE_CHARS = 160, 60, 80
_MAX_CHOICES = 8  # of a parameter, in an outline
# Larger than any budget; walking through it would block the loop.
_HUGE_TOKENS = 10_000
_SENTENCE_END = re.compile(r"(?<=[.!?])\s|\n")
_MORE = " ..."


def _without_metadata(function: FunctionSpec) -> FunctionSpec:
    return replace(function, parameters=rewrite(function.parameters, _plain))


def _with_short_texts(function: FunctionSpec) -> FunctionSpec:
    parameters = rewrite(function.parameters, _with_short_description)
    text = first_sentence(function.description, _DESCRIPTION_CHARS)
    return replace(function, description=text, parameters=parameters)


def _without_parameter_texts(function: FunctionSpec) -> FunctionSpec:
    return replace(function, parameters=rewrite(function.parameters, _without_descriptions))


def _outline(function: FunctionSpec) -> FunctionSpec:
    """Return the parameters with their types alone."""
    parameters = function.parameters
    properties = as_object(parameters.get("properties"))
    schema = {"type": "object", "properties": {x: _types_of(y) for x, y in properties.items()}}
    if required := parameters.get("required"):
        schema["required"] = required
    text = first_sentence(function.description, _OUTLINE_CHARS)
    return replace(function, description=text, parameters=schema)


# Each step starts from the one before.
_STEPS: tuple[Callable[[FunctionSpec], FunctionSpec], ...] = (
    _without_metadata,
    _with_short_texts,
    _without_parameter_texts,
    _outline,
)
MAX_STEPS = len(_STEPS)
"""Steps in which a definition gets shorter: without metadata, with short texts, without texts of
parameters, and as an outline of names and types."""


def shorten(definition: ToolDefinition, step: int) -> ToolDefinition:
    """Return the definition after a step from 1 to `MAX_STEPS`, made from the one before the step.

    It never gets longer. Each step turns a huge one into the outline.
    """
    shorten_function = _outline if definition.tokens > _HUGE_TOKENS else _STEPS[step - 1]
    shorter = replace(definition, function=shorten_function(definition.function))
    return shorter if shorter.tokens < definition.tokens else definition


def first_sentence(text: str, max_chars: int) -> str:
    """Return the first sentence of a text on one line, cut if it is longer."""
    sentence = " ".join(_SENTENCE_END.split(text.strip(), maxsplit=1)[0].split())
    if len(sentence) <= max_chars:
        return sentence
    room = max_chars - len(_MORE)
    return sentence[: room + 1].rsplit(" ", 1)[0][:room] + _MORE


def _plain(schema: JsonObject) -> JsonObject:
    plain = {word: x for word, x in schema.items() if word not in _METADATA}
    # The schema of further properties is needed for calls.
    if not as_object(plain.get("additionalProperties")):
        plain.pop("additionalProperties", None)
    return plain


def _with_short_description(schema: JsonObject) -> JsonObject:
    text = schema.get("description")
    if not isinstance(text, str):
        return schema
    return {**schema, "description": first_sentence(text, _PARAMETER_CHARS)}


def _without_descriptions(schema: JsonObject) -> JsonObject:
    return {word: x for word, x in schema.items() if word != "description"}


def _types_of(schema: Any) -> JsonObject:
    types = {word: x for word, x in as_object(schema).items() if word == "type"}
    choices = as_list(as_object(schema).get("enum"))
    if 0 < len(choices) <= _MAX_CHOICES:
        types["enum"] = choices
    if items := as_object(as_object(schema).get("items")):
        types["items"] = _types_of(items)
    return types
