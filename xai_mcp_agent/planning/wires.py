"""Check of connected calls before any is made, by names and shapes alone.

It reports nothing that a tool does not declare.
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
from .schema_ports import MAX_INPUTS, MAX_LEVELS, MAX_OUTPUTS, Input, Output, ToolPorts
from .shapes import Shape, fit
from .vocabulary import ID_WORDS

_SURE = 0.45  # score from which a supplier is worth naming
_MOST_REMEDIES = 2
_PLACE = re.compile(r"\[\d+\]")


@dataclass(frozen=True, slots=True)
class WiredCall:
    """Call as it is connected.

    Without a `tool` its schema is unknown. If it `is_open`, it has more arguments; None is a source
    that is unknown.
    """

    tool: Any | None
    arguments: Mapping[str, Source | None]
    is_open: bool = False


@dataclass(frozen=True, slots=True)
class WireProblem:
    """Why a call, by its position from 0, cannot be made as connected.

    `remedies` name suppliers of the argument, the best first; `suppliers` are their keys.
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
                problem = f"{ports.name} needs {inp.name!r}, which has no value"
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
                problems = (self._of_source(number, name, x, None) for x in parts)
                return next((x for x in problems if x), "")

    def _of_result(self, number: int, name: str, source: FromResult, inp: Input | None) -> str:
        if not 0 <= source.call < number:
            return f"{name!r} is from call {source.call + 1}, which does not come before it"
        key = self._calls[source.call].tool
        if key is None or key not in self._flows:
            return ""
        producer, path = self._flows.ports(key), _PLACE.sub("[]", source.field or "")
        outputs = [x for x in producer.outputs if x.path and not x.is_implied]
        if not outputs or not path or len(outputs) >= MAX_OUTPUTS:
            return ""
        if not _may_exist(path, outputs):
            return f"the output of {producer.name} has no {path!r}"
        out = next((x for x in outputs if x.path == path), None)
        return _misfit(f"{path!r} of {producer.name}", out.shape, inp) if out else ""

    def _with_remedies(self, number: int, ports: ToolPorts, name: str, problem: str) -> WireProblem:
        inp = ports.by_name.get(name)
        flows = self._earlier(number, ports, inp) if inp else []
        suppliers = [x for _, x in flows[:_MOST_REMEDIES]]
        remedies = [
            f"{flow.field or 'result'!r} of call {call + 1}, {self._name(flow)}, fits"
            for call, flow in flows[:_MOST_REMEDIES]
        ]
        if inp and not flows:
            suppliers = self._new_suppliers(ports, inp)
            remedies = [f"{self._name(x)} gives one" + _as_field(x) for x in suppliers]
        keys = tuple(x.producer for x in suppliers)
        return WireProblem(number, name, problem, tuple(remedies), keys)

    def _earlier(self, number: int, ports: ToolPorts, inp: Input) -> list[tuple[int, Flow]]:
        """Return the earlier calls that supply an input, the best first."""
        flows: list[tuple[int, Flow]] = []
        for place, call in enumerate(self._calls[:number]):
            if call.tool is None or call.tool not in self._flows or call.tool == ports.key:
                continue
            flow = self._flows.best(self._flows.ports(call.tool), ports, inp)
            if flow and flow.score >= _SURE:
                flows.append((place, flow))
        return sorted(flows, key=lambda x: -x[1].score)

    def _new_suppliers(self, ports: ToolPorts, inp: Input) -> list[Flow]:
        """Return the best suppliers without a call; among equals, the same name comes first."""
        called = {x.tool for x in self._calls}
        flows = [
            x
            for x in self._flows.producers(ports, inp)
            if x.score >= _SURE and x.producer not in called
        ]
        names = {root(x) for x in inp.words if x not in ID_WORDS}

        def shared_names(flow: Flow) -> int:
            return len(names & {root(x) for x in self._flows.ports(flow.producer).name_words})

        flows.sort(key=lambda x: (-round(x.score, 1), -shared_names(x)))
        return flows[:_MOST_REMEDIES]

    def _name(self, flow: Flow) -> str:
        return self._flows.ports(flow.producer).name


def _as_field(flow: Flow) -> str:
    return f", as {flow.field!r}" if flow.field else ""


def _may_exist(path: str, outputs: Sequence[Output]) -> bool:
    """Return whether a path may lead to something: undeclared content may have it."""
    if path.count(".") + path.count("[]") >= MAX_LEVELS:  # deeper levels are not read
        return True
    for out in outputs:
        if out.path == path or out.path.startswith((f"{path}.", f"{path}[")):
            return True
        is_inside = path.startswith((f"{out.path}.", f"{out.path}["))
        # The content is undeclared, or may be JSON in a text.
        is_unknown = out.shape.is_open or "string" in (*out.shape.kinds, *out.shape.items)
        if is_inside and (is_unknown or path == f"{out.path}[]"):
            return True
    return False


def _misfit(subject: str, shape: Shape, inp: Input | None) -> str:
    if inp is None or fit(shape, inp.shape).score > 0:
        return ""
    return f"{subject} is {_type_name(shape)}, and {inp.name!r} takes {_type_name(inp.shape)}"


def _type_name(shape: Shape) -> str:
    names = {"array": "a list", "object": "an object", "integer": "a whole number",
             "number": "a number", "string": "a text", "boolean": "true or false",
             "null": "nothing"}  # fmt: skip
    return names.get(shape.kinds[0], "something else") if shape.kinds else "something else"
