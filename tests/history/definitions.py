"""Definitions of tools for property tests: likely ones, and whatever JSON a server may send."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

_names = st.sampled_from(["a", "b", "name", "", "a.b", "$ref", "x\x1b[0m"])
_texts = st.sampled_from(["", "A word.", "Two words.", "A long text, " * 9, "\x07\u202e", "'"])

json_values: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 2)
    | st.floats(allow_nan=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_names, inner, max_size=3),
    max_leaves=6,
)

_types = st.sampled_from(["string", "integer", "number", "array", "object", "null"])
_refs = st.sampled_from(["#", "#/$defs/a", "#/$defs/b", "#/properties/a", "other.json", "#/x/~1"])


def _words(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    several, named = st.lists(inner, max_size=3), st.dictionaries(_names, inner, max_size=3)
    words = {
        "type": _types | st.lists(_types, max_size=2, unique=True),
        "properties": named,
        "required": st.lists(_names, max_size=3),
        "items": inner | several,
        "additionalProperties": inner,
        "enum": st.lists(json_values, max_size=3),
        "anyOf": several,
        "oneOf": several,
        "allOf": several,
        "$defs": named,
        "$ref": _refs,
        "description": _texts,
        "default": json_values,
        "minimum": st.integers(0, 2),
    }
    pairs = st.one_of([st.tuples(st.just(word), value) for word, value in words.items()])
    odd = st.tuples(st.sampled_from([*words]), json_values)
    return st.lists(pairs | odd, max_size=4).map(dict)


schemas: st.SearchStrategy[Any] = st.recursive(
    st.booleans() | _words(st.just({})), _words, max_leaves=4
)

_claims = st.dictionaries(st.sampled_from(["read_only", "destructive"]), st.booleans())
_icons = st.lists(
    st.fixed_dictionaries({"src": _texts, "mime_type": st.none() | _texts}), max_size=2
)

definitions: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {"name": _names, "description": _texts, "input_schema": _words(schemas)},
    optional={
        "title": _texts,
        "output_schema": _words(schemas),
        "annotations": _claims,
        "icons": _icons,
    },
)
