"""`tool_search` and `tool_explain`: their definitions and their answers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, TypeAlias

from ..catalog.definitions import ToolDefinition
from ..core.json import JsonObject
from ..core.names import join_names
from ..core.results import TextPart, ToolResult
from ..core.schemas import short_signature
from ..core.tools import META, Tool, ToolAnnotations, ToolKey
from .shortening import first_sentence

DEFAULT_RESULTS, MAX_RESULTS = 5, 20
_SENTENCE_CHARS, _SIGNATURE_CHARS = 120, 160
_MAX_SERVERS = 20

TOOL_SEARCH = Tool(
    key=ToolKey(META.name, "", "tool_search"),
    description=(
        "Finds tools of yours that are not listed here. Describe in a few words what one step "
        "needs, such as `create a calendar event`; search again for the next step rather than for "
        "the whole task. You can call the tools it finds from your next turn on, by name."
    ),
    input_schema={
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "What one tool should do."},
            "max_results": {"type": "integer", "default": DEFAULT_RESULTS},
        },
        "required": ["query"],
    },
    annotations=ToolAnnotations(read_only=True),
)  # fmt: skip

TOOL_EXPLAIN = Tool(
    key=ToolKey(META.name, "", "tool_explain"),
    description="Shows everything about one tool: its parameters, and an example call.",
    input_schema={
        "type": "object",
        "properties": {"tool": {"type": "string", "description": "Its name."}},
        "required": ["tool"],
    },
    annotations=ToolAnnotations(read_only=True),
)

META_TOOLS = (TOOL_SEARCH, TOOL_EXPLAIN)
_KEYS = frozenset(x.key for x in META_TOOLS)


Hits: TypeAlias = Sequence[tuple[ToolDefinition, float]]
"""Tools that a search returned, with their scores, the best first."""


def is_meta_tool(key: ToolKey) -> bool:
    """Return whether it is one of the two."""
    return key in _KEYS


def names_in(structured: JsonObject | None) -> list[str]:
    """Return the shown names in an answer of one of the two."""
    return [x["name"] for x in (structured or {}).get("tools", ())]


def search_answer(hits: Hits, servers: Sequence[str], executor: str = "") -> ToolResult:
    """Return the answer of `tool_search`: a line for each tool, the best first.

    `executor` is the tool that calls them, if the model cannot call them directly.
    """
    if not hits:
        return ToolResult.of_text(_nothing(servers))
    how = f"Call them with `{executor}`, by" if executor else "Call them by"
    text = "\n".join([*(tool_line(x) for x, _ in hits), f"{how} these names."])
    tools = [
        {"name": x.name, "server": x.tool.source, "score": round(score, 3)} for x, score in hits
    ]
    return ToolResult((TextPart(text),), structured={"tools": tools})


def explain_answer(
    definition: ToolDefinition, example: JsonObject, executor: str = ""
) -> ToolResult:
    """Return the answer of `tool_explain`: the definition and a call. See `search_answer`."""
    function = definition.function
    name = executor or function.name
    arguments = {"tool": function.name, "arguments": example} if executor else example
    whole: dict[str, Any] = {
        "name": function.name,
        "server": definition.tool.source,
        "description": function.description,
        "parameters": function.parameters,
    }
    call = f"Example: {name} {json.dumps(arguments, ensure_ascii=False)}"
    text = f"{json.dumps(whole, ensure_ascii=False)}\n{call}"
    return ToolResult((TextPart(text),), structured={"tools": [{"name": function.name}]})


def unknown_answer(problem: str, hits: Hits) -> ToolResult:
    """Return the answer of `tool_explain` for an unknown tool: the tools that may be meant."""
    lines = [problem, *(tool_line(x) for x, _ in hits)]
    return ToolResult((TextPart("\n".join(lines)),), is_error=True)


def tool_line(definition: ToolDefinition) -> str:
    """Return a tool in one line for a model: its parameters, purpose and server."""
    function, source = definition.function, definition.tool.source
    parameters = short_signature(function.parameters, _SIGNATURE_CHARS)
    purpose = first_sentence(function.description, _SENTENCE_CHARS)
    line = f"{function.name}({parameters}){f' - {purpose}' if purpose else ''}"
    return " ".join((f"{line} [{source}]" if source else line).split())


def _nothing(servers: Sequence[str]) -> str:
    names = join_names(servers, _MAX_SERVERS)
    owners = f" The tools belong to: {names}." if names else ""
    return f"No tool matches this query. Try other words.{owners}"
