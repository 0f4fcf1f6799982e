"""Draws calls as a workflow: a node for each, a wire where a result is used."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..steps.references import Joined, Number, Reference, Step, references_in, step_text
from .calls import DrawnCall
from .components import ComponentClass
from .nodes import Node, Output
from .workflow import Shown, Workflow

STEP, GIVE = "MCPToolStep", "MCPGiveValue"

_NOTE_COLUMNS = 34
_NOTE_LINES = 6  # more is cut: what it begins with says what to do
_LONGEST_SHOWN = 500  # characters of a call beside its node; a longer one is in the port


def draw(
    name: str,
    calls: Sequence[DrawnCall],
    classes: Mapping[str, ComponentClass],
    before: Sequence[tuple[str, Mapping[str, Any]]] = (),
) -> Workflow:
    """The workflow that makes these calls, one after another, and gives the last result.

    `before` are nodes that come first, by class name with their inputs.

    Raises:
        ValueError: a call uses the result of one that does not come before it.
    """
    flow = Workflow(name, classes)
    drawing = _Drawing(flow, [flow.node(x, **inputs) for x, inputs in before])
    for number, call in enumerate(calls):
        _check(number, call)
        drawing.add(call)
    flow.main_in_rows(*drawing.nodes)
    if drawing.steps:
        flow.outputs(drawing.steps[-1]["text"])
    return flow


@dataclass
class _Drawing:
    """A workflow that grows by a call at a time. `nodes` is its flow so far."""

    flow: Workflow
    nodes: list[Node]
    steps: list[Node] = field(default_factory=list[Node])

    def add(self, call: DrawnCall) -> None:
        """Draw a call after the others, with a wire from each whose result it uses."""
        wires: dict[Any, Output] = {}
        for value in call.arguments.values():
            for used in references_in(value):
                wires.setdefault(used.result, self.steps[used.result]["result"])
        places = {used: place for place, used in enumerate(wires)}
        arguments = {name: placed(x, places) for name, x in call.arguments.items()}
        for parameter, why in call.missing.items():
            arguments[parameter] = Reference(len(wires))
            wires[parameter] = self._to_be_given(call, parameter, why)["out"]
        text = step_text(Step(call.source, call.tool, arguments))
        shown = text if len(text) > _LONGEST_SHOWN else Shown(text)
        wired = {"results": list(wires.values())} if wires else {}
        step = self.flow.node(STEP, **wired, call=shown)
        if call.note:
            self._note("Note", call.note, step)
        self.steps.append(step)
        self.nodes.append(step)

    def _to_be_given(self, call: DrawnCall, parameter: str, why: str) -> Node:
        node = self.flow.node(GIVE)
        self.flow.leave_open(node, "value")
        self._note("You must give", f"{parameter} of {call.name}. {why}", node)
        self.nodes.append(node)
        return node

    def _note(self, title: str, text: str, above: Node) -> None:
        self.flow.note(title, note_text(text), above=above)


def placed(value: Any, places: Mapping[int, int]) -> Any:
    """An argument with the places of wires instead of those of calls."""
    match value:
        case Reference():
            return replace(value, result=places[value.result])
        case Number(of):
            return Number(replace(of, result=places[of.result]))
        case Joined(parts):
            return Joined(tuple(placed(x, places) for x in parts))
        case dict():
            return {name: placed(x, places) for name, x in _items(value)}
        case list():
            return [placed(x, places) for x in _list(value)]
        case _:
            return value


def note_text(text: str) -> str:
    """A text as a comment shows it: in short lines, and no HTML, wherever it comes from."""
    plain = " ".join(html.escape(text.replace("`", "'"), quote=False).split())
    return "\n".join(textwrap.wrap(plain, _NOTE_COLUMNS, max_lines=_NOTE_LINES, placeholder=" ..."))


def _items(value: Any) -> list[tuple[str, Any]]:
    return list(value.items())


def _list(value: Any) -> list[Any]:
    return list(value)


def _check(number: int, call: DrawnCall) -> None:
    used = [y.result for x in call.arguments.values() for y in references_in(x)]
    if any(not 0 <= x < number for x in used):
        raise ValueError(
            f"Call {number + 1}, {call.name}, uses the result of call {max(used) + 1}, which does "
            "not come before it. Put the calls in another order."
        )
