"""Shapes of values, as schemas declare them, and how well one fits another."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from ..core.json import JsonObject, as_list, as_object, as_texts, is_object
from ..core.schemas import types_of

_MAX_CHOICES = 50
# Schema keys under which services declare the meaning of a value.
_TYPE_URIS = ("x-type", "x-type-uri", "typeUri", "type_uri", "@type", "x-semantic-type")
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S+")
_NO_URIS: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Shape:
    """Values that a schema allows, reduced to the parts that decide a fit.

    `kinds` are JSON types without null, `items` the types of an array's items; empty means any.
    `is_open`: the content is undeclared.
    """

    kinds: tuple[str, ...] = ()
    items: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    format: str = ""
    type_uris: frozenset[str] = _NO_URIS
    description: str = ""
    is_open: bool = True

    @property
    def is_number(self) -> bool:
        """Return whether it may be a number."""
        return "number" in self.kinds or "integer" in self.kinds


@dataclass(frozen=True, slots=True)
class Fit:
    """How well an output fits an input, 0 to 1, and the necessary conversion, "" for none."""

    score: float
    conversion: str = ""


_NO_FIT = Fit(0.0)
_UNDECLARED = Fit(0.8, "its type is not declared")
_KIND_FITS = {
    ("integer", "number"): Fit(1.0),
    ("number", "integer"): Fit(0.7, "rounded"),
    ("integer", "string"): Fit(0.6, "written as text"),
    ("number", "string"): Fit(0.6, "written as text"),
    ("boolean", "string"): Fit(0.3, "written as text"),
    ("string", "integer"): Fit(0.35, "read as a number"),
    ("string", "number"): Fit(0.35, "read as a number"),
    ("object", "string"): Fit(0.3, "written as JSON"),
    ("object", "object"): Fit(0.8),
}


def fit(output: Shape, input_: Shape) -> Fit:
    """Return how well one shape serves as another; `flows` compares the names."""
    if output.type_uris & input_.type_uris:
        return Fit(1.0)
    if not output.kinds or not input_.kinds:
        return _UNDECLARED
    fits = (_fit_kinds(output, x, input_, y) for x in output.kinds for y in input_.kinds)
    best = max(fits, key=lambda x: x.score)
    if output.type_uris and input_.type_uris:  # both declared, and different
        return Fit(best.score * 0.2, best.conversion)
    return best


def shape_of(spec: JsonObject) -> Shape:
    """Return the shape of a schema whose references are resolved."""
    variants = variants_of(spec)
    items = [as_object(x["items"]) for x in variants if "items" in x]
    values = [y for x in variants for y in (*as_list(x.get("enum"))[:_MAX_CHOICES], x.get("const"))]
    choices = {
        str(x) for x in values if isinstance(x, str | int | float) and not isinstance(x, bool)
    }
    texts = (x.get(y) for x in variants for y in ("description", "title"))
    kinds, item_kinds = _kinds(variants), _kinds(items)
    uris = [y for x in (*variants, *items) if (y := _type_uri(x))]
    return Shape(
        kinds=kinds, items=item_kinds, choices=tuple(sorted(choices)),
        format=next((x["format"] for x in variants if isinstance(x.get("format"), str)), ""),
        type_uris=frozenset(uris) if uris else _NO_URIS,
        description=next((x for x in texts if isinstance(x, str) and x), "")[:300],
        is_open=_is_open(variants) and all(_is_open([x]) for x in items),
    )  # fmt: skip


def _kinds(variants: Iterable[JsonObject]) -> tuple[str, ...]:
    kinds = dict[str, None]()
    for one in variants:
        types = types_of(one) or [
            kind
            for word, kind in (("properties", "object"), ("items", "array"), ("format", "string"))
            if word in one
        ]
        kinds.update(dict.fromkeys(types))
    return tuple(x for x in kinds if x != "null")


def _is_open(variants: Iterable[JsonObject]) -> bool:
    """Return whether the content is undeclared."""
    kinds = _kinds(variants)
    return {*kinds} <= {"object", "array"} and not any(x.get("properties") for x in variants)


def _type_uri(spec: JsonObject) -> str:
    """Return the URI of the values' meaning: from a key for it, or an `$id` with a scheme."""
    uri = next((x for x in as_texts([spec.get(y) for y in _TYPE_URIS]) if x), "")
    schema_id = spec.get("$id")
    if uri or not isinstance(schema_id, str):
        return uri
    return schema_id if _URI.fullmatch(schema_id) else ""


def variants_of(spec: JsonObject) -> list[JsonObject]:
    """Return a schema, and the schemas that it combines or chooses from."""
    inner = [y for x in ("allOf", "anyOf", "oneOf") for y in as_list(spec.get(x))[:_MAX_CHOICES]]
    return [spec, *(x for x in inner if is_object(x))]


def _fit_kinds(output: Shape, kind: str, input_: Shape, input_kind: str) -> Fit:
    if kind == input_kind == "array":
        one = _fit_items(output.items, input_.items)
        return Fit(one.score, f"each {one.conversion}" if one.conversion else "")
    if input_kind == "array":
        return _convert(_fit_items((kind,), input_.items), "{}, put in a list")
    if kind == "array":
        return _convert(_fit_items(output.items, (input_kind,)), "one of them, {}")
    if kind != input_kind or kind == "object":
        return _KIND_FITS.get((kind, input_kind), _NO_FIT)
    if output.choices and input_.choices and not {*output.choices} & {*input_.choices}:
        return Fit(0.1, "none of its values is allowed")
    if output.format and input_.format and output.format != input_.format:
        return Fit(0.25, f"{output.format} in place of {input_.format}")
    return Fit(1.0)


def _fit_items(outputs: tuple[str, ...], inputs: tuple[str, ...]) -> Fit:
    pairs = ((x, y) for x in outputs for y in inputs)
    fits = (Fit(1.0) if x == y != "object" else _KIND_FITS.get((x, y), _NO_FIT) for x, y in pairs)
    return max(fits, key=lambda x: x.score, default=_UNDECLARED)


def _convert(one: Fit, words: str) -> Fit:
    return Fit(0.8 * one.score, words.format(one.conversion).strip(", "))
