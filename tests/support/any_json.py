"""JSON for property tests: any value, and what looks like a schema, whether or not it is one."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

Strategy = st.SearchStrategy[Any]

_WORDS = """
    type properties required enum const anyOf oneOf allOf not items prefixItems default $ref $defs
    definitions additionalProperties patternProperties minimum exclusiveMinimum maximum multipleOf
    minLength maxLength minItems maxItems uniqueItems pattern description title format if then $id
    $schema $dynamicRef x-anything a b dependentSchemas dependentRequired contains propertyNames
    examples nullable
"""
SCHEMA_WORDS: Strategy = st.sampled_from(_WORDS.split())
_TYPE_NAMES = "object array string number integer boolean null int STRING any"
_TYPES = st.sampled_from(_TYPE_NAMES.split())
_REFERENCES = st.sampled_from(["#", "#/$defs/a", "#/$defs/none", "#/properties/a", "http://h:9/x"])
_ODD = st.sampled_from(["\ud800", "\u202e", "\x1b[0m", "(", "[a-z]+"])
NUMBERS: Strategy = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
SCALARS: Strategy = st.none() | st.booleans() | NUMBERS | st.text(max_size=6)


def nested(scalars: Strategy, keys: Strategy, leaves: int = 15) -> Strategy:
    """Return a strategy for these values, and for lists and objects of them."""
    return st.recursive(
        scalars,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=5),
        max_leaves=leaves,
    )


JSON = nested(SCALARS, st.text(max_size=5), 10)
SCHEMA_PARTS = nested(SCALARS | SCHEMA_WORDS | _TYPES | _REFERENCES | _ODD, SCHEMA_WORDS)
SCHEMAS: Strategy = st.dictionaries(SCHEMA_WORDS, SCHEMA_PARTS, max_size=6)
