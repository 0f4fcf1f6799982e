"""The parts of a JSON Schema: its choices, its items, and what its local references lead to.

A local reference is one such as `#/$defs/Size`. Nothing is ever fetched.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

_PARTS = ("allOf", "anyOf", "oneOf", "items")
_MAX_DEPTH = 20  # of choices in choices; hostile ones are nested deeper
_INDEX_DIGITS = 6
# Of one parameter, and of a document: definitions that refer to each other multiply.
_MOST_PARTS, _MOST_OF_ALL = 200, 5_000


class References:
    """Resolves the local references of one document, until its budget is spent."""

    def __init__(self, root: object) -> None:
        self._root = root
        self._left = _MOST_OF_ALL

    def resolved(self, schema: object) -> dict[str, Any]:
        """A schema with what it refers to in its place, also in its choices and items.

        A reference that leads back to itself is not followed again. What the schema's own
        properties refer to stays as it is.
        """
        if not isinstance(schema, dict):
            return {}
        before, self._left = self._left, min(self._left, _MOST_PARTS)
        granted = self._left
        found = self._part(cast("dict[str, Any]", schema), ())
        self._left += before - granted
        return found

    def _part(
        self, schema: dict[str, Any], chain: tuple[str, ...], depth: int = 0
    ) -> dict[str, Any]:
        """`chain` are the references that led to it."""
        self._left -= 1
        if self._left < 0 or depth > _MAX_DEPTH:
            return schema
        while isinstance(reference := schema.get("$ref"), str) and reference not in chain:
            if self._left < 0:
                break
            chain = (*chain, reference)
            self._left -= 1
            target = reference_target(reference, self._root)
            if isinstance(target, dict):
                beside = {word: x for word, x in schema.items() if word != "$ref"}
                schema = {**cast("dict[str, Any]", target), **beside}
        parts = {x: self._parts(schema[x], chain, depth + 1) for x in _PARTS if x in schema}
        return {**schema, **parts} if parts else schema

    def _parts(self, value: Any, chain: tuple[str, ...], depth: int) -> Any:
        if isinstance(value, list):
            return [self._resolved_part(x, chain, depth) for x in cast("list[Any]", value)]
        return self._resolved_part(value, chain, depth)

    def _resolved_part(self, value: Any, chain: tuple[str, ...], depth: int) -> Any:
        is_schema = isinstance(value, dict)
        return self._part(cast("dict[str, Any]", value), chain, depth) if is_schema else value


def reference_target(reference: str, root: object) -> Any:
    """The part of `root` that a pointer such as `#/$defs/Size` names; None where there is none."""
    if reference != "#" and not reference.startswith("#/"):
        return None
    place: Any = root
    for step in reference.split("/")[1:]:
        name = _unquoted(step).replace("~1", "/").replace("~0", "~")
        if isinstance(place, list) and name.isdecimal() and len(name) <= _INDEX_DIGITS:
            items = cast("list[Any]", place)[int(name) :]
            place = items[0] if items else None
        else:
            place = cast("dict[str, Any]", place).get(name) if isinstance(place, dict) else None
    return place


def parts_of(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The schema itself, its choices and items, and theirs."""
    return _parts_of(schema, 0)


def _parts_of(schema: Mapping[str, Any], depth: int) -> Iterator[Mapping[str, Any]]:
    yield schema
    for value in (schema[x] for x in _PARTS if x in schema) if depth <= _MAX_DEPTH else ():
        for part in cast("list[Any]", value) if isinstance(value, list) else [value]:
            if isinstance(part, dict):
                yield from _parts_of(cast("dict[str, Any]", part), depth + 1)


def _unquoted(step: str) -> str:
    if "%" not in step:
        return step
    from urllib.parse import unquote  # takes as long to load as all of the search

    return unquote(step)
