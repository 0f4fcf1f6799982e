"""Reads the arguments of a call as the model wrote them, in either protocol.

JSON is expected; what is plainly meant is accepted too. What cannot be read is
answered with a hint that a model can act on. Whether the values fit the schema is for
`core.schemas` to check.
"""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn, cast

from ...core.errors import InvalidArguments
from ...core.json import JsonObject
from ...core.schemas import properties, required, signature, value_from_text
from ...core.util import literal_in
from .extents import closing, without_fence

# json5 reads about 100 characters in a millisecond.
_MAX_JSON5_CHARS = 10_000
# Python's parser reads 1,000, and nothing else runs meanwhile.
_MAX_PYTHON_CHARS = 20_000
_EXCERPT_CHARS = 20
_XML_CHILD = re.compile(r"\s*+<(\w[\w.-]{0,255}+)>(.*?)</\1>\s*+", re.DOTALL)
_QUOTED = re.compile(r"(?:\"(?:[^\"\\]|\\.)*+\"|'(?:[^'\\]|\\.)*+')(?=\s*+(?:,|\Z))", re.DOTALL)
_BETWEEN = " \t\n,"
_NOTHING_MORE = re.compile(rf"[{_BETWEEN}]*+\Z")
NOT_JSON = object()


def parse_arguments(text: str, schema: JsonObject, *, tool: str = "this tool") -> JsonObject:
    """The arguments that a model's text gives, as a JSON object.

    Besides JSON: nothing at all, JSON in a string or a fence, JSON with single quotes, trailing
    commas or Python's words, `a=1, b="x"`, `<a>1</a>`, and a bare value where the schema has only
    one parameter that it can be for. Values of the last three are read as the schema's types.

    Raises:
        InvalidArguments: none of these; says what is wrong at which place, and what is expected.
    """
    text = without_fence(text)
    if not text:
        return {}
    value = read_json(text)
    inner = read_json(value) if isinstance(value, str) else None
    value = cast(Any, inner) if isinstance(inner, dict) else value
    if isinstance(value, dict):
        return cast(JsonObject, value)
    if value is None:
        return {}
    if text.startswith("{"):
        _refuse(tool, _json_problem(text), schema)
    found = _xml_children(text, schema) or _keywords(text, schema)
    if found is not None:
        return found
    return _bare(text if value is NOT_JSON else value, text, schema, tool)


def _bare(value: Any, text: str, schema: JsonObject, tool: str) -> JsonObject:
    """A value without a name goes to the only parameter that it can be for."""
    names = list(properties(schema))
    if not names:
        _refuse(tool, f"it takes no arguments, not {_excerpt(text)}", schema)
    needed = [x for x in required(schema) if x in names]
    if len(names) > 1 and len(needed) != 1:
        _refuse(tool, f"not a JSON object: {_excerpt(text)}", schema)
    name = names[0] if len(names) == 1 else needed[0]
    plain = value if isinstance(value, str) else text
    return {name: value_from_text(plain, properties(schema)[name])}


def read_json(text: str) -> Any:
    """The value of JSON, or of what is nearly JSON; `NOT_JSON` when it is neither."""
    try:
        return json.loads(text, strict=False, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        pass
    if text[:1] not in {"{", "[", '"', "'"}:
        return NOT_JSON
    for read in (_json5, _python):
        try:
            # Through JSON and back: tuples become lists, and what JSON has no word for is refused.
            return json.loads(json.dumps(read(text), allow_nan=False))
        except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
            continue
    return NOT_JSON


def _json5(text: str) -> Any:
    # Here, because most arguments are JSON and never need it.
    import json5

    if len(text) > _MAX_JSON5_CHARS:
        raise ValueError("too long")
    return json5.loads(text)


def _python(text: str) -> Any:
    if len(text) > _MAX_PYTHON_CHARS:
        raise ValueError("too long")
    return literal_in(text)


def _no_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not JSON")


def _xml_children(text: str, schema: JsonObject) -> JsonObject | None:
    """`<a>1</a><b>x</b>`, the form taught by XpressAI's xai-agent prompts."""
    found: JsonObject = {}
    at = 0
    while at < len(text):
        child = _XML_CHILD.match(text, at)
        if child is None:
            return None
        found[child[1]] = _typed(child[2].strip(), schema, child[1])
        at = child.end()
    return found


def _keywords(text: str, schema: JsonObject) -> JsonObject | None:
    """`a=1, b="x"` or `a: 1`, when every name is a parameter of the tool."""
    names = sorted(properties(schema), key=len, reverse=True)
    if not names:
        return None
    known = "|".join(re.escape(x) for x in names)
    key = re.compile(rf"[\s,]*+[\"']?({known})[\"']?\s*+[=:]\s*+")
    next_key = re.compile(rf"[,\s][\"']?(?:{known})[\"']?\s*+[=:]")
    found: JsonObject = {}
    at = 0
    while at < len(text):
        named = key.match(text, at)
        if named is None:
            return None
        end = _value_end(text, named.end(), next_key)
        found[named[1]] = _typed(text[named.end() : end].strip(_BETWEEN), schema, named[1])
        at = end
        if _NOTHING_MORE.match(text, at):
            break
    return found


def _value_end(text: str, start: int, next_key: re.Pattern[str]) -> int:
    """The end of the value that begins at `start`: its own bracket or quote, else the next name."""
    if text[start : start + 1] in {"{", "[", "("}:
        return closing(text, start) or len(text)
    if (quoted := _QUOTED.match(text, start)) is not None:
        return quoted.end()
    following = next_key.search(text, start)
    return following.start() if following else len(text)


def _typed(text: str, schema: JsonObject, name: str) -> Any:
    """A named value's text as the schema's type. Quotes and brackets say what they mean."""
    spec = properties(schema).get(name, {})
    if text[:1] in {'"', "'", "[", "{"}:
        value = read_json(text)
        if isinstance(value, str):
            return value_from_text(value, spec)
        if value is not NOT_JSON and value_from_text(json.dumps(value), spec) == value:
            return value
    return value_from_text(text, spec)


def _json_problem(text: str) -> str:
    try:
        json.loads(text, strict=False, parse_constant=_no_constant)
    except json.JSONDecodeError as cause:
        near = text[cause.pos : cause.pos + _EXCERPT_CHARS]
        place = f"at line {cause.lineno}, column {cause.colno}"
        found = f"near {near!r}" if near else "where the text ends"
        return f"not JSON: {cause.msg} {place}, {found}"
    except RecursionError:
        return "not JSON: nested too deeply"
    except ValueError as cause:
        return f"not JSON: {cause}"
    return "not a JSON object"


def _excerpt(text: str) -> str:
    return repr(text if len(text) <= 2 * _EXCERPT_CHARS else f"{text[: 2 * _EXCERPT_CHARS]}...")


def _refuse(tool: str, problem: str, schema: JsonObject) -> NoReturn:
    shown = signature(schema)
    expected = f"one JSON object with {shown}" if properties(schema) else shown
    raise InvalidArguments(tool, [problem], expected)
