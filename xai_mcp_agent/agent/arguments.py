"""Reads the arguments of a call as a model wrote them.

JSON is expected, and a text with one plain meaning is accepted too. An unreadable text is an error
that tells the model what is wrong. `core.schema_check` checks the values against the schema.
"""

from __future__ import annotations

import ast
import json
import re
from typing import Any, NoReturn, cast

from ..core.errors import InvalidArguments
from ..core.json import JsonObject
from ..core.schemas import properties, required, signature, value_from_text
from ..core.util import expression_of, literal_in
from ..core.visible import own_names

NOT_JSON = object()
_MAX_LENIENT_CHARS = 10_000  # json5 reads about 100 characters in a millisecond
_EXCERPT_CHARS = 20
_FENCE = re.compile(r"\s*```[\w+-]*[ \t]*\n?(.*?)\s*```\s*", re.DOTALL)
_ELEMENT = re.compile(r"\s*<(\w[\w.-]{0,255})>(.*?)</\1>\s*", re.DOTALL)


def parse_arguments(text: str, schema: JsonObject, *, tool: str = "this tool") -> JsonObject:
    """Read the arguments in a model's text, as a JSON object with the tool's own names.

    Accepted besides JSON: an empty text, JSON in a string or a fence, JSON with single quotes,
    trailing commas or Python's words, `a=1, b="x"`, `<a>1</a>`, and a bare value if only one
    parameter of the schema can take it.

    Raises:
        InvalidArguments: the text is none of these; says what is wrong, and what is expected.
    """
    text = without_fence(text)
    value = read_json(text or "{}")
    if isinstance(value, str) and isinstance(inner := read_json(value), dict):
        value = cast(Any, inner)  # some services send JSON in a string
    if isinstance(value, dict):
        return own_names(cast(JsonObject, value), schema)
    if value is None:
        return {}
    if text.startswith("{"):
        _refuse(tool, _json_problem(text), schema)
    specs = properties(schema)
    by_name = _elements(text) or _keywords(text)
    if by_name and by_name.keys() <= specs.keys():
        return {
            name: value_from_text(x, specs[name]) if isinstance(x, str) else x
            for name, x in by_name.items()
        }
    places = list(specs) if len(specs) == 1 else [x for x in required(schema) if x in specs]
    if len(places) != 1:
        _refuse(tool, f"not a JSON object: {text[: 2 * _EXCERPT_CHARS]!r}", schema)
    bare = value if isinstance(value, str) else text
    return {places[0]: value_from_text(bare, specs[places[0]])}


def without_fence(text: str) -> str:
    """Return the text inside a Markdown fence, or the text itself if it has none around it."""
    fence = _FENCE.fullmatch(text)
    return (fence[1] if fence else text).strip()


def read_json(text: str) -> Any:
    """Return the value of JSON, or of near JSON, or `NOT_JSON`.

    A repairing library such as json-repair would complete a call that was cut off.
    """
    try:
        return json.loads(text, strict=False, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        pass
    if len(text) > _MAX_LENIENT_CHARS or text[:1] not in {"{", "[", "'"}:
        return NOT_JSON
    # Imported here, because most arguments are JSON and never need it.
    import json5

    for read in (json5.loads, literal_in):
        try:
            # Through JSON, so that tuples become lists, and values that JSON cannot hold are
            # refused.
            return json.loads(json.dumps(read(text), allow_nan=False))
        except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
            continue
    return NOT_JSON


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not JSON")


def _elements(text: str) -> JsonObject | None:
    """Read `<a>1</a><b>x</b>`, the form of XpressAI's xai-agent prompts and Qwen's templates."""
    elements = {x[1]: x[2].strip() for x in _ELEMENT.finditer(text)}
    return None if _ELEMENT.sub("", text) else elements


def _keywords(text: str) -> JsonObject | None:
    """Read `a=1, b="x"`, as in a Python call."""
    try:
        call = expression_of(f"f({text})")
        if isinstance(call, ast.Call) and not call.args:
            return {str(x.arg): ast.literal_eval(x.value) for x in call.keywords}
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        pass
    return None


def _json_problem(text: str) -> str:
    try:
        json.loads(text, strict=False, parse_constant=_refuse_constant)
    except json.JSONDecodeError as cause:
        near = text[cause.pos : cause.pos + _EXCERPT_CHARS]
        where = f"near {near!r}" if near else "where the text ends"
        return f"not JSON: {cause.msg} at line {cause.lineno}, column {cause.colno}, {where}"
    except RecursionError:
        return "not JSON: nested too deeply"
    except ValueError as cause:
        return f"not JSON: {cause}"
    return "not a JSON object"


def _refuse(tool: str, problem: str, schema: JsonObject) -> NoReturn:
    form = signature(schema)
    expected = f"one JSON object with {form}" if properties(schema) else form
    raise InvalidArguments(tool, [problem], expected)
