"""What changed between two definitions of a tool, in lines that a person can read."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from difflib import SequenceMatcher
from typing import Any, cast

from ..core.tools import JsonObject

_MAX_VALUE_CHARS = 60
_CONTEXT_CHARS = 12  # of a long text, before the first difference
_MAX_DEPTH = 20  # schemas may be as deep as a server likes
_SCHEMAS = {"input_schema": "parameter", "output_schema": "result field"}
_NO_TYPE = "anything"


def difference(before: JsonObject, after: JsonObject) -> tuple[str, ...]:
    """One line for each thing that changed; empty where the definitions are equal."""
    lines: list[str] = []
    for name in dict.fromkeys((*before, *after)):
        old, new = before.get(name), after.get(name)
        if old == new:
            continue
        if name in _SCHEMAS:
            lines += _of_schemas(_SCHEMAS[name], "", old or {}, new or {}, 0)
        elif name == "annotations":
            lines += _of_maps("annotation", old or {}, new or {})
        else:
            lines.append(f"{name}: {_from_to(old, new)}")
    return tuple(lines)


def likely_renames(gone: Iterable[JsonObject], new: Iterable[JsonObject]) -> dict[str, str]:
    """New names by old ones: of tools that vanished and came with equal schemas.

    Where several have equal schemas, the most similar names belong together.
    """
    added = list(new)
    pairs = [
        (_likeness(old, one), old["name"], one["name"])
        for old in gone
        for one in added
        if _schemas(old) == _schemas(one)
    ]
    found: dict[str, str] = {}
    for _, old, one in sorted(pairs, reverse=True):
        if old not in found and one not in found.values():
            found[old] = one
    return found


def _schemas(definition: JsonObject) -> tuple[Any, ...]:
    return tuple(definition.get(name) for name in _SCHEMAS)


def _likeness(old: JsonObject, new: JsonObject) -> tuple[float, float]:
    return _ratio(old["name"], new["name"]), _ratio(
        old.get("description", ""), new.get("description", "")
    )


def _ratio(old: str, new: str) -> float:
    return SequenceMatcher(None, old[:200], new[:200], autojunk=False).ratio()


def _of_schemas(noun: str, path: str, old: Any, new: Any, depth: int) -> Iterator[str]:
    if old == new:
        return
    if not (isinstance(old, dict) and isinstance(new, dict)) or depth > _MAX_DEPTH:
        yield f"{_where(noun, path)}: {_from_to(old, new)}"
        return
    before, after = cast(JsonObject, old), cast(JsonObject, new)
    yield from _of_properties(noun, path, before, after, depth)
    for word in dict.fromkeys((*before, *after)):
        was, now = before.get(word), after.get(word)
        if was == now or word in ("properties", "required"):
            continue
        if word == "items":
            yield from _of_schemas(noun, f"{path}[]", was, now, depth + 1)
        elif word == "type":
            yield f"{_where(noun, path)}: type {_type(before)} → {_type(after)}"
        else:
            yield f"{_where(noun, path)}: {word} {_from_to(was, now)}"


def _of_properties(
    noun: str, path: str, before: JsonObject, after: JsonObject, depth: int
) -> Iterator[str]:
    old, new = _properties(before), _properties(after)
    for name in dict.fromkeys((*old, *new)):
        here = f"{path}.{name}" if path else name
        if name not in new:
            yield f"{_where(noun, here)} removed"
        elif name not in old:
            need = "required" if name in _required(after) else "optional"
            yield f"{_where(noun, here)} added ({_type(new[name])}, {need})"
        else:
            if (is_needed := name in _required(after)) != (name in _required(before)):
                yield f"{_where(noun, here)} {'made required' if is_needed else 'made optional'}"
            yield from _of_schemas(noun, here, old[name], new[name], depth + 1)


def _properties(schema: JsonObject) -> JsonObject:
    found = schema.get("properties")
    return cast(JsonObject, found) if isinstance(found, dict) else {}


def _required(schema: JsonObject) -> list[Any]:
    found = schema.get("required")
    return cast("list[Any]", found) if isinstance(found, list) else []


def _type(schema: Any) -> str:
    found = cast(JsonObject, schema).get("type", _NO_TYPE) if isinstance(schema, dict) else _NO_TYPE
    return (
        " or ".join(map(str, cast("list[Any]", found))) if isinstance(found, list) else str(found)
    )


def _where(noun: str, path: str) -> str:
    return f"{noun} {path!r}" if path else f"{noun}s"


def _of_maps(noun: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    for name in dict.fromkeys((*old, *new)):
        if old.get(name) != new.get(name):
            yield f"{noun} {name}: {_from_to(old.get(name), new.get(name))}"


def _from_to(old: Any, new: Any) -> str:
    if isinstance(old, str) and isinstance(new, str):
        start = _first_difference(old, new)
        return f"{_clipped(old, start)} → {_clipped(new, start)}"
    return f"{_shown(old)} → {_shown(new)}"


def _first_difference(old: str, new: str) -> int:
    pairs = enumerate(zip(old, new, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(old), len(new)))


def _clipped(text: str, start: int) -> str:
    """The text, or as much of it as shows what is different from `start` on."""
    begin = max(0, start - _CONTEXT_CHARS) if len(text) > _MAX_VALUE_CHARS else 0
    part = text[begin : begin + _MAX_VALUE_CHARS]
    more = "…" if begin + _MAX_VALUE_CHARS < len(text) else ""
    return json.dumps(("…" if begin else "") + part + more, ensure_ascii=False)


def _shown(value: Any) -> str:
    if value is None:
        return "none"
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _MAX_VALUE_CHARS else f"{text[:_MAX_VALUE_CHARS]}…"
