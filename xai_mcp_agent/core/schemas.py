"""JSON Schemas of tools: checking arguments, reading text as values, telling a person what fits.

Nothing a schema points to is ever fetched: a `$ref` that leaves its document is an error.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from .tools import JsonObject

if TYPE_CHECKING:
    import jsonschema_rs

# More would bury the one line a model needs to mend its call.
_MAX_PROBLEMS = 5
# It quotes the value; what is wrong stands behind that. Characters.
_HEAD_OF_PROBLEM, _TAIL_OF_PROBLEM = 200, 100
# To look for what is wrong in more than this would take long, and hold up everybody.
_MAX_PARTS = 20_000
# A compiled one takes some kilobytes, and tools may come and go for days.
_MAX_CHECKS = 1000
# Deeper than anybody writes choices and lists of lists; guards against hostile nesting.
_MAX_DEPTH = 20


class SchemaCheck:
    """Checks values against one schema; compiled on first use.

    A schema that cannot be compiled checks nothing (fail open): `broken` says why.
    """

    def __init__(self, schema: JsonObject) -> None:
        self.schema = schema
        self.broken = ""
        self._validator: jsonschema_rs.Validator | None = None

    def why_unusable(self) -> str:
        """Why it checks nothing; empty when it checks."""
        if self._validator is None and not self.broken:
            self._compile()
        return self.broken

    def problems(self, value: Any) -> list[str]:
        """What is wrong with `value`, one line each, at most a handful; empty when it fits."""
        if self.why_unusable() or self._validator is None:
            return []
        try:
            if self._validator.is_valid(value):  # several times faster than looking for errors
                return []
            if _has_many_parts(value):
                return ["it does not fit, and is too large to say where"]
            found = self._validator.iter_errors(value)
            return [_problem(error) for error, _ in zip(found, range(_MAX_PROBLEMS), strict=False)]
        except ValueError as cause:
            return [f"not JSON: {cause}"]

    def _compile(self) -> None:
        # Here, because it is a compiled library and most runs never check a schema.
        import jsonschema_rs

        try:
            self._validator = jsonschema_rs.validator_for(self.schema, retriever=_refuse)
        except (ValueError, jsonschema_rs.ReferencingError) as cause:
            self.broken = str(cause).splitlines()[0]


class ArgumentChecks:
    """The compiled checks of the tools that were called last.

    A check is thrown away when its schema is replaced, and in time when its tool has gone.
    """

    def __init__(self) -> None:
        self._checks: dict[object, SchemaCheck] = {}  # the one used last is the last

    def problems(self, owner: object, schema: JsonObject, value: Any) -> list[str]:
        """As `SchemaCheck.problems`, for the schema that `owner` (a tool key) has now."""
        check = self._checks.pop(owner, None)
        if check is None or check.schema is not schema:
            check = SchemaCheck(schema)
        self._checks[owner] = check
        if len(self._checks) > _MAX_CHECKS:
            del self._checks[next(iter(self._checks))]
        return check.problems(value)


def signature(schema: JsonObject) -> str:
    """The parameters in one line for a reader: `text: string, count?: integer = 1`."""
    shown = [_parameter(name, spec, schema) for name, spec in properties(schema).items()]
    return ", ".join(shown) or "no parameters"


def properties(schema: Mapping[str, Any]) -> dict[str, JsonObject]:
    """The schema's parameters by name; anything odd reads as a parameter of any type."""
    found = schema.get("properties")
    if not isinstance(found, dict):
        return {}
    items = cast(dict[str, Any], found).items()
    return {name: cast(JsonObject, spec) if isinstance(spec, dict) else {} for name, spec in items}


def required(schema: Mapping[str, Any]) -> list[str]:
    """The names of the parameters that must be given."""
    found = schema.get("required")
    names = cast(list[Any], found) if isinstance(found, list) else []
    return [x for x in names if isinstance(x, str)]


def without_idle_nulls(arguments: JsonObject, schema: Mapping[str, Any]) -> JsonObject:
    """The arguments without each null that can only mean "not given".

    Models fill optional parameters with null; where the schema allows no null
    there, the call would be refused for nothing.
    """
    needed, specs = required(schema), properties(schema)

    def is_idle(name: str) -> bool:
        kinds = types_of(specs.get(name, {}))
        return name not in needed and bool(kinds) and "null" not in kinds

    return {name: x for name, x in arguments.items() if x is not None or not is_idle(name)}


def types_of(spec: Mapping[str, Any]) -> list[str]:
    """The JSON types a parameter accepts, from `type`, `enum`, `anyOf`/`oneOf`; may be empty."""
    return _types_of(spec, _MAX_DEPTH)


def value_from_text(text: str, spec: Mapping[str, Any]) -> Any:
    """Read text a person typed as the value its schema asks for; text that does not fit stays text.

    `"3"` becomes 3 where a number is wanted and stays `"3"` where a string is;
    arrays take JSON or comma-separated items.
    """
    return _value_from_text(text, spec, _MAX_DEPTH)


def _refuse(uri: str) -> Any:
    raise ValueError(f"a schema may not refer to {uri}")


def _has_many_parts(value: Any) -> bool:
    left: list[Any] = [value]
    count = 0
    while left and count <= _MAX_PARTS:
        part = left.pop()
        if isinstance(part, dict):
            left.extend(cast(JsonObject, part).values())
        elif isinstance(part, list):
            left.extend(cast(list[Any], part))
        count += 1
    return bool(left)


def _problem(error: Any) -> str:
    path: Sequence[str | int] = list(error.instance_path)
    where = "".join(f"[{x}]" if isinstance(x, int) else f".{x}" for x in path).lstrip(".")
    message = str(error.message)
    if len(message) > _HEAD_OF_PROBLEM + _TAIL_OF_PROBLEM:
        message = f"{message[:_HEAD_OF_PROBLEM]} ... {message[-_TAIL_OF_PROBLEM:]}"
    return f"{where}: {message}" if where else message


def _parameter(name: str, spec: JsonObject, schema: JsonObject) -> str:
    kinds = "|".join(types_of(spec)) or "any"
    if isinstance(spec.get("enum"), list):
        kinds = "|".join(_shown(x) for x in spec["enum"])
    mark = "" if name in required(schema) else "?"
    default = f" = {_shown(spec['default'])}" if "default" in spec else ""
    return f"{name}{mark}: {kinds}{default}"


def _types_of(spec: Mapping[str, Any], depth: int) -> list[str]:
    named = spec.get("type")
    if isinstance(named, str):
        return [named]
    if isinstance(named, list):
        return [x for x in cast(list[Any], named) if isinstance(x, str)]
    choices = _list_in(spec, "anyOf") or _list_in(spec, "oneOf")
    if depth == 0:
        return []
    nested = [_types_of(cast(JsonObject, x), depth - 1) for x in choices if isinstance(x, dict)]
    if not nested:
        nested = [[_json_type(x)] for x in _list_in(spec, "enum")]
    return list(dict.fromkeys(name for names in nested for name in names))


def _value_from_text(text: str, spec: Mapping[str, Any], depth: int) -> Any:
    wanted = types_of(spec)
    if "string" in wanted and text.strip() != "null":
        return text
    if "array" in wanted and depth and not text.lstrip().startswith("["):
        items = spec.get("items")
        item_spec = cast(JsonObject, items) if isinstance(items, dict) else {}
        texts = (x.strip() for x in text.split(","))
        return [_value_from_text(x, item_spec, depth - 1) for x in texts if x]
    value = _json_or_text(text.strip().lower() if "boolean" in wanted else text)
    return value if not wanted or _fits(value, wanted) else text


def _list_in(spec: Mapping[str, Any], name: str) -> list[Any]:
    found = spec.get(name)
    return cast(list[Any], found) if isinstance(found, list) else []


def _shown(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return "..."


def _json_or_text(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_finite, parse_float=_finite)
    except (ValueError, RecursionError):
        return text


def _finite(text: str) -> float:
    """A number that JSON can hold: `NaN` and `1e999`, which Python would read, are none."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is no number of JSON")
    return number


def _fits(value: Any, wanted: Sequence[str]) -> bool:
    kind = _json_type(value)
    return kind in wanted or (kind == "integer" and "number" in wanted)


def _json_type(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"
