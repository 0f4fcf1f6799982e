"""Arguments that a tool would accept, as an example for whoever is about to call it.

They are made from what the schema shows and demands, and checked against it as any call's are.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from itertools import chain, islice
from typing import Any, cast

from .json import at
from .pattern_examples import texts_for
from .schema_cost import TooCostly, check_size
from .schemas import References, SchemaCheck, properties, required, types_of
from .tools import JsonObject

# An example is read. What refers to itself ends somewhere, and so does what a stranger made.
_MAX_DEPTH, _MAX_VALUES, _MAX_ITEMS, _MAX_TEXT = 8, 300, 20, 2_000
_MOST_TRIED = 12  # for one value; most fit at once
_MOST_SHOWN = 4  # of the values that a schema lists
_MAX_VARIANTS = 500  # of all parts: choices may refer to themselves, and multiply
# To check parts takes a while. What is larger, in characters, is not checked.
_MAX_CHARACTERS, _MAX_CHECKS = 20_000, 50

_FORMATS = {
    "date": "2026-03-12", "date-time": "2026-03-12T14:30:00Z", "time": "14:30:00Z",
    "duration": "PT30M", "email": "ada@example.org", "idn-email": "ada@example.org",
    "hostname": "example.org", "idn-hostname": "example.org", "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1", "uri": "https://example.org/page", "url": "https://example.org/page",
    "iri": "https://example.org/page", "uri-reference": "/page", "iri-reference": "/page",
    "uri-template": "/page/{number}", "uuid": "123e4567-e89b-42d3-a456-426614174000",
    "json-pointer": "/name", "relative-json-pointer": "0/name", "regex": "[a-z]+",
    "byte": "dGV4dA==", "base64": "dGV4dA==",
}  # fmt: skip
_TEXT = "text"
_PLAIN = frozenset(("type", "description"))  # in them nothing can make a value not fit
_NUMBERS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_DEFINITIONS = ("$defs", "definitions")


def example_arguments(schema: JsonObject) -> JsonObject:
    """Arguments for a call: only what must be given, as the schema shows it, or as it demands it.

    They fit the schema wherever that can be brought about without much work; they are a guess
    where it is too large, or demands what cannot be guessed.
    """
    try:
        check_size(schema)
        found = _Examples(schema).best(schema, usual="object")
    except (TooCostly, RecursionError):
        return {}
    return cast(JsonObject, found) if isinstance(found, dict) else {}


class _Examples:
    """Makes examples for the parts of one schema; knows the whole for the references in it."""

    def __init__(self, root: JsonObject) -> None:
        self._root, self._references = root, References(root)
        self._values_left, self._variants_left = _MAX_VALUES, _MAX_VARIANTS
        is_small = len(json.dumps(root, default=str)) <= _MAX_CHARACTERS
        self._checks_left = _MAX_CHECKS if is_small else 0

    def best(self, spec: Any, depth: int = 0, usual: str = "string") -> Any:
        """The first value that fits, or else the first; of the `usual` type where none is said."""
        tried = islice(self._candidates(spec, depth, usual), _MOST_TRIED)
        first = next(tried, None)
        if not isinstance(spec, dict) or spec.keys() <= _PLAIN:
            return first
        check = SchemaCheck(self._by_itself(cast(JsonObject, spec)))
        return next((x for x in chain([first], tried) if self._fits(check, x)), first)

    def _by_itself(self, spec: JsonObject) -> JsonObject:
        return {**{x: self._root[x] for x in _DEFINITIONS if x in self._root}, **spec}

    def _fits(self, check: SchemaCheck, value: Any) -> bool:
        if not self._checks_left:
            return True
        self._checks_left -= 1
        return not check.problems(value)

    def _candidates(self, spec: Any, depth: int, usual: str) -> Iterator[Any]:
        """Values, the likeliest first."""
        self._values_left -= 1
        if not isinstance(spec, dict) or self._values_left < 0 or depth > _MAX_DEPTH:
            yield None if self._values_left < 0 or depth > _MAX_DEPTH else _TEXT
            return
        for variant in self._variants(cast(JsonObject, spec), depth):
            yield from _shown(variant)
            for kind in sorted(_types(variant, usual), key=lambda x: x == "null"):
                yield from self._of_type(kind, variant, depth)

    def _of_type(self, kind: str, spec: JsonObject, depth: int) -> Iterator[Any]:
        match kind:
            case "object":
                yield from self._objects(spec, depth)
            case "array":
                yield self._array(spec, depth)
            case "integer" | "number":
                yield from _numbers(spec, is_whole=kind == "integer")
            case "boolean":
                yield from (True, False)
            case "null":
                yield None
            case _:
                yield from _texts(spec)

    def _objects(self, spec: JsonObject, depth: int) -> Iterator[JsonObject]:
        """What must be given; then, where that is not enough, all that can be."""
        parts, names = properties(spec, self._references), required(spec)
        dependent = _object(spec.get("dependentRequired"))
        for name in names:  # grows meanwhile
            names += [x for x in required({"required": dependent.get(name)}) if x not in names]
        other = spec.get("additionalProperties")

        def made(wanted: list[str]) -> JsonObject:
            few = wanted[:_MAX_VALUES]
            return {name: self.best(parts.get(name, other), depth + 1) for name in few}

        yield made(names)
        yield made(list(dict.fromkeys((*names, *parts))))

    def _array(self, spec: JsonObject, depth: int) -> list[Any]:
        least, most = _count(spec, "minItems", 0), _count(spec, "maxItems", _MAX_ITEMS)
        items, first = spec.get("items"), _list(spec.get("prefixItems"))
        if isinstance(items, list):  # as it was written until 2020
            items, first = spec.get("additionalItems"), cast(list[Any], items)
        found = [self.best(x, depth + 1) for x in first[:most]]
        wanted = min(max(least, 0 if first or items is False else 1), most, _MAX_ITEMS) - len(found)
        if wanted <= 0:
            return found
        if wanted > 1 and spec.get("uniqueItems") is True:
            return [*found, *self._different(items, wanted, depth)]
        return found + [self.best(items, depth + 1)] * wanted

    def _different(self, items: Any, wanted: int, depth: int) -> list[Any]:
        one = self.best(items, depth + 1)
        others = _list(_object(items).get("enum")) + [_other(one, x) for x in range(1, wanted)]
        return list({json.dumps(x, default=str): x for x in [one, *others]}.values())[:wanted]

    def _variants(self, spec: JsonObject, depth: int) -> Iterator[JsonObject]:
        """The schema without references and choices: one for each choice."""
        self._variants_left -= 1
        if depth > _MAX_DEPTH or self._variants_left < 0:
            return
        spec = self._without_reference(spec)
        for part in _list(spec.get("allOf")):
            inner = next(self._variants(_object(part), depth + 1), JsonObject())
            spec = _merged(spec, inner)
        choices = _list(spec.get("anyOf")) or _list(spec.get("oneOf")) or _conditions(spec)
        if not choices:
            yield spec
        for choice in sorted(map(_object, choices), key=lambda x: x.get("type") == "null"):
            for inner in self._variants(choice, depth + 1):
                yield _merged(_without_choices(spec), inner)

    def _without_reference(self, spec: JsonObject) -> JsonObject:
        for _ in range(_MAX_DEPTH):
            reference = spec.get("$ref")
            if not isinstance(reference, str):
                break
            own = {word: x for word, x in spec.items() if word != "$ref"}
            spec = {**_object(at(self._root, reference)), **own}
        return spec


def _shown(spec: JsonObject) -> Iterator[Any]:
    """The values that the schema itself gives."""
    if "const" in spec:
        yield spec["const"]
    yield from _list(spec.get("examples"))[:_MOST_SHOWN]
    yield from (spec[x] for x in ("example", "default") if spec.get(x) is not None)
    yield from _list(spec.get("enum"))[:_MOST_SHOWN]


def _types(spec: JsonObject, usual: str) -> list[str]:
    if found := types_of(spec):
        return found
    if "properties" in spec or "required" in spec:
        return ["object"]
    if "items" in spec or "prefixItems" in spec:
        return ["array"]
    return ["number"] if any(x in spec for x in _NUMBERS) else [usual]


def _texts(spec: JsonObject) -> Iterator[str]:
    least, most = _count(spec, "minLength", 0), _count(spec, "maxLength", _MAX_TEXT)
    if isinstance(pattern := spec.get("pattern"), str):
        yield from texts_for(pattern, min(least, _MAX_TEXT))
    text = _FORMATS.get(str(spec.get("format")), _TEXT)
    times = -(-min(least, _MAX_TEXT) // len(text)) or 1
    yield (text * times)[: max(most, 0)] if times > 1 or len(text) > most else text


def _numbers(spec: JsonObject, *, is_whole: bool) -> Iterator[int | float]:
    """Some in the limits, or at them, that a step may lead to."""
    low = _limit(spec, "minimum", "exclusiveMinimum")
    high = _limit(spec, "maximum", "exclusiveMaximum")
    step = _number(spec.get("multipleOf")) or 1
    near = [x for x in (1, low, high) if x is not None]
    if low is not None and high is not None:
        near.append((low + high) / 2)
    steps = [count * step for x in near for y in (0, 1, -1) if (count := _whole(x / step, y))]
    for number in (*near, *steps, 0, 1.5):
        is_inside = (low is None or number >= low) and (high is None or number <= high)
        if is_inside and not (is_whole and number != int(number)):
            yield int(number) if number == int(number) else number


def _whole(number: float, more: int) -> int:
    return math.floor(number) + more if math.isfinite(number) else 0


def _limit(spec: JsonObject, including: str, excluding: str) -> float | None:
    """The limit, whichever way it is said."""
    found = _number(spec.get(excluding))
    return _number(spec.get(including)) if found is None else found


def _number(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    # Larger ones cannot be counted with, and no example needs them.
    return value if is_number and abs(value) < 1e15 else None


def _conditions(spec: JsonObject) -> list[JsonObject]:
    """What may be demanded besides, under a condition."""
    if "if" not in spec:
        return []
    then = _merged(_object(spec["if"]), _object(spec.get("then")))
    return [_object(spec.get("else")), then]


def _without_choices(spec: JsonObject) -> JsonObject:
    gone = ("allOf", "anyOf", "oneOf", "if", "then", "else")
    return {word: x for word, x in spec.items() if word not in gone}


def _merged(one: JsonObject, other: JsonObject) -> JsonObject:
    """What both demand together, roughly."""
    found = {**one, **other}
    if "required" in one and "required" in other:
        found["required"] = list(dict.fromkeys(required(one) + required(other)))
    if "properties" in one and "properties" in other:
        first, second = properties(one), properties(other)
        found["properties"] = {**first, **{x: {**first.get(x, {}), **second[x]} for x in second}}
    return found


def _other(value: Any, number: int) -> Any:
    """Another value of the same type."""
    match value:
        case bool():
            return not value
        case int() | float():
            return value + number
        case str():
            return f"{value}{number + 1}"
        case _:
            return value


def _count(spec: JsonObject, word: str, usual: int) -> int:
    number = _number(spec.get(word))
    return usual if number is None else max(0, int(number))


def _list(value: Any) -> list[Any]:
    return cast(list[Any], value) if isinstance(value, list) else []


def _object(value: Any) -> JsonObject:
    return cast(JsonObject, value) if isinstance(value, dict) else {}
