"""The form of an answer as services that speak OpenAI's protocols are told of it."""

from __future__ import annotations

import re
from typing import Any, cast

from ...core.json import JsonObject

_NAME = "answer"
# What strict mode knows; with any other word it refuses the whole request.
_STRICT = {
    "$defs", "$ref", "additionalProperties", "anyOf", "const", "definitions", "description", "enum",
    "exclusiveMaximum", "exclusiveMinimum", "format", "items", "maxItems", "maximum", "minItems",
    "minimum", "multipleOf", "pattern", "properties", "required", "title", "type",
}  # fmt: skip
_SAY_WHAT = {"$ref", "anyOf", "const", "enum", "type"}  # one of these stands in every part
# In the words of OpenAI and DeepSeek; Groq; vLLM; llama.cpp.
_ABOUT_FORMAT = re.compile(
    r"response[_ ]format|text\.format|json[_ ]schema|structured[_ ]output|\bgrammar\b"
)


def answer_format(schema: JsonObject | None) -> JsonObject | None:
    """Name, schema and whether it is strict; None for what no service takes: an answer that is
    no object.

    Strict where that allows nothing else: all properties are required, and others never wanted.
    """
    if schema is None or schema.get("type") != "object":
        return None
    sent = {name: x for name, x in schema.items() if name != "$schema"}
    strict = _closed(sent)
    return {"name": _NAME, "schema": strict or sent, "strict": strict is not None}


def is_about_format(param: str | None, words: str) -> bool:
    """Whether a service that was told of a form refuses that."""
    return bool(_ABOUT_FORMAT.search(f"{param or ''} {words}".lower()))


def _closed(schema: Any) -> JsonObject | None:
    """The schema with no other properties than it names; None where strict mode does not do."""
    if not isinstance(schema, dict):
        return None
    closed = dict(cast(JsonObject, schema))
    if closed.keys() - _STRICT or not closed.keys() & _SAY_WHAT:
        return None
    if "properties" in closed or "object" in str(closed.get("type")):
        named: JsonObject = closed.get("properties") or {}
        if not named or set(named) != set(closed.get("required") or ()):
            return None
        if closed.setdefault("additionalProperties", False) is not False:
            return None
    return closed if _close_parts(closed) else None


def _close_parts(closed: JsonObject) -> bool:
    """Close all schemas inside this one, in place; False if one of them cannot be."""
    for name in ("properties", "$defs", "definitions"):
        if name in closed:
            closed[name] = {x: _closed(part) for x, part in closed[name].items()}
            if None in closed[name].values():
                return False
    if "anyOf" in closed:
        closed["anyOf"] = [_closed(x) for x in closed["anyOf"]]
    if "items" in closed:
        closed["items"] = _closed(closed["items"])
    return None not in (closed.get("items", {}), *closed.get("anyOf", ()))
