"""What the steps of a workflow teach: which were called, and what came from where.

It stands in each call where its arguments come from, so nothing is looked for, and no value kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from ..bridge.faces import Bridge
from ..bridge.operations import Operations
from ..core.tools import MCP, STATIC, ToolKey
from ..planning.observed import MOST_CALLS, ObservedRun, TracedCall, traced_step
from ..planning.shapes import Shape, shape_of_value
from ..steps.references import CANVAS_SOURCE, Step


class StepTrace:
    """The steps of one run of a workflow, used in its thread; told at its end, if all went well."""

    def __init__(self) -> None:
        self._calls: list[TracedCall] = []
        self._shapes: dict[ToolKey, tuple[Shape, ...]] = {}
        self._has_failed = False

    def add(
        self, bridge: Bridge, step: Step, before: int, places: Sequence[int | None],
        given: Sequence[Any], value: Any,
    ) -> None:  # fmt: skip
        """A step was made; `places` are those of the steps whose results it was `given`.

        So many steps came before it in the workflow's run as are known here, or it teaches nothing:
        they were made over another bridge.
        """
        key = _key_of(bridge, step)
        if before != len(self._calls) < MOST_CALLS:
            self.fail()
        elif len(self._calls) < MOST_CALLS:
            self._calls.append(traced_step(key, step.arguments, places, given))
            seen = (*self._shapes.get(key, ()), shape_of_value(value))
            self._shapes[key] = tuple(dict.fromkeys(seen))

    def fail(self) -> None:
        """A step failed: what was before it is no way to do anything."""
        self._has_failed = True

    def teach(self, bridge: Bridge) -> None:
        """Have the bridge learn it, once. Returns at once."""
        calls, self._calls = self._calls, []
        if calls and not self._has_failed:
            with suppress(RuntimeError):  # the bridge is closed
                bridge.submit(Operations.learn_steps, ObservedRun(tuple(calls), self._shapes))


def _key_of(bridge: Bridge, step: Step) -> ToolKey:
    kind = bridge.settings.kind_of(step.source)
    if step.source == CANVAS_SOURCE and kind is None:
        return ToolKey(STATIC.name, "", step.tool)
    return ToolKey((kind or MCP).name, step.source, step.tool)
