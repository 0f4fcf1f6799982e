"""Shapes as JSON, small and whole: what is written is read back as it was.

    {"object": {"id": "string", "lines": {"array": {"object": {"price": "number?"}}}},
     "required": ["id"]}

A shape of which nothing else is known is the name of its kind, with `?` where it may be null.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from ..core.json import JsonObject
from .shapes import ANY, KINDS, Field, Shape

_DEEPEST = 20  # of what is read: nobody wrote more
_TEXTS = ("format", "type_uri", "description")


def shape_as_json(shape: Shape) -> Any:
    """For a file; `shape_from_json` reads it back."""
    kind = f"{shape.kind}?" if shape.is_nullable else shape.kind
    told = {name: said for name in _TEXTS if (said := getattr(shape, name))}
    inner = _inner(shape)
    if not (told or shape.choices or shape.extra or inner is not None):
        return kind
    made: JsonObject = {kind: inner, **told}
    if required := [x.name for x in shape.fields if x.is_required]:
        made["required"] = required
    if shape.choices:
        made["choices"] = list(shape.choices)
    if shape.extra:
        made["extra"] = shape_as_json(shape.extra)
    return made


def shape_from_json(value: Any) -> Shape:
    """The shape that was written so; what nobody wrote is `ANY`."""
    return _read(value, 0)


def cut_at(shape: Shape, depth: int) -> Shape:
    """The shape with `any` below so many levels."""
    if depth <= 0 and (shape.fields or shape.item or shape.extra or shape.variants):
        return ANY
    return replace(
        shape,
        item=shape.item and cut_at(shape.item, depth - 1),
        extra=shape.extra and cut_at(shape.extra, depth - 1),
        fields=tuple(replace(x, shape=cut_at(x.shape, depth - 1)) for x in shape.fields),
        variants=tuple(cut_at(x, depth) for x in shape.variants),  # no level of a value,
    )


def _inner(shape: Shape) -> Any:
    """What the kind itself holds: of an array, an object or a union."""
    if shape.item:
        return shape_as_json(shape.item)
    if shape.fields:
        return {x.name: shape_as_json(x.shape) for x in shape.fields}
    return [shape_as_json(x) for x in shape.variants] if shape.variants else None


def _read(value: Any, depth: int) -> Shape:
    if isinstance(value, str):
        kind = value.removesuffix("?")
        return Shape(kind, is_nullable=kind != value) if kind in KINDS else ANY
    if not isinstance(value, Mapping) or not value or depth > _DEEPEST:
        return ANY
    told = cast("Mapping[str, Any]", value)
    (name, inner), *_ = told.items()
    shape = _read(name, 0)
    if shape.kind != name.removesuffix("?"):
        return ANY
    extra, required = told.get("extra"), _texts(told.get("required"))
    texts = {x: str(told[x]) for x in _TEXTS if x in told}
    return replace(
        shape,
        item=_read(inner, depth + 1) if shape.kind == "array" and inner is not None else None,
        fields=_fields(inner, required, depth) if shape.kind == "object" else (),
        variants=_variants(inner, depth) if shape.kind == "union" else (),
        choices=_texts(told.get("choices")),
        extra=None if extra is None else _read(extra, depth + 1),
        **texts,
    )


def _fields(inner: Any, required: tuple[str, ...], depth: int) -> tuple[Field, ...]:
    if not isinstance(inner, Mapping):
        return ()
    named = cast("Mapping[str, Any]", inner)
    return tuple(Field(x, _read(y, depth + 1), x in required) for x, y in named.items())


def _variants(inner: Any, depth: int) -> tuple[Shape, ...]:
    listed = cast("list[Any]", inner) if isinstance(inner, list) else []
    return tuple(_read(x, depth + 1) for x in listed)


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(map(str, cast("list[Any]", value))) if isinstance(value, list) else ()
