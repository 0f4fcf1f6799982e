"""Arguments that fit the input schema of an operation."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import find
from hypothesis import strategies as st
from hypothesis.errors import HypothesisException

from xai_mcp_agent.core.json import JsonObject

_OPTIONAL_DEPTH, _MAX_DEPTH = 2, 12
_FORMATS = {
    "date": "2026-03-12", "date-time": "2026-03-12T14:30:00Z", "time": "14:30:00Z",
    "email": "ada@example.org", "uuid": "123e4567-e89b-42d3-a456-426614174000", "byte": "dGV4dA==",
    "uri": "https://example.org/page", "url": "https://example.org/page", "ipv4": "192.0.2.1",
    "hostname": "example.org", "snowflake": "80351110224678912", "duration": "PT30M",
}  # fmt: skip


def sample_arguments(schema: JsonObject, *, optional: bool) -> JsonObject:
    """Arguments with what is required, and perhaps with all that is optional to a depth of two."""
    return _Sampler(schema.get("$defs", {}), optional).value(schema, 0)


class _Sampler:
    def __init__(self, definitions: JsonObject, optional: bool) -> None:
        self._definitions = definitions
        self._optional = optional

    def value(self, schema: Any, depth: int) -> Any:
        if not isinstance(schema, dict):
            return "text"
        schema = self._resolve(schema, depth)
        if "const" in schema:
            return schema["const"]
        if options := schema.get("enum"):
            return next((x for x in options if x is not None), None)
        for key in ("oneOf", "anyOf"):
            if choices := schema.get(key):
                rest = {name: x for name, x in schema.items() if name != key}
                choice = next((x for x in choices if x != {"type": "null"}), choices[0])
                return self.value(_join(rest, self._resolve(choice, depth)), depth + 1)
        kind = _type_of(schema)
        match kind:
            case "object":
                return self._object(schema, depth)
            case "array":
                return self._array(schema, depth)
            case "integer" | "number":
                return _number(kind, schema)
            case "string":
                return _text(schema)
            case _:
                return {"boolean": True, "null": None}.get(kind, "")

    def _array(self, schema: JsonObject, depth: int) -> list[Any]:
        least = schema.get("minItems", 0)
        count = 0 if depth > _MAX_DEPTH else max(least, min(2, schema.get("maxItems", 2)))
        values = [self.value(schema.get("items", {}), depth + 1) for _ in range(count)]
        if not schema.get("uniqueItems"):
            return values
        return _make_distinct(values)[: max(least, len({*map(str, values)}))]

    def _object(self, schema: JsonObject, depth: int) -> JsonObject:
        properties = schema.get("properties", {})
        names = list(schema.get("required", []))
        if self._optional and depth < _OPTIONAL_DEPTH:
            names += [x for x in properties if x not in names]
        if depth > _MAX_DEPTH:
            names = []
        if not names and schema.get("minProperties"):
            names = list(properties)[:1]
        values = {x: self.value(properties.get(x, {}), depth + 1) for x in names}
        more = schema.get("additionalProperties")
        has_more = self._optional and depth <= _OPTIONAL_DEPTH and isinstance(more, dict)
        if has_more and not properties:
            values["k 1"] = self.value(more, depth + 1)
        return values

    def _resolve(self, schema: Any, depth: int) -> JsonObject:
        """A schema together with the schema that it refers to, and all parts of its `allOf`."""
        if not isinstance(schema, dict) or depth > _MAX_DEPTH + 4:
            return {}
        whole = {name: x for name, x in schema.items() if name not in ("$ref", "allOf")}
        parts = list(schema.get("allOf", []))
        if "$ref" in schema:
            parts.append(self._definitions.get(schema["$ref"].rpartition("/")[2], {}))
        for part in parts:
            whole = _join(whole, self._resolve(part, depth + 1))
        return whole


def _join(one: JsonObject, other: JsonObject) -> JsonObject:
    whole = {**other, **one}
    if required := [*one.get("required", []), *other.get("required", [])]:
        whole["required"] = list(dict.fromkeys(required))
    if properties := {**other.get("properties", {}), **one.get("properties", {})}:
        whole["properties"] = properties
    return whole


def _type_of(schema: JsonObject) -> str:
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((x for x in kind if x != "null"), "null")
    if kind is None:
        kind = "object" if "properties" in schema else "array" if "items" in schema else "string"
    return kind


def _number(kind: str, schema: JsonObject) -> Any:
    low = schema.get("minimum", schema.get("exclusiveMinimum"))
    high = schema.get("maximum", schema.get("exclusiveMaximum"))
    value = low + 1 if "exclusiveMinimum" in schema else low if low is not None else 1
    if high is not None and value > high:
        value = high - 1 if "exclusiveMaximum" in schema else high
    step = schema.get("multipleOf")
    if step:
        value = step * max(1, -(-value // step))
    return int(value) if kind == "integer" else value


def _text(schema: JsonObject) -> str:
    low, high = schema.get("minLength", 0), schema.get("maxLength", 10**6)
    if pattern := schema.get("pattern"):
        try:
            return find(st.from_regex(pattern), lambda x: low <= len(x) <= high and x.isprintable())
        except (re.error, HypothesisException):
            return "text"
    text = _FORMATS.get(schema.get("format", ""), "a b&c")
    return text.ljust(low, "x")[:high] if low <= 10_000 else text


def _make_distinct(values: list[Any]) -> list[Any]:
    """Return the values, with equal texts made different and other equal values dropped."""
    distinct: list[Any] = []
    for value in values:
        if value not in distinct:
            distinct.append(value)
        elif isinstance(value, str):
            number = str(int(value) + len(distinct)) if value.isdigit() else f"{value}2"
            distinct.append(number)
    return distinct
