"""Tools as model providers accept them, whatever schema and description a server gave.

One refused tool costs the whole request, so what providers refuse is rewritten here, always in the
same way. Each rewriting names who refuses what it mends. Arguments are still checked against the
schema as the server sent it (`schemas.py`).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from typing import Any, TypeGuard

from .json import JsonObject, as_list, as_object, as_texts, at, canonical, children, is_list
from .schema_cost import TooCostly, check_size
from .tools import Tool
from .visible import is_visible, shown_parameter, visible_text

_MAX_DEPTH = 20  # deeper than any real tool; below it anything is allowed
# Longer ones would fill the model's window by themselves. Characters.
_MAX_DESCRIPTION, _MAX_TEXT, _MAX_VALUES = 20_000, 4_000, 8_000
_SHOWN_VALUES = 3
# Of a schema with all that was put in place of references, which would grow without end. To try a
# pattern takes up to a millisecond, so that it counts as many words.
_MAX_WORDS, _WORDS_OF_REFERENCE, _WORDS_OF_PATTERN = 10_000, 50, 200
_MAX_PATTERN = 500  # characters
# Python warns of what may become a nested set; what it means differs between engines.
_NESTED_SET, _ESCAPED = re.compile(r"\[\[|\[\^?\]?[^\]]*(?:--|&&|~~|\|\|)"), re.compile(r"\\.")

_NOT_AT_THE_TOP = ("anyOf", "oneOf", "allOf", "not", "enum", "const", "if", "then", "else", "$ref")
_DEFINITIONS = ("$defs", "definitions")
_TEXTS = ("title", "description", "format")
_PLAIN = frozenset((
    "type", "uniqueItems", "deprecated", "minLength", "maxLength", "minItems", "maxItems",
    "minProperties", "maxProperties", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
    "multipleOf",
))  # fmt: skip
_LARGEST = 1e308  # JSON has larger numbers, and most other languages have not
_NOTHING = object()


@dataclass(frozen=True, slots=True)
class FunctionSpec:
    """A tool as the model is offered it. `parameters` is a JSON Schema of an object.

    `read_only` is what the server says, if anything; models with a key are not told.
    """

    name: str
    description: str
    parameters: JsonObject
    read_only: bool | None = None


def function_spec(name: str, tool: Tool) -> FunctionSpec:
    """The tool as a model is offered it, under this name."""
    description = function_description(tool.description)
    parameters = function_parameters(tool.input_schema)
    return FunctionSpec(name, description, parameters, tool.annotations.read_only)


def function_description(text: str) -> str:
    """A tool's description for a model: without what people cannot see, and not endless."""
    return visible_text(text, _MAX_DESCRIPTION)


def function_parameters(schema: JsonObject) -> JsonObject:
    """The input schema in the shape every provider accepts: an object with properties.

    Words that providers do not know are left out, and so are wrong values of the others and
    references that lead nowhere. What is nested too deeply, or is too much, allows anything.
    """
    try:
        check_size(schema)
    except TooCostly:
        return {"type": "object", "properties": {}}
    rewriter = _Rewriter(schema)
    parameters = rewriter.schema(_one_object(rewriter.target_of(schema), rewriter), _MAX_DEPTH)
    for word in _DEFINITIONS:
        if word in schema:
            parameters[word] = rewriter.definitions(as_object(schema[word]))
    shown = {word: value for word, value in parameters.items() if word not in _NOT_AT_THE_TOP}
    # OpenAI: "object schema missing properties".
    properties = shown.pop("properties", {})
    return {**shown, "type": "object", "properties": properties}


def _one_object(schema: JsonObject, rewriter: _Rewriter) -> JsonObject:
    """The properties of all choices at the top as properties of the whole.

    OpenAI: "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the
    top level"; Anthropic: "input_schema does not support oneOf, allOf, or anyOf at the top level".
    """
    properties = as_object(schema.get("properties"))
    required = as_texts(schema.get("required"))
    for word in ("allOf", "anyOf", "oneOf"):
        parts = [rewriter.target_of(as_object(x)) for x in as_list(schema.get(word))]
        for part in parts:
            properties = {**rewriter.affordable(as_object(part.get("properties"))), **properties}
        # Of several choices, only what all of them need is needed.
        count = Counter(x for part in parts for x in set(as_texts(part.get("required"))))
        required += [x for x, times in count.items() if word == "allOf" or times == len(parts)]
    return {**schema, "properties": properties, "required": required}


class _Rewriter:
    """Rewrites the parts of one schema; knows the whole for the references in it."""

    def __init__(self, root: JsonObject) -> None:
        self._root = root
        self._words_left = _MAX_WORDS

    def definitions(self, parts: JsonObject) -> JsonObject:
        """The definitions at the top, without those whose name cannot be shown."""
        return {
            x: self.schema(part, _MAX_DEPTH) for x, part in parts.items() if shown_parameter(x) == x
        }

    def schema(self, value: Any, depth: int) -> JsonObject:
        """One schema. What is no schema allows anything."""
        schema = self.affordable(as_object(value))
        if not depth:
            return {}
        schema, rewritten = self._without_far_reference(schema), JsonObject()
        for word, inner in schema.items():
            kept = self._kept(word, inner, depth - 1)
            if kept is not _NOTHING:
                rewritten[word] = kept
        return _completed(rewritten, schema)

    def affordable(self, part: JsonObject) -> JsonObject:
        """It, or nothing where the schema has grown too large."""
        listed = sum(len(x) for x in part.values() if is_list(x))
        self._words_left -= 1 + len(part) + listed // 10
        return part if self._words_left >= 0 else {}

    def target_of(self, schema: JsonObject) -> JsonObject:
        """The schema, or what it refers to as a whole with its own words added."""
        seen: set[str] = set()
        while self._is_definition(reference := schema.get("$ref")) and reference not in seen:
            seen.add(reference)
            schema = self._replaced(schema, reference)
            if reference == "#":
                schema.pop("$ref", None)
        return schema

    def _without_far_reference(self, schema: JsonObject) -> JsonObject:
        """OpenAI: "reference can only point to definitions defined at the top level"."""
        reference = schema.get("$ref")
        if not isinstance(reference, str) or self._is_definition(reference):
            return schema
        self._words_left -= _WORDS_OF_REFERENCE
        return self._replaced(schema, reference) if self._words_left >= 0 else schema

    def _replaced(self, schema: JsonObject, reference: str) -> JsonObject:
        own = {word: value for word, value in schema.items() if word != "$ref"}
        return {**self.affordable(as_object(at(self._root, reference))), **own}

    def _is_definition(self, reference: Any) -> TypeGuard[str]:
        """Whether a reference leads to a definition at the top that is shown, or to the top."""
        if not isinstance(reference, str) or reference == "#":
            return reference == "#"
        _, *path = reference.split("/")
        is_at_top = reference.startswith("#/") and len(path) == 2 and path[0] in _DEFINITIONS
        return is_at_top and path[1] in as_object(self._root.get(path[0])) and (
            shown_parameter(path[1]) == path[1]
        )  # fmt: skip

    def _kept(self, word: str, value: Any, depth: int) -> Any:
        """What is kept of a word of JSON Schema. All others are left out: Gemini knows fewer."""
        match word:
            case "$ref":
                return value if self._is_definition(value) else _NOTHING
            case "items" if is_list(value):  # draft 7, which Anthropic refuses for 2020-12
                each = self._schemas(value, depth)
                return {"anyOf": each} if each else {}
            case "anyOf" | "oneOf" | "allOf" | "prefixItems":
                return self._schemas(value, depth) or _NOTHING
            case "additionalProperties" if isinstance(value, bool):
                return value
            case "items" | "not" | "additionalProperties":
                return self.schema(value, depth) if isinstance(value, dict | bool) else _NOTHING
            case "properties":
                # One whose schema is false can never be given.
                parts = as_object(value).items()
                return {
                    shown_parameter(x): self.schema(y, depth) for x, y in parts if y is not False
                }
            case "required":
                return [shown_parameter(x) for x in dict.fromkeys(as_texts(value))]
            case "pattern":
                return value if self._is_pattern(value) else _NOTHING
            case _:
                return _plain(word, value)

    def _schemas(self, value: Any, depth: int) -> list[JsonObject]:
        schemas = as_list(value) if depth else []
        return [self.schema(x, depth) for x in schemas if isinstance(x, dict | bool)]

    def _is_pattern(self, value: Any) -> bool:
        """OpenAI compiles patterns with Python's `re`: "... is not a 'regex'"."""
        if not isinstance(value, str) or len(value) > _MAX_PATTERN or not is_visible(value):
            return False
        self._words_left -= _WORDS_OF_PATTERN
        if self._words_left < 0 or _NESTED_SET.search(_ESCAPED.sub("", value)):
            return False
        try:
            re.compile(value)
        except (re.error, RecursionError, OverflowError):
            return False
        return True


def _plain(word: str, value: Any) -> Any:
    """What is kept of a word without schemas in it."""
    if word in ("enum", "examples"):
        # Each once, as JSON tells them apart, or OpenAI refuses it: "has non-unique elements".
        values = {canonical(x): x for x in as_list(value)[:_MAX_VALUES] if _is_showable(x)}
        return list(values.values()) if 0 < sum(map(len, values)) <= _MAX_VALUES else _NOTHING
    if word in _TEXTS and isinstance(value, str):
        return visible_text(value, _MAX_TEXT)
    if word in ("default", "const"):
        return value if _is_showable(value) else _NOTHING
    # Draft 4 has a flag in `exclusiveMinimum`, which Anthropic refuses for 2020-12, as all else
    # that does not fit the schema of schemas.
    is_kept = word in _PLAIN and _is_valid({word: value}) and not _is_huge(value)
    return value if is_kept else _NOTHING


def _is_valid(schema: JsonObject) -> bool:
    # Here, because it is a compiled library and most runs never need it before a call.
    from jsonschema_rs import meta

    return meta.is_valid(schema)


def _is_huge(value: Any) -> bool:
    return isinstance(value, int | float) and not abs(value) <= _LARGEST


def _completed(rewritten: JsonObject, schema: JsonObject) -> JsonObject:
    """The schema with words that others need beside them."""
    kinds = rewritten.get("type", ())
    is_array = "array" in kinds if is_list(kinds) else kinds == "array"
    if is_array and "items" not in rewritten:  # OpenAI: "array schema missing items"
        rewritten["items"] = {}
    for name in rewritten.get("required", ()):  # Gemini: "property is not defined"
        rewritten.setdefault("properties", {}).setdefault(name, {})
    if not rewritten.get("required", True):
        del rewritten["required"]
    values = as_list(schema.get("enum"))
    if values and "enum" not in rewritten:  # too many for a model to read
        shown = ", ".join(visible_text(str(x)[:200], 50) for x in values[:_SHOWN_VALUES])
        hint = f"One of {len(values)} values, such as {shown}."
        rewritten["description"] = f"{rewritten.get('description', '')} {hint}".strip()
    return rewritten


def _is_showable(value: Any) -> bool:
    """Whether a value is JSON, not too long, and is what it looks like: it may be given again."""
    try:
        if len(json.dumps(value, allow_nan=False)) > _MAX_VALUES:
            return False
    except (TypeError, ValueError, RecursionError):
        return False
    waiting = [value]
    while waiting:
        part = waiting.pop()
        texts = [part] if isinstance(part, str) else as_object(part)
        if not all(map(is_visible, texts)) or _is_huge(part):
            return False
        waiting += children(part)
    return True
