"""Requests to begin with: what somebody may say so that the tools at hand surely answer."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import date
from itertools import islice
from typing import Any

from ....core.provider_schema import FunctionSpec
from ....planning.careful.situation import Situation
from ....planning.plan import Given
from ....planning.planner import Planner
from ....planning.reading.parameters import Parameter, examples_in
from ....planning.reading.tools import WordedTool
from ....planning.reading.words import is_action, is_generic, plain_name, stem
from .planners import planner_of

_MOST = 3
_MOST_TRIED = 8  # tools, for requests that are surely understood
# Three values or more in a row: "such a unit: km, mile, lb and others".
_LISTED = re.compile(r":\s*((?:[\w\u00b0/]{1,12},\s*){2,}[\w\u00b0/]{1,12})")
_USUAL = ("zone", "datetime", "date", "time", "expression", "language")
# Values that stand for what a person would say, where the schema shows none.
_SAMPLES: dict[str, Any] = {
    "zone": "Europe/London", "url": "https://example.com", "email": "ada@example.com",
    "path": "/tmp/example.txt", "datetime": "2026-03-12T14:30", "date": "2026-03-12",
    "time": "14:30", "id": "A1", "place": "Paris", "person": "Ada", "language": "French",
    "expression": "2 + 3",
}  # fmt: skip


def ask_for(functions: Sequence[FunctionSpec]) -> str:
    """A line that names three requests, first those that are surely answered; empty without
    tools."""
    if not functions:
        return ""
    planner = planner_of(functions)
    tools = [planner.worded(x.name) for x in functions]
    shared = _shared_words(tools)
    requests = _each_once(_requests(planner, tools, shared), shared)
    found = [f'"{x}"' for x in islice(requests, _MOST)]
    return f"Ask for something like: {' or '.join(found)}.\n"


def example_request(tool: WordedTool, number: int = 0) -> str:
    """A request in plain words that the rules understand as a call of this tool.

    Another `number` is another request, where the tool's parameters list several values.
    """
    stated = [x for x in tool.parameters if x.is_wanted]
    if number:
        # What may be left away is what makes a difference where nothing else is said.
        stated += [x for x in tool.parameters if x.choices and not stated][:1]
    said = [f"{x.name}: {_sample(x, tool, number)}" for x in stated]
    name = plain_name(tool.name) or tool.name
    return f"{name}, {', '.join(said)}" if said else name


def _requests(
    planner: Planner, tools: Sequence[WordedTool], shared: Collection[str]
) -> Iterator[str]:
    """The best first: with values that the tools show, with any words, with values made up."""
    simple = [x for x in tools if _is_simple(x)]
    known = [x for x in simple if all(_is_shown(y, x) for y in x.required)][:_MOST_TRIED]
    adding = [x for x in tools if x.adds_things]
    searching = [x for x in simple if x.takes_any_words and x not in known][:_MOST_TRIED]
    yield from _understood(planner, [*known, *adding], shared)
    yield from _understood(planner, searching, shared)
    yield from _counting(planner, known)
    reading = [x for x in tools if not x.changes]
    yield from (example_request(x) for x in [*simple, *reading] or tools)


def _counting(planner: Planner, tools: Iterable[WordedTool]) -> Iterator[str]:
    """`How many orders are there?` of what is listed."""
    for tool in tools:
        _, is_list, things = plain_name(tool.name).partition("list ")
        request = f"How many {things} are there?"
        if is_list and not tool.required and _means(planner, request, tool):
            yield request


def _each_once(requests: Iterable[str], shared: Collection[str]) -> Iterator[str]:
    """The name of a server before those of its tools is nothing that makes a difference."""
    given = set[str]()
    for request in requests:
        first, _, rest = request.partition(" ")
        said = rest if first in shared else request
        if said not in given:
            given.add(said)
            yield request


def _understood(
    planner: Planner, tools: Sequence[WordedTool], shared: Collection[str]
) -> Iterator[str]:
    """Requests that are surely taken for calls of these tools."""
    for number in range(_MOST):
        for tool in tools:
            request = example_request(tool, number)
            first, _, rest = request.partition(" ")
            spoken = [rest, request] if first in shared else [request]
            yield from islice((x for x in spoken if _means(planner, x, tool)), 1)


def _shared_words(tools: Iterable[WordedTool]) -> set[str]:
    """Words with which several tools begin, and that are no verbs."""
    first = Counter(plain_name(x.name).partition(" ")[0] for x in tools)
    verbs = {x for x in first if is_action(stem(x)) or is_generic(stem(x))}
    return {x for x, count in first.items() if count > 1} - verbs


def _means(planner: Planner, request: str, tool: WordedTool) -> bool:
    calls = planner.plan(request, Situation(today=date.today())).calls
    is_its = [(x.tool, x.looks) for x in calls] == [(tool.key, False)]
    return is_its and all(isinstance(x, Given) for x in calls[0].arguments.values())


def _is_simple(tool: WordedTool) -> bool:
    return not tool.changes and all(x.kind not in ("array", "object") for x in tool.required)


def _is_shown(parameter: Parameter, tool: WordedTool) -> bool:
    """Whether a value is known that the tool surely takes."""
    has_values = parameter.choices or parameter.fallback is not None or parameter.is_number
    is_usual = parameter.topic in _USUAL
    return bool(has_values or is_usual or _values_shown(parameter, tool))


def _values_shown(parameter: Parameter, tool: WordedTool) -> list[Any]:
    listed = _LISTED.search(parameter.description)
    values = re.split(r",\s*", listed[1]) if listed else []
    return [*examples_in(tool.schema, parameter.name), *values]


def _sample(parameter: Parameter, tool: WordedTool, number: int = 0) -> str:
    values = [*_values_shown(parameter, tool), *parameter.choices, parameter.fallback]
    plain = [x for x in values if isinstance(x, str | int | float) and not isinstance(x, bool)]
    if plain:
        # The two ends of a pair differ, and others of those listed may not go together.
        at = int(parameter.direction == "to") if parameter.direction else number
        value = plain[min(at, len(plain) - 1)]
        return f"'{value}'" if isinstance(value, str) and " " in value else str(value)
    if parameter.kind == "boolean":
        return "yes"
    if parameter.is_number:
        return "3"
    return str(_SAMPLES.get(parameter.topic, "'something'"))
