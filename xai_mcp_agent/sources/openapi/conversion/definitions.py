"""The definitions of translated schemas: what refers to what, and that it does not go in circles.

`Pet` is one of `Cat` and `Dog`, and `Cat` is a `Pet` with more: documents of 3.0 say it so, and
count on `discriminator`. As JSON Schema that has no end. There `Cat` is made to build on `Pet`
without its choices.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, cast

from ....core.json import JsonObject, as_list, as_object, children
from ..document.references import Scopes

PREFIX = "#/$defs/"
_MAX_NOTES = 3  # more say the same of other places
_CHOICES = ("oneOf", "anyOf")


class Notes:
    """What a person should know of a tool: how it differs from what the document says."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def add(self, *lines: str) -> None:
        """Say something once."""
        for line in lines:
            if line not in self.lines and len(self.lines) < _MAX_NOTES:
                self.lines.append(line)


@dataclass(eq=False)
class Definition:
    """A schema of the document that others refer to; empty until it was translated."""

    name: str
    target: Any
    scopes: Scopes = ()
    is_translated: bool = False
    is_checked: bool = False
    schema: JsonObject | bool = field(default_factory=dict[str, Any])
    uses: frozenset[str] = frozenset()
    uses_here: tuple[str, ...] = ()  # on the same value
    notes: Notes = field(default_factory=Notes)
    characters: int = 0

    def put(self, schema: JsonObject | bool) -> None:
        """It is this, once translated."""
        self.schema, self.is_translated = schema, True
        self.uses, self.uses_here = used_in(schema), _used_here(schema)
        self.characters = len(json.dumps(schema))


def used_in(schema: Any) -> frozenset[str]:
    """The names of the definitions that a schema refers to, anywhere."""
    found, waiting = set[str](), [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            found |= _named(as_object(part))
        waiting += children(part)
    return frozenset(found)


def break_cycle(
    definitions: Iterable[Definition], base_of: Callable[[Definition, JsonObject], str]
) -> bool:
    """Break one circle of definitions that are checked on the same value; whether there was one.

    `base_of` gives the name of a definition that is another without its choices.
    """
    known = {x.name: x for x in definitions}
    done = {x.name for x in known.values() if x.is_checked}
    circle = _circle(known, done)
    for name in done:
        known[name].is_checked = True
    if not circle:
        return False
    for definition, following in zip(circle, [*circle[1:], circle[0]], strict=True):
        if _is_part_of(following, definition) and any(x in _own(following) for x in _CHOICES):
            own = _own(following)
            name = base_of(following, {x: own[x] for x in own if x not in _CHOICES})
            _replace(definition, following.name, {"$ref": f"{PREFIX}{name}"})
            return True
    _leave_out(circle[-1], circle[0].name)
    circle[-1].notes.add(f"{circle[0].name} refers to itself without an end: that is left out.")
    return True


def _circle(known: dict[str, Definition], done: set[str]) -> list[Definition]:
    """Definitions each of which needs the next one, the last one the first.

    Those that lead to no circle are added to `done`.
    """
    for start in [x for x in known if x not in done]:
        path, branches = [start], [iter(known[start].uses_here)]
        while branches and start not in done:
            name = next(branches[-1], None)
            if name is None:
                done.add(path.pop())
                branches.pop()
            elif name in path:
                return [known[x] for x in path[path.index(name) :]]
            elif name not in done:
                path.append(name)
                branches.append(iter(known[name].uses_here))
    return []


def _used_here(schema: Any) -> tuple[str, ...]:
    """The definitions that are checked on the same value as the schema."""
    found = set[str]()
    for part in _here(schema):
        found |= _named(part)
    return tuple(sorted(found))


def _here(schema: Any) -> list[JsonObject]:
    """The schema and all that are checked on the same value."""
    found, waiting = list[JsonObject](), [schema]
    while waiting:
        part = as_object(waiting.pop())
        found.append(part)
        for word in ("allOf", *_CHOICES):
            waiting += as_list(part.get(word))
        waiting += (part[word] for word in ("not", "if", "then", "else") if word in part)
        waiting += as_object(part.get("dependentSchemas")).values()
    return found


def _named(part: JsonObject) -> set[str]:
    reference = part.get("$ref")
    is_ours = isinstance(reference, str) and reference.startswith(PREFIX)
    return {cast(str, reference).removeprefix(PREFIX)} if is_ours else set()


def _own(definition: Definition) -> JsonObject:
    return as_object(definition.schema)


def _is_part_of(one: Definition, other: Definition) -> bool:
    """Whether the other is all that this one is, and more."""
    parts = as_list(_own(other).get("allOf"))
    return any(one.name in _named(as_object(x)) for x in parts)


def _leave_out(definition: Definition, name: str) -> None:
    """Let anything fit where the definition names this one.

    Only a demand can be left out by itself. A choice with something that fits anything is no
    choice, and `oneOf` would refuse what fits another, too; `not` would refuse all there is.
    """
    for part in _here(definition.schema):
        for word in (*_CHOICES, "not", "if"):
            if word in part and _is_named_in(part[word], name):
                del part[word]
        if "if" not in part:
            part.pop("then", None)
            part.pop("else", None)
        if name in _named(part):
            del part["$ref"]
    definition.put(definition.schema)


def _is_named_in(value: Any, name: str) -> bool:
    several = as_list(value) or [value]
    return any(name in _named(part) for x in several for part in _here(x))


def _replace(definition: Definition, name: str, by: JsonObject) -> None:
    for part in _here(definition.schema):
        if name in _named(part):
            del part["$ref"]
            part.update(by)
    definition.put(definition.schema)
