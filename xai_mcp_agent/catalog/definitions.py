"""Function definitions of tools, and their tokens: made once for each version of a tool."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from dataclasses import dataclass

import anyio.lowlevel

from ..core.provider_schema import FunctionSpec, function_spec
from ..core.tools import Tool, ToolKey
from ..core.util import tokens_at_most

# Computed in a row, then others on the event loop get their turn.
_SECONDS_IN_A_ROW = 0.01
_LOOKED_UP_IN_A_ROW = 1_000  # to read the clock takes as long as to look one up
# `{"type":"function","function":...}` around each: measured with the estimate of the rest.
_FRAME_TOKENS = 5
# Several times the largest catalogs; tools may come and go for days.
_MOST_KEPT = 50_000


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """A tool as a model may be shown it, under its shown name.

    `tokens` is an estimate, rather too high than too low.
    """

    name: str
    tool: Tool
    function: FunctionSpec
    tokens: int


class Definitions:
    """The definitions of a bridge's tools. Used on its event loop."""

    def __init__(self) -> None:
        self._made: dict[tuple[ToolKey, str], ToolDefinition] = {}

    async def of(self, named: Iterable[tuple[str, Tool]]) -> tuple[ToolDefinition, ...]:
        """The definitions of these tools under their shown names, in the same order."""
        definitions: list[ToolDefinition] = []
        began = time.thread_time()
        for number, (name, tool) in enumerate(named):
            known = self._made.get((tool.key, name))
            looks_at_clock = number % _LOOKED_UP_IN_A_ROW == 0
            if known is None or known.tool is not tool:
                known, looks_at_clock = self._make(name, tool), True
            definitions.append(known)
            if looks_at_clock and time.thread_time() - began > _SECONDS_IN_A_ROW:
                await anyio.lowlevel.checkpoint()
                began = time.thread_time()
        return tuple(definitions)

    def _make(self, name: str, tool: Tool) -> ToolDefinition:
        made = self._made[tool.key, name] = definition_of(name, tool)
        if len(self._made) > _MOST_KEPT:
            del self._made[next(iter(self._made))]
        return made


def definition_of(name: str, tool: Tool) -> ToolDefinition:
    """The definition of a tool under a shown name."""
    return _counted(tool, function_spec(name, tool))


def definition_with(definition: ToolDefinition, function: FunctionSpec) -> ToolDefinition:
    """The definition of the same tool in other words."""
    return _counted(definition.tool, function)


def tokens_of(function: FunctionSpec) -> int:
    """About how many tokens a request takes to show it, natively or in text: rather too many."""
    parts = {x: getattr(function, x) for x in ("name", "description", "parameters")}
    text = json.dumps(parts, ensure_ascii=False, separators=(",", ":"))
    return _FRAME_TOKENS + tokens_at_most(text)


def _counted(tool: Tool, function: FunctionSpec) -> ToolDefinition:
    return ToolDefinition(function.name, tool, function, tokens_of(function))
