"""Every JSON Schema as one small value, comparable and hashable: what a tool takes or gives.

Schemas come from strangers. Reading one never raises, follows no address, and ends: references
within the schema are followed once on the way down, and depth, width and the whole are capped. What
cannot be read is `any`. Equal schemas give equal shapes, whatever the order of their keys, so what
was worked out for two shapes holds for all tools that have them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, cast

from ..core.json import as_list, at, json_type

MAX_DEPTH = 8
_MAX_NODES = 2_000  # of one schema; deeper and wider ones are `any` from there on
_MAX_FIELDS = 200
_MAX_CHOICES = 50  # of an enum, and variants of a union
_MOST_LOOKED_AT = 5_000  # names, of which the first are taken
_MAX_TEXT = 300  # of a description, a name, a choice

PRIMITIVES = ("null", "boolean", "integer", "number", "string")
KINDS = (*PRIMITIVES, "array", "object", "union", "any", "never")
# Whoever declares what a value is, does it under one of these names.
_TYPE_URIS = ("x-type", "x-type-uri", "typeUri", "type_uri", "@type", "x-semantic-type")
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S+")


@dataclass(frozen=True, slots=True)
class Field:
    """One property of an object."""

    name: str
    shape: Shape
    is_required: bool = False


@dataclass(frozen=True, slots=True)
class Shape:
    """What values a schema allows, as far as it matters for what fits what.

    `kind` is one of `KINDS`. An array has its `item`, an object its `fields`, sorted by name, and
    perhaps `extra`, the shape of further ones; a union its `variants`. `choices` are the texts of
    an enum's values. `type_uri` is what the schema itself declares the value to be, as it says it.
    """

    kind: str
    item: Shape | None = None
    fields: tuple[Field, ...] = ()
    extra: Shape | None = None
    variants: tuple[Shape, ...] = ()
    choices: tuple[str, ...] = ()
    format: str = ""
    type_uri: str = ""
    description: str = ""
    is_nullable: bool = False

    def field(self, name: str) -> Field | None:
        """The property of this name."""
        return next((x for x in self.fields if x.name == name), None)

    @property
    def type_uris(self) -> frozenset[str]:
        """What the schema declares its values, or one of them, to be."""
        inner = (*self.variants, self.item) if self.item else self.variants
        own = {self.type_uri} if self.type_uri else set[str]()
        return frozenset(own.union(*(x.type_uris for x in inner)))


ANY, NEVER = Shape("any"), Shape("never")


def shape_of(schema: object) -> Shape:
    """The shape of a schema; `ANY` where nothing is said, or nothing that can be read."""
    return _Reader(schema).shape(schema, 0, ())


def shape_of_value(value: object) -> Shape:
    """The shape that a value shows: kinds and names, never what it holds.

    The keys of an object that look as if they were data become `extra`.
    """
    return _Seer().shape(value, 0)


def joined(shapes: Iterable[Shape]) -> Shape:
    """What has any of these shapes: one that fits them all, a union else."""
    found: dict[str, Shape] = {}
    is_nullable = False
    for one in _flat(shapes):
        if one.kind == "null":
            is_nullable = True
        elif one.kind == "any":
            return ANY
        else:
            found[one.kind] = _either(found[one.kind], one) if one.kind in found else one
    if "number" in found:
        found.pop("integer", None)
    if not found:
        return Shape("null") if is_nullable else ANY
    if len(found) == 1:
        (only,) = found.values()
        return replace(only, is_nullable=only.is_nullable or is_nullable)
    return Shape("union", variants=tuple(found[x] for x in sorted(found)), is_nullable=is_nullable)


class _Seer:
    """Looks at one value; counts what it saw."""

    def __init__(self) -> None:
        self._left = _MAX_NODES

    def shape(self, value: object, depth: int) -> Shape:
        self._left -= 1
        if depth >= MAX_DEPTH or self._left <= 0:
            return ANY
        if isinstance(value, dict):
            return self._object(cast("dict[object, object]", value), depth)
        if isinstance(value, list | tuple):
            items = cast("list[object]", value)[:_MAX_CHOICES]
            return Shape("array", item=joined(self.shape(x, depth + 1) for x in items))
        return Shape(json_type(value) or "any")

    def _object(self, value: Mapping[object, object], depth: int) -> Shape:
        items = [(x, y) for x, y in islice(value.items(), _MAX_FIELDS) if isinstance(x, str)]
        if holds_data(value):
            return Shape("object", extra=joined(self.shape(y, depth + 1) for _, y in items))
        fields = [
            Field(x[:_MAX_TEXT], self.shape(y, depth + 1)) for x, y in sorted(items, key=_key)
        ]
        return Shape("object", fields=tuple(fields))


def _key(item: tuple[str, object]) -> str:
    return item[0]


class _Reader:
    """Reads one schema; counts what it made."""

    def __init__(self, root: object) -> None:
        self._root = root
        self._left = _MAX_NODES

    def shape(self, schema: object, depth: int, seen: tuple[str, ...]) -> Shape:
        """That of a schema so deep inside; `seen` are the references that led to it."""
        if schema is False:
            return NEVER
        if not isinstance(schema, Mapping) or depth > MAX_DEPTH or self._left <= 0:
            return ANY
        self._left -= 1
        spec = cast("Mapping[object, Any]", schema)
        reference = spec.get("$ref")
        if isinstance(reference, str):
            return self._referred(reference, spec, depth, seen)
        found = self._by_itself(spec, depth, seen)
        for part in as_list(spec.get("allOf"))[:_MAX_CHOICES]:
            found = _both(found, self.shape(part, depth + 1, seen))
        return _with_words(found, spec)

    def _referred(
        self, reference: str, spec: Mapping[object, Any], depth: int, seen: tuple[str, ...]
    ) -> Shape:
        if reference in seen:
            return _with_words(ANY, spec)
        target = at(self._root, reference)
        found = self.shape(target, depth + 1, (*seen, reference))
        beside = {key: value for key, value in spec.items() if key != "$ref"}
        return _both(found, self.shape(beside, depth + 1, seen)) if beside else found

    def _by_itself(self, spec: Mapping[object, Any], depth: int, seen: tuple[str, ...]) -> Shape:
        for word in ("anyOf", "oneOf"):
            if variants := as_list(spec.get(word))[:_MAX_CHOICES]:
                chosen = joined(self.shape(x, depth + 1, seen) for x in variants)
                rest = {x: spec[x] for x in spec if x not in ("anyOf", "oneOf", "allOf")}
                own = self.shape(rest, depth + 1, seen) if _says_a_kind(rest) else ANY
                return _both(own, chosen)
        kinds = _kinds(spec)
        found = [self._of_kind(x, spec, depth, seen) for x in kinds if x != "null"]
        is_nullable = "null" in kinds or spec.get("nullable") is True
        if not found:
            return Shape("null") if "null" in kinds else ANY
        shape = joined(found) if len(found) > 1 else found[0]
        return replace(shape, is_nullable=True) if is_nullable else shape

    def _of_kind(
        self, kind: str, spec: Mapping[object, Any], depth: int, seen: tuple[str, ...]
    ) -> Shape:
        if kind == "object":
            return self._object(spec, depth, seen)
        if kind == "array":
            return Shape("array", item=self._item(spec, depth, seen))
        return Shape(kind, choices=_choices(spec), format=_text(spec.get("format")))

    def _object(self, spec: Mapping[object, Any], depth: int, seen: tuple[str, ...]) -> Shape:
        named = _object(spec.get("properties"))
        required = as_list(spec.get("required"))[:_MOST_LOOKED_AT]
        wanted = {x for x in required if isinstance(x, str)}
        looked_at = [x for x in islice(named, _MOST_LOOKED_AT) if isinstance(x, str)]
        names = sorted(looked_at)[: min(_MAX_FIELDS, self._left)]
        fields = [Field(x, self.shape(named[x], depth + 1, seen), x in wanted) for x in names]
        further = _object(spec.get("additionalProperties"))
        extra = self.shape(further, depth + 1, seen) if further else None
        return Shape("object", fields=tuple(fields), extra=extra)

    def _item(self, spec: Mapping[object, Any], depth: int, seen: tuple[str, ...]) -> Shape:
        listed = as_list(spec.get("items")) or as_list(spec.get("prefixItems"))
        if listed:
            return joined(self.shape(x, depth + 1, seen) for x in listed[:_MAX_CHOICES])
        items = _object(spec.get("items"))
        return self.shape(items, depth + 1, seen) if items else ANY


def _with_words(shape: Shape, spec: Mapping[object, Any]) -> Shape:
    description = _text(spec.get("description")) or _text(spec.get("title"))
    uri = _type_uri(spec)
    if not description and not uri:
        return shape
    return replace(
        shape, description=description or shape.description, type_uri=uri or shape.type_uri
    )


def _type_uri(spec: Mapping[object, Any]) -> str:
    """What a schema declares its values to be: in a word for that, or in an `$id` with a scheme."""
    for word in _TYPE_URIS:
        if said := _text(spec.get(word)):
            return said
    said = _text(spec.get("$id"))
    return said if _URI.fullmatch(said) else ""


def _says_a_kind(spec: Mapping[object, Any]) -> bool:
    return any(x in spec for x in ("type", "properties", "items", "enum", "const"))


def _kinds(spec: Mapping[object, Any]) -> list[str]:
    said = spec.get("type")
    listed = [said] if isinstance(said, str) else as_list(said)
    kinds = [x for x in map(_kind, listed) if x]
    if kinds:
        return list(dict.fromkeys(kinds))
    if isinstance(spec.get("properties"), Mapping) or "additionalProperties" in spec:
        return ["object"]
    if "items" in spec or "prefixItems" in spec:
        return ["array"]
    values = [spec["const"]] if "const" in spec else as_list(spec.get("enum"))
    found = [json_type(x) or "any" for x in values[:_MAX_CHOICES]]
    if not found and isinstance(spec.get("format"), str):
        return ["string"]
    return list(dict.fromkeys(found))


def _kind(said: object) -> str:
    """A kind as people write it: `str`, `List`, `float`."""
    if not isinstance(said, str):
        return ""
    word = said.strip().lower()
    return word if word in (*PRIMITIVES, "array", "object") else _SPELLED.get(word, "")


_SPELLED = {
    "str": "string", "text": "string", "date": "string", "file": "string", "int": "integer",
    "long": "integer", "float": "number", "double": "number", "decimal": "number",
    "bool": "boolean", "list": "array", "tuple": "array", "set": "array", "dict": "object",
    "map": "object", "none": "null",
}  # fmt: skip


def _choices(spec: Mapping[object, Any]) -> tuple[str, ...]:
    values = [spec["const"]] if "const" in spec else as_list(spec.get("enum"))
    plain = [x for x in values[:_MAX_CHOICES] if isinstance(x, str | int | float)]
    return tuple(sorted({str(x)[:_MAX_TEXT] for x in plain if not isinstance(x, bool)}))


def _both(one: Shape, other: Shape) -> Shape:
    """What fits two shapes, roughly: where they contradict each other, the first."""
    if one.kind == "any":
        return _described(other, one)
    if other.kind == "any" or one.kind != other.kind:
        return _described(one, other)
    fields = {x.name: x for x in other.fields}
    for field in one.fields:
        there = fields.get(field.name)
        fields[field.name] = field if there is None else Field(
            field.name, _both(field.shape, there.shape), field.is_required or there.is_required
        )  # fmt: skip
    kept = tuple(fields[x] for x in sorted(fields)[:_MAX_FIELDS])
    choices = tuple(x for x in one.choices if x in other.choices) or one.choices or other.choices
    merged = replace(
        one, fields=kept, choices=choices, format=one.format or other.format,
        item=_both(one.item, other.item) if one.item and other.item else one.item or other.item,
        extra=one.extra or other.extra, variants=one.variants or other.variants,
        is_nullable=one.is_nullable and other.is_nullable,
    )  # fmt: skip
    return _described(merged, other)


def _described(shape: Shape, other: Shape) -> Shape:
    """With the words of another one where it has none."""
    if (shape.description or not other.description) and (shape.type_uri or not other.type_uri):
        return shape
    return replace(
        shape,
        description=shape.description or other.description,
        type_uri=shape.type_uri or other.type_uri,
    )


def _either(one: Shape, other: Shape) -> Shape:
    """What fits any of two shapes of one kind."""
    if one == other:
        return one
    names = sorted({x.name for x in (*one.fields, *other.fields)})[:_MAX_FIELDS]
    fields = [_either_field(x, one.field(x), other.field(x)) for x in names]
    items = [x for x in (one.item, other.item) if x]
    extras = [x for x in (one.extra, other.extra) if x]
    choices = {*one.choices, *other.choices} if one.choices and other.choices else set[str]()
    return Shape(
        one.kind, item=joined(items) if items else None, fields=tuple(fields),
        extra=joined(extras) if extras else None, choices=tuple(sorted(choices))[:_MAX_CHOICES],
        format=one.format if one.format == other.format else "",
        type_uri=one.type_uri if one.type_uri == other.type_uri else "",
        description=one.description or other.description,
        is_nullable=one.is_nullable or other.is_nullable,
    )  # fmt: skip


def _either_field(name: str, one: Field | None, other: Field | None) -> Field:
    found = [x for x in (one, other) if x]
    is_required = len(found) == 2 and all(x.is_required for x in found)
    return Field(name, joined(x.shape for x in found), is_required)


def _flat(shapes: Iterable[Shape]) -> Iterable[Shape]:
    for one in shapes:
        if one.kind != "union":
            yield one
            continue
        yield from one.variants
        if one.is_nullable:
            yield Shape("null")


_NAME = re.compile(r"[A-Za-z_$@][A-Za-z_$-]*\d{0,2}[A-Za-z_]*")
_LEAST_ALIKE = 3  # records that have the same fields, below keys of one object


def is_data(key: str) -> bool:
    """Whether an object's key looks like data, as an id, an address or a date, and no name."""
    return len(key) > 60 or not _NAME.fullmatch(key)


def holds_data(value: object) -> bool:
    """Whether the keys of an object are data: one looks so, or all that is below them is alike."""
    if not isinstance(value, dict):
        return False
    items = list(islice(cast("dict[object, object]", value).items(), _MAX_FIELDS))
    if any(isinstance(x, str) and is_data(x) for x, _ in items):
        return True
    below = [cast("dict[object, object]", x) for _, x in items if isinstance(x, dict) and x]
    alike = len(below) == len(items) >= _LEAST_ALIKE
    return alike and all(x.keys() == below[0].keys() for x in below)


def _text(value: object) -> str:
    return " ".join(value[:_MAX_TEXT].split()) if isinstance(value, str) else ""


def _object(value: object) -> Mapping[object, object]:
    return cast("Mapping[object, object]", value) if isinstance(value, Mapping) else {}
