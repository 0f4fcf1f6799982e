"""Function definitions of tools with their tokens, cached for each version of a tool."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from dataclasses import dataclass, field

import anyio.lowlevel

from ..core.provider_schema import FunctionSpec, function_spec
from ..core.tools import Tool, ToolKey
from ..core.util import tokens_at_most

# Time after which the event loop gets its turn.
_SECONDS_IN_A_ROW = 0.01
_LOOKUPS_IN_A_ROW = 1_000  # reading the clock takes as long as a lookup
# Tokens of `{"type":"function","function":...}` around each, by the same estimate.
_FRAME_TOKENS = 5
# Several times the largest catalogs; tools may come and go for days.
_MOST_DEFINITIONS = 50_000


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """Definition of a tool under its shown name, for a model.

    `tokens` is an estimate, rather too high than too low.
    """

    tool: Tool
    function: FunctionSpec
    tokens: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "tokens", tokens_of(self.function))

    @property
    def name(self) -> str:
        """The shown name."""
        return self.function.name


class Definitions:
    """Definitions of a bridge's tools, used on its event loop."""

    def __init__(self) -> None:
        self._definitions: dict[tuple[ToolKey, str], ToolDefinition] = {}

    async def of(self, tools: Iterable[tuple[str, Tool]]) -> tuple[ToolDefinition, ...]:
        """Return the definitions of these tools under their shown names, in the same order."""
        definitions: list[ToolDefinition] = []
        began = time.thread_time()
        for number, (name, tool) in enumerate(tools):
            definition = self._definitions.get((tool.key, name))
            looks_at_clock = number % _LOOKUPS_IN_A_ROW == 0
            if definition is None or definition.tool is not tool:
                definition, looks_at_clock = self._make(name, tool), True
            definitions.append(definition)
            if looks_at_clock and time.thread_time() - began > _SECONDS_IN_A_ROW:
                await anyio.lowlevel.checkpoint()
                began = time.thread_time()
        return tuple(definitions)

    def _make(self, name: str, tool: Tool) -> ToolDefinition:
        definition = ToolDefinition(tool, function_spec(name, tool))
        self._definitions[tool.key, name] = definition
        if len(self._definitions) > _MOST_DEFINITIONS:
            del self._definitions[next(iter(self._definitions))]
        return definition


def tokens_of(function: FunctionSpec) -> int:
    """Estimate the tokens of a function in a request, native or as text; rather too many."""
    parts = {x: getattr(function, x) for x in ("name", "description", "parameters")}
    text = json.dumps(parts, ensure_ascii=False, separators=(",", ":"))
    return _FRAME_TOKENS + tokens_at_most(text)
