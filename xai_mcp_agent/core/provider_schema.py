"""Tools as model providers accept them: whatever schema and description a server gave.

One refused tool costs the whole request, so what providers refuse is put right here: always in the
same way, and with its meaning kept as far as can be. Arguments are still checked against the
schema as the server sent it (`schemas.py`).
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from .json import children
from .schema_cost import TooCostly, check_size
from .tools import JsonObject, Tool
from .visible import is_visible, shown_parameter, visible_text

# Deeper than any real tool; below it anything is allowed.
_MAX_DEPTH = 20
# Longer ones would fill the model's window by themselves.
_MAX_DESCRIPTION = 20_000
_MAX_TEXT = 4_000
_MAX_VALUES_CHARACTERS = 8_000
_SHOWN_VALUES = 3
# Those that refer to each other would grow without end.
_MAX_INLINED = 200
# More take long to make, and are more than any model reads: words and names; characters.
_MAX_WORDS, _MAX_CHARACTERS = 20_000, 1_000_000
_MAX_REQUIRED = 1_000
# A pattern is tried; with many ranges of characters beyond ASCII that takes milliseconds for each.
_MAX_FOREIGN = 20
_MAX_PATTERN = 2_000
_FOREIGN = re.compile(r"\\[uUxN]|[^\x00-\x7f]")

# In a set of characters these will mean something else one day, says Python, and warns.
_NESTED_SET = re.compile(r"\[\[|\[\^?\]?[^\]]*(?:--|&&|~~|\|\|)")
_ESCAPED = re.compile(r"\\.", re.DOTALL)

_TYPES = ("string", "number", "integer", "boolean", "object", "array", "null")
_OTHER_WORDS = {
    "bool": "boolean", "dict": "object", "double": "number", "float": "number", "int": "integer",
    "list": "array", "map": "object", "none": "null", "str": "string", "text": "string",
}  # fmt: skip
# At the top of parameters providers refuse these, in any value.
_NOT_AT_THE_TOP = ("anyOf", "oneOf", "allOf", "not", "enum", "const", "if", "then", "else", "$ref")
_DEFINITIONS = ("$defs", "definitions")

_Rule: TypeAlias = "Callable[[Any, _Shaping, int], Any]"
_NOTHING = object()


@dataclass(frozen=True, slots=True)
class FunctionSpec:
    """A tool as the model is offered it. `parameters` is a JSON Schema of an object.

    `read_only` is what the server says, if anything; models with a key are not told.
    """

    name: str
    description: str
    parameters: JsonObject
    read_only: bool | None = None


def function_spec(name: str, tool: Tool) -> FunctionSpec:
    """The tool as a model is offered it, under this name."""
    description, parameters = tool.description, tool.input_schema
    described, taken = function_description(description), function_parameters(parameters)
    return FunctionSpec(name, described, taken, tool.annotations.read_only)


def function_parameters(schema: JsonObject) -> JsonObject:
    """The input schema in the shape every provider accepts: an object with properties.

    References that lead nowhere, words that are none of JSON Schema, and what is nested too deeply
    allow anything, as does what is too much; choices at the top become properties of one object.
    """
    try:
        check_size(schema)
    except TooCostly:
        return {"type": "object", "properties": {}}
    shaping = _Shaping(schema)
    shaped = shaping.shaped(_without_choices(shaping.target_of(schema), shaping), _MAX_DEPTH)
    for name in _DEFINITIONS:
        if isinstance(found := schema.get(name), dict):
            parts = cast(JsonObject, found).items()
            plain = {x: part for x, part in parts if shown_parameter(x) == x}
            shaped[name] = {x: shaping.shaped(part, _MAX_DEPTH) for x, part in plain.items()}
    properties = shaped.pop("properties", {})
    top = {name: value for name, value in shaped.items() if name not in _NOT_AT_THE_TOP}
    return {**top, "type": "object", "properties": properties}


def function_description(text: str) -> str:
    """A tool's description for a model: without what people cannot see, and not endless."""
    return visible_text(text, _MAX_DESCRIPTION)


class _Shaping:
    """Shapes the parts of one schema; knows the whole for the references in it."""

    def __init__(self, root: JsonObject) -> None:
        self._root = root
        self._inlined_left = _MAX_INLINED
        self._left = [_MAX_WORDS, _MAX_CHARACTERS, _MAX_FOREIGN]

    def takes(self, *, words: int = 0, characters: int = 0, foreign: int = 0) -> bool:
        """Whether there is room for so much more."""
        left = [x - y for x, y in zip(self._left, (words, characters, foreign), strict=True)]
        if min(left) < 0:
            return False
        self._left = left
        return True

    def shaped(self, raw: Any, depth: int) -> JsonObject:
        """One schema. What is no schema allows anything."""
        given = _dict(raw)
        if not depth or not self.takes(words=1 + len(given)):
            return {}
        schema, found = self._with_parts_from_elsewhere(given), dict[str, Any]()
        for word, value in schema.items():
            rule = _RULES.get(word)
            kept = rule(value, self, depth - 1) if rule else _NOTHING
            if kept is not _NOTHING:
                found[word] = kept
        return _completed(found, schema)

    def what_fits(self, value: JsonObject) -> JsonObject:
        """It, or nothing where there is no room for it."""
        return value if self.takes(words=len(value)) else {}

    def _with_parts_from_elsewhere(self, schema: JsonObject) -> JsonObject:
        """What a reference into the middle of the schema leads to, put in its place."""
        reference = schema.get("$ref")
        if not isinstance(reference, str) or self.is_known(reference) or not self._inlined_left:
            return schema
        self._inlined_left -= 1
        target: Any = self._root
        for name in reference.removeprefix("#/").split("/"):
            name = name.replace("~1", "/").replace("~0", "~")
            target = cast(JsonObject, target).get(name) if isinstance(target, dict) else None
        own = {word: value for word, value in schema.items() if word != "$ref"}
        return {**self.what_fits(_dict(target)), **own}

    def is_known(self, reference: Any) -> bool:
        """Whether a reference leads to a definition at the top, or to the top itself."""
        if not isinstance(reference, str):
            return False
        _, *path = reference.split("/")
        if reference == "#" or len(path) != 2 or not reference.startswith("#/"):
            return reference == "#"
        definitions = self._root.get(path[0]) if path[0] in _DEFINITIONS else None
        # Of a name that cannot be shown, the definition is put in the place of the reference.
        is_there = isinstance(definitions, dict) and path[1] in definitions
        return is_there and shown_parameter(path[1]) == path[1]

    def target_of(self, schema: JsonObject) -> JsonObject:
        """The schema, or what it refers to as a whole with its own words added."""
        seen: set[str] = set()
        while self.is_known(schema.get("$ref")):
            reference = cast(str, schema["$ref"])
            if reference in seen or len(seen) == _MAX_DEPTH:
                break
            seen.add(reference)
            target: Any = self._root
            for name in reference.split("/")[1:]:
                target = target[name]
            own = {word: value for word, value in schema.items() if word != "$ref"}
            schema = {**self.what_fits(_dict(target)), **own}
            if reference == "#":
                schema.pop("$ref", None)
        return schema


def _without_choices(schema: JsonObject, shaping: _Shaping) -> JsonObject:
    """The properties of all choices at the top as properties of the whole."""
    sources, required = [_dict(schema.get("properties"))], _names(schema.get("required"))
    for word in ("allOf", "anyOf", "oneOf"):
        parts = [shaping.target_of(_dict(x)) for x in _list(schema.get(word))]
        sources += [shaping.what_fits(_dict(part.get("properties"))) for part in parts]
        needed = [shaping.what_fits(dict.fromkeys(_names(part.get("required")))) for part in parts]
        # Of several choices, only what all of them need is needed.
        count = Counter(name for names in needed for name in names)
        required += [x for x, times in count.items() if word == "allOf" or times == len(needed)]
    properties: JsonObject = {}
    for source in reversed(sources):
        properties.update(source)
    return {**schema, "properties": properties, "required": required}


def _completed(found: JsonObject, schema: JsonObject) -> JsonObject:
    """Words that need each other."""
    kinds = found.get("type", ())
    if ("array" in kinds if isinstance(kinds, list) else kinds == "array") and "items" not in found:
        found["items"] = {}
    for name in found.get("required", ()):
        found.setdefault("properties", {}).setdefault(name, {})
    if not found.get("required", True):
        del found["required"]
    if "enum" in schema and "enum" not in found and (values := _list(schema["enum"])):
        shown = [x for x in values[:_SHOWN_VALUES] if _least_characters(x) <= _MAX_TEXT]
        such_as = ", ".join(visible_text(str(x), 50) for x in shown)
        hint = f"One of {len(values)} values, such as {such_as}."
        found["description"] = f"{found.get('description', '')} {hint}".strip()
    return found


# What is kept of each word of JSON Schema. All others are left out: providers know fewer.


def _type(value: Any, _shaping: _Shaping, _depth: int) -> Any:
    if isinstance(value, str):
        return _known_type(value) or _NOTHING
    known = [_known_type(x) for x in _list(value) if isinstance(x, str)]
    return list(dict.fromkeys(x for x in known if x)) or _NOTHING


def _known_type(word: str) -> str:
    low = word.lower()
    return low if low in _TYPES else _OTHER_WORDS.get(low, "")


def _words(value: Any, shaping: _Shaping, _depth: int) -> Any:
    if not isinstance(value, str) or not shaping.takes(characters=min(len(value), _MAX_TEXT)):
        return _NOTHING
    return visible_text(value, _MAX_TEXT)


def _pattern(value: Any, shaping: _Shaping, _depth: int) -> Any:
    if not isinstance(value, str) or len(value) > _MAX_PATTERN:
        return _NOTHING
    if not shaping.takes(characters=_MAX_PATTERN, foreign=len(_FOREIGN.findall(value))):
        return _NOTHING
    if _NESTED_SET.search(_ESCAPED.sub("", value)):
        return _NOTHING
    try:
        re.compile(value)
    except (re.error, RecursionError, OverflowError):
        return _NOTHING
    return value if is_visible(value) else _NOTHING


def _number(value: Any, _shaping: _Shaping, _depth: int) -> Any:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number and _fits_a_float(value) else _NOTHING


def _fits_a_float(number: float) -> bool:
    """JSON has no larger numbers in most languages: who reads one there may refuse it all."""
    try:
        return math.isfinite(number)
    except OverflowError:
        return False


def _step(value: Any, shaping: _Shaping, depth: int) -> Any:
    number = _number(value, shaping, depth)
    return number if number is not _NOTHING and number > 0 else _NOTHING


def _count(value: Any, shaping: _Shaping, depth: int) -> Any:
    number = _number(value, shaping, depth)
    is_count = number is not _NOTHING and number >= 0 and float(number).is_integer()
    return int(number) if is_count else _NOTHING


def _flag(value: Any, _shaping: _Shaping, _depth: int) -> Any:
    return value if isinstance(value, bool) else _NOTHING


def _value(value: Any, shaping: _Shaping, _depth: int) -> Any:
    """Any JSON that is not too much to show, and is what it looks like: it may be given again."""
    kept = _json(value, shaping)
    return kept if kept is _NOTHING or _looks_as_it_is(kept) else _NOTHING


def _looks_as_it_is(value: Any) -> bool:
    waiting = [value]
    while waiting:
        part = waiting.pop()
        texts = cast(JsonObject, part) if isinstance(part, dict) else ()
        if not all(map(is_visible, (part,) if isinstance(part, str) else texts)):
            return False
        waiting += children(part)
    return True


def _json(value: Any, shaping: _Shaping) -> Any:
    characters = _least_characters(value)
    if not shaping.takes(characters=characters) or characters > _MAX_VALUES_CHARACTERS:
        return _NOTHING
    try:
        text = json.dumps(value, allow_nan=False)
        if len(text) > _MAX_VALUES_CHARACTERS or text.count("[") + text.count("{") > _MAX_TEXT:
            return _NOTHING
        return json.loads(_LONE_ESCAPE.sub(_whole_escape, text), parse_int=_whole_number)
    except (TypeError, ValueError, RecursionError):
        return _NOTHING


def _least_characters(value: Any) -> int:
    """So long its JSON is at least, counted no further than needed."""
    count, waiting = 0, [value]
    while waiting and count <= _MAX_VALUES_CHARACTERS:
        part = waiting.pop()
        count += len(part) + 1 if isinstance(part, str) else 1
        waiting += children(part)
    return count


def _whole_number(text: str) -> int:
    number = int(text)
    if not _fits_a_float(number):
        raise ValueError("larger than any float")
    return number


# In JSON text, where every backslash begins an escape; only half of a pair is caught by the group.
_LONE_ESCAPE = re.compile(
    r"\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}|(\\ud[89a-f][0-9a-f]{2})|\\.", re.DOTALL
)


def _whole_escape(escape: re.Match[str]) -> str:
    return "\\ufffd" if escape[1] else escape[0]


def _values(value: Any, shaping: _Shaping, _depth: int) -> Any:
    kept = _json(value, shaping) if isinstance(value, list) else _NOTHING
    values = [x for x in _list(kept) if _looks_as_it_is(x)]
    # Each once, as JSON tells them apart: 1 is not true.
    return list({json.dumps(x, sort_keys=True): x for x in values}.values()) or _NOTHING


def _schema(value: Any, shaping: _Shaping, depth: int) -> Any:
    return shaping.shaped(value, depth) if isinstance(value, dict | bool) else _NOTHING


def _schema_or_flag(value: Any, shaping: _Shaping, depth: int) -> Any:
    return value if isinstance(value, bool) else _schema(value, shaping, depth)


def _items(value: Any, shaping: _Shaping, depth: int) -> Any:
    """A list of them is how older drafts said what stands at each place."""
    if not isinstance(value, list):
        return _schema(value, shaping, depth)
    each = _schemas(cast(Any, value), shaping, depth)
    return {} if each is _NOTHING else {"anyOf": each}


def _schemas(value: Any, shaping: _Shaping, depth: int) -> Any:
    kept = [shaping.shaped(x, depth) for x in _list(value) if isinstance(x, dict | bool)]
    return kept if kept and depth else _NOTHING


def _properties(value: Any, shaping: _Shaping, depth: int) -> Any:
    if not isinstance(value, dict):
        return _NOTHING
    named = cast(JsonObject, value)
    if not shaping.takes(characters=sum(map(len, named))):
        return _NOTHING
    # One whose schema is false can never be given.
    return {
        shown_parameter(x): shaping.shaped(part, depth)
        for x, part in named.items()
        if part is not False
    }


def _required(value: Any, shaping: _Shaping, _depth: int) -> Any:
    names = list(dict.fromkeys(_names(value)))[:_MAX_REQUIRED]
    if not shaping.takes(characters=sum(map(len, names))):
        return _NOTHING
    return [shown_parameter(name) for name in names]


def _reference(value: Any, shaping: _Shaping, _depth: int) -> Any:
    return value if shaping.is_known(value) else _NOTHING


_RULES: Mapping[str, _Rule] = {
    "$ref": _reference,
    "title": _words,
    "description": _words,
    "type": _type,
    "enum": _values,
    "const": _value,
    "default": _value,
    "examples": _values,
    "format": _words,
    "pattern": _pattern,
    "minLength": _count,
    "maxLength": _count,
    "minimum": _number,
    "maximum": _number,
    "exclusiveMinimum": _number,
    "exclusiveMaximum": _number,
    "multipleOf": _step,
    "items": _items,
    "prefixItems": _schemas,
    "minItems": _count,
    "maxItems": _count,
    "uniqueItems": _flag,
    "properties": _properties,
    "required": _required,
    "additionalProperties": _schema_or_flag,
    "minProperties": _count,
    "maxProperties": _count,
    "anyOf": _schemas,
    "oneOf": _schemas,
    "allOf": _schemas,
    "not": _schema,
    "nullable": _flag,
    "deprecated": _flag,
}


def _dict(value: Any) -> JsonObject:
    return cast(JsonObject, value) if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return cast(list[Any], value) if isinstance(value, list) else []


def _names(value: Any) -> list[str]:
    return [x for x in _list(value) if isinstance(x, str)]
