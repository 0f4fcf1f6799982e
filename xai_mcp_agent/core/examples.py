"""Example arguments of a tool, for the reader of its explanation.

They are made of the schema's examples, defaults, choices and types. Patterns and conditions are
left to the check of the call.
"""

from __future__ import annotations

from typing import Any

from .json import JsonObject, as_list, as_object
from .schema_cost import TooCostly, check_size
from .schemas import References, properties, required, types_of

# Bounds for schemas that refer to themselves, and for those of strangers.
_MAX_DEPTH, _MAX_VALUES, _MAX_TEXT = 8, 300, 200

_BY_FORMAT = {
    "date": "2026-03-12", "date-time": "2026-03-12T14:30:00Z", "time": "14:30:00Z",
    "email": "ada@example.org", "uri": "https://example.org/page", "url": "https://example.org/page",
    "uuid": "123e4567-e89b-42d3-a456-426614174000",
}  # fmt: skip
_TEXT = "text"


def example_arguments(schema: JsonObject) -> JsonObject:
    """Example values of the required arguments."""
    try:
        check_size(schema)
    except TooCostly:
        return {}
    return _Examples(schema).object_of(schema, 0)


class _Examples:
    """Makes examples for the parts of one schema."""

    def __init__(self, root: JsonObject) -> None:
        self._references = References(root)
        self._values_left = _MAX_VALUES

    def object_of(self, spec: JsonObject, depth: int) -> JsonObject:
        """An object with the required properties of a schema, its parts and its first choice."""
        parts = _chosen(self._references.resolved(spec))
        specs: JsonObject = {}
        for part in reversed(parts):
            specs.update(properties(part, self._references))
        names = dict.fromkeys(name for part in parts for name in required(part)[:_MAX_VALUES])
        return {name: self._value(specs.get(name), depth + 1) for name in names}

    def _value(self, spec: Any, depth: int) -> Any:
        self._values_left -= 1
        if depth > _MAX_DEPTH or self._values_left < 0:
            return None
        parts = _chosen(as_object(spec))
        for part in parts:
            if values := _shown(part):
                return values[0]
        kinds = [x for part in parts for x in types_of(part) if x != "null"]
        kind = kinds[0] if kinds else "null" if types_of(as_object(spec)) else ""
        if kind == "object" or (not kind and any("properties" in x for x in parts)):
            return self.object_of(as_object(spec), depth)
        if kind == "array":
            items = next((x["items"] for x in parts if "items" in x), None)
            return [self._value(items, depth + 1)]
        if kind in ("", "string"):
            return _text(parts)
        if kind in ("integer", "number"):
            return max([1, *(x for part in parts if _is_number(x := part.get("minimum")))])
        return True if kind == "boolean" else None


def _chosen(spec: JsonObject, depth: int = 0) -> list[JsonObject]:
    """The schema, all parts of its `allOf`, and the first choice that is not null."""
    chosen = [spec]
    for part in as_list(spec.get("allOf")) if depth < _MAX_DEPTH else ():
        chosen += _chosen(as_object(part), depth + 1)
    choices = as_list(spec.get("anyOf")) or as_list(spec.get("oneOf"))
    choices = [x for x in map(as_object, choices) if x.get("type") != "null"]
    return chosen + (_chosen(choices[0], depth + 1) if choices and depth < _MAX_DEPTH else [])


def _shown(spec: JsonObject) -> list[Any]:
    """The values in the schema itself, the best first."""
    if "const" in spec:
        return [spec["const"]]
    usual = [spec[x] for x in ("example", "default") if spec.get(x) is not None]
    return [*as_list(spec.get("examples")), *usual, *as_list(spec.get("enum"))]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _text(parts: list[JsonObject]) -> str:
    named = (_BY_FORMAT.get(str(x.get("format"))) for x in parts)
    text = next((x for x in named if x), _TEXT)
    least = max((x for part in parts if isinstance(x := part.get("minLength"), int)), default=0)
    return text.ljust(min(least, _MAX_TEXT), "x")
