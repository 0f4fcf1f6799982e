"""JSON Schemas of tools: checking arguments, reading text as values, telling a person what fits.

Nothing a schema points to is ever fetched: a `$ref` that leaves its document is an error.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

from .schema_cost import SchemaCost, TooCostly, Work
from .tools import JsonObject, json_type, properties, required

if TYPE_CHECKING:
    import jsonschema_rs

# More would bury the one line a model needs to mend its call.
_MAX_PROBLEMS = 5
# It quotes the value; what is wrong stands behind that. Characters.
_HEAD_OF_PROBLEM, _TAIL_OF_PROBLEM = 200, 100
# Whoever checks holds up everybody. So many steps take 0.05 s; as much take so many states of a
# pattern, one for each character that it may look at.
_MAX_STEPS = 1_000_000
_MAX_MATCHING = 12_500_000
# To look for what is wrong takes much longer, and each problem holds the value it was found in.
_MAX_STEPS_TO_EXPLAIN = 25_000
_MAX_QUOTED = 200_000
# Before such a pattern is given up: about 0.1 milliseconds.
_MAX_BACKTRACKING = 10_000
# In units of about 0.2 microseconds. What takes longer to compile waits for the first call.
_COMPILED_AT_ONCE = 2_000
# Nobody reads so many parameters; quoted, a few of them would do for that.
_MAX_SHOWN = 500
# A compiled one takes some kilobytes, and tools may come and go for days.
_MAX_CHECKS = 1000
# Deeper than anybody writes choices and lists of lists; guards against hostile nesting.
_MAX_DEPTH = 20
_TYPES = frozenset(("null", "boolean", "integer", "number", "string", "array", "object"))


class SchemaCheck:
    """Checks values against one schema; compiled on first use.

    A schema that cannot be compiled checks nothing (fail open): `broken` says why. Neither does one
    that would take too long, nor any with a value that would.
    """

    def __init__(self, schema: JsonObject) -> None:
        self.schema = schema
        self.broken = ""
        self._cost: SchemaCost | None = None
        self._validator: jsonschema_rs.Validator | None = None

    def why_unusable(self) -> str:
        """Why it checks nothing; empty when it checks, as far as is seen without much work."""
        cost = self._counted()
        if cost and cost.compiling <= _COMPILED_AT_ONCE:
            self._compile()
        return self.broken

    def problems(self, value: Any) -> list[str]:
        """What is wrong with `value`, one line each, at most a handful; empty when it fits."""
        cost = self._counted()
        if cost is None or not self._compile():
            return []
        work = Work(cost, value)
        validator = self._validator_for(work)
        try:
            if validator is None or validator.is_valid(value):  # far faster than looking for errors
                return []
            if work.steps > _MAX_STEPS_TO_EXPLAIN or work.quoted > _MAX_QUOTED:
                return ["it does not fit, and is too large to say where"]
            found = validator.iter_errors(value)
            return [_problem(error) for error, _ in zip(found, range(_MAX_PROBLEMS), strict=False)]
        except ValueError as cause:
            return [f"not JSON: {cause}"]

    def _counted(self) -> SchemaCost | None:
        """None where it is too much for any value."""
        if self._cost is None and not self.broken:
            try:
                self._cost = SchemaCost(self.schema)
            except TooCostly as cause:
                self.broken = str(cause)
        return self._cost

    def _compile(self) -> bool:
        if self._validator is None and not self.broken:
            try:
                self._validator = _compiled(self.schema)
            except ValueError as cause:
                self.broken = str(cause).splitlines()[0]
        return self._validator is not None

    def _validator_for(self, work: Work) -> jsonschema_rs.Validator | None:
        """None where any would take too long."""
        if work.steps > _MAX_STEPS:
            return None
        if work.matching <= _MAX_MATCHING:
            return self._validator
        if self._cost and self._cost.has_patterns_for_names:
            return None
        return _compiled(self.schema, {"pattern": _Unchecked})


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
    needed, named = set(required(schema)), properties(schema)
    shown = [_parameter(x, spec, x in needed) for x, spec in islice(named.items(), _MAX_SHOWN)]
    more = [f"and {len(named) - _MAX_SHOWN:,} more"] if len(named) > _MAX_SHOWN else []
    return ", ".join([*shown, *more]) or "no parameters"


def without_idle_nulls(arguments: JsonObject, schema: Mapping[str, Any]) -> JsonObject:
    """The arguments without each null that can only mean "not given".

    Models fill optional parameters with null; where the schema allows no null
    there, the call would be refused for nothing.
    """
    needed, specs = set(required(schema)), properties(schema)

    def is_idle(name: str) -> bool:
        kinds = types_of(specs.get(name, {}))
        return name not in needed and bool(kinds) and "null" not in kinds

    return {name: x for name, x in arguments.items() if x is not None or not is_idle(name)}


def types_of(spec: Mapping[str, Any]) -> list[str]:
    """The JSON types a parameter accepts, from `type`, `enum` or its choices; may be empty."""
    return _types_of(spec, _MAX_DEPTH)


def value_label(spec: Mapping[str, Any]) -> str:
    """The values a parameter accepts, for a reader: `integer`, `"small"|"large"|null`, or `any`."""
    return "|".join(dict.fromkeys(_labels(spec, _MAX_DEPTH))) or "any"


def value_from_text(text: str, spec: Mapping[str, Any]) -> Any:
    """Read text a person typed as the value its schema asks for; text that does not fit stays text.

    `"3"` becomes 3 where a number is wanted and stays `"3"` where a string is;
    arrays take JSON or comma-separated items.
    """
    return _value_from_text(text, spec, _MAX_DEPTH)


def _compiled(
    schema: JsonObject, keywords: dict[str, type[jsonschema_rs.KeywordValidator]] | None = None
) -> jsonschema_rs.Validator:
    """A validator, without some keywords.

    Raises:
        ValueError: it is no schema.
    """
    # Here, because it is a compiled library and most runs never check a schema.
    import jsonschema_rs

    limits = jsonschema_rs.FancyRegexOptions(backtrack_limit=_MAX_BACKTRACKING)
    try:
        return jsonschema_rs.validator_for(
            schema, retriever=_refuse, pattern_options=limits, keywords=keywords
        )
    except jsonschema_rs.ReferencingError as cause:
        raise ValueError(str(cause)) from cause


class _Unchecked:
    """A keyword that everything fits."""

    def __init__(self, parent_schema: JsonObject, value: Any, schema_path: list[str | int]) -> None:
        pass

    def validate(self, instance: Any) -> None:
        """Anything will do."""


def _refuse(uri: str) -> Any:
    raise ValueError(f"a schema may not refer to {uri}")


def _problem(error: Any) -> str:
    path: Sequence[str | int] = list(error.instance_path)
    where = "".join(f"[{x}]" if isinstance(x, int) else f".{x}" for x in path).lstrip(".")
    message = str(error.message)
    if len(message) > _HEAD_OF_PROBLEM + _TAIL_OF_PROBLEM:
        message = f"{message[:_HEAD_OF_PROBLEM]} ... {message[-_TAIL_OF_PROBLEM:]}"
    return f"{where}: {message}" if where else message


def _parameter(name: str, spec: JsonObject, is_required: bool) -> str:
    mark = "" if is_required else "?"
    default = f" = {_shown(spec['default'])}" if "default" in spec else ""
    return f"{name}{mark}: {value_label(spec)}{default}"


def _labels(spec: Mapping[str, Any], depth: int) -> list[str]:
    if values := _values_in(spec):
        return [_shown(x) for x in values]
    labels = _choices_in(spec, lambda x: _labels(x, depth - 1)) if depth else []
    if "type" in spec:
        types = types_of(spec)
        labels = [x for x in labels if x in types or x not in _TYPES]
    return labels or types_of(spec) or (["object"] if properties(spec) else [])


def _types_of(spec: Mapping[str, Any], depth: int) -> list[str]:
    named = spec.get("type")
    if isinstance(named, str):
        return [named]
    if isinstance(named, list):
        return [x for x in cast(list[Any], named) if isinstance(x, str)]
    if depth == 0:
        return []
    values = [json_type(x) for x in _values_in(spec)]
    return list(dict.fromkeys(values or _choices_in(spec, lambda x: _types_of(x, depth - 1))))


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


def _choices_in(spec: Mapping[str, Any], read: Callable[[JsonObject], list[str]]) -> list[str]:
    """What is read of all choices; nothing where one of them takes anything.

    What fits `allOf` fits each of its parts, so the narrowest says most: values before types.
    """
    if choices := _schemas_in(spec, "anyOf") or _schemas_in(spec, "oneOf"):
        labels = [read(x) for x in choices]
        return [y for x in labels for y in x] if all(labels) else []
    parts = [x for x in map(read, _schemas_in(spec, "allOf")) if x]
    return min(parts, key=lambda x: (_TYPES.issuperset(x), len(x)), default=list[str]())


def _schemas_in(spec: Mapping[str, Any], name: str) -> list[JsonObject]:
    return [cast(JsonObject, x) for x in _list_in(spec, name) if isinstance(x, dict)]


def _values_in(spec: Mapping[str, Any]) -> list[Any]:
    return [spec["const"]] if "const" in spec else _list_in(spec, "enum")


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
    kind = json_type(value)
    return kind in wanted or (kind == "integer" and "number" in wanted)
