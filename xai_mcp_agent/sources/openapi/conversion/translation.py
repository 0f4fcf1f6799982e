"""One schema of a document as one of JSON Schema of 2020-12, word by word.

What is no JSON Schema is translated (OpenAPI 3.0 has `nullable`) or left out; one wrong word in a
schema costs that word.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeAlias

from ....core.json import JsonObject, as_list, as_object
from ..document.document import BadOperation, BadReference
from ..document.references import EndlessReference, References, Scopes, opens_scope
from ..document.values import is_whole, text_of, texts_of
from . import keywords
from .definitions import PREFIX, Definition, Notes
from .keywords import NOTHING

_MAX_DEPTH = 60  # between two references; the deepest real ones have about 20
# Values, names and schemas in one. The largest real ones have a few thousand; nobody checks more,
# and to write so many takes 0.02 s.
_MAX_ENTRIES = 50_000
_MAX_NAME = 60
# What counts beside a reference before 3.1. By its letter nothing; documents rely on these.
_BESIDE_OLD_REFERENCES = ("$ref", "description", "nullable", "x-nullable", "deprecated")

_Rule: TypeAlias = "Callable[[Translation, str, Any], Any]"


class Surroundings(Protocol):
    """What a translation needs of the document."""

    references: References
    is_old: bool
    """Whether it is of a version before 3.1."""

    def definition(self, reference: str, scopes: Scopes) -> Definition:
        """What a reference leads to in the end, seen from inside these schemas."""
        ...

    def is_hidden(self, schema: Any) -> bool:
        """Whether a property is none of those that go this way."""
        ...

    def is_pattern(self, pattern: str) -> bool:
        """Whether arguments can be checked with it."""
        ...

    def count_schema(self) -> None:
        """There is one more; raises BadOperation where that is too much."""
        ...


class Translation:
    """Translates what is in one place. `home` is the definition that it is part of."""

    def __init__(self, schemas: Surroundings, notes: Notes, home: Definition | None) -> None:
        self._schemas = schemas
        self._notes = notes
        self._home = home
        self._scopes: Scopes = home.scopes if home else ()
        self._depth = 0
        self._entries_left = _MAX_ENTRIES

    def schema(self, given: Any) -> JsonObject | bool:
        """One schema. What is none allows anything.

        Raises:
            BadReference: it refers to where no reference may lead.
            BadOperation: it is too much.
        """
        if isinstance(given, bool):
            return given
        if not isinstance(given, dict) or self._depth > _MAX_DEPTH:
            return {}
        self._schemas.count_schema()
        schema, around = as_object(given), self._scopes
        if opens_scope(schema):
            self._scopes = (*around, schema)
        self._depth += 1
        try:
            return self._words(schema)
        finally:
            self._depth -= 1
            self._scopes = around

    def _count(self, entries: int) -> None:
        self._entries_left -= entries
        if self._entries_left < 0:
            raise BadOperation(f"it has more than {_MAX_ENTRIES:,} values in one schema")

    def _words(self, schema: JsonObject) -> JsonObject:
        if self._schemas.is_old and isinstance(schema.get("$ref"), str):
            schema = {x: schema[x] for x in _BESIDE_OLD_REFERENCES if x in schema}
        found: JsonObject = {}
        for word, value in schema.items():
            rule = _RULES.get(word)
            kept = rule(self, word, value) if rule else NOTHING
            if kept is not NOTHING:
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
            keywords.adjust_enum(found)
        if isinstance(found.get("items"), list):  # one for each place, as it was until 2020
            found["prefixItems"] = found.pop("items")
        if schema.get("nullable") is True or schema.get("x-nullable") is True:
            keywords.allow_null(found)  # many of 3.1 still say it so
        if "default" in found and found["default"] is None and not keywords.takes_null(found):
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
            named = as_object(given.get("properties")).items()
            hidden |= {name for name, x in named if self._schemas.is_hidden(x)}
            for part in map(as_object, as_list(given.get("allOf"))):
                reference = str(part.get("$ref", ""))
                if reference not in seen:
                    seen |= {reference} - {""}
                    waiting.append(self._followed(part))
        return hidden

    def _followed(self, part: JsonObject) -> JsonObject:
        try:
            return self._schemas.references.followed(part)
        except BadReference:
            return {}  # told where it is translated

    def _show(self, found: JsonObject, example: Any) -> None:
        if isinstance(example, str | int | float) and not isinstance(example, bool):
            kept = keywords.shown(example)
            if kept is not NOTHING and kept != "":
                found["examples"] = [kept]

    # What is kept of each word; NOTHING: the word is left out.

    def reference(self, word: str, value: Any) -> Any:
        """A reference into the definitions."""
        if not isinstance(value, str):
            return NOTHING
        if word == "$recursiveRef":
            return f"{PREFIX}{self._home.name}" if self._home else NOTHING
        try:
            return f"{PREFIX}{self._schemas.definition(value, self._scopes).name}"
        except EndlessReference as cause:
            self._notes.add(f"{cause}: any value is taken there.")
            return NOTHING

    def type(self, word: str, value: Any) -> Any:
        """A type, or several; one that there is not allows any."""
        if value == "file":  # Swagger 2.0
            return "string"
        said = [value] if isinstance(value, str) else texts_of(value)
        known = [x for x in said if x in keywords.TYPES]
        if strange := [x for x in said if x not in keywords.TYPES]:
            shown = text_of(strange[0], _MAX_NAME)
            self._notes.add(f"There is no type {shown!r}: any value is taken there.")
            return NOTHING
        return NOTHING if not known else known if isinstance(value, list) else known[0]

    def const(self, word: str, value: Any) -> Any:
        """The value."""
        self._count(keywords.size_of(value, _MAX_ENTRIES))
        return keywords.exact(value)

    def enum(self, word: str, value: Any) -> Any:
        """The values; an empty list would allow none, and is a slip."""
        self._count(keywords.size_of(value, _MAX_ENTRIES))
        found = map(keywords.exact, as_list(value))
        return [x for x in found if x is not NOTHING] or NOTHING

    def examples(self, word: str, value: Any) -> Any:
        """The first that says something."""
        found: JsonObject = {}
        for example in as_list(value)[:1]:
            self._show(found, example)
        return found.get("examples", NOTHING)

    def pattern(self, word: str, value: Any) -> Any:
        """A regular expression, if it is one, and nothing hangs on it."""
        if not isinstance(value, str):
            return NOTHING
        bare = keywords.bare_pattern(value)
        if not (bare or not value) or not self._schemas.is_pattern(bare):
            self._notes.add("A pattern cannot be used for checks, and is left out.")
            return NOTHING
        return bare

    def names(self, word: str, value: Any) -> Any:
        """Names of properties. Drafts of long ago had a flag here."""
        self._count(len(as_list(value)))
        return texts_of(value) or NOTHING

    def inner(self, word: str, value: Any) -> Any:
        """A schema inside."""
        return self.schema(value) if isinstance(value, dict | bool) else NOTHING

    def items(self, word: str, value: Any) -> Any:
        """A schema, or one for each place."""
        return self.several(word, value) if isinstance(value, list) else self.inner(word, value)

    def several(self, word: str, value: Any) -> Any:
        """A list of schemas."""
        self._count(len(as_list(value)))
        return [self.schema(x) for x in as_list(value) if isinstance(x, dict | bool)] or NOTHING

    def named(self, word: str, value: Any) -> Any:
        """Schemas by name."""
        if not isinstance(value, dict):
            return NOTHING
        self._count(len(as_object(value)))
        return {
            name: self.schema(x)
            for name, x in as_object(value).items()
            if is_whole(name) and not (word == "properties" and self._schemas.is_hidden(x))
        }

    def patterned(self, word: str, value: Any) -> Any:
        """Schemas by a pattern for names."""
        if not isinstance(value, dict):
            return NOTHING
        self._count(len(as_object(value)))
        given = as_object(value).items()
        named = ((self.pattern(word, x), self.schema(y)) for x, y in given)
        return {x: y for x, y in named if x is not NOTHING}

    def lists(self, word: str, value: Any) -> Any:
        """Names by name."""
        self._count(keywords.size_of(value, _MAX_ENTRIES))
        given = as_object(value).items()
        found = {name: texts_of(x) for name, x in given if isinstance(x, list) and is_whole(name)}
        return found or NOTHING


def _plain(rule: Callable[[Any], Any]) -> _Rule:
    """A rule that depends on the value alone."""

    def applied(_translation: Translation, _word: str, value: Any) -> Any:
        return rule(value)

    return applied


def _rules(*groups: tuple[_Rule, str]) -> Mapping[str, _Rule]:
    return {word: rule for rule, words in groups for word in words.split()}


_number, _count = _plain(keywords.number), _plain(keywords.count)

# All other words are left out, and those of OpenAPI itself: `discriminator`, `xml`, `x-...`
_RULES = _rules(
    (Translation.reference, "$ref $dynamicRef $recursiveRef"),
    (_plain(keywords.words), "description"),
    (_plain(keywords.short), "format contentEncoding contentMediaType"),
    (Translation.type, "type"),
    (Translation.enum, "enum"),
    (Translation.const, "const"),
    (_plain(keywords.shown), "default"),
    (Translation.examples, "examples"),
    (_number, "minimum maximum exclusiveMinimum exclusiveMaximum"),
    (_plain(keywords.step), "multipleOf"),
    (_count, "minLength maxLength minItems maxItems minProperties maxProperties"),
    (_count, "minContains maxContains"),
    (_plain(keywords.flag), "uniqueItems deprecated"),
    (Translation.pattern, "pattern"),
    (Translation.names, "required"),
    (Translation.items, "items"),
    (Translation.several, "allOf anyOf oneOf prefixItems"),
    (Translation.inner, "not if then else contains propertyNames additionalProperties"),
    (Translation.inner, "unevaluatedItems unevaluatedProperties"),
    (Translation.named, "properties dependentSchemas"),
    (Translation.patterned, "patternProperties"),
    (Translation.lists, "dependentRequired"),
)
