"""Schemas of a document as those of tools: JSON Schema of 2020-12, with a closure of definitions.

References are kept, never expanded: what a tool needs of the document's schemas stands once in its
`$defs`, and tools share it. How one schema is translated is in `translation`.
"""

from __future__ import annotations

import copy
import re
from typing import Any, Literal, TypeAlias

from ....core.json import JsonObject, as_object
from ....core.schemas import SchemaCheck
from ..document.document import BadOperation, BadReference, Dialect
from ..document.references import EndlessReference, References, Scopes
from .definitions import PREFIX, Definition, Notes, break_cycle, used_in
from .translation import Translation

Direction: TypeAlias = Literal["request", "response"]
"""Which way a value goes: what is `readOnly` is not in a request, `writeOnly` in no response."""

_MAX_NAME = 60  # of a definition
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_.-]+")
_HIDES = {"request": "readOnly", "response": "writeOnly"}
# Large real documents have about 20. What is left is too much for a check, which is then not made.
_MAX_CIRCLES = 500
# In one document. What is above them is made by somebody for that; the largest real ones have a
# twentieth: schemas, wherever they stand, and definitions of all tools together.
_MAX_SCHEMAS = 400_000
_MAX_ENTRIES = 3_000_000
_MAX_CHAIN = 50  # of definitions that are only another one


class Schemas:
    """Translates the schemas of one document for values that go one way, each of them once."""

    def __init__(self, references: References, dialect: Dialect, direction: Direction) -> None:
        self.references = references
        self.is_old = dialect.is_old
        self.hides = _HIDES[direction]
        self._definitions: dict[str, Definition] = {}
        self._by_end: dict[str, Definition] = {}
        self._by_target: dict[int, Definition] = {}
        self._by_name: dict[str, Definition] = {}
        self._bases: dict[str, str] = {}
        self._circles_left = _MAX_CIRCLES
        self._entries_left = _MAX_ENTRIES
        self._schemas_left = _MAX_SCHEMAS
        self._patterns: dict[str, bool] = {}

    def translated(self, schema: Any, notes: Notes) -> JsonObject | bool:
        """One schema; what it refers to is in its closure.

        Raises:
            BadReference: it refers to where no reference may lead.
            BadOperation: it is too much.
        """
        return Translation(self, notes, None).schema(schema)

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
        found, notes = as_object(schema), Notes()
        for _ in range(_MAX_CHAIN):
            reference = found.get("$ref")
            if not isinstance(reference, str) or found.keys() - {"$ref", "description"}:
                break
            definition = self._complete(self._by_name[reference.removeprefix(PREFIX)])
            found, notes = as_object(definition.schema), definition.notes
        return found, notes

    def definition(self, reference: str, scopes: Scopes = ()) -> Definition:
        """What a reference leads to in the end, seen from inside these schemas.

        Raises:
            BadReference: it leads nowhere, or where it may not.
        """
        names_itself = any("$id" in x for x in scopes) and not reference.startswith("#/")
        if names_itself and (near := self._near(reference, scopes)):
            return near
        if reference not in self._definitions:
            try:
                self._definitions[reference] = self._far(reference)
            except EndlessReference:
                raise
            except BadReference:
                if near := self._near(reference, scopes):
                    return near
                raise
        return self._definitions[reference]

    def _far(self, reference: str) -> Definition:
        """What it leads to from the document."""
        end, target = self.references.end_of(reference)
        if end not in self._by_end:
            scopes = self.references.around(end)
            self._by_end[end] = self._made(end, target, scopes)
        return self._by_end[end]

    def _near(self, reference: str, scopes: Scopes) -> Definition | None:
        """What it leads to from one of the schemas that it is in."""
        found = self.references.found_around(reference, scopes)
        if found is None:
            return None
        target, around = found
        if id(target) not in self._by_target:
            self._by_target[id(target)] = self._made(reference, target, around)
        return self._by_target[id(target)]

    def _made(self, reference: str, target: Any, scopes: Scopes) -> Definition:
        made = Definition(self._new_name(reference), target, scopes=scopes)
        self._by_name[made.name] = made
        self._by_target.setdefault(id(target), made)
        return made

    def is_hidden(self, schema: Any) -> bool:
        """Whether a property is none of those that go this way."""
        found = as_object(schema)
        if found.get(self.hides) is True:
            return True
        reference = found.get("$ref")
        if not isinstance(reference, str):
            return False
        try:
            return as_object(self.definition(reference).target).get(self.hides) is True
        except BadReference:
            return False

    def is_pattern(self, pattern: str) -> bool:
        """Whether arguments can be checked with it."""
        if pattern not in self._patterns:
            check = SchemaCheck({"pattern": pattern})
            self._patterns[pattern] = not check.why_unusable(with_patterns=True)
        return self._patterns[pattern]

    def count_schema(self) -> None:
        """There is one more.

        Raises:
            BadOperation: that is too much.
        """
        self._schemas_left -= 1
        if self._schemas_left < 0:
            raise BadOperation(f"the document has more than {_MAX_SCHEMAS:,} schemas")

    def _complete(self, definition: Definition) -> Definition:
        if not definition.is_translated:
            translation = Translation(self, definition.notes, definition)
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
