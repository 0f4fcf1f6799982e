"""Checks of values against JSON Schemas.

References are never fetched: a `$ref` that leaves its document is an error.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

from .json import JsonObject, as_object, at, children, is_object, parts_of
from .schemas import EACH, HERE, ONE, under

if TYPE_CHECKING:
    import jsonschema_rs

# The interpreter waits for a check: this many steps take 0.05 s. Explaining a problem takes a
# hundred times longer.
_MAX_STEPS, _MAX_STEPS_TO_EXPLAIN = 1_000_000, 25_000
_MAX_STEPS_A_VALUE = 100_000  # for each value within the checked value
_MAX_COUNTED = 200_000  # entries of the cache: 0.1 s
_MAX_SCHEMA_PARTS = 50_000  # more than real tools have; compiling them takes 0.05 s
_MAX_PARTS = 300_000  # of a value; counting them takes 0.1 s
_MAX_DEPTH = 500  # of a value: at some depth jsonschema_rs crashes
_TIMES_UNEVALUATED = 3  # everything beside such a keyword is checked again, recursively
_MAX_PATTERN_BYTES = 4_000_000  # when compiled, which takes 0.05 s
_MAX_BACKTRACKING = 1_000  # for each character: 10 microseconds
_MAX_MATCHED = 10_000  # characters of all texts of a value, and of a name
_MAX_PROBLEMS = 5  # more would bury the one line a model needs to mend its call
# In characters. A problem quotes the value first and gives the reason at its end.
_HEAD_OF_PROBLEM, _TAIL_OF_PROBLEM = 200, 100
_MAX_CHECKS = 1_000  # compiled ones take some kilobytes each, and tools come and go for days


class SchemaCheck:
    """Checks values against one schema; compiled on first use.

    It fails open: a schema that cannot be compiled or takes too long checks nothing, and a value
    that would take too long passes. So do texts with an invalid or too large pattern, and texts
    beyond the first ten thousand characters to match.
    """

    def __init__(self, schema: JsonObject) -> None:
        self.schema = schema
        self._cost = _Cost(schema)
        self._validator: jsonschema_rs.Validator | None = None

    @cached_property
    def broken(self) -> str:
        """Why it checks nothing; empty when it checks."""
        try:
            self._cost.check()
            self._validator = _compile(self.schema, keywords={"pattern": _Pattern})
        except ValueError as cause:
            return str(cause).splitlines()[0]
        return ""

    @cached_property
    def _flat_steps(self) -> int:
        """The steps for a flat object and for each of its values; nearly all arguments are flat."""
        return max(self._cost.at(0), self._cost.at(1))

    def problems(self, value: Any) -> list[str]:
        """Return the problems of `value`, one line each, at most a handful; empty when it fits."""
        if self.broken or self._validator is None:
            return []
        if isinstance(value, dict) and not any(
            isinstance(x, dict | list) or len(str(name)) > _MAX_MATCHED
            for name, x in cast("JsonObject", value).items()
        ):
            steps = (1 + len(cast("JsonObject", value))) * self._flat_steps
        else:
            steps = self._cost.steps(value)
        if steps > _MAX_STEPS:
            return []
        _unmatched.characters = _MAX_MATCHED
        try:
            # Far faster than looking for errors.
            if self._validator.is_valid(value):
                return []
            if steps > _MAX_STEPS_TO_EXPLAIN:
                return ["it does not match, and is too large to say where"]
            _unmatched.characters = _MAX_MATCHED
            problems = (y for x in self._validator.iter_errors(value) for y in _problems(x))
            return list(islice(problems, _MAX_PROBLEMS))
        except ValueError as cause:
            return [f"not JSON: {cause}"]


class ArgumentChecks:
    """Cache of compiled checks for the most recently called tools.

    A check is dropped when its schema is replaced, and some time after its tool is gone.
    """

    def __init__(self) -> None:
        self._checks: dict[object, SchemaCheck] = {}  # the most recently used one comes last

    def problems(self, owner: object, schema: JsonObject, value: Any) -> list[str]:
        """Return `SchemaCheck.problems` for the current schema of `owner` (a tool key)."""
        check = self._checks.pop(owner, None)
        if check is None or check.schema is not schema:
            check = SchemaCheck(schema)
        self._checks[owner] = check
        if len(self._checks) > _MAX_CHECKS:
            del self._checks[next(iter(self._checks))]
        return check.problems(value)


def is_pattern(pattern: str) -> bool:
    """Return whether texts can be checked with this regular expression of a schema."""
    return _compiled_pattern(pattern) is not None


def fits_pattern(pattern: str, text: str) -> bool:
    """Return whether a text fits a regular expression; True if that cannot be checked in time."""
    validator = _compiled_pattern(pattern) if len(text) <= _MAX_MATCHED else None
    return validator is None or validator.is_valid(text)


class _Unmatched(threading.local):
    """How many more characters the check in this thread may match."""

    characters = 0


_unmatched = _Unmatched()


class _Cost:
    """Upper bound of the steps of a check, counted beforehand.

    References in two kilobytes can cause a check that never ends, and jsonschema_rs crashes if a
    schema applies itself to the same value.
    """

    def __init__(self, root: JsonObject) -> None:
        self._root = root
        self._identifier = "id" if "draft-04" in str(root.get("$schema")) else "$id"
        self._counts: dict[tuple[int, int], int] = {}

    def check(self) -> None:
        """Raise ValueError if any value takes too long, or the schema is too large."""
        parts = sum(1 for _ in islice(parts_of(self._root), _MAX_SCHEMA_PARTS))
        if parts == _MAX_SCHEMA_PARTS:
            raise ValueError(f"it is made of {_MAX_SCHEMA_PARTS:,} parts or more")
        if max(map(self.at, range(4))) > _MAX_STEPS_A_VALUE:
            raise ValueError("its references and choices multiply, or lead back to themselves")

    def steps(self, value: Any) -> int:
        """Return the steps for this value, or more than allowed if it is too large to count."""
        parts, widest, level = 0, 0, [value]
        for depth in range(_MAX_DEPTH):
            parts += len(level)
            if parts > _MAX_PARTS:
                break
            widest = max(widest, self.at(depth))
            if any(len(str(name)) > _MAX_MATCHED for x in level for name in as_object(x)):
                break
            level = [inner for x in level for inner in children(x)]
            if not level:
                return parts * widest
        return _MAX_STEPS + 1

    def at(self, depth: int) -> int:
        """Return how many schemas apply, at most, to one value at this depth."""
        try:
            return self._count(self._root, depth)
        except RecursionError:  # a chain of a thousand references
            return _MAX_STEPS + 1

    def _count(self, schema: JsonObject, depth: int) -> int:
        place = id(schema), depth
        if place not in self._counts:
            self._counts[place] = _MAX_STEPS + 1  # until it is counted
            if len(self._counts) > _MAX_COUNTED:
                return _MAX_STEPS + 1
            parts = [*self._target(schema), *(y for x in HERE for y in under(schema, x))]
            count = sum(self._count(x, depth) for x in parts)
            count += self._count_inside(schema, depth - 1) if depth else 1
            if "unevaluatedProperties" in schema or "unevaluatedItems" in schema:
                count *= _TIMES_UNEVALUATED
            self._counts[place] = min(count, _MAX_STEPS + 1)
        return self._counts[place]

    def _count_inside(self, schema: JsonObject, depth: int) -> int:
        each = sum(self._count(x, depth) for word in EACH for x in under(schema, word))
        several = ([self._count(x, depth) for x in under(schema, word)] for word in ONE)
        return each + sum(max(x, default=0) for x in several)

    def _target(self, schema: JsonObject) -> list[JsonObject]:
        """Return the schema that this one refers to, in a list."""
        # An identifier changes the base of the references in it, which is not resolved here.
        is_based = schema is not self._root and isinstance(schema.get(self._identifier), str)
        if is_based or "$dynamicRef" in schema or "$recursiveRef" in schema:
            raise ValueError("it has references of a kind that is not checked")
        reference = schema.get("$ref")
        if not isinstance(reference, str):
            return []
        target = at(self._root, reference) if reference.startswith("#") else None
        if target is None:
            raise ValueError(f"it refers to {reference}, which is not in it")
        return [target] if is_object(target) else []


class _Pattern:
    """The keyword `pattern`: an invalid one disables no other check."""

    def __init__(self, parent_schema: JsonObject, value: Any, schema_path: list[str | int]) -> None:
        self._pattern = value

    def validate(self, instance: Any) -> None:
        """Raise ValueError if a text does not fit."""
        if not isinstance(instance, str) or not isinstance(self._pattern, str):
            return
        if (remaining := _unmatched.characters - len(instance)) < 0:
            return
        _unmatched.characters = remaining
        if not fits_pattern(self._pattern, instance):
            raise ValueError(f"{json.dumps(instance)} does not match {json.dumps(self._pattern)}")


def _compile(schema: JsonObject, **options: Any) -> jsonschema_rs.Validator:
    """Return a validator of the schema.

    Raises:
        ValueError: it is not a schema.
    """
    # Imported here because most runs never need this compiled library.
    import jsonschema_rs

    limits = jsonschema_rs.FancyRegexOptions(
        backtrack_limit=_MAX_BACKTRACKING, size_limit=_MAX_PATTERN_BYTES
    )
    try:
        return jsonschema_rs.validator_for(
            schema, retriever=_refuse, pattern_options=limits, **options
        )
    except jsonschema_rs.ReferencingError as cause:
        raise ValueError(str(cause)) from cause


@lru_cache(maxsize=_MAX_CHECKS)
def _compiled_pattern(pattern: str) -> jsonschema_rs.Validator | None:
    try:
        return _compile({"pattern": pattern})
    except ValueError:
        return None


def _refuse(uri: str) -> Any:
    raise ValueError(f"a schema may not refer to {uri}")


def _problems(error: jsonschema_rs.ValidationError) -> Iterator[str]:
    """Yield the problems of an error: of a choice, those of the branch that the value means.

    A branch is not meant if it has another type, or another constant in the value or one of its
    properties, as a discriminator has; if all are so, the problem is what each of them expects.
    """
    branches = cast("list[list[jsonschema_rs.ValidationError]]", getattr(error.kind, "context", []))
    if error.kind.name not in ("anyOf", "oneOf") or not all(branches):
        yield _problem(error)
        return
    depth = len(error.instance_path)
    meant = [x for x in branches if not any(_is_another(y, depth) for y in x)]
    if meant:
        for inner in min(meant, key=len):
            yield from _problems(inner)
        return
    others = [next(y for y in x if _is_another(y, depth)) for x in branches]
    yield " or ".join(dict.fromkeys(map(_problem, others)))


def _is_another(error: jsonschema_rs.ValidationError, depth: int) -> bool:
    """Return whether an error in a branch, for a value at `depth`, says that another is meant."""
    kind, below = error.kind, len(error.instance_path) - depth
    if kind.name == "type":
        return below == 0
    return below <= 1 and (kind.name == "const" or (kind.name == "enum" and len(kind.value) == 1))


def _problem(error: jsonschema_rs.ValidationError) -> str:
    path: Sequence[str | int] = list(error.instance_path)
    where = "".join(f"[{x}]" if isinstance(x, int) else f".{x}" for x in path).lstrip(".")
    message = str(error.message)
    if len(message) > _HEAD_OF_PROBLEM + _TAIL_OF_PROBLEM:
        message = f"{message[:_HEAD_OF_PROBLEM]} ... {message[-_TAIL_OF_PROBLEM:]}"
    return f"{where}: {message}" if where else message
