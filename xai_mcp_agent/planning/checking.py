"""A plan that a model or a person wrote, checked: names, parameters, values and references.

What is plainly meant is mended, and told among the plan's reasons. What cannot be is one of its
problems, and left to the wiring, which also fills what nobody wrote.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias, cast

from ..core.json import JsonObject, clipped
from ..core.names import did_you_mean
from ..core.schemas import properties
from ..core.tools import Tool
from .answers import (
    MOST_CALLS,
    Refers,
    Several,
    Told,
    Unknown,
    Written,
    WrittenCall,
    references,
    written_calls,
)
from .fits import fit
from .flows import Flows
from .mending import by_plain_name, fitted, nearest_sure, path_in, plain
from .plan import BadPlan, FromResult, Given, Missing, Parts, Plan, PlannedCall, Source, lacking
from .ports import Input, Output, ToolPorts

Wire: TypeAlias = Callable[[str, Sequence[Any]], Plan]

_SHOWN = 80  # characters of what is quoted
_CHECKED = "every name, parameter and reference was checked; look at it before it runs"
# What nobody may have thought up: where something is sent or taken from.
_ADDRESS = re.compile(r"\S@\S|://|^(?:[~/]|[A-Za-z]:\\|#?\+?\d{6,})")


@dataclass(slots=True)
class _Call:
    """A call of a tool that is there."""

    label: str
    ports: ToolPorts
    told: dict[str, Told]
    schema: JsonObject


@dataclass(slots=True)
class _Notes:
    """What was mended, and what could not be."""

    reasons: list[str] = field(default_factory=list[str])
    problems: list[str] = field(default_factory=list[str])


class Checker:
    """Checks plans against some tools; `wire` says how tools connect, `tool` gives one by key."""

    def __init__(self, flows: Flows, wire: Wire, tool: Callable[[Any], Tool | JsonObject]) -> None:
        self._flows, self._wire, self._tool = flows, wire, tool

    def checked(self, request: str, answer: Any) -> Plan:
        """The plan in a value of JSON.

        Raises:
            BadPlan: no call in it can be made.
        """
        written, more = written_calls(answer)
        notes = _Notes()
        if more:
            notes.problems.append(f"Only the first {MOST_CALLS} calls are planned: {more} more.")
        calls = _ordered(self._found(written, notes), notes)
        wired = self._wire(request, [x.ports.key for x in calls])
        checked = _Checked(self._flows, request, calls, wired, notes)
        planned = tuple(checked.calls())
        problems = (*notes.problems, *lacking(planned))
        return Plan(request, planned, problems, (_CHECKED, *notes.reasons), is_rough=False)

    def _found(self, written: Sequence[WrittenCall], notes: _Notes) -> list[_Call]:
        names = _Names(self._flows)
        found: list[_Call] = []
        for number, one in enumerate(written, 1):
            key = names.meant(one.tool)
            if key is None:
                shown = one.tool[:_SHOWN]
                hint = did_you_mean(shown, names.all)
                notes.problems.append(
                    f"Call {number} is left out: no tool is called {shown!r}. {hint}".rstrip()
                )
                continue
            ports = self._flows.ports(key)
            if one.tool not in (str(key), ports.name):
                notes.reasons.append(f"{one.tool[:_SHOWN]!r} was read as the tool {key}")
            found.append(_Call(one.label, ports, dict(one.arguments), _schema(self._tool(key))))
        if not found:
            raise BadPlan(f"It names no tool that is there. {notes.problems[-1]}")
        return found


class _Names:
    """The tools by what they may be called."""

    def __init__(self, flows: Flows) -> None:
        self._by_key = {str(x): x for x in flows}
        self._by_name: dict[str, list[Any]] = {}
        for key in flows:
            self._by_name.setdefault(flows.ports(key).name, []).append(key)

    @property
    def all(self) -> Iterable[str]:
        """All keys as texts."""
        return self._by_key

    def meant(self, name: str) -> Any | None:
        """The key of the tool that is meant; None where that is not clear."""
        if name in self._by_key:
            return self._by_key[name]
        if name in self._by_name:
            return self._only(name)
        if (found := nearest_sure(name, self._plain_keys)) is not None:
            return self._by_key[found]
        found = nearest_sure(name, self._plain_names)
        return None if found is None else self._only(found)

    @cached_property
    def _plain_keys(self) -> dict[str, str]:
        return by_plain_name(self._by_key)

    @cached_property
    def _plain_names(self) -> dict[str, str]:
        return by_plain_name(self._by_name)

    def _only(self, name: str) -> Any | None:
        keys = self._by_name[name]
        return keys[0] if len(keys) == 1 else None


def _ordered(calls: Sequence[_Call], notes: _Notes) -> list[_Call]:
    """In their order, but each behind those whose results it uses, where that can be."""
    labels = {x.label for x in calls}
    waiting, placed = list(calls), list[_Call]()
    while waiting:
        known = {x.label for x in placed}
        ready = next((x for x in waiting if _uses(x) & labels <= known), None)
        chosen = ready or waiting[0]
        if ready is None:
            notes.problems.append(f"{chosen.ports.name} and others use each other's results.")
        waiting.remove(chosen)
        placed.append(chosen)
    if placed != list(calls):
        names = ", ".join(x.ports.name for x in placed)
        notes.reasons.append(f"called in another order, as results are used: {names}")
    return placed


def _uses(call: _Call) -> set[str]:
    used = {x.label for told in call.told.values() for x in references(told)}
    return used - {call.label}


@dataclass(slots=True)
class _Checked:
    """The arguments of calls that are in their order."""

    flows: Flows
    request: str
    called: Sequence[_Call]
    wired: Plan
    notes: _Notes

    def calls(self) -> Iterator[PlannedCall]:
        """The calls as they are planned."""
        for number, (call, wired) in enumerate(zip(self.called, self.wired.calls, strict=True)):
            yield replace(wired, arguments=self._arguments(number, call, wired.arguments))

    def _arguments(
        self, number: int, call: _Call, wired: Mapping[str, Source]
    ) -> dict[str, Source]:
        found: dict[str, Source] = {}
        for name, told in self._named(number, call).items():
            own = wired.get(name)
            source, why = self._source(number, call, name, told, own)
            is_wired = own is not None and not isinstance(own, Missing)
            if why and is_wired and source is own:
                self._reason(number, f"{why}; {_told(own)} is taken")
            elif why:
                self._problem(number, why)
            if source is not None:
                found[name] = source
        for inp in call.ports.required:
            if inp.name not in found and inp.name in wired:
                found[inp.name] = wired[inp.name]
        order = [x.name for x in call.ports.inputs]
        return {x: found[x] for x in dict.fromkeys((*order, *found)) if x in found}

    def _named(self, number: int, call: _Call) -> dict[str, Told]:
        """What is written, by the parameters that are meant."""
        known = {*properties(call.schema), *call.ports.by_name}
        if not known and call.schema.get("additionalProperties", True) is not False:
            return call.told
        found = {name: x for name, x in call.told.items() if name in known}
        left = by_plain_name(known - found.keys())
        for name, told in call.told.items():
            if name in known:
                continue
            meant = nearest_sure(name, left) or _same_words(name, left)
            if meant is None or meant in found:
                self._reason(number, f"{name[:_SHOWN]!r} is left out: it takes no such parameter")
            else:
                found[meant] = told
                self._reason(number, f"{name[:_SHOWN]!r} was read as {meant!r}")
        return found

    def _source(
        self, number: int, call: _Call, name: str, told: Told, wired: Source | None
    ) -> tuple[Source | None, str]:
        """What an argument is, and what is wrong with what is written; then it is what is wired."""
        if isinstance(told, Refers):
            return self._reference(number, call, name, told)
        if isinstance(told, Several):
            return self._several(number, call, name, told)
        if isinstance(told, Unknown):
            inp = call.ports.by_name.get(name)
            left = f"{name!r} was left open: {told.told[:_SHOWN]!r}"
            return (wired, left) if inp is not None and inp.is_required else (None, "")
        return self._value(number, call, name, told, wired)

    def _value(
        self, number: int, call: _Call, name: str, told: Written, wired: Source | None
    ) -> tuple[Source | None, str]:
        spec = properties(call.schema).get(name, {})
        value, problem = fitted(told.value, spec, call.schema)
        if problem:
            return wired, f"{name!r} cannot be {_quoted(told.value)}: {problem}"
        if value != told.value or type(value) is not type(told.value):
            self._reason(number, f"{name!r} was read as {_quoted(value)}")
        if _is_said(value, self.request) or _shows(spec, value):
            return Given(value), ""
        inp = call.ports.by_name.get(name)
        if (inp is None or not inp.is_opaque) and not _is_address(value):
            return Given(value, ("the request does not say it so",)), ""
        why = f"{name!r} is {_quoted(value)}, which the request does not say"
        if isinstance(wired, FromResult) or (isinstance(wired, Given) and not _is_address(value)):
            return wired, why
        return Given(value, ("the request does not say it",)), f"{why}: see whether it is right"

    def _several(
        self, number: int, call: _Call, name: str, told: Several
    ) -> tuple[Source | None, str]:
        """A list of values and of what is taken from results."""
        parts: list[Source] = []
        for one in told.parts:
            if isinstance(one, Written):
                said = () if _is_said(one.value, self.request) else ("the request does not say it",)
                parts.append(Given(one.value, said))
                continue
            source, why = self._reference(number, call, name, one)
            if why or source is None:
                return source, why
            parts.append(source)
        return Parts(tuple(parts)), ""

    def _reference(
        self, number: int, call: _Call, name: str, told: Refers
    ) -> tuple[Source | None, str]:
        labels = [x.label for x in self.called]
        earlier = labels.index(told.label) if told.label in labels else None
        if earlier is None or earlier >= number:
            why = "there is no such call" if earlier is None else "it comes no earlier"
            return self.wired.calls[number].arguments.get(name), (
                f"{name!r} cannot come from call {told.label}: {why}"
            )
        inp, producer = call.ports.by_name.get(name), self.called[earlier].ports
        outputs = producer.outputs
        out = _output(told.field, outputs)
        if out is None and told.field and any(x.path and not x.is_implied for x in outputs):
            out = self._best(producer, call.ports, inp, outputs)
            where = f"its {out.path!r}" if out else "all of it"
            self._reason(
                number, f"call {earlier + 1} gives no {told.field[:_SHOWN]!r}: {where} is taken"
            )
            return _from(earlier, out.path if out else "", out, inp), ""
        return _from(earlier, out.path if out else path_in(told.field), out, inp), ""

    def _best(
        self, producer: ToolPorts, consumer: ToolPorts, inp: Input | None, outputs: Sequence[Output]
    ) -> Output | None:
        if inp is None:
            return None
        found = [
            (flow.score, out) for out in outputs
            if (flow := self.flows.flow(producer, out, consumer, inp)) and out.path
        ]  # fmt: skip
        return max(found, key=lambda x: x[0])[1] if found else None

    def _reason(self, number: int, text: str) -> None:
        self.notes.reasons.append(f"{self._place(number)}: {text}")

    def _problem(self, number: int, text: str) -> None:
        self.notes.problems.append(f"{self._place(number)}: {text}.")

    def _place(self, number: int) -> str:
        return f"Call {number + 1}, {self.called[number].ports.name}"


def _from(call: int, path: str, out: Output | None, inp: Input | None) -> FromResult:
    fitting = fit(out.shape, inp.shape) if out is not None and inp is not None else None
    said = () if fitting is None or fitting.score else ("what it gives does not look like it",)
    return FromResult(call, path or None, fitting.conversion if fitting else "", 1.0, said)


def _output(written: str, outputs: Sequence[Output]) -> Output | None:
    """The output that a path means: as it stands, or by its last name where only one has it."""
    path = path_in(written)
    if not path:
        return None
    by_path = {x.path: x for x in outputs if x.path}
    if path in by_path:
        return by_path[path]
    same = [x for x in by_path if plain(x.replace("[]", "")) == plain(path.replace("[]", ""))]
    last = plain(re.split(r"[.\[\]]+", path.rstrip("[]."))[-1])
    alike = same or [x for x in by_path if plain(re.split(r"[.\[\]]+", x)[-1]) == last]
    return by_path[alike[0]] if len(alike) == 1 else None


def _same_words(name: str, known: Mapping[str, str]) -> str | None:
    """The only one whose words are among those of a name, or the other way: `order`, `order_id`."""
    said = {*plain(name).split("_")}
    words = {x: {*one.split("_")} for one, x in known.items()}
    found = [x for x, of in words.items() if of <= said or said <= of]
    return found[0] if len(found) == 1 else None


def _told(source: Source | None) -> str:
    match source:
        case Given(value):
            return _quoted(value)
        case FromResult(call, field):
            return f"what call {call + 1} gives" + (f" as {field!r}" if field else "")
        case _:
            return "nothing"


def _is_said(value: Any, request: str) -> bool:
    """Whether the request has each plain value of it, as it stands there."""
    said = " ".join(request.casefold().split())
    leaves = list(_leaves(value))
    return bool(leaves) and all(" ".join(str(x).casefold().split()) in said for x in leaves)


def _shows(spec: JsonObject, value: Any) -> bool:
    """Whether the schema itself has it: as one of few, or as what is taken without it."""
    if isinstance(value, bool) or value is None:
        return True
    shown = [spec.get("default"), spec.get("const")]
    choices = spec.get("enum")
    return value in shown or (isinstance(choices, list) and value in choices)


def _is_address(value: Any) -> bool:
    return any(isinstance(x, str) and _ADDRESS.search(x) for x in _leaves(value))


def _leaves(value: Any) -> Iterator[Any]:
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one
        elif one is not None:
            yield one


def _quoted(value: Any) -> str:
    text = repr(value)
    return clipped(text, _SHOWN)


def _schema(tool: Tool | JsonObject) -> JsonObject:
    found = tool.input_schema if isinstance(tool, Tool) else tool.get("input_schema")
    return cast(JsonObject, found) if isinstance(found, dict) else {}
