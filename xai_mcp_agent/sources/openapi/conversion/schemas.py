"""Schemas of a document as those of tools: JSON Schema of 2020-12, with a closure of definitions.

References are kept, never expanded: what a tool needs of the document's schemas stands once in its
`$defs`, and tools share it. What is no JSON Schema is translated (OpenAPI 3.0 has `nullable`) or
left out; one wrong word in a schema costs that word.
"""

from __future__ import annotations

import copy
import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, TypeAlias, cast

from ....core.schemas import SchemaCheck
from ....core.tools import JsonObject
from ..document.document import BadOperation, BadReference, Dialect
from ..document.references import EndlessReference, References
from ..document.values import is_whole, list_of, object_of, text_of, texts_of
from .definitions import PREFIX, Definition, Notes, break_cycle, used_in

Direction: TypeAlias = Literal["request", "response"]
"""Which way a value goes: what is `readOnly` is not in a request, `writeOnly` in no response."""

_MAX_DEPTH = 60  # between two references; the deepest real ones have about 20
# Characters: of what is said of one value. All of a tool's are in the model's window.
_MAX_DESCRIPTION = 1_000
_MAX_SHOWN_VALUE = 200  # characters of a default or an example, as JSON
_MAX_NAME = 60  # of a definition
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_.-]+")
_TYPES = frozenset(("string", "number", "integer", "boolean", "object", "array", "null"))
_HIDES = {"request": "readOnly", "response": "writeOnly"}
# Large real documents have about 20. What is left is too much for a check, which is then not made.
_MAX_CIRCLES = 500
# In one document. What is above them is made by somebody for that; the largest real ones have a
# twentieth: schemas, wherever they stand, and definitions of all tools together.
_MAX_SCHEMAS = 400_000
_MAX_ENTRIES = 3_000_000
_MAX_CHAIN = 50  # of definitions that are only another one
_NULL: JsonObject = {"type": "null"}
_CHOICES = ("$ref", "allOf", "anyOf", "oneOf")
# What counts beside a reference before 3.1. By its letter nothing; documents rely on these.
_BESIDE_OLD_REFERENCES = ("$ref", "description", "nullable", "deprecated")

_Rule: TypeAlias = "Callable[[_Translation, str, Any], Any]"
_NOTHING = object()


class Schemas:
    """Translates the schemas of one document for values that go one way, each of them once."""

    def __init__(self, references: References, dialect: Dialect, direction: Direction) -> None:
        self.references = references
        self.is_old = dialect.is_old
        self.hides = _HIDES[direction]
        self._definitions: dict[str, Definition] = {}
        self._by_end: dict[str, Definition] = {}
        self._by_name: dict[str, Definition] = {}
        self._bases: dict[str, str] = {}
        self._circles_left = _MAX_CIRCLES
        self._entries_left = _MAX_ENTRIES
        self.schemas_left = _MAX_SCHEMAS
        self._patterns: dict[str, bool] = {}

    def translated(self, schema: Any, notes: Notes) -> JsonObject | bool:
        """One schema; what it refers to is in its closure.

        Raises:
            BadReference: it refers to where no reference may lead.
        """
        return _Translation(self, notes, None).schema(schema)

    def closure(self, schema: JsonObject) -> list[Definition]:
        """All definitions that a translated schema needs, by name, those that they need too.

        Raises:
            BadOperation: one of them refers to where no reference may lead, or it is too much.
        """
        found = self._needed(schema)
        while self._circles_left and break_cycle(found, self._base_of):
            self._circles_left -= 1
            found = self._needed(schema)
        self._entries_left -= len(found)
        if self._entries_left < 0:
            raise BadOperation(f"it needs {len(found):,} schemas, too many with all others")
        return found

    def _needed(self, schema: JsonObject) -> list[Definition]:
        found: dict[str, Definition] = {}
        waiting = list(used_in(schema))
        while waiting:
            name = waiting.pop()
            if name not in found:
                found[name] = self._complete(self._by_name[name])
                waiting += found[name].uses
        return [found[name] for name in sorted(found)]

    def _base_of(self, definition: Definition, schema: JsonObject) -> str:
        name = self._bases.get(definition.name)
        if name is None:
            name = self._bases[definition.name] = self._free_name(f"{definition.name}_base")
            self._by_name[name] = made = Definition(name, None, notes=definition.notes)
            made.put(copy.deepcopy(schema))
        return name

    def resolved(self, schema: Any) -> tuple[JsonObject, Notes]:
        """A translated schema, or the definition that it is, and what is to be known of that.

        Raises:
            BadReference: the definition refers to where no reference may lead.
        """
        found, notes = object_of(schema), Notes()
        for _ in range(_MAX_CHAIN):
            reference = found.get("$ref")
            if not isinstance(reference, str) or found.keys() - {"$ref", "description"}:
                break
            definition = self._complete(self._by_name[reference.removeprefix(PREFIX)])
            found, notes = object_of(definition.schema), definition.notes
        return found, notes

    def definition(self, reference: str) -> Definition:
        """What a reference leads to in the end.

        Raises:
            BadReference: it leads nowhere, or where it may not.
        """
        if reference not in self._definitions:
            end, target = self.references.end_of(reference)
            if end not in self._by_end:
                self._by_end[end] = made = Definition(self._new_name(end), target)
                self._by_name[made.name] = made
            self._definitions[reference] = self._by_end[end]
        return self._definitions[reference]

    def is_hidden(self, schema: Any) -> bool:
        """Whether a property is none of those that go this way."""
        found = object_of(schema)
        if found.get(self.hides) is True:
            return True
        reference = found.get("$ref")
        if not isinstance(reference, str):
            return False
        try:
            return object_of(self.definition(reference).target).get(self.hides) is True
        except BadReference:
            return False

    def is_pattern(self, pattern: str) -> bool:
        """Whether arguments can be checked with it."""
        if pattern not in self._patterns:
            self._patterns[pattern] = not SchemaCheck({"pattern": pattern}).why_unusable()
        return self._patterns[pattern]

    def _complete(self, definition: Definition) -> Definition:
        if not definition.is_translated:
            translation = _Translation(self, definition.notes, definition)
            definition.put(translation.schema(definition.target))
        return definition

    def _new_name(self, reference: str) -> str:
        path, _, fragment = reference.partition("#")
        last = fragment.rpartition("/")[2] or path.rpartition("/")[2].partition(".")[0]
        plain = _NOT_IN_NAMES.sub("_", last.replace("~1", "_"))[:_MAX_NAME].strip("_") or "schema"
        return self._free_name(plain)

    def _free_name(self, plain: str) -> str:
        name, number = plain, 1
        while name in self._by_name:
            number += 1
            name = f"{plain}_{number}"
        return name


class _Translation:
    """Translates what is in one place. `home` is the definition that it is part of."""

    def __init__(self, schemas: Schemas, notes: Notes, home: Definition | None) -> None:
        self.schemas = schemas
        self.notes = notes
        self.home = home
        self._depth = 0

    def schema(self, given: Any) -> JsonObject | bool:
        """One schema. What is none allows anything."""
        if isinstance(given, bool):
            return given
        if not isinstance(given, dict) or self._depth > _MAX_DEPTH:
            return {}
        self.schemas.schemas_left -= 1
        if self.schemas.schemas_left < 0:
            raise BadOperation(f"the document has more than {_MAX_SCHEMAS:,} schemas")
        self._depth += 1
        try:
            return self._words(object_of(given))
        finally:
            self._depth -= 1

    def _words(self, schema: JsonObject) -> JsonObject:
        if self.schemas.is_old and isinstance(schema.get("$ref"), str):
            schema = {x: schema[x] for x in _BESIDE_OLD_REFERENCES if x in schema}
        found: JsonObject = {}
        for word, value in schema.items():
            rule = _RULES.get(word)
            kept = rule(self, word, value) if rule else _NOTHING
            if kept is not _NOTHING:
                found[word] = kept
        self._adjust(found, schema)
        return found

    def _adjust(self, found: JsonObject, schema: JsonObject) -> None:
        """Words that depend on each other."""
        if "$dynamicRef" in found or "$recursiveRef" in found:
            target = found.pop("$dynamicRef", None) or found.pop("$recursiveRef", None)
            found.pop("$recursiveRef", None)
            found.setdefault("$ref", target)
        if "required" in found:
            self._adjust_required(found, schema)
        for word, other in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
            if schema.get(word) is True and other in found:  # as it was written until 3.0
                found[word] = found.pop(other)
        if "example" in schema and "examples" not in found and "enum" not in found:
            self._show(found, schema["example"])
        if "enum" in found:
            _adjust_enum(found)
        if isinstance(found.get("items"), list):  # one for each place, as it was until 2020
            found["prefixItems"] = found.pop("items")
        if schema.get("nullable") is True and self.schemas.is_old:
            _allow_null(found)
        if "default" in found and found["default"] is None and not _takes_null(found):
            del found["default"]

    def _adjust_required(self, found: JsonObject, schema: JsonObject) -> None:
        """What is not sent this way cannot be required."""
        hidden = self._hidden_names(schema)
        found["required"] = [x for x in found["required"] if x not in hidden]
        if not found["required"]:
            del found["required"]

    def _hidden_names(self, schema: JsonObject) -> set[str]:
        hidden, seen, waiting = set[str](), set[str](), [schema]
        while waiting:
            given = waiting.pop()
            named = object_of(given.get("properties")).items()
            hidden |= {name for name, x in named if self.schemas.is_hidden(x)}
            for part in map(object_of, list_of(given.get("allOf"))):
                reference = str(part.get("$ref", ""))
                if reference not in seen:
                    seen |= {reference} - {""}
                    waiting.append(self._followed(part))
        return hidden

    def _followed(self, part: JsonObject) -> JsonObject:
        try:
            return self.schemas.references.followed(part)
        except BadReference:
            return {}  # told where it is translated

    def _show(self, found: JsonObject, example: Any) -> None:
        if isinstance(example, str | int | float) and not isinstance(example, bool):
            kept = self.value("examples", example)
            if kept is not _NOTHING and kept != "":
                found["examples"] = [kept]

    # What is kept of each word; _NOTHING: the word is left out.

    def reference(self, word: str, value: Any) -> Any:
        """A reference into the definitions."""
        if not isinstance(value, str):
            return _NOTHING
        if word == "$recursiveRef":
            if self.home is None:
                return _NOTHING
            definition = self.home
        else:
            try:
                definition = self.schemas.definition(value)
            except EndlessReference as cause:
                self.notes.add(f"{cause}: any value is taken there.")
                return _NOTHING
        return f"{PREFIX}{definition.name}"

    def words(self, word: str, value: Any) -> Any:
        """A description."""
        return text_of(value, _MAX_DESCRIPTION) or _NOTHING

    def short(self, word: str, value: Any) -> Any:
        """A format."""
        return text_of(value, _MAX_NAME) or _NOTHING

    def type(self, word: str, value: Any) -> Any:
        """A type, or several; one that there is not allows any."""
        if value == "file":  # Swagger 2.0
            return "string"
        said = [value] if isinstance(value, str) else texts_of(value)
        known = [x for x in said if x in _TYPES]
        if strange := [x for x in said if x not in _TYPES]:
            self.notes.add(
                f"There is no type {strange[0][:_MAX_NAME]!r}: any value is taken there."
            )
            return _NOTHING
        return _NOTHING if not known else known if isinstance(value, list) else known[0]

    def value(self, word: str, value: Any) -> Any:
        """Any JSON that is not too much to show."""
        try:
            text = json.dumps(value, allow_nan=False, ensure_ascii=False)
        except (TypeError, ValueError, RecursionError):
            return _NOTHING
        is_shown = word in ("const", "enum") or len(text) <= _MAX_SHOWN_VALUE
        return value if is_shown and is_whole(text) else _NOTHING

    def examples(self, word: str, value: Any) -> Any:
        """The first that says something."""
        found: JsonObject = {}
        for example in list_of(value)[:1]:
            self._show(found, example)
        return found.get("examples", _NOTHING)

    def enum(self, word: str, value: Any) -> Any:
        """The values; an empty list would allow none, and is a slip."""
        found = (self.value(word, x) for x in list_of(value))
        return [x for x in found if x is not _NOTHING] or _NOTHING

    def number(self, word: str, value: Any) -> Any:
        """A limit."""
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        # Of larger ones most languages make no number.
        return value if is_number and abs(value) <= sys.float_info.max else _NOTHING

    def step(self, word: str, value: Any) -> Any:
        """What a number is a multiple of."""
        number = self.number(word, value)
        return number if number is not _NOTHING and number > 0 else _NOTHING

    def count(self, word: str, value: Any) -> Any:
        """How many."""
        number = self.number(word, value)
        is_count = number is not _NOTHING and number >= 0 and number == int(number)
        return int(number) if is_count else _NOTHING

    def flag(self, word: str, value: Any) -> Any:
        """Said only where it is so."""
        return True if value is True else _NOTHING

    def pattern(self, word: str, value: Any) -> Any:
        """A regular expression, if it is one, and nothing hangs on it."""
        if not isinstance(value, str):
            return _NOTHING
        if not self.schemas.is_pattern(value):
            self.notes.add("A pattern cannot be used for checks, and is left out.")
            return _NOTHING
        return value

    def names(self, word: str, value: Any) -> Any:
        """Names of properties. Drafts of long ago had a flag here."""
        return texts_of(value) or _NOTHING

    def inner(self, word: str, value: Any) -> Any:
        """A schema inside."""
        return self.schema(value) if isinstance(value, dict | bool) else _NOTHING

    def items(self, word: str, value: Any) -> Any:
        """A schema, or one for each place."""
        return self.several(word, value) if isinstance(value, list) else self.inner(word, value)

    def several(self, word: str, value: Any) -> Any:
        """A list of schemas."""
        return [self.schema(x) for x in list_of(value) if isinstance(x, dict | bool)] or _NOTHING

    def named(self, word: str, value: Any) -> Any:
        """Schemas by name."""
        if not isinstance(value, dict):
            return _NOTHING
        return {
            name: self.schema(x)
            for name, x in object_of(value).items()
            if is_whole(name) and not (word == "properties" and self.schemas.is_hidden(x))
        }

    def patterned(self, word: str, value: Any) -> Any:
        """Schemas by a pattern for names."""
        if not isinstance(value, dict):
            return _NOTHING
        given = object_of(value).items()
        return {x: self.schema(y) for x, y in given if self.pattern(word, x) is not _NOTHING}

    def lists(self, word: str, value: Any) -> Any:
        """Names by name."""
        given = object_of(value).items()
        found = {name: texts_of(x) for name, x in given if isinstance(x, list) and is_whole(name)}
        return found or _NOTHING


def _rules(*groups: tuple[_Rule, str]) -> Mapping[str, _Rule]:
    return {word: rule for rule, words in groups for word in words.split()}


# All other words are left out, and those of OpenAPI itself: `discriminator`, `xml`, `x-...`
_RULES = _rules(
    (_Translation.reference, "$ref $dynamicRef $recursiveRef"),
    (_Translation.words, "description"),
    (_Translation.short, "format contentEncoding contentMediaType"),
    (_Translation.type, "type"),
    (_Translation.enum, "enum"),
    (_Translation.value, "const default"),
    (_Translation.examples, "examples"),
    (_Translation.number, "minimum maximum exclusiveMinimum exclusiveMaximum"),
    (_Translation.step, "multipleOf"),
    (_Translation.count, "minLength maxLength minItems maxItems minProperties maxProperties"),
    (_Translation.count, "minContains maxContains"),
    (_Translation.flag, "uniqueItems deprecated"),
    (_Translation.pattern, "pattern"),
    (_Translation.names, "required"),
    (_Translation.items, "items"),
    (_Translation.several, "allOf anyOf oneOf prefixItems"),
    (_Translation.inner, "not if then else contains propertyNames additionalProperties"),
    (_Translation.inner, "unevaluatedItems unevaluatedProperties"),
    (_Translation.named, "properties dependentSchemas"),
    (_Translation.patterned, "patternProperties"),
    (_Translation.lists, "dependentRequired"),
)


def _adjust_enum(found: JsonObject) -> None:
    """Values that are of its type. YAML reads `1.0` as a number where a text was meant."""
    kinds = _types_in(found)
    values = list_of(found["enum"])
    if not kinds:
        return
    fitting = [x for x in values if _type_of(x) & kinds]
    if len(fitting) < len(values) and kinds == {"string"}:
        fitting = [x if isinstance(x, str) else json.dumps(x) for x in values if x is not None]
    if fitting:
        found["enum"] = fitting
    else:
        del found["type"]


def _allow_null(found: JsonObject) -> None:
    if any(word in found for word in _CHOICES):
        description = found.pop("description", None)
        inner = dict(found)
        found.clear()
        found.update({"anyOf": [inner, _NULL]})
        if description:
            found["description"] = description
        return
    if kinds := found.get("type"):
        found["type"] = list(dict.fromkeys((*_listed(kinds), "null")))
    if "enum" in found and None not in found["enum"]:
        found["enum"] = [*found["enum"], None]


def _takes_null(found: JsonObject) -> bool:
    kinds = _types_in(found)
    return not kinds or "null" in kinds


def _types_in(found: JsonObject) -> set[str]:
    return set(_listed(found.get("type", [])))


def _listed(kinds: Any) -> Iterable[str]:
    return [kinds] if isinstance(kinds, str) else cast(list[str], kinds)


def _type_of(value: Any) -> set[str]:
    match value:
        case None:
            return {"null"}
        case bool():
            return {"boolean"}
        case int():
            return {"integer", "number"}
        case float():
            return {"number", "integer"} if value.is_integer() else {"number"}
        case str():
            return {"string"}
        case list():
            return {"array"}
        case _:
            return {"object"}
