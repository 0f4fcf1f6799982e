"""Tools drawn on the canvas: a chain of nodes that starts at AgentDefineTool."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from ..core.json import JsonObject
from ..core.results import ToolResult
from ..core.tools import STATIC, Tool, ToolKey
from .results import result_of

CANVAS = ""
"""The source name of the canvas: drawn tools keep their own names without a prefix."""

DRAWN_TIMEOUT_SECONDS = 600.0  # an agent with a slow model may run in it

# Not required: many drawn tools need no input, such as one that returns the time.
_TEXT_INPUT: JsonObject = {
    "type": "object",
    "properties": {"input": {"type": "string", "description": "What the tool should work on."}},
}


@dataclass(frozen=True)
class DrawnTool:
    """A drawn tool. `run` gets the run's `ctx`, the input as text, and as a dict if it is one.

    It keeps no `ctx` of its own: everything that a run keeps alive must end with the run. It must
    be called from the thread that runs the workflow, because nodes support nothing else.
    `parameters` is a JSON Schema, or `{"city": "string"}` for short; without it the tool takes one
    text. A call is given up after `timeout_seconds`.
    """

    name: str
    description: str
    run: Callable[[Any, str, JsonObject | None], Any]
    parameters: Mapping[str, Any] | None = None
    timeout_seconds: float = DRAWN_TIMEOUT_SECONDS

    def tool(self) -> Tool:
        """Return the definition, in the same form as for every other tool."""
        schema = _TEXT_INPUT if not self.parameters else _schema_of(self.parameters)
        return Tool(ToolKey(STATIC.name, CANVAS, self.name), self.description, schema)

    def call(self, ctx: Any, arguments: JsonObject) -> ToolResult:
        """Run the drawn nodes once. Their exceptions pass through."""
        if self.parameters:
            text = json.dumps(arguments, ensure_ascii=False)
            return result_of(self.run(ctx, text, arguments))
        # A model may take argument names from the description, as in workflows of xai-agent: the
        # nodes then get all its arguments instead of an empty text.
        value = arguments.get("input", arguments or "")
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        return result_of(self.run(ctx, text, _object_in(text)))


def drawn_tools(standard_tools: Mapping[str, Any]) -> dict[str, DrawnTool]:
    """Return the drawn tools of a toolbelt spec; a plain Python callable counts as one, too."""
    return {name: _as_drawn_tool(name, tool) for name, tool in standard_tools.items()}


def _as_drawn_tool(name: str, tool: Any) -> DrawnTool:
    if isinstance(tool, DrawnTool):
        return tool
    description = str(getattr(tool, "description", None) or getattr(tool, "__doc__", None) or "")
    return DrawnTool(name, description, lambda _ctx, text, _arguments: tool(text))


def _schema_of(parameters: Mapping[str, Any]) -> JsonObject:
    if isinstance(parameters.get("properties"), dict):
        return {"type": "object", **parameters}
    properties = {name: _parameter(spec) for name, spec in parameters.items()}
    return {"type": "object", "properties": properties, "required": list(properties)}


def _parameter(spec: Any) -> JsonObject:
    if isinstance(spec, dict):
        return cast(JsonObject, spec)
    kinds = {"str": "string", "int": "integer", "float": "number", "bool": "boolean"}
    kinds |= {"list": "array", "dict": "object"}
    kind = kinds.get(str(spec), str(spec))
    types = {"string", "integer", "number", "boolean", "array", "object"}
    return {"type": kind} if kind in types else {"type": "string", "description": str(spec)}


def _object_in(text: str) -> JsonObject | None:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return cast(JsonObject, value) if isinstance(value, dict) else None
