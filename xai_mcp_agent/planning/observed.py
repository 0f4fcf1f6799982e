"""What a run teaches: its tools in their order, where arguments came from, what results look like.

Looked at are the values of arguments and results; what comes out are names, paths and kinds. That
two values are equal may be chance, or the one may be there because the other was: so what the
request says, what a result only repeats, and values that many things have are taken for given. All
of it is bounded, whatever a tool answers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from ..steps.reading import BadStep, read_path
from ..steps.references import First, PathStep, Reference, references_in
from ..steps.results import NotInResult, at_path
from .plan import FromResult, Plan, PlannedCall, used_in
from .shapes import Shape, holds_data, is_data, shape_of_value
from .tracing import (
    DEEPEST,
    LIKE_NAME,
    SAME_NAME,
    Part,
    TracedResults,
    affinity,
    is_id_name,
    is_telling,
    key_of_value,
    parts_of,
)

MOST_CALLS = 60
"""Of one run; what comes after is not looked at."""

_MOST_PARTS, _MOST_PARTS_OF_ONE = 30_000, 5_000  # of all results, and of one
_MOST_INSIDE = 500  # of an object or a list that is compared as a whole
# Longer texts are equal to others or not, and are not searched: that would hold up other threads.
_SEARCHED_CHARS = 20_000
_LEAST_CHARS = 4  # of a text that says little by itself, where names are the same
_MOST_REQUEST_CHARS = 100_000
_MOST_PATH_CHARS = 200
_MOST_PARAMETERS = 50
# What parameters and results of the same name have in common by chance.
_COMMON_WORDS = """
    true false none null auto default open closed active asc desc text json html markdown standard
    normal medium high small large week month year user admin main master
"""
_COMMON = frozenset(_COMMON_WORDS.split())


@dataclass(frozen=True, slots=True)
class SeenCall:
    """A call that went well. `value` is its result as data where it is any, else as text.

    `parameters` are those that the tool declares; arguments of other names are not looked at.
    """

    tool: Any
    arguments: Mapping[str, Any] = field(repr=False)
    value: Any = field(repr=False)
    parameters: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class TracedCall:
    """A call without values: for each parameter where it came from, None where it was given.

    Else it is the place of an earlier call, from 0 on, and the field in its result, which is None
    where it was a part of a text or of something else.
    """

    tool: Any
    sources: Mapping[str, tuple[int, str | None] | None]


@dataclass(frozen=True, slots=True)
class ObservedRun:
    """What a run teaches: its calls, and what results looked like, by tool."""

    calls: tuple[TracedCall, ...] = ()
    shapes: Mapping[Any, tuple[Shape, ...]] = field(default_factory=dict[Any, tuple[Shape, ...]])


def observed_run(request: str, turns: Iterable[Sequence[SeenCall]]) -> ObservedRun:
    """Look at the calls of a run, which came in turns: those of one turn did not know each other.

    Takes some milliseconds, and for results of any size and depth less than a second.
    """
    results, traced = _Origins(request), list[TracedCall]()
    shapes: dict[Any, list[Shape]] = {}
    for turn in turns:
        seen = list(turn)[: MOST_CALLS - len(traced)]
        traced += [_traced(x, results) for x in seen]
        for call in seen:
            results.add_of(call)
            if call.value is not None:
                shapes.setdefault(call.tool, []).append(shape_of_value(call.value))
    return ObservedRun(tuple(traced), {x: tuple(dict.fromkeys(y)) for x, y in shapes.items()})


def traced_step(
    tool: Any, arguments: Mapping[str, Any], places: Sequence[int | None], given: Sequence[Any]
) -> TracedCall:
    """A call whose arguments say themselves what they take of the results that it was `given`.

    `places` are those of the calls that gave them, None where it was something else.
    """
    sources: dict[str, tuple[int, str | None] | None] = {}
    for name, value in islice(_named(arguments), _MOST_PARAMETERS):
        used = (x for x in references_in(value) if x.result < len(places))
        first = next((x for x in used if places[x.result] is not None), None)
        place = None if first is None else places[first.result]
        sources[name] = None
        if first is not None and place is not None:
            sources[name] = place, field_of(given[first.result], first.path)
    return TracedCall(tool, sources)


def observed_plan(plan: Plan, tools: Sequence[Any], results: Iterable[Any]) -> ObservedRun:
    """What a plan teaches that was carried out; `tools` are those that its calls had."""
    given = list(results)
    calls = [
        TracedCall(x, dict(_planned(y, given))) for x, y in zip(tools, plan.calls, strict=True)
    ]
    shapes: dict[Any, list[Shape]] = {}
    for tool, value in zip(tools, given, strict=False):
        if value is not None:
            shapes.setdefault(tool, []).append(shape_of_value(value))
    seen = {x: tuple(dict.fromkeys(y)) for x, y in shapes.items()}
    return ObservedRun(tuple(calls[:MOST_CALLS]), seen)


def _planned(
    call: PlannedCall, given: Sequence[Any]
) -> Iterable[tuple[str, tuple[int, str | None] | None]]:
    for name, source in islice(_named(call.arguments), _MOST_PARAMETERS):
        used = next(used_in(source), None)
        yield name, None if used is None else (used.call, _general(used, given))


def _named(arguments: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    """Those whose name is none that a value has."""
    return ((x, y) for x, y in arguments.items() if not is_data(x))


def _general(source: FromResult, given: Sequence[Any]) -> str | None:
    """The field as it is in the result, where a name that was quoted may be a value."""
    if not source.field or len(source.field) > _MOST_PATH_CHARS:
        return None
    try:
        path = read_path(source.field)
    except BadStep:
        return None
    return field_of(given[source.call] if source.call < len(given) else None, path)


def _traced(call: SeenCall, results: _Origins) -> TracedCall:
    known = ((x, y) for x, y in call.arguments.items() if x in call.parameters)
    return TracedCall(
        call.tool,
        {name: results.origin_of(x, name) for name, x in islice(known, _MOST_PARAMETERS)},
    )


class _Origins(TracedResults):
    """The results of a run so far: where a value was first, and was not only repeated."""

    def __init__(self, request: str) -> None:
        super().__init__()
        self._request = request[:_MOST_REQUEST_CHARS].casefold()
        self._left = _MOST_PARTS
        self._values: list[Any] = []
        self._is_repeated: Callable[[Any], bool] = bool

    def add_of(self, call: SeenCall) -> None:
        """Take in the result of a call; what it only repeats comes from elsewhere."""
        given = {_key(x) for _, x in islice(parts_of(call.arguments), _MOST_PARTS_OF_ONE)} - {None}
        self._values.append(call.value)
        self._is_repeated = lambda x: _key(x) in given
        self.add(call.value, min(self._left, _MOST_PARTS_OF_ONE))

    def origin_of(self, value: Any, name: str) -> tuple[int, str | None] | None:
        """The call whose result an argument has a part of, and which; None where it was given."""
        if not _is_small(value):
            return None
        for reference in references_in(self.source_of(value, name)):
            return reference.result, self._field(reference)
        return None

    def _field(self, reference: Reference) -> str | None:
        """The path as planning has it; that only a part of a text was taken is not said."""
        return field_of(self._values[reference.result], reference.path)

    def source_of(self, value: Any, name: str) -> Any:
        """As with any results, but for what the request says."""
        return value if self._is_asked(value) else super().source_of(value, name)

    def _is_asked(self, value: Any) -> bool:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            return False
        said = str(value).strip().casefold()
        if not said or len(said) > _SEARCHED_CHARS:
            return False
        return bool(re.search(rf"(?<!\w){re.escape(said)}(?!\w)", self._request))

    def _take(self, part: Part) -> None:
        self._left -= 1
        key = _key(part.value)
        if key is None or self._is_repeated(part.value):
            return
        self._by_value.setdefault(key, []).append(part)
        if isinstance(part.value, str) and 0 < len(part.value) <= _SEARCHED_CHARS:
            self._texts.append(part)

    def _in_text(self, value: str | float) -> Any:
        is_short = not isinstance(value, str) or len(value) <= _SEARCHED_CHARS
        return super()._in_text(value) if is_short else None

    def _rank(self, name: str, part: Part) -> tuple[int, ...]:
        """The first that is called alike: who repeats it later has it from there."""
        near = affinity(name, part.at.path)
        return int(near >= LIKE_NAME), -part.at.result, near, -len(part.at.path)

    def _is_sure(self, value: Any, name: str, part: Part) -> bool:
        if is_telling(value):
            return True
        near = affinity(name, part.at.path)
        if near >= LIKE_NAME and is_id_name(name):
            return True
        is_text = isinstance(value, str) and len(value) >= _LEAST_CHARS
        return near >= SAME_NAME and is_text and value.casefold() not in _COMMON


def field_of(value: Any, path: Sequence[PathStep]) -> str | None:
    """A path in a result as planning has it, such as `orders[].id`; without keys that are data."""
    said = ""
    for step in path:
        if isinstance(step, int) or step is First.ITEM:
            said += "[]"
        elif isinstance(step, str | First):
            is_any = step is First.VALUE or is_data(str(step)) or holds_data(value)
            name = "{key}" if is_any else str(step)
            said += f".{name}" if said else name
        value = _at(value, step)
    return said if 0 < len(said) <= _MOST_PATH_CHARS else None


def _at(value: Any, step: PathStep) -> Any:
    """What stands there, or None: a person's path may be written for a result of another form."""
    try:
        return at_path(value, (step,), "")
    except NotInResult:
        return None


def _key(value: Any) -> Any:
    """Equal for equal values; None for what is not compared."""
    if not value or isinstance(value, bool) or not _is_small(value):
        return None
    return key_of_value(value)


def _is_small(value: Any) -> bool:
    """Whether it can be compared as a whole in no time."""
    if not isinstance(value, dict | list):
        return True
    chars = 0
    for count, (path, part) in enumerate(parts_of(value)):
        chars += len(part) if isinstance(part, str) else 0
        if count > _MOST_INSIDE or chars > _SEARCHED_CHARS or len(path) >= DEEPEST:
            return False
    return True
