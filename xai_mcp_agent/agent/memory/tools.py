"""The memory of an agent as tools: one looks notes up, one makes them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from typing import Any

import anyio.to_thread

from ...core.calls import ToolInvocation
from ...core.errors import XaiMcpError
from ...core.json import JsonObject
from ...core.results import ToolResult
from ...core.tools import META, Tool, ToolAnnotations, ToolKey
from ..toolsets import FixedToolset
from .notes import Memory, MemoryFailed

_DEFAULT_COUNT = 3
_MAX_COUNT = 20
_SUMMARY_CHARS = 2000

LOOKUP_MEMORY = Tool(
    key=ToolKey(META.name, "", "lookup_memory"),
    description=(
        "Looks up what you remember: finds earlier notes by what they are about. "
        "Use it before you say that you do not know something about the user or earlier work."
    ),
    input_schema={
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "What to recall, in a few words."},
            "count": {
                "type": "integer", "minimum": 1, "maximum": _MAX_COUNT, "default": _DEFAULT_COUNT,
                "description": "The most notes to give back.",
            },
        },
        "required": ["query"],
    },
    annotations=ToolAnnotations(read_only=True),
)  # fmt: skip

CREATE_MEMORY = Tool(
    key=ToolKey(META.name, "", "create_memory"),
    description=(
        "Remembers a new note for the future. `summary` says what it is about, and is what "
        "lookup_memory finds it by; further fields may hold anything else worth keeping."
    ),
    input_schema={
        "type": "object",
        "properties": {
            "summary": {"type": "string", "description": "What the note says, in a sentence."}
        },
        "required": ["summary"],
        "additionalProperties": True,
    },
    annotations=ToolAnnotations(read_only=False, destructive=False),
)

MEMORY_TOOLS = (LOOKUP_MEMORY, CREATE_MEMORY)


class MemoryToolset(FixedToolset):
    """The memory tools of one agent."""

    _tools = MEMORY_TOOLS

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    async def call(self, invocation: ToolInvocation) -> ToolResult:
        """Ask the memory in a thread: it may ask a service, and the loop has others to serve."""
        tool = LOOKUP_MEMORY if invocation.tool.key == LOOKUP_MEMORY.key else CREATE_MEMORY
        ask = partial(answer_memory_call, self._memory, tool, invocation.arguments)
        return await anyio.to_thread.run_sync(ask)


def answer_memory_call(memory: Memory, tool: Tool, arguments: JsonObject) -> ToolResult:
    """Answer a call of one of `MEMORY_TOOLS`. May take as long as the memory does.

    Raises:
        XaiMcpError: the memory failed; the message is meant for the model.
    """
    try:
        if tool is LOOKUP_MEMORY:
            count = int(arguments.get("count") or _DEFAULT_COUNT)
            return _notes_result(memory.query(str(arguments["query"]), count))
        summary = str(arguments["summary"])[:_SUMMARY_CHARS]
        memory.add("", summary, arguments)
    except XaiMcpError:
        raise
    except Exception as cause:
        # A memory may be anyone's code or service; the model should read its error.
        raise MemoryFailed(f"The memory failed: {type(cause).__name__}: {cause}") from cause
    return ToolResult.of_text(f"Remembered: {summary}")


def _notes_result(notes: Sequence[Any]) -> ToolResult:
    if not notes:
        return ToolResult.of_text("Nothing is remembered about this.")
    contents = [_content_of(getattr(x, "attributes", x)) for x in notes]
    return ToolResult.of_text(json.dumps(contents, ensure_ascii=False, default=str))


def _content_of(attributes: Any) -> Any:
    """Return the remembered value; a note with only a summary gives that text."""
    match attributes:
        case {"summary": summary, **others} if not others:
            return summary
        case _:
            return attributes
