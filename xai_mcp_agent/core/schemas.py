"""JSON Schemas of tools: traversal, values from text, examples.

References to other documents are never fetched.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, TypeAlias

from .json import (
    JsonObject,
    as_list,
    as_object,
    as_texts,
    at,
    children,
    is_list,
    is_object,
    json_type,
)  # fmt: skip

Path: TypeAlias = tuple[str, ...]
"""The names of a field and of the fields around it, outermost first."""

MAX_LEVELS = 20  # of a schema; deeper levels are ignored
_MAX_RESOLVED, _MAX_RESOLVED_OF_ONE = 5_000, 200  # schemas, in a document and for one parameter
_MAX_IN_SIGNATURE = 500  # parameters; nobody would read more

# Keywords with schemas under them: of the same value, of each value in it, and of one value in it.
_BY_NAME_HERE = ("dependentSchemas", "dependencies")
HERE = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else", *_BY_NAME_HERE)
EACH = ("additionalItems", "additionalProperties", "contains", "patternProperties",
         "propertyNames", "unevaluatedItems", "unevaluatedProperties")  # fmt: skip
ONE = ("properties", "prefixItems", "items")
DEFINITIONS = ("$defs", "definitions")
_BY_NAME = frozenset(("properties", "patternProperties", *DEFINITIONS, *_BY_NAME_HERE))
_WITH_SCHEMAS = frozenset((*HERE, *EACH, *ONE, *DEFINITIONS))
_VARIANTS = ("allOf", "anyOf", "oneOf", "items")
_TYPES = frozenset(("null", "boolean", "integer", "number", "string", "array", "object"))

_MAX_EXAMPLE_LEVELS, _MAX_EXAMPLES, _MAX_TEXT = 8, 300, 200
_EXAMPLE_BY_FORMAT = {
    "date": "2026-03-12", "date-time": "2026-03-12T14:30:00Z", "time": "14:30:00Z",
    "email": "ada@example.org", "uri": "https://example.org/page", "url": "https://example.org/page",
    "uuid": "123e4567-e89b-42d3-a456-426614174000",
}  # fmt: skip


# Traversal


def rewrite(
    schema: JsonObject, change: Callable[[JsonObject], JsonObject], levels: int = MAX_LEVELS
) -> JsonObject:
    """Return the schema after `change`, applied to it and then to each schema in it.

    A part below so many levels allows anything.
    """

    def one(value: Any) -> Any:
        return rewrite(value, change, levels - 1) if is_object(value) else value

    def inner(word: str, value: Any) -> Any:
        if is_list(value):
            return [one(x) for x in value]
        if is_object(value) and word in _BY_NAME:
            return {name: one(x) for name, x in value.items()}
        return one(value)

    return {
        word: inner(word, value) if word in _WITH_SCHEMAS else value
        for word, value in (change(schema) if levels else {}).items()
    }


def fields(
    schema: JsonObject, levels: int, references: References | None = None, path: Path = ()
) -> Iterator[tuple[Path, JsonObject, bool]]:
    """Yield path, schema and whether it is required, for each parameter and each field in it.

    Their references are resolved. `path` is the place of the schema in the document.
    """
    references = references or References(schema)
    needed = required(schema)
    for name, spec in properties(schema, references).items():
        yield (*path, name), spec, name in needed
        for part in variants(spec) if levels > 1 else ():
            yield from fields(part, levels - 1, references, (*path, name))


def variants(schema: JsonObject) -> Iterator[JsonObject]:
    """Yield the schema itself, its choices and items, and theirs."""
    yield schema
    for word in _VARIANTS:
        for part in under(schema, word):
            yield from variants(part)


def under(schema: JsonObject, word: str) -> list[JsonObject]:
    """Return the schemas under a keyword that has one, a list of them, or some by name."""
    value = schema.get(word)
    several = is_list(value) or word in _BY_NAME
    return list(filter(is_object, children(value) if several else [value]))


# References


def dereference(
    schema: JsonObject, root: object, visited: frozenset[str] = frozenset()
) -> tuple[JsonObject, frozenset[str]]:
    """Return the schema with the target in place of its `$ref`, and all references `visited`.

    A reference that leads nowhere, or was visited before, stays.
    """
    while isinstance(reference := schema.get("$ref"), str) and reference not in visited:
        visited |= {reference}
        if is_object(target := at(root, reference)):
            beside = {word: x for word, x in schema.items() if word != "$ref"}
            schema = {**target, **beside}
    return schema, visited


class References:
    """Resolves the references in one document, within a budget.

    The budget is needed because definitions that refer to each other multiply.
    """

    def __init__(self, root: object) -> None:
        self._root = root
        self._remaining = _MAX_RESOLVED

    def resolve(self, schema: object) -> JsonObject:
        """Return the schema with its references resolved, also in its choices and items.

        A reference back to itself is not followed again. References in the schema's own properties
        stay as they are.
        """
        self._remaining_here = min(self._remaining, _MAX_RESOLVED_OF_ONE)
        self._remaining -= self._remaining_here
        resolved = self._resolve(as_object(schema), frozenset(), MAX_LEVELS)
        self._remaining += max(self._remaining_here, 0)
        return resolved

    def _resolve(self, value: Any, visited: frozenset[str], levels: int) -> Any:
        if not is_object(value) or value.keys().isdisjoint(("$ref", *_VARIANTS)):
            return value
        self._remaining_here -= 1
        if self._remaining_here < 0 or not levels:
            return {word: x for word, x in value.items() if word not in _VARIANTS}
        schema, visited = dereference(value, self._root, visited)

        def inner(part: Any) -> Any:
            return self._resolve(part, visited, levels - 1)

        parts = {word: schema[word] for word in _VARIANTS if word in schema}
        resolved = {x: [*map(inner, y)] if is_list(y) else inner(y) for x, y in parts.items()}
        return {**schema, **resolved}


# Parameters


def properties(
    schema: Mapping[str, Any], references: References | None = None
) -> dict[str, JsonObject]:
    """Return the schema's parameters by name; an invalid one reads as a parameter of any type.

    Their references are resolved. `references` resolves against the whole document, if the schema
    is only a part of it.
    """
    references = references or References(schema)
    # Names are text in JSON, but a schema that Python made may have a number for a name.
    items = as_object(schema.get("properties")).items()
    return {str(name): references.resolve(spec) for name, spec in items}


def required(schema: Mapping[str, Any]) -> list[str]:
    """Return the names of the required parameters."""
    return as_texts(schema.get("required"))


def signature(schema: JsonObject) -> str:
    """Return the parameters in one line for a reader: `text: string, count?: integer = 1`."""
    needed, specs = set(required(schema)), properties(schema)
    parts: list[str] = []
    for name, spec in islice(specs.items(), _MAX_IN_SIGNATURE):
        default = f" = {_json_text(spec['default'])}" if "default" in spec else ""
        parts.append(f"{name}{'' if name in needed else '?'}: {value_label(spec)}{default}")
    more = len(specs) - _MAX_IN_SIGNATURE
    parts += [f"and {more:,} more"] if more > 0 else []
    return ", ".join(parts) or "no parameters"


def short_signature(schema: JsonObject, most_chars: int) -> str:
    """Return the parameters as `signature` does, cut after one of them; empty if there are none."""
    text = signature(schema) if as_object(schema.get("properties")) else ""
    return text if len(text) <= most_chars else f"{text[:most_chars].rsplit(',', 1)[0]}, ..."


def types_of(spec: Mapping[str, Any]) -> list[str]:
    """Return the JSON types a parameter accepts, from `type`, `enum` or choices; may be empty."""
    types = spec.get("type")
    if isinstance(types, str):
        return [types]
    texts = as_texts(types) if is_list(types) else _labels_of_choices(spec, json_type, types_of)
    return list(dict.fromkeys(texts))


def value_label(spec: Mapping[str, Any]) -> str:
    """Return the accepted values for a reader: `integer`, `"small"|"large"|null`, or `any`."""
    return "|".join(dict.fromkeys(_labels(spec))) or "any"


def _labels(spec: Mapping[str, Any]) -> list[str]:
    labels = _labels_of_choices(spec, _json_text, _labels)
    if "type" in spec and not _values_in(spec):
        types = types_of(spec)
        labels = [x for x in labels if x in types or x not in _TYPES]
    return labels or types_of(spec) or (["object"] if as_object(spec.get("properties")) else [])


def _labels_of_choices(
    spec: Mapping[str, Any], label: Callable[[Any], str], read: Callable[[JsonObject], list[str]]
) -> list[str]:
    """Return a label for each `enum` value, else of all choices, or none if a choice has none.

    A value of `allOf` fits each part, so the narrowest part counts: values before types.
    """
    if values := _values_in(spec):
        return [label(x) for x in values]
    if choices := [x for y in ("anyOf", "oneOf") for x in as_list(spec.get(y)) if is_object(x)]:
        labels = [read(x) for x in choices]
        return [y for x in labels for y in x] if all(labels) else []
    parts = [y for x in as_list(spec.get("allOf")) if (y := read(as_object(x)))]
    return min(parts, key=lambda x: (_TYPES.issuperset(x), len(x)), default=list[str]())


def _values_in(spec: Mapping[str, Any]) -> list[Any]:
    return [spec["const"]] if "const" in spec else as_list(spec.get("enum"))


def _json_text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


# Values


def without_idle_nulls(arguments: JsonObject, schema: Mapping[str, Any]) -> JsonObject:
    """Return the arguments without each null that can only mean "not given".

    Models fill optional parameters with null; if the schema allows no null there, the call would
    fail for nothing.
    """
    if None not in arguments.values():
        return arguments
    needed, specs = set(required(schema)), properties(schema)

    def is_idle(name: str) -> bool:
        types = types_of(specs.get(name, {}))
        return name not in needed and bool(types) and "null" not in types

    return {name: x for name, x in arguments.items() if x is not None or not is_idle(name)}


def value_from_text(text: str, spec: JsonObject) -> Any:
    """Read typed text as the value its schema asks for; text that does not fit stays text.

    `"3"` becomes 3 if the schema has a number and stays `"3"` if it has a string; arrays take JSON
    or comma-separated items.
    """
    types, word = types_of(spec), text.strip()
    if "string" in types and word != "null":
        return text
    is_boolean = "boolean" in types and word.lower() in ("true", "false")
    try:
        value = json.loads(word.lower() if is_boolean else text)
        json.dumps(value, allow_nan=False)  # Python also reads `NaN` and `1e999`
        kind = json_type(value)
        if not types or kind in types or (kind == "integer" and "number" in types):
            return value
    except (ValueError, RecursionError):
        pass
    if "array" in types and not word.startswith("["):
        # An optional list has its items in a choice: `{"anyOf": [{"type": "array", ...}, ...]}`.
        items = next((as_object(x["items"]) for x in variants(spec) if "items" in x), JsonObject())
        return [value_from_text(x.strip(), items) for x in text.split(",") if x.strip()]
    return text


# Examples


def example_arguments(schema: JsonObject) -> JsonObject:
    """Return example values of the required arguments: examples, defaults or choices.

    A parameter without any of these gets a value of its type, which may not fit its pattern.
    """
    references, budget = References(schema), iter(range(_MAX_EXAMPLES))

    def example(spec: JsonObject, levels: int) -> Any:
        """Return an example value from a part of the schema, or a value of its type."""
        if not levels or next(budget, None) is None:
            return None
        parts = list(_first_choices(spec))
        values = [x for part in parts for x in _own_examples(part)]
        types = [x for part in parts for x in types_of(part) if x != "null"]
        kind = types[0] if types else "null" if types_of(spec) else ""
        if values:
            return values[0]
        if kind == "object" or (not kind and any("properties" in x for x in parts)):
            return example_object(parts, levels)
        if kind == "array":
            items = next((as_object(x["items"]) for x in parts if "items" in x), JsonObject())
            return [example(items, levels - 1)]
        if kind in ("integer", "number"):
            least = [x for part in parts if isinstance(x := part.get("minimum"), int | float)]
            return max([1, *least])
        if kind in ("string", ""):
            return _example_text(parts)
        return True if kind == "boolean" else None

    def example_object(parts: Sequence[JsonObject], levels: int) -> JsonObject:
        specs: dict[str, JsonObject] = {}
        for part in reversed(parts):
            specs |= properties(part, references)
        names = dict.fromkeys(name for part in parts for name in required(part)[:_MAX_EXAMPLES])
        return {name: example(specs.get(name, {}), levels - 1) for name in names}

    return example_object(list(_first_choices(references.resolve(schema))), _MAX_EXAMPLE_LEVELS)


def _first_choices(spec: JsonObject) -> Iterator[JsonObject]:
    """Yield the schema, the parts of `allOf` and the first choice that is not null, recursively."""
    yield spec
    for part in under(spec, "allOf"):
        yield from _first_choices(part)
    choices = [x for y in ("anyOf", "oneOf") for x in under(spec, y) if x.get("type") != "null"]
    for part in choices[:1]:
        yield from _first_choices(part)


def _own_examples(spec: JsonObject) -> list[Any]:
    """Return the example values in the schema itself, the best first."""
    if "const" in spec:
        return [spec["const"]]
    usual = [spec[x] for x in ("example", "default") if spec.get(x) is not None]
    return [*as_list(spec.get("examples")), *usual, *as_list(spec.get("enum"))]


def _example_text(parts: Sequence[JsonObject]) -> str:
    examples = (_EXAMPLE_BY_FORMAT.get(str(x.get("format"))) for x in parts)
    least = max((x for part in parts if isinstance(x := part.get("minLength"), int)), default=0)
    return next((x for x in examples if x), "text").ljust(min(least, _MAX_TEXT), "x")
