"""Tool schemas from a document's schemas: JSON Schema 2020-12 with a closure of definitions.

References stay: a tool has each schema that it needs once in its `$defs`, and tools share them.
Keywords that are not JSON Schema are translated (OpenAPI 3.0 has `nullable`) or omitted. An
invalid keyword costs only that keyword.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, cast

from ...core.json import JsonObject, as_list, as_object, is_object, json_type, parts_of
from ...core.schema_check import is_pattern
from .document import BadReference, Document, EndlessReference, text_of, texts_of

Direction: TypeAlias = Literal["request", "response"]
"""The direction of a value: `readOnly` is not in a request, `writeOnly` in no response."""

PREFIX = "#/$defs/"
_HIDES: Mapping[Direction, str] = {"request": "readOnly", "response": "writeOnly"}
_TYPES = frozenset(("string", "number", "integer", "boolean", "object", "array", "null"))
_MAX_NOTES = 3  # further notes repeat the same for other places
_MAX_NAME, _MAX_DESCRIPTION = 60, 1_000
_MAX_DEPTH = 60  # between two references; the deepest real ones have about 20
_MAX_CHAIN = 50  # definitions that only refer to another one
_SCHEMA_WORK, _DEFINITION_WORK = 100, 20  # see `Document.spend`
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_.-]+")
# A JavaScript literal. Used as it is, it would match nothing.
_DELIMITED = re.compile(r"/(\^.*)/([dgimsuvy]*)", re.DOTALL)
# Keywords kept beside a reference before 3.1. The spec ignores them; documents rely on these.
_BESIDE_OLD_REFERENCES = ("$ref", "description", "nullable", "x-nullable", "deprecated")
_CHOICES = ("oneOf", "anyOf")
_NULL: JsonObject = {"type": "null"}
_MAX_CHARS = 200  # characters of a default or an example, as JSON
_OMIT = object()  # marks a keyword to omit


class SchemaNotes:
    """Notes for a person on differences between a tool and its document."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def add(self, *lines: str) -> None:
        """Add lines that are not there yet."""
        for line in lines:
            if line not in self.lines and len(self.lines) < _MAX_NOTES:
                self.lines.append(line)


@dataclass(eq=False)
class Definition:
    """A schema of the document that others refer to; empty until it is translated."""

    name: str
    target: Any
    schema: JsonObject | bool = field(default_factory=dict[str, Any])
    uses: frozenset[str] | None = None
    notes: SchemaNotes = field(default_factory=SchemaNotes)
    characters: int = 0


class Schemas:
    """Translator for one document's schemas in one direction; translates each schema once."""

    def __init__(self, document: Document, direction: Direction) -> None:
        self.document = document
        self._hides = _HIDES[direction]
        self._by_reference: dict[str, Definition] = {}
        self._by_name: dict[str, Definition] = {}
        self._bases: dict[str, Definition] = {}
        self._closures: dict[frozenset[str], list[Definition]] = {}

    def translate(self, schema: Any, notes: SchemaNotes) -> JsonObject | bool:
        """Translate one schema; `closure` returns the definitions that it refers to.

        Raises:
            BadReference: it refers to a place that is not allowed.
            BadOperation: the document is too large.
        """
        return _Translation(self, notes, None).schema(schema)

    def closure(self, schema: JsonObject) -> list[Definition]:
        """Return all definitions that a translated schema needs, directly or not, sorted by name.

        Raises:
            BadOperation: a definition refers to a place that is not allowed, or the document is too
                large.
        """
        names = _uses_of(schema)
        if names not in self._closures:
            by_name: dict[str, Definition] = {}
            queue = list(names)
            while queue:
                name = queue.pop()
                if name not in by_name:
                    by_name[name] = self._complete(self._by_name[name])
                    queue += by_name[name].uses or ()
            self._closures[names] = [by_name[name] for name in sorted(by_name)]
        definitions = self._closures[names]
        self.document.spend(_DEFINITION_WORK * len(definitions))
        return definitions

    def resolve(self, schema: Any, notes: SchemaNotes | None = None) -> JsonObject:
        """Return a translated schema, or the definition it only refers to.

        The definition's notes are added to `notes`.

        Raises:
            BadReference: the definition refers to a place that is not allowed.
        """
        result = as_object(schema)
        for _ in range(_MAX_CHAIN):
            if "$ref" not in result or result.keys() - {"$ref", "description"}:
                break
            definition = self._complete(self._by_name[result["$ref"].removeprefix(PREFIX)])
            result = as_object(definition.schema)
            if notes is not None:
                notes.add(*definition.notes.lines)
        return result

    def definition(self, reference: str) -> Definition:
        """Return the definition at the end of a chain of references.

        Raises:
            BadReference: it leads nowhere, or to a place that is not allowed.
        """
        if reference not in self._by_reference:
            end, target = self.document.end_of(reference)
            if end not in self._by_reference:
                definition = Definition(self._free_name(end), target)
                self._by_name[definition.name] = self._by_reference[end] = definition
            self._by_reference[reference] = self._by_reference[end]
        return self._by_reference[reference]

    def base_of(self, reference: str, child: Definition) -> str:
        """Return the reference to the base of a child that refers to its parent in `allOf`.

        In documents of 3.0, `Pet` may be one of `Cat` and `Dog`, and `Cat` a `Pet` with more,
        because they rely on `discriminator`. In JSON Schema that recursion never ends, so `Cat`
        refers to a `Pet` without its choices.
        """
        parent = self._by_name[reference.removeprefix(PREFIX)]
        target = as_object(parent.target)
        choices = [as_object(x).get("$ref") for w in _CHOICES for x in as_list(target.get(w))]
        if all(self.definition(x) is not child for x in choices if isinstance(x, str)):
            return reference
        if parent.name not in self._bases:
            rest = {word: x for word, x in target.items() if word not in _CHOICES}
            base = Definition(self._free_name(f"{parent.name}_base"), rest, notes=parent.notes)
            self._bases[parent.name] = self._by_name[base.name] = base
        return f"{PREFIX}{self._bases[parent.name].name}"

    def is_hidden(self, schema: Any) -> bool:
        """Return whether a property is omitted in this direction."""
        try:
            return self.document.follow(schema).get(self._hides) is True
        except BadReference:
            return False  # reported when it is translated

    def hidden_names(self, schema: JsonObject) -> set[str]:
        """Return the omitted properties of a schema and its `allOf` parts."""
        hidden, visited, queue = set[str](), set[str](), [schema]
        while queue:
            part = queue.pop()
            properties = as_object(part.get("properties")).items()
            hidden |= {name for name, x in properties if self.is_hidden(x)}
            for inner in map(as_object, as_list(part.get("allOf"))):
                reference = str(inner.get("$ref", ""))
                if reference not in visited:
                    visited |= {reference} - {""}
                    with suppress(BadReference):  # reported when it is translated
                        queue.append(self.document.follow(inner))
        return hidden

    def _complete(self, definition: Definition) -> Definition:
        if definition.uses is None:
            translation = _Translation(self, definition.notes, definition)
            definition.schema = translation.schema(definition.target)
            definition.uses = _uses_of(definition.schema)
            definition.characters = len(json.dumps(definition.schema))
        return definition

    def _free_name(self, reference: str) -> str:
        path, _, fragment = reference.partition("#")
        last = fragment.rpartition("/")[2] or path.rpartition("/")[2].partition(".")[0]
        plain = _NOT_IN_NAMES.sub("_", last.replace("~1", "_"))[:_MAX_NAME].strip("_") or "schema"
        name, number = plain, 1
        while name in self._by_name:
            number += 1
            name = f"{plain}_{number}"
        return name


def _uses_of(schema: Any) -> frozenset[str]:
    """Return the names of all definitions that a schema refers to."""
    references = (part.get("$ref") for part in parts_of(schema) if is_object(part))
    return frozenset(
        x.removeprefix(PREFIX) for x in references if isinstance(x, str) and x.startswith(PREFIX)
    )


class _Translation:
    """Translation of one schema. `home` is the definition that contains it."""

    def __init__(self, schemas: Schemas, notes: SchemaNotes, home: Definition | None) -> None:
        self._schemas = schemas
        self._document = schemas.document
        self._notes = notes
        self._home = home
        self._depth = 0

    def schema(self, value: Any) -> JsonObject | bool:
        """Translate one schema. An invalid schema allows anything."""
        if isinstance(value, bool):
            return value
        if not isinstance(value, dict) or self._depth > _MAX_DEPTH:
            return {}
        self._document.spend(_SCHEMA_WORK)
        schema = as_object(value)
        if self._document.is_old and isinstance(schema.get("$ref"), str):
            schema = {x: schema[x] for x in _BESIDE_OLD_REFERENCES if x in schema}
        self._depth += 1
        try:
            result: JsonObject = {}
            for word, x in schema.items():
                rule = _RULES.get(word)
                translated = rule(self, word, x) if rule else _OMIT
                if translated is not _OMIT:
                    result[word] = translated
        finally:
            self._depth -= 1
        self._adjust(result, schema)
        return result

    def _adjust(self, result: JsonObject, schema: JsonObject) -> None:
        """Adjust keywords that depend on each other."""
        if "$recursiveRef" in result:
            result.setdefault("$ref", result.pop("$recursiveRef"))
        if "required" in result:
            hidden = self._schemas.hidden_names(schema)
            result["required"] = [x for x in result["required"] if x not in hidden]
            if not result["required"]:
                del result["required"]
        for word, other in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
            if schema.get(word) is True and other in result:  # the form until 3.0
                result[word] = result.pop(other)
        if "example" in schema and "examples" not in result and "enum" not in result:
            examples = self.examples("examples", [schema["example"]])
            if examples is not _OMIT:
                result["examples"] = examples
        if "enum" in result:
            _adjust_enum(result)
        # one schema for each position, the form before 2020-12
        if isinstance(result.get("items"), list):
            result["prefixItems"] = result.pop("items")
        if schema.get("nullable") is True or schema.get("x-nullable") is True:
            _allow_null(result)  # many documents of 3.1 still use it
        if "default" in result and result["default"] is None:
            types = types_of(result)
            if types and "null" not in types:
                del result["default"]

    # Rules for the keywords

    def reference(self, word: str, value: Any) -> Any:
        """Translate a reference into one to the definitions."""
        if word == "$recursiveRef":
            return f"{PREFIX}{self._home.name}" if self._home and value else _OMIT
        if not isinstance(value, str):
            return _OMIT
        try:
            return f"{PREFIX}{self._schemas.definition(value).name}"
        except EndlessReference as cause:
            self._notes.add(f"{cause}: any value is accepted there.")
            return _OMIT

    def type(self, word: str, value: Any) -> Any:
        """Translate one type or several; an unknown type allows any value."""
        if value == "file":  # Swagger 2.0
            return "string"
        types = [value] if isinstance(value, str) else texts_of(value)
        if strange := [x for x in types if x not in _TYPES]:
            name = text_of(strange[0], _MAX_NAME)
            self._notes.add(f"There is no type {name!r}: any value is accepted there.")
            return _OMIT
        return value if isinstance(value, str) else types or _OMIT

    def enum(self, word: str, value: Any) -> Any:
        """Translate the values; an empty list would allow none and must be a mistake."""
        self._document.spend(len(as_list(value)))
        values = [x for x in as_list(value) if _json_text_of(x)]
        return values or _OMIT

    def examples(self, word: str, value: Any) -> Any:
        """Keep the first example if it is a useful text or number."""
        return as_list(value)[:1] if any(map(is_example, as_list(value)[:1])) else _OMIT

    def pattern(self, word: str, value: Any) -> Any:
        """Keep a regular expression if validators can use it."""
        if not isinstance(value, str):
            return _OMIT
        match = _DELIMITED.fullmatch(value)
        bare = value if match is None else match[1]
        if (match and "i" in match[2]) or not is_pattern(bare):
            self._notes.add("A pattern cannot be checked, and is left out.")
            return _OMIT
        return bare

    def inner(self, word: str, value: Any) -> Any:
        """Translate a nested schema."""
        return self.schema(value) if isinstance(value, dict | bool) else _OMIT

    def several(self, word: str, value: Any) -> Any:
        """Translate a list of schemas; `items` may be one schema, or one for each position."""
        if word == "items" and not isinstance(value, list):
            return self.inner(word, value)
        schemas = [self.schema(x) for x in as_list(value) if isinstance(x, dict | bool)]
        if word == "allOf" and self._home and self._depth == 1:
            for schema in map(as_object, schemas):
                if "$ref" in schema:
                    schema["$ref"] = self._schemas.base_of(schema["$ref"], self._home)
        return schemas or _OMIT

    def named(self, word: str, value: Any) -> Any:
        """Translate schemas by name or by name pattern."""
        if not isinstance(value, dict):
            return _OMIT
        members = as_object(value).items()
        if word == "patternProperties":
            patterned = ((self.pattern(word, x), self.schema(y)) for x, y in members)
            return {x: y for x, y in patterned if x is not _OMIT}
        return {
            name: self.schema(x)
            for name, x in members
            if not (word == "properties" and self._schemas.is_hidden(x))
        }


# Values of keywords


def _json_text_of(value: Any) -> str:
    """Write a value as JSON; empty if that is impossible."""
    try:
        return json.dumps(value, allow_nan=False, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return ""


def _is_short(value: Any) -> bool:
    """Return whether a value can be written as short JSON."""
    return 0 < len(_json_text_of(value)) <= _MAX_CHARS


def is_example(value: Any) -> bool:
    """Return whether an example is useful: a text or a number, not too long."""
    is_plain = isinstance(value, str | int | float) and not isinstance(value, bool)
    return is_plain and value != "" and _is_short(value)


def _is_number(value: Any) -> bool:
    """Return whether a value is a number that JSON can hold."""
    # Most languages cannot represent larger numbers.
    return json_type(value) in ("integer", "number") and abs(value) <= sys.float_info.max


def _count_of(value: Any) -> Any:
    """Return a whole number from zero on, or `_OMIT`."""
    is_count = _is_number(value) and value >= 0 and value == int(value)
    return int(value) if is_count else _OMIT


def _names_by_name(value: Any) -> Any:
    """Return the lists of names in an object, or `_OMIT` if there are none."""
    members = as_object(value).items()
    names = {x: texts_of(y) for x, y in members if isinstance(y, list)}
    return names or _OMIT


def _adjust_enum(result: JsonObject) -> None:
    """Keep the values that match the type. YAML reads an unquoted `1.0` as a number."""
    types = types_of(result)
    if not types:
        return
    values = cast(list[Any], result["enum"])
    valid = [x for x in values if _is_of(x, types)]
    if len(valid) < len(values) and types == {"string"}:
        valid = [x if isinstance(x, str) else json.dumps(x) for x in values if x is not None]
    if valid:
        result["enum"] = valid
    else:
        del result["type"]


def _is_of(value: Any, types: set[str]) -> bool:
    kind = json_type(value)
    if kind == "integer" or (isinstance(value, float) and value.is_integer()):
        return bool(types & {"integer", "number"})
    return kind in types


def _allow_null(result: JsonObject) -> None:
    """Let a translated schema accept null as well."""
    if any(word in result for word in ("$ref", "allOf", "anyOf", "oneOf")):
        description = result.pop("description", None)
        inner = dict(result)
        result.clear()
        result["anyOf"] = [inner, _NULL]
        if description:
            result["description"] = description
        return
    if "type" in result:
        types = as_list(result["type"]) or [result["type"]]
        result["type"] = list(dict.fromkeys((*types, "null")))
    if "enum" in result and None not in result["enum"]:
        result["enum"] = [*result["enum"], None]


def types_of(schema: JsonObject) -> set[str]:
    """Return the types of a translated schema."""
    types = schema.get("type", [])
    return {types} if isinstance(types, str) else set(types)


# Rules


_Rule: TypeAlias = Callable[[_Translation, str, Any], Any]


def _if(test: Callable[[Any], bool]) -> _Rule:
    """Return a rule that keeps the values that pass a test."""
    return lambda _translation, _word, value: value if test(value) else _OMIT


def _as(change: Callable[[Any], Any]) -> _Rule:
    """Return a rule that replaces a value by a function's result, if that is not empty."""
    return lambda _translation, _word, value: _OMIT if (x := change(value)) in ("", []) else x


# All other keywords are omitted, such as OpenAPI's `discriminator`, `xml` and `x-...`.
_RULE_OF_WORDS: Mapping[str, _Rule] = {
    "$ref $recursiveRef": _Translation.reference,
    "description": _as(lambda value: text_of(value, _MAX_DESCRIPTION)),
    "format contentEncoding contentMediaType": _as(lambda value: text_of(value, _MAX_NAME)),
    "type": _Translation.type,
    "enum": _Translation.enum,
    "const": _if(lambda value: bool(_json_text_of(value))),
    "default": _if(_is_short),
    "examples": _Translation.examples,
    "minimum maximum exclusiveMinimum exclusiveMaximum": _if(_is_number),
    "multipleOf": _if(lambda value: _is_number(value) and value > 0),
    "minLength maxLength minItems maxItems minProperties maxProperties": _as(_count_of),
    "minContains maxContains": _as(_count_of),
    "uniqueItems deprecated": _if(lambda value: value is True),
    "pattern": _Translation.pattern,
    "required": _as(texts_of),  # early drafts had a flag here
    "items allOf anyOf oneOf prefixItems": _Translation.several,
    "not if then else contains propertyNames additionalProperties": _Translation.inner,
    "unevaluatedItems unevaluatedProperties": _Translation.inner,
    "properties dependentSchemas patternProperties": _Translation.named,
    "dependentRequired": _as(_names_by_name),
}  # fmt: skip
_RULES = {word: rule for words, rule in _RULE_OF_WORDS.items() for word in words.split()}
