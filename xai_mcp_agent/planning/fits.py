"""How well what comes out fits what goes in, and by which conversion, in words.

By shape alone: names are for `flows`. The same two shapes always fit equally well, so each pair is
worked out once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from .shapes import Shape

_KEPT = 50_000
_MAX_LEVELS = 4


@dataclass(frozen=True, slots=True)
class Fit:
    """How well an output fits an input, 0 to 1, and what has to be done to it, "" for nothing."""

    score: float
    conversion: str = ""


NO_FIT = Fit(0.0)
_SAME = Fit(1.0)
_UNKNOWN = Fit(0.8, "its type is not declared")
_WRAPPED, _PICKED = 0.8, 0.8
_FORMATS_DIFFER, _CHOICES_DIFFER, _URIS_DIFFER = 0.25, 0.1, 0.2
_OF_PRIMITIVES = {
    ("integer", "number"): Fit(1.0),
    ("number", "integer"): Fit(0.7, "rounded"),
    ("integer", "string"): Fit(0.6, "written as text"),
    ("number", "string"): Fit(0.6, "written as text"),
    ("boolean", "string"): Fit(0.3, "written as text"),
    ("string", "integer"): Fit(0.35, "read as a number"),
    ("string", "number"): Fit(0.35, "read as a number"),
    ("string", "boolean"): Fit(0.1, "read as true or false"),
    ("integer", "boolean"): Fit(0.1, "read as true or false"),
    ("boolean", "integer"): Fit(0.1, "read as 0 or 1"),
    ("object", "string"): Fit(0.3, "written as JSON"),
}


def fit(given: Shape, wanted: Shape) -> Fit:
    """How well a value of one shape serves where another is wanted."""
    return _fit(given, wanted, 0)


@lru_cache(maxsize=_KEPT)
def _fit(given: Shape, wanted: Shape, level: int) -> Fit:
    if "never" in (given.kind, wanted.kind) or given.kind == "null":
        return NO_FIT
    if given.type_uri and wanted.type_uri:
        if given.type_uri == wanted.type_uri:
            return _SAME
        return _lowered(_by_kind(given, wanted, level), _URIS_DIFFER)
    if "any" in (given.kind, wanted.kind) or level > _MAX_LEVELS:
        return _UNKNOWN
    return _by_kind(given, wanted, level)


def _by_kind(given: Shape, wanted: Shape, level: int) -> Fit:
    if wanted.kind == "union":
        return _best(_fit(given, x, level + 1) for x in wanted.variants)
    if given.kind == "union":
        return _lowered(_best(_fit(x, wanted, level + 1) for x in given.variants), 0.9)
    if given.kind == "array" and wanted.kind == "array":
        return _items(given, wanted, level)
    if wanted.kind == "array":
        one = _fit(given, wanted.item, level + 1) if wanted.item else _UNKNOWN
        return Fit(one.score * _WRAPPED, _joined(one.conversion, "put in a list"))
    if given.kind == "array":
        one = _fit(given.item, wanted, level + 1) if given.item else _UNKNOWN
        return Fit(one.score * _PICKED, _joined("one of them", one.conversion))
    if given.kind == "object" and wanted.kind == "object":
        return _objects(given, wanted, level)
    if given.kind != wanted.kind:
        return _OF_PRIMITIVES.get((given.kind, wanted.kind), NO_FIT)
    return _same_kind(given, wanted)


def _same_kind(given: Shape, wanted: Shape) -> Fit:
    if given.choices and wanted.choices and not {*given.choices} & {*wanted.choices}:
        return Fit(_CHOICES_DIFFER, "none of its values is one of those that are allowed")
    if given.format and wanted.format and given.format != wanted.format:
        return Fit(_FORMATS_DIFFER, f"{given.format} in place of {wanted.format}")
    return _SAME


def _items(given: Shape, wanted: Shape, level: int) -> Fit:
    if not given.item or not wanted.item:
        return Fit(0.8, _UNKNOWN.conversion)
    one = _fit(given.item, wanted.item, level + 1)
    return Fit(one.score, f"each {one.conversion}" if one.conversion else "")


def _objects(given: Shape, wanted: Shape, level: int) -> Fit:
    needed = [x for x in wanted.fields if x.is_required] or list(wanted.fields)
    if not needed:
        return Fit(0.8)
    found = [(x, given.field(x.name)) for x in needed]
    fitting = sum(_fit(y.shape, x.shape, level + 1).score for x, y in found if y)
    lacking = [x.name for x, y in found if not y]
    return Fit(fitting / len(needed), f"without {', '.join(lacking[:3])}" if lacking else "")


def _best(fits: object) -> Fit:
    return max(fits, key=lambda x: x.score, default=NO_FIT)  # type: ignore[call-overload]


def _lowered(one: Fit, factor: float) -> Fit:
    return Fit(one.score * factor, one.conversion)


def _joined(*words: str) -> str:
    return ", ".join(x for x in words if x)
