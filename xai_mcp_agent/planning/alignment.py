"""Which step of a request asks for which of some tools that are in the order of the steps."""

from __future__ import annotations

from collections.abc import Sequence

from ..search.terms import root
from .flows import Flows
from .ports import ToolPorts
from .steps import Request, Step

# In the measure of rarity, where a word that few tools have says about 5: to tell between equals.
_NEXT_STEP, _OUT_OF_PLACE = 2.0, 1.0
_IN_DESCRIPTION = 0.5  # against a word in a tool's name


def aligned(flows: Flows, request: Request, tools: Sequence[ToolPorts]) -> list[Step | None]:
    """The step of each tool: the best fit that keeps the order; a step may have several."""
    steps = request.steps
    if not steps:
        return [None] * len(tools)
    best = [0.0] * len(steps)
    came_from: list[list[int]] = []
    for number, tool in enumerate(tools):
        said = [
            _said(flows, tool, step) - _OUT_OF_PLACE * abs((n + 0.5) / len(steps) - at)
            for n, step in enumerate(steps)
            for at in [(number + 0.5) / len(tools)]
        ]
        best, places = _reached(best, said, is_first=not number)
        came_from.append(places)
    at = max(range(len(steps)), key=lambda n: best[n])
    chosen: list[Step | None] = []
    for places in reversed(came_from):
        chosen.append(steps[at])
        at = places[at]
    return chosen[::-1]


def _reached(
    best: Sequence[float], said: Sequence[float], *, is_first: bool
) -> tuple[list[float], list[int]]:
    """The best sums up to each step with one tool more, and the steps of the tool before it."""
    sums, places, place = [0.0] * len(best), [0] * len(best), 0
    for n, own in enumerate(said):
        goes_on = best[place] + (0.0 if is_first or not n else _NEXT_STEP)
        places[n] = n if best[n] > goes_on else place
        sums[n] = max(best[n], goes_on) + own
        place = n if best[n] > best[place] else place
    return sums, places


def _said(flows: Flows, tool: ToolPorts, step: Step) -> float:
    named = {root(x) for x in tool.name_words}
    about = {root(x) for x in tool.about}
    return sum(
        flows.rarity(x) * (1.0 if root(x) in named else _IN_DESCRIPTION)
        for x in step.words
        if root(x) in named or root(x) in about
    )
