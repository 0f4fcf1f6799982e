"""Checks before any call is made whether calls are connected correctly.

It uses names and shapes alone: what a tool does not declare is not a problem.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..core.json import json_type
from ..search.terms import root
from .flows import Flow, Flows
from .plan import FromResult, Missing, Parts, Source, Value
from .schema_ports import (
    ID_WORDS,
    MAX_INPUTS,
    MAX_OUTPUTS,
    Input,
    Output,
    Shape,
    ToolPorts,
    fit,
)

_SURE = 0.45  # score from which a supplier is worth naming
_MOST_TOLD = 2
_PLACE = re.compile(r"\[\d+\]")
_LEVELS = 5  # depth of a result that is known


@dataclass(frozen=True, slots=True)
class WiredCall:
    """Call as somebody connected it.

    Without a `tool` its schema is unknown. If it `is_open`, not all arguments are known; a None is
    an argument from an unknown source.
    """

    tool: Any | None
    arguments: Mapping[str, Source | None]
    is_open: bool = False


@dataclass(frozen=True, slots=True)
class WireProblem:
    """Why a call, by its position from 0, cannot be made as connected.

    `remedies` name suppliers of what is missing, the best first; `suppliers` are their keys.
    """

    call: int
    parameter: str
    problem: str
    remedies: tuple[str, ...] = ()
    suppliers: tuple[Any, ...] = ()


class WireCheck:
    """Checks calls against the schemas of their tools."""

    def __init__(self, flows: Flows, calls: Sequence[WiredCall]) -> None:
        self._flows, self._calls = flows, calls

    def problems(self) -> Iterator[WireProblem]:
        """Yield the problems, by call and parameter."""
        for number, call in enumerate(self._calls):
            if call.tool is not None and call.tool in self._flows:
                yield from self._of_call(number, call, self._flows.ports(call.tool))

    def _of_call(self, number: int, call: WiredCall, ports: ToolPorts) -> Iterator[WireProblem]:
        is_whole = 0 < len(ports.inputs) < MAX_INPUTS
        for name, source in call.arguments.items():
            inp = ports.by_name.get(name)
            if inp is None and is_whole:
                names = ", ".join(x.name for x in ports.inputs[:8])
                yield WireProblem(
                    number, name, f"{ports.name} takes no {name!r}", (f"it takes {names}",)
                )
            if source is not None and (problem := self._of_source(number, name, source, inp)):
                yield self._with_remedies(number, ports, name, problem)
        for inp in () if call.is_open else ports.required:
            if inp.name not in call.arguments:
                problem = f"{ports.name} needs {inp.name!r}, and nothing is given"
                yield self._with_remedies(number, ports, inp.name, problem)

    def _of_source(self, number: int, name: str, source: Source, inp: Input | None) -> str:
        """Return the problem of a source, or ""."""
        match source:
            case Missing():
                return f"{name!r} has no value"
            case Value(value):
                return _misfit("the value", Shape((json_type(value),)), inp)
            case FromResult():
                return self._of_result(number, name, source, inp)
            case Parts(parts):  # the conversion changes the type
                wrong = (self._of_source(number, name, x, None) for x in parts)
                return next((x for x in wrong if x), "")

    def _of_result(self, number: int, name: str, source: FromResult, inp: Input | None) -> str:
        if not 0 <= source.call < number:
            return f"{name!r} is taken from call {source.call + 1}, which comes no earlier"
        key = self._calls[source.call].tool
        if key is None or key not in self._flows:
            return ""
        producer, path = self._flows.ports(key), _PLACE.sub("[]", source.field or "")
        outputs = producer.outputs
        outputs = [x for x in outputs if x.path and not x.is_implied]
        if not outputs or not path or len(outputs) >= MAX_OUTPUTS:
            return ""
        if not _is_there(path, outputs):
            return f"the output of {producer.name} has no {path!r}"
        out = next((x for x in outputs if x.path == path), None)
        return _misfit(f"{path!r} of {producer.name}", out.shape, inp) if out else ""

    def _with_remedies(self, number: int, ports: ToolPorts, name: str, problem: str) -> WireProblem:
        inp = ports.by_name.get(name)
        flows = [] if inp is None else [*self._earlier(number, ports, inp)]
        remedies = [
            f"{flow.field or 'result'!r} of call {call + 1}, {self._name(flow)}, fits"
            for call, flow in flows[:_MOST_TOLD]
        ]
        suppliers = [x for _, x in flows[:_MOST_TOLD]]
        if inp is not None and not flows:
            used = {x.tool for x in self._calls}
            others = [x for x in self._flows.producers(ports, inp) if x.score >= _SURE]
            suppliers = self._about_it([x for x in others if x.producer not in used], inp)
            remedies = [f"{self._name(x)} gives one" + _where(x) for x in suppliers]
        return WireProblem(
            number, name, problem, tuple(remedies), tuple(x.producer for x in suppliers)
        )

    def _earlier(self, number: int, ports: ToolPorts, inp: Input) -> Iterator[tuple[int, Flow]]:
        """Yield earlier calls that supply it, the best first."""
        flows: list[tuple[int, Flow]] = []
        for place, call in enumerate(self._calls[:number]):
            if call.tool is None or call.tool not in self._flows or call.tool == ports.key:
                continue
            if flow := self._flows.best(self._flows.ports(call.tool), ports, inp):
                flows.append((place, flow))
        yield from (x for x in sorted(flows, key=lambda x: -x[1].score) if x[1].score >= _SURE)

    def _about_it(self, flows: Sequence[Flow], inp: Input) -> list[Flow]:
        """Return the best few; among equals, first those with the same name."""
        names = {root(x) for x in inp.words if x not in ID_WORDS}

        def named(flow: Flow) -> int:
            return len(names & {root(x) for x in self._flows.ports(flow.producer).name_words})

        return sorted(flows, key=lambda x: (-round(x.score, 1), -named(x)))[:_MOST_TOLD]

    def _name(self, flow: Flow) -> str:
        return self._flows.ports(flow.producer).name


def _where(flow: Flow) -> str:
    return f", as {flow.field!r}" if flow.field else ""


def _is_there(path: str, outputs: Sequence[Output]) -> bool:
    """Return whether a path may lead to something: undeclared content may have it."""
    if path.count(".") + path.count("[]") >= _LEVELS:
        return True
    for out in outputs:
        if out.path == path or out.path.startswith((f"{path}.", f"{path}[")):
            return True
        is_below = path.startswith((f"{out.path}.", f"{out.path}["))
        # The content is not declared, or is JSON in a text.
        is_unknown = out.shape.is_open or "string" in (*out.shape.kinds, *out.shape.items)
        if is_below and (is_unknown or path == f"{out.path}[]"):
            return True
    return False


def _misfit(what: str, shape: Shape, inp: Input | None) -> str:
    if inp is None or fit(shape, inp.shape).score > 0:
        return ""
    return f"{what} is {_called(shape)}, and {inp.name!r} takes {_called(inp.shape)}"


def _called(shape: Shape) -> str:
    names = {"array": "a list", "object": "an object", "integer": "a whole number",
             "number": "a number", "string": "a text", "boolean": "true or false",
             "null": "nothing"}  # fmt: skip
    return names.get(shape.kinds[0], "something else") if shape.kinds else "something else"
