"""JSON Schemas of tools: checks of arguments, text read as values, parameters in one line.

Nothing a schema points to is ever fetched: a `$ref` that leaves its document is an error.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

from .json import JsonObject, as_list, as_object, as_texts, at, is_list, is_object, json_type
from .schema_cost import SchemaCost, TooCostly

if TYPE_CHECKING:
    import jsonschema_rs

_MAX_PROBLEMS = 5  # more would bury the one line a model needs to mend its call
# A problem quotes the value; what is wrong stands behind that. Characters.
_HEAD_OF_PROBLEM, _TAIL_OF_PROBLEM = 200, 100
# Whoever checks holds up everybody: so many steps take 0.05 s, and so many characters at most a
# few tenths of a second, with the worst pattern that is small enough to be compiled.
_MAX_STEPS, _MAX_MATCHED = 1_000_000, 10_000
_MAX_STEPS_TO_EXPLAIN = 25_000  # looking for what is wrong takes much longer
# For all patterns of a schema; to compile so many bytes takes 0.05 s.
_MAX_PATTERN_BYTES = 4_000_000
_MAX_BACKTRACKING = 1_000  # for each character: 7 microseconds
_MAX_SHOWN = 500  # parameters in a signature: nobody reads more
_MAX_CHECKS = 1_000  # compiled ones take some kilobytes each, and tools come and go for days
_MAX_DEPTH = 20  # of choices and lists of lists; guards against hostile nesting
_PARTS = ("allOf", "anyOf", "oneOf", "items")
# Schemas reached from one parameter, and from a document: definitions that refer to each other
# multiply.
_MOST_PARTS, _MOST_OF_ALL = 200, 5_000
_TYPES = frozenset(("null", "boolean", "integer", "number", "string", "array", "object"))


class SchemaCheck:
    """Checks values against one schema; compiled on first use.

    A schema that cannot be compiled, or takes too long to check, checks nothing (fail open):
    `broken` says why. A value that would take too long passes unchecked, too. Patterns are left
    out where one of them is wrong or too large, and for very long texts.
    """

    def __init__(self, schema: JsonObject) -> None:
        self.schema = schema
        self.broken = ""
        self._wrong_pattern = ""
        self._cost: SchemaCost | None = None
        self._validators: dict[bool, jsonschema_rs.Validator] = {}  # with patterns, or without
        # For flat objects of at most so many characters, for which no steps are counted.
        self._quick: tuple[jsonschema_rs.Validator, int] | None = None

    def why_unusable(self, *, with_patterns: bool = False) -> str:
        """Why it checks nothing; empty when it checks.

        Patterns take long to compile, so they wait for the first value unless asked for.
        """
        if cost := self._counted():
            self._validator(cost, with_patterns=with_patterns)
        return self.broken or self._wrong_pattern

    def problems(self, value: Any) -> list[str]:
        """What is wrong with `value`, one line each, at most a handful; empty when it fits."""
        if self._quick is not None and isinstance(value, dict):
            (validator, most), fields = self._quick, cast("JsonObject", value)
            sizes = (
                len(x) if isinstance(x, str) else _MAX_STEPS if isinstance(x, dict | list) else 1
                for x in fields.values()
            )
            size = sum(sizes, sum(map(len, map(str, fields))))
            if size <= most and validator.is_valid(value):
                return []
        cost = self._counted()
        work = cost and cost.of(value)
        if cost is None or work is None or work.steps > _MAX_STEPS:
            return []
        is_long = work.matched > _MAX_MATCHED
        if is_long and cost.has_patterns_for_names:
            return []
        validator = self._validator(cost, with_patterns=not is_long)
        try:
            # Far faster than looking for errors.
            if validator is None or validator.is_valid(value):
                if validator is not None and not is_long:
                    most = _MAX_MATCHED // max(cost.steps_at(0), cost.steps_at(1), 1)
                    self._quick = validator, most
                return []
            if work.steps > _MAX_STEPS_TO_EXPLAIN:
                return ["it does not fit, and is too large to say where"]
            return [_problem(x) for x in islice(validator.iter_errors(value), _MAX_PROBLEMS)]
        except ValueError as cause:
            return [f"not JSON: {cause}"]

    def _counted(self) -> SchemaCost | None:
        """The cost of the schema; None if it is too high for any value."""
        if self._cost is None and not self.broken:
            try:
                self._cost = SchemaCost(self.schema)
            except TooCostly as cause:
                self.broken = str(cause)
        return self._cost

    def _validator(
        self, cost: SchemaCost, *, with_patterns: bool
    ) -> jsonschema_rs.Validator | None:
        with_patterns = with_patterns and cost.patterns > 0 and not self._wrong_pattern
        if with_patterns not in self._validators and not self.broken:
            size_limit = _MAX_PATTERN_BYTES // max(cost.patterns, 1)
            try:
                self._validators[with_patterns] = _compiled(self.schema, size_limit, with_patterns)
            except ValueError as cause:
                reason = str(cause).splitlines()[0]
                if not with_patterns:
                    self.broken = reason
                    return None
                self._wrong_pattern = reason.replace(
                    'is not a "regex"', "is no pattern, or is too large"
                )
                return self._validator(cost, with_patterns=False)
        return self._validators.get(with_patterns)


class ArgumentChecks:
    """Cache of compiled checks, for the tools that were called last.

    A check is dropped when its schema is replaced, and some time after its tool is gone.
    """

    def __init__(self) -> None:
        self._checks: dict[object, SchemaCheck] = {}  # the one used last is the last

    def problems(self, owner: object, schema: JsonObject, value: Any, text: str = "") -> list[str]:
        """As `SchemaCheck.problems`, for the schema that `owner` (a tool key) has now."""
        check = self._checks.pop(owner, None)
        if check is None or check.schema is not schema:
            check = SchemaCheck(schema)
        self._checks[owner] = check
        if len(self._checks) > _MAX_CHECKS:
            del self._checks[next(iter(self._checks))]
        return check.problems(value)


class References:
    """Resolves the local references of one document, until its budget is spent."""

    def __init__(self, root: object) -> None:
        self._root = root
        self._left = _MOST_OF_ALL

    def resolved(self, schema: object) -> JsonObject:
        """A schema with its references resolved, also in its choices and items.

        A reference that leads back to itself is not followed again. References in the schema's own
        properties stay as they are.
        """
        others = max(self._left - _MOST_PARTS, 0)  # kept for the next ones
        self._left -= others
        resolved = self._resolved(as_object(schema), ())
        self._left = max(self._left, 0) + others
        return resolved

    def _resolved(self, schema: JsonObject, chain: tuple[str, ...], depth: int = 0) -> JsonObject:
        """`chain` are the references that led to it."""
        self._left -= 1
        if depth > _MAX_DEPTH:
            return schema
        while isinstance(reference := schema.get("$ref"), str) and reference not in chain:
            if self._left < 0:
                return schema
            chain = (*chain, reference)
            self._left -= 1
            target = at(self._root, reference)
            if is_object(target):
                beside = {word: x for word, x in schema.items() if word != "$ref"}
                schema = {**target, **beside}
        if self._left < 0:
            return schema

        def resolve(value: Any) -> Any:
            if is_list(value):
                return [resolve(x) for x in value]
            return self._resolved(value, chain, depth + 1) if is_object(value) else value

        parts = {word: resolve(schema[word]) for word in _PARTS if word in schema}
        return {**schema, **parts} if parts else schema


def walk(schema: Mapping[str, Any], depth: int = 0) -> Iterator[Mapping[str, Any]]:
    """The schema itself, its choices and items, and theirs."""
    yield schema
    for value in (schema[x] for x in _PARTS if x in schema) if depth <= _MAX_DEPTH else ():
        for part in value if is_list(value) else [value]:
            if is_object(part):
                yield from walk(part, depth + 1)


def properties(
    schema: Mapping[str, Any], references: References | None = None
) -> dict[str, JsonObject]:
    """The schema's parameters by name; anything odd reads as a parameter of any type.

    What they refer to stands in its place. `references` are those of the document that the schema
    is a part of; by default it is all of it.
    """
    references = references or References(schema)
    # As JSON has them: a schema that Python made may have a number for a name.
    items = as_object(schema.get("properties")).items()
    return {str(name): references.resolved(spec) for name, spec in items}


def required(schema: Mapping[str, Any]) -> list[str]:
    """The names of the parameters that must be given."""
    return as_texts(schema.get("required"))


def signature(schema: JsonObject) -> str:
    """The parameters in one line for a reader: `text: string, count?: integer = 1`."""
    needed, named = set(required(schema)), properties(schema)
    parts = [_parameter(x, spec, x in needed) for x, spec in islice(named.items(), _MAX_SHOWN)]
    more = [f"and {len(named) - _MAX_SHOWN:,} more"] if len(named) > _MAX_SHOWN else []
    return ", ".join([*parts, *more]) or "no parameters"


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


def types_of(spec: Mapping[str, Any], depth: int = _MAX_DEPTH) -> list[str]:
    """The JSON types a parameter accepts, from `type`, `enum` or its choices; may be empty."""
    named = spec.get("type")
    if isinstance(named, str) or is_list(named):
        return [named] if isinstance(named, str) else as_texts(named)
    if depth == 0:
        return []
    values = [json_type(x) for x in _values_in(spec)]
    return list(dict.fromkeys(values or _choices_in(spec, lambda x: types_of(x, depth - 1))))


def value_label(spec: Mapping[str, Any]) -> str:
    """The values a parameter accepts, for a reader: `integer`, `"small"|"large"|null`, or `any`."""
    return "|".join(dict.fromkeys(_labels(spec, _MAX_DEPTH))) or "any"


def value_from_text(text: str, spec: Mapping[str, Any], depth: int = _MAX_DEPTH) -> Any:
    """Read text a person typed as the value its schema asks for; text that does not fit stays text.

    `"3"` becomes 3 where the schema has a number and stays `"3"` where it has a string;
    arrays take JSON or comma-separated items.
    """
    types = types_of(spec)
    if "string" in types and text.strip() != "null":
        return text
    if "array" in types and depth and not text.lstrip().startswith("["):
        items = as_object(spec.get("items"))
        texts = (x.strip() for x in text.split(","))
        return [value_from_text(x, items, depth - 1) for x in texts if x]
    value = _json_or_text(text.strip().lower() if "boolean" in types else text)
    return value if not types or _fits(value, types) else text


def _compiled(schema: JsonObject, size_limit: int, with_patterns: bool) -> jsonschema_rs.Validator:
    """A validator of the schema.

    Raises:
        ValueError: it is no schema, or one of its patterns is too large.
    """
    # Here, because it is a compiled library and most runs never check a schema.
    import jsonschema_rs

    limits = jsonschema_rs.FancyRegexOptions(
        backtrack_limit=_MAX_BACKTRACKING, size_limit=size_limit
    )
    passing: dict[str, type[jsonschema_rs.KeywordValidator]] = {"pattern": _Unchecked}
    keywords = None if with_patterns else passing
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


def _choices_in(spec: Mapping[str, Any], read: Callable[[JsonObject], list[str]]) -> list[str]:
    """The labels of all choices; empty if one of them accepts anything.

    A value of `allOf` fits each part, so the narrowest part counts: values before types.
    """
    if choices := _schemas_in(spec, "anyOf") or _schemas_in(spec, "oneOf"):
        labels = [read(x) for x in choices]
        return [y for x in labels for y in x] if all(labels) else []
    parts = [x for x in map(read, _schemas_in(spec, "allOf")) if x]
    return min(parts, key=lambda x: (_TYPES.issuperset(x), len(x)), default=list[str]())


def _schemas_in(spec: Mapping[str, Any], name: str) -> list[JsonObject]:
    return list(filter(is_object, as_list(spec.get(name))))


def _values_in(spec: Mapping[str, Any]) -> list[Any]:
    return [spec["const"]] if "const" in spec else as_list(spec.get("enum"))


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
    """A number that JSON can have; not `NaN` or `1e999`, which Python would read."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is no number of JSON")
    return number


def _fits(value: Any, types: Sequence[str]) -> bool:
    kind = json_type(value)
    return kind in types or (kind == "integer" and "number" in types)
