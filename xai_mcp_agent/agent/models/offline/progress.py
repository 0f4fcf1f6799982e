"""How far a plan is: which calls have their results, which come next, what cannot be called.

Nothing is kept between turns. Each call is worked out anew from the conversation, and a result that
is there for it is its result.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Any

from ....core.json import JsonObject
from ....core.names import nearest
from ....planning.plan import FromResult, Given, Missing, Plan, PlannedCall
from ....planning.planner import Planner
from ....planning.reading.parameters import Parameter
from ....planning.reading.words import same_unit
from .conversation import Outcome
from .results import (
    PLAUSIBLE,
    SAME_FORM,
    SAME_NAME,
    data_in,
    field_in,
    found_id,
    main_items,
    value_for,
)

MOST_EACH = 5  # "Borrow them": this many are a request, more are an accident.
_EACH = re.compile(r"\b(?:them|these|those|each|all of|both|every)\b", re.IGNORECASE)
_SUGGESTED = re.compile(
    r"did you mean:? ['\"`\u2018\u201c]?([\w./+-]+(?:[ ]\w+)?)['\"`\u2019\u201d]", re.I
)
_SUGGESTED_BARE = re.compile(r"did you mean:? ([\w./+-]+)", re.IGNORECASE)
_ASKED = re.compile(r"did you mean:? (?P<rest>.{1,200})", re.IGNORECASE)
_WITH_NAME = re.compile(r"(?P<sign>[^\s,()]{1,12}) \((?P<name>[^()]{1,40})\)")
_AND = re.compile(r"\s*(?:,\s*(?:and\s+)?|\s+and\s+)\s*", re.IGNORECASE)
_LEAST_SAME = 0.8  # `gramms` and `gram`
_LISTED = re.compile(
    r"\b(?:one of|known|available|valid|allowed|supported|expected|registered|choose from|"
    r"possible|options)\b[^:\n]{0,40}:\s*([^\n]+)",
    re.IGNORECASE,
)
_LEAST_LIKENESS = 0.5  # `mils` and `mile` are 0.75 alike, `USD` and `\u00b5s` 0.4.
# What names a thing: after "create the branch x", "it" is x and not what the tool said.
_NAMING = frozenset({"name", "id", "path", "person", "place"})
# Kinds of values that hold for a whole conversation once they were said.
_LASTING = frozenset({"path"})


@dataclass(frozen=True, slots=True)
class NextCall:
    """A call to make now, and the words of the request it is for."""

    name: str
    arguments: JsonObject
    reason: str


@dataclass
class CallState:
    """A call of the plan and what is known of it; `missing` or `blocked_by` keep it from being
    made. `parameters` are those of its tool. `sought` is the name of what it looks up for another
    call, if it does."""

    call: PlannedCall
    parameters: tuple[Parameter, ...] = ()
    sought: str = ""
    outcomes: list[Outcome] = field(default_factory=list[Outcome])
    pending: list[NextCall] = field(default_factory=list[NextCall])
    missing: tuple[Parameter, ...] = ()
    blocked_by: PlannedCall | None = None
    is_waiting: bool = False

    @property
    def results(self) -> list[Outcome]:
        """What came back without an error."""
        return [x for x in self.outcomes if not x.is_error]

    @property
    def looked_up(self) -> str:
        """The name of what a call before this one searches for."""
        sources = self.call.arguments.values()
        return next((x.named for x in sources if isinstance(x, FromResult) and x.named), "")


def progress(
    plan: Plan, planner: Planner, outcomes: Sequence[Outcome], earlier: Sequence[Outcome]
) -> list[CallState]:
    """Where every call of the plan is. `earlier` are outcomes of earlier requests."""
    left, known = list(outcomes), [x for x in earlier if not x.is_error]
    states: list[CallState] = []
    for at, call in enumerate(plan.calls):
        # What searches for tools is none of those that are planned with.
        parameters = planner.worded(call.tool).parameters if call.tool in planner else ()
        state = CallState(call, parameters, _sought(plan, at))
        states.append(_state(state, states, left, known))
    return states


def _sought(plan: Plan, at: int) -> str:
    """The name of the thing that this call searches for, so that a later one gets its id."""
    sources = [x for call in plan.calls[at + 1 :] for x in call.arguments.values()]
    return next((x.named for x in sources if isinstance(x, FromResult) and x.call == at), "")


def _state(
    state: CallState, before: Sequence[CallState], left: list[Outcome], earlier: Sequence[Outcome]
) -> CallState:
    before = before[: state.call.after]
    if any(x.pending or x.is_waiting for x in before):
        state.is_waiting = True
        return state
    if state.call.looks and any(_has_answered(x) for x in before if x.call.said == state.call.said):
        return state
    calls, state.missing = _resolved(state, before, earlier)
    if state.missing:
        failed = [x for x in before if x.outcomes and not x.results]
        state.blocked_by = failed[-1].call if failed else None
    for arguments in calls:
        _settle(state, arguments, left)
    for arguments in _apart(state):
        _settle(state, arguments, left)
    return state


def _apart(state: CallState) -> list[JsonObject]:
    """Where nothing is called `Candide and Emma`: the same search for each of the two."""
    if not state.results or any(map(_found, state.outcomes)):
        return []
    given = state.outcomes[0].arguments
    names = [name for name, value in given.items() if value == state.sought]
    return [{**given, name: x} for name in names for x in names_apart(state.sought)]


def _found(outcome: Outcome) -> bool:
    return outcome.is_error or main_items(data_in(outcome.text)) != []


def _has_answered(state: CallState) -> bool:
    """Whether a call that was surely asked for gave more than an empty list."""
    found = (main_items(data_in(x.text)) for x in state.results)
    return not state.call.looks and any(x != [] for x in found)


def _settle(state: CallState, arguments: JsonObject, left: list[Outcome]) -> None:
    """Note the result of a call, or that it is to be made; an error may offer a mended one."""
    name = state.call.name
    outcome = _take(left, name, arguments)
    mended = _mended(state, arguments, outcome) if outcome and outcome.is_error else None
    if mended is not None:
        arguments, outcome = mended, _take(left, name, mended)
    if outcome:
        state.outcomes.append(outcome)
    else:
        state.pending.append(NextCall(name, arguments, state.call.said))


def _take(left: list[Outcome], name: str, arguments: JsonObject) -> Outcome | None:
    wanted = _canonical(arguments)
    for outcome in left:
        if outcome.name == name and _canonical(outcome.arguments) == wanted:
            left.remove(outcome)
            return outcome
    return None


def _canonical(arguments: JsonObject) -> str:
    return json.dumps(arguments, sort_keys=True, default=str)


# Values from earlier results


def _resolved(
    state: CallState, before: Sequence[CallState], earlier: Sequence[Outcome]
) -> tuple[list[JsonObject], tuple[Parameter, ...]]:
    """The call with every value in place, or the parameters that no value was found for.

    Several calls, where the words mean each of several things in a result.
    """
    results = _Results(state, before, earlier)
    complete: JsonObject = {
        name: x.value if isinstance(x, Given) else None for name, x in state.call.arguments.items()
    }
    lacking: list[Parameter] = []
    taken: list[Any] = []
    for parameter in state.parameters:
        source = state.call.arguments.get(parameter.name)
        if not isinstance(source, FromResult | Missing):
            continue
        found = results.value(parameter, source)
        if found is None and not parameter.required:
            del complete[parameter.name]
            continue
        # One value of a result cannot be both ends of a pair.
        if found is None or found in taken:
            lacking.append(parameter)
        complete[parameter.name] = found
        taken.append(found)
    return ([], tuple(lacking)) if lacking else (_each(complete), ())


@dataclass(frozen=True)
class _Results:
    """Where a call may take values from: the calls before it, then earlier requests."""

    state: CallState
    before: Sequence[CallState]
    earlier: Sequence[Outcome]

    def value(self, parameter: Parameter, source: FromResult | Missing) -> Any:
        """The value for a parameter, the nearest result first; None when there is none.

        Where the words do not refer to a result, a value of the same name counts, then what an
        earlier call was given, then a value of the same form.
        """
        refers = isinstance(source, FromResult)
        if refers and source.otherwise is not None:
            return self._field(parameter, source)
        if refers and source.named:
            return self._id(parameter, source.named)
        names = not refers or parameter.topic in _NAMING
        tries: list[Callable[[], Any]] = [
            lambda: self._result_before(parameter, SAME_NAME),
            lambda: self._said_before(parameter) if names else None,
            lambda: self._result_before(parameter, PLAUSIBLE if refers else SAME_FORM),
            lambda: self._result_earlier(parameter) if refers else None,
        ]
        return next((found for x in tries if (found := x()) is not None), None)

    def _id(self, parameter: Parameter, name: str) -> Any:
        """The id of what has that name; of each, where several names were looked for."""
        results = self.before[-1].results
        found = found_id(parameter, results[0].text, name) if results else None
        apart = list(zip(results[1:], names_apart(name), strict=False))
        if found is not None or not apart:
            return found
        each = [found_id(parameter, x.text, y) for x, y in apart]
        return None if None in each else _Each(tuple(dict.fromkeys(each)))

    def _result_before(self, parameter: Parameter, least: int) -> Any:
        for state in reversed(self.before):
            for outcome in state.results:
                found = self._in(outcome, parameter, state.call.said, least)
                if found is not None:
                    return found
        return None

    def _result_earlier(self, parameter: Parameter) -> Any:
        for outcome in reversed(self.earlier):
            if (found := self._in(outcome, parameter, "", PLAUSIBLE)) is not None:
                return found
        return None

    def _field(self, parameter: Parameter, source: FromResult) -> Any:
        """What `the title` means: a field of a result, or else the word itself."""
        results = [x for state in self.before for x in state.results] or list(self.earlier)
        for outcome in reversed(results):
            found = field_in(outcome.text, source.said, self.state.call.said)
            if found is not None:
                return str(found) if parameter.kind == "string" else found
        return source.otherwise

    def _in(self, outcome: Outcome, parameter: Parameter, said: str, least: int) -> Any:
        text = self.state.call.said
        if parameter.kind != "array" and _EACH.search(text):
            values = _values_of_each(outcome, parameter)
            if len(values) > 1:
                return _Each(tuple(values[:MOST_EACH]))
        return value_for(parameter, outcome.text, f"{text} {said}", least)

    def _said_before(self, parameter: Parameter) -> Any:
        """The same parameter as an earlier call was given."""
        for state in reversed(self.before):
            for outcome in state.outcomes:
                if parameter.name in outcome.arguments:
                    return outcome.arguments[parameter.name]
        for outcome in reversed(self.earlier if parameter.topic in _LASTING else []):
            if parameter.name in outcome.arguments:
                return outcome.arguments[parameter.name]
        return None


@dataclass(frozen=True, slots=True)
class _Each:
    """Several values for one parameter: a call for each."""

    values: tuple[Any, ...]


def _values_of_each(outcome: Outcome, parameter: Parameter) -> list[Any]:
    items = main_items(data_in(outcome.text)) or []
    found = [value_for(parameter, json.dumps(x, default=str), "", SAME_FORM) for x in items]
    return [x for x in found if x is not None]


def _each(arguments: JsonObject) -> list[JsonObject]:
    for name, value in arguments.items():
        if isinstance(value, _Each):
            return [{**arguments, name: x} for x in value.values]
    return [arguments]


def names_apart(text: str) -> list[str]:
    """The names in a text that may be one or several: `Candide and Emma`; else none."""
    found = [x for x in _AND.split(text) if x]
    are_names = all(x[0].isupper() for x in found) and len(found) <= MOST_EACH
    return found if len(found) > 1 and are_names else []


# Mending


def _mended(state: CallState, arguments: JsonObject, outcome: Outcome) -> JsonObject | None:
    """The same call with one value replaced by what the error offers, if it offers one."""
    for parameter in state.parameters:
        value = arguments.get(parameter.name)
        if isinstance(value, str) and value and value.lower() in outcome.error.lower():
            offered = _offered(outcome.error, value)
            is_same = offered is not None and _same_of(outcome.error, value) == offered
            if offered and offered != value and (is_same or _is_near(offered, value)):
                return {**arguments, parameter.name: offered}
    return None


def _is_near(offered: str, value: str) -> bool:
    """Whether a value may have been meant for what is offered; else it would be another wish."""
    return SequenceMatcher(None, offered.lower(), value.lower()).ratio() >= _LEAST_LIKENESS


def _same_of(error: str, value: str) -> str | None:
    """`km/h` of "mph (mile per hour) or km/h (kilometre per hour)" for `km per hour`."""
    asked = _ASKED.search(error)
    for found in _WITH_NAME.finditer(asked["rest"]) if asked else ():
        own, named = value.lower().split(), found["name"].lower().split()
        if len(own) == len(named) and all(
            same_unit(x, y) or SequenceMatcher(None, x, y).ratio() >= _LEAST_SAME
            for x, y in zip(own, named, strict=True)
        ):
            return found["sign"]
    return None


def _offered(error: str, value: str) -> str | None:
    if (alike := _same_of(error, value)) is not None:
        return alike
    suggested = _SUGGESTED.search(error) or _SUGGESTED_BARE.search(error)
    if suggested:
        return suggested[1].rstrip(".?,")
    listed = _LISTED.search(error)
    if not listed:
        return None
    names = [x.strip(" '\"`.[]()") for x in re.split(r",|\bor\b|\band\b|;", listed[1])]
    close = nearest(value, [x for x in names if x], count=1)
    return close[0] if close else None
