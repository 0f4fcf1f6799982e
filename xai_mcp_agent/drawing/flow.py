"""Draws calls as a workflow: a node for each, a wire where a result is used."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..steps.references import (
    VALUE_PLACEHOLDER,
    Reference,
    Step,
    references_in,
    step_text,
    with_results,
)
from .components import ComponentClass
from .nodes import Node, OutPort
from .workflow import LiteralNode, Workflow

_STEP = "MCPToolStep"
_NOTE_COLUMNS = 34
_NOTE_LINES = 6  # its beginning says what to do
_LONGEST_LITERAL = 500  # characters of a call beside its node; a longer one is in the port


@dataclass(frozen=True, slots=True)
class CallToDraw:
    """Call of one tool for a workflow; its `note` stands above it.

    `arguments` are JSON that may contain a `Reference`, `Joined` or `Number` anywhere; the `result`
    of a reference is the position of an earlier call, from 0. `missing` are parameters without a
    value, each with the reason.
    """

    source: str
    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    missing: Mapping[str, str] = field(default_factory=dict[str, str])
    note: str = ""

    @property
    def name(self) -> str:
        """Return the readable name of the tool."""
        return f"{self.source}/{self.tool}"


def draw(
    name: str,
    calls: Sequence[CallToDraw],
    classes: Mapping[str, ComponentClass],
    before: Sequence[tuple[str, Mapping[str, Any]]] = (),
) -> Workflow:
    """Return the workflow that makes these calls in order, and returns the last result.

    `before` are nodes that come first, by class name with their inputs.

    Raises:
        ValueError: a call uses the result of a later one.
    """
    flow = Workflow(name, classes)
    nodes = [flow.node(x, **inputs) for x, inputs in before]
    steps: list[Node] = []
    for call in calls:
        steps.append(_step(flow, call, steps))
    flow.main(*nodes, *steps)
    if steps:
        flow.outputs(steps[-1]["text"])
    return flow


def _step(flow: Workflow, call: CallToDraw, steps: Sequence[Node]) -> Node:
    """Add the node of a call, wired to earlier steps and to literals for missing values."""
    producers = [y.result for x in call.arguments.values() for y in references_in(x)]
    if any(not 0 <= x < len(steps) for x in producers):
        raise ValueError(
            f"Call {len(steps) + 1}, {call.name}, uses the result of call {max(producers) + 1}, "
            "which does not come before it. Put the calls in another order."
        )
    places = {result: place for place, result in enumerate(dict.fromkeys(producers))}
    arguments = {name: with_results(x, places.__getitem__) for name, x in call.arguments.items()}
    arguments |= {x: Reference(n) for n, x in enumerate(call.missing, len(places))}
    text = step_text(Step(call.source, call.tool, arguments))
    results: list[OutPort | LiteralNode] = [steps[x]["result"] for x in places]
    results += [LiteralNode(VALUE_PLACEHOLDER) for _ in call.missing]
    call_text = text if len(text) > _LONGEST_LITERAL else LiteralNode(text)
    step = flow.node(_STEP, results=results, call=call_text)
    notes = [f"{parameter}: {why}" for parameter, why in call.missing.items()]
    if call.note:
        notes.append(call.note)
    if notes:
        title = "You must give" if call.missing else "Note"
        flow.note(title, "\n".join(map(note_text, notes)), above=step)
    return step


def note_text(text: str) -> str:
    """Return a text for a comment: short lines, HTML escaped."""
    plain = " ".join(html.escape(text.replace("`", "'"), quote=False).split())
    return "\n".join(textwrap.wrap(plain, _NOTE_COLUMNS, max_lines=_NOTE_LINES, placeholder=" ..."))
