"""Bound on the work of checking values against a schema, counted before it is compiled.

References may double at every step, so that two kilobytes ask for more steps than there is time;
and `jsonschema_rs` holds the interpreter while it checks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple

from .json import JsonObject, as_list, as_object, at, children, is_object

# Lists and objects, and tens of others: the largest of real tools have a few thousand, and to
# count and compile so many takes 0.05 s.
_MAX_PARTS = 10_000
_MAX_DEPTH = 500
_MAX_VALUES = 300_000  # of a result: counting them takes 0.05 s
_MAX_STEPS = 100_000  # for one value inside another; a step takes about 0.05 microseconds
_MAX_COUNTED = 200_000  # entries of the memory: 0.1 s
_FIRST_LEVELS = 4  # these are counted before there is a value
# `unevaluatedProperties` checks everything beside it again, and again inside that.
_TIMES_UNEVALUATED = 3

_HERE = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else")
_NAMED_HERE = ("dependentSchemas", "dependencies")
_EACH = ("items", "additionalItems", "additionalProperties", "contains", "propertyNames",
         "unevaluatedItems", "unevaluatedProperties")  # fmt: skip
_ELSEWHERE = ("$dynamicRef", "$recursiveRef")


class TooCostly(ValueError):
    """A schema that would take too long to compile, or to check anything against."""


def check_size(schema: JsonObject) -> None:
    """Raise TooCostly where a schema is too large to do anything with it."""
    parts = 0
    for depth, level in enumerate(_levels(schema)):
        whole = sum(isinstance(x, dict | list) for x in level)
        parts += whole + (len(level) - whole) // 10
        if parts > _MAX_PARTS:
            raise TooCostly(f"it is made of more than {_MAX_PARTS:,} parts")
        if depth >= _MAX_DEPTH:
            raise TooCostly(f"it is nested more than {_MAX_DEPTH} deep")


class Work(NamedTuple):
    """The most work of checking one value: schema applications, and characters for patterns."""

    steps: int
    matched: int


class SchemaCost:
    """Counts the steps of one schema, with a cache.

    Raises:
        TooCostly: the schema takes too long for any value.
    """

    def __init__(self, schema: JsonObject) -> None:
        check_size(schema)
        self._root = schema
        self._identifier = "id" if "draft-04" in str(schema.get("$schema")) else "$id"
        self._steps: dict[tuple[int, int], int] = {}
        parts = [as_object(x) for level in _levels(schema) for x in level]
        for_names = sum(len(as_object(x.get("patternProperties"))) for x in parts)
        self.has_patterns_for_names = for_names > 0
        self.patterns = for_names + sum("pattern" in x for x in parts)
        """How many regular expressions it may have."""
        if any(self.steps_at(depth) > _MAX_STEPS for depth in range(_FIRST_LEVELS)):
            raise TooCostly("its references and choices multiply to more than can be checked")

    def of(self, value: Any) -> Work | None:
        """The work of checking a value; None if it is too large to be counted."""
        parts = characters = widest = 0
        for depth, level in enumerate(islice(_levels(value), _MAX_DEPTH)):
            parts += len(level)
            if parts > _MAX_VALUES:
                return None
            try:
                widest = max(widest, self.steps_at(depth))
            except TooCostly:
                return None
            characters += sum(map(_characters, level)) if self.patterns else 0
        return Work(parts * widest, characters * widest)

    def steps_at(self, depth: int) -> int:
        """The schemas applied, at most, to one value that lies so deep in the one checked."""
        try:
            return self._count(self._root, depth)
        except RecursionError:
            raise TooCostly("its parts refer to each other too often") from None

    def _count(self, schema: Any, depth: int) -> int:
        if not is_object(schema):
            return 1
        place = id(schema), depth
        if place not in self._steps:
            if len(self._steps) > _MAX_COUNTED:
                raise TooCostly("it has too many parts for so deep a value")
            self._steps[place] = -1  # until it is counted
            steps = sum(self._count(x, depth) for x in self._applied_here(schema))
            steps += self._count_inside(schema, depth - 1) if depth else _own_steps(schema)
            again = "unevaluatedProperties" in schema or "unevaluatedItems" in schema
            self._steps[place] = steps * (_TIMES_UNEVALUATED if again else 1)
        if self._steps[place] < 0:
            raise TooCostly("it refers to itself without an end")
        return self._steps[place]

    def _count_inside(self, schema: JsonObject, depth: int) -> int:
        """For the values directly inside: all of some schemas apply, of others one."""
        each = [*filter(is_object, map(schema.get, _EACH))]
        each += as_object(schema.get("patternProperties")).values()
        groups: list[Iterable[Any]] = [as_object(schema.get("properties")).values()]
        groups += [as_list(schema.get(x)) for x in ("prefixItems", "items")]
        one = sum(max((self._count(x, depth) for x in group), default=0) for group in groups)
        return one + sum(self._count(x, depth) for x in each)

    def _applied_here(self, schema: JsonObject) -> Iterator[JsonObject]:
        """The schemas inside that apply to the same value."""
        parts: list[Any] = []
        for word in _HERE:
            parts += as_list(schema.get(word)) or [schema.get(word)]
        for word in _NAMED_HERE:
            parts += as_object(schema.get(word)).values()
        if isinstance(reference := schema.get("$ref"), str):
            parts.append(target := at(self._root, reference))
            if not reference.startswith("#") or target is None:
                raise TooCostly(f"it refers to {reference}, which is no place in it")
        # Identifiers give references another base, for which none of these counts would be right.
        is_inside = schema is not self._root and isinstance(schema.get(self._identifier), str)
        if is_inside or any(word in schema for word in _ELSEWHERE):
            raise TooCostly("it has references of a kind that is not checked")
        return filter(is_object, parts)


def _own_steps(schema: JsonObject) -> int:
    values = len(as_list(schema.get("enum"))) + len(as_list(schema.get("required")))
    return 1 + values // 10


def _levels(value: Any) -> Iterator[list[Any]]:
    """The value, the values directly inside it, those inside these, and so on."""
    level = [value]
    while level:
        yield level
        level = [inner for x in level for inner in children(x)]


def _characters(value: Any) -> int:
    """The characters of a text, or of the names of an object."""
    if isinstance(value, str):
        return len(value)
    return sum(len(str(name)) for name in as_object(value))
