"""Tools as model providers accept them, whatever schema and description a server sent.

One refused tool costs the whole request, so this module rewrites everything that providers refuse,
always in the same way. Each rewriting names the provider that refuses the original. Arguments are
still checked against the schema as the server sent it (`schema_check.py`).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

from .json import JsonObject, as_list, as_object, as_texts, canonical_json, is_list, parts_of
from .schemas import DEFINITIONS, dereference, rewrite
from .tools import Tool
from .visible import is_visible, parameter_name, visible_text

# In characters. Longer ones would fill the model's window alone.
_MAX_DESCRIPTION, _MAX_TEXT, _MAX_VALUES, _MAX_PATTERN = 20_000, 4_000, 8_000, 500
_MAX_SAMPLES = 3
# Limit of a schema with its references resolved, which would grow without end. Trying a pattern
# takes up to a millisecond, so it counts as this many words.
_MAX_WORDS, _WORDS_OF_PATTERN = 10_000, 200
# Python warns of a possible nested set, which means different things in different engines.
_NESTED_SET, _ESCAPED = re.compile(r"\[\[|\[\^?\]?[^\]]*(?:--|&&|~~|\|\|)"), re.compile(r"\\.")

_NOT_AT_THE_TOP = ("anyOf", "oneOf", "allOf", "not", "enum", "const", "$ref")
_PLAIN = frozenset((
    "type", "uniqueItems", "deprecated", "minLength", "maxLength", "minItems", "maxItems",
    "minProperties", "maxProperties", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
    "multipleOf",
))  # fmt: skip


@dataclass(frozen=True, slots=True)
class FunctionSpec:
    """A tool as the model receives it. `parameters` is a JSON Schema of an object.

    `read_only` is the server's claim, if any; models with a key do not see it.
    """

    name: str
    description: str
    parameters: JsonObject
    read_only: bool | None = None


def function_spec(name: str, tool: Tool) -> FunctionSpec:
    """Return the tool as a model receives it, under this name."""
    description = function_description(tool.description)
    parameters = function_parameters(tool.input_schema)
    return FunctionSpec(name, description, parameters, tool.annotations.read_only)


def function_description(text: str) -> str:
    """Return a tool's description for a model, without invisible characters and with a limit."""
    return visible_text(text, _MAX_DESCRIPTION)


def function_parameters(schema: JsonObject) -> JsonObject:
    """Return the input schema in the shape every provider accepts: an object with properties.

    It omits keywords that providers do not know, invalid values of the others, and references that
    lead nowhere. A part that is nested too deeply, or is too large, allows anything.
    """
    provider = _Provider(schema)
    parameters = provider.rewrite_schema(_one_object(schema))
    for word in DEFINITIONS:
        if word in schema:
            parameters[word] = provider.definitions(as_object(schema[word]))
    accepted = {word: value for word, value in parameters.items() if word not in _NOT_AT_THE_TOP}
    # OpenAI: "object schema missing properties".
    properties = accepted.pop("properties", {})
    return {**accepted, "type": "object", "properties": properties}


def _one_object(root: JsonObject) -> JsonObject:
    """Return a schema with the properties of all top-level choices as its own.

    OpenAI: "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the
    top level"; Anthropic: "input_schema does not support oneOf, allOf, or anyOf at the top level".
    """
    schema, _ = dereference(root, root)
    properties = as_object(schema.get("properties"))
    needed = as_texts(schema.get("required"))
    for word in ("allOf", "anyOf", "oneOf"):
        parts = [dereference(as_object(x), root)[0] for x in as_list(schema.get(word))]
        inner = chain.from_iterable(as_object(x.get("properties")).items() for x in parts)
        properties = {**dict(inner), **properties}
        # A property of several choices is required only if all of them require it.
        count = Counter(x for part in parts for x in set(as_texts(part.get("required"))))
        needed += [x for x, times in count.items() if word == "allOf" or times == len(parts)]
    return {**schema, "properties": properties, "required": needed}


class _Provider:
    """Rewrites the parts of one schema, with the whole for their references."""

    def __init__(self, root: JsonObject) -> None:
        self._root = root
        self._remaining_words = _MAX_WORDS
        names = ((word, name) for word in DEFINITIONS for name in as_object(root.get(word)))
        pointers = (f"#/{word}/{name}" for word, name in names if parameter_name(name) == name)
        self._pointers = frozenset(("#", *pointers))  # targets that references may keep

    def definitions(self, parts: JsonObject) -> JsonObject:
        """Return the top-level definitions, except those with a name that cannot be shown."""
        showable = {x: part for x, part in parts.items() if parameter_name(x) == x}
        return {x: self.rewrite_schema(as_object(part)) for x, part in showable.items()}

    def rewrite_schema(self, schema: JsonObject) -> JsonObject:
        """Return a schema, and all schemas in it, in keywords that all providers accept."""
        return rewrite(schema, self._accept)

    def _accept(self, schema: JsonObject) -> JsonObject:
        # OpenAI: "reference can only point to definitions defined at the top level".
        schema, _ = dereference(schema, self._root, self._pointers)
        self._remaining_words -= 1 + len(schema)
        return _complete(dict(self._words(schema)), schema) if self._remaining_words > 0 else {}

    def _words(self, schema: JsonObject) -> Iterator[tuple[str, Any]]:
        """Yield the keywords that stay. All others are left out, because Gemini knows fewer."""
        for word, value in schema.items():
            match word:
                case "$ref" if isinstance(value, str) and value in self._pointers:
                    yield word, value
                case "items" if is_list(value):  # draft 7, which Anthropic refuses for 2020-12
                    yield word, {"anyOf": each} if (each := _schemas(value)) else {}
                case "anyOf" | "oneOf" | "allOf" | "prefixItems" if each := _schemas(value):
                    yield word, each
                case "additionalProperties" if isinstance(value, bool):
                    yield word, value
                case "items" | "not" | "additionalProperties" if isinstance(value, dict | bool):
                    yield word, as_object(value)
                case "properties":  # a property with the schema false accepts no value
                    parts = as_object(value).items()
                    yield (
                        word,
                        {parameter_name(x): as_object(y) for x, y in parts if y is not False},
                    )
                case "required":
                    yield word, [parameter_name(x) for x in dict.fromkeys(as_texts(value))]
                case "pattern" if self._is_pattern(value):
                    yield word, value
                case "enum" | "examples" if values := _unique(value):
                    yield word, values
                case "title" | "description" | "format" if isinstance(value, str):
                    yield word, visible_text(value, _MAX_TEXT)
                case "default" | "const" if _is_showable(value):
                    yield word, value
                # In Draft 4, `exclusiveMinimum` is a flag. Anthropic refuses that for 2020-12, as
                # it does all else that does not fit the meta-schema.
                case _ if word in _PLAIN and _is_valid({word: value}):
                    yield word, value
                case _:
                    pass

    def _is_pattern(self, value: Any) -> bool:
        """Return whether Python's `re` compiles it, as OpenAI does: "... is not a 'regex'"."""
        if not isinstance(value, str) or len(value) > _MAX_PATTERN or not is_visible(value):
            return False
        self._remaining_words -= _WORDS_OF_PATTERN
        if self._remaining_words < 0 or _NESTED_SET.search(_ESCAPED.sub("", value)):
            return False
        try:
            re.compile(value)
        except (re.error, RecursionError, OverflowError):
            return False
        return True


def _schemas(value: Any) -> list[JsonObject]:
    return [as_object(x) for x in as_list(value) if isinstance(x, dict | bool)]


def _unique(values: Any) -> list[Any]:
    """Return each value once, compared as JSON, or nothing if they are too long.

    OpenAI: "has non-unique elements".
    """
    texts = {canonical_json(x): x for x in as_list(values)[:_MAX_VALUES] if _is_showable(x)}
    return list(texts.values()) if sum(map(len, texts)) <= _MAX_VALUES else []


def _is_showable(value: Any) -> bool:
    """Return whether a value is JSON, short enough and without invisible characters."""
    try:
        if len(json.dumps(value, allow_nan=False)) > _MAX_VALUES:
            return False
    except (TypeError, ValueError):
        return False
    texts = (y for x in parts_of(value) for y in ([x] if isinstance(x, str) else as_object(x)))
    return all(map(is_visible, texts))


def _is_valid(schema: JsonObject) -> bool:
    # Imported here because most runs never need this compiled library before a call.
    from jsonschema_rs import meta

    try:
        return meta.is_valid(schema)
    except UnicodeEncodeError:  # half a surrogate pair, which no provider takes
        return False


def _complete(words: JsonObject, schema: JsonObject) -> JsonObject:
    """Return the keywords together with others that they need beside them."""
    types = words.get("type", ())
    is_array = "array" in types if is_list(types) else types == "array"
    if is_array and "items" not in words:  # OpenAI: "array schema missing items"
        words["items"] = {}
    for name in words.get("required", ()):  # Gemini: "property is not defined"
        words.setdefault("properties", {}).setdefault(name, {})
    if not words.get("required", True):
        del words["required"]
    values = as_list(schema.get("enum"))
    if values and "enum" not in words:  # too many for a model to read
        samples = ", ".join(visible_text(str(x)[:200], 50) for x in values[:_MAX_SAMPLES])
        hint = f"One of {len(values)} values, such as {samples}."
        words["description"] = f"{words.get('description', '')} {hint}".strip()
    return words
