"""Tool results as the model reads them: honest, short enough, and nothing of them lost."""

from __future__ import annotations

import json

from ..core.errors import InvalidArguments
from ..core.results import TextPart, ToolResult
from ..core.schemas import SchemaCheck, signature
from ..core.tools import JsonObject, Tool, ToolKey

# About 8,000 tokens: room for several such results in the smallest current context windows.
MAX_RESULT_CHARS = 32_000
# The beginning tells what it is, the end how it came out; errors and totals stand last.
_HEAD_SHARE = 0.7
_PAGE_CHARS = 24_000
_NOTHING = "The tool ran and gave back nothing."

READ_RESULT = Tool(
    key=ToolKey("", "read_result"),
    description=(
        "Reads more of a tool result that was too long to be shown whole. "
        "`result_id` and the positions stand where the text was left out."
    ),
    input_schema={
        "type": "object",
        "properties": {
            "result_id": {"type": "string"},
            "start": {"type": "integer", "minimum": 0, "description": "First character to read."},
        },
        "required": ["result_id", "start"],
    },
)
"""Offered to the model once there is something for it to read."""


class KeptResults:
    """The whole texts of results that were shown in part, for the length of one run.

    `tool_name` is what the model calls `READ_RESULT` by; set it to another name where a tool
    of a person or a server has that one. `is_offered` is False where a person switched it off.
    """

    def __init__(self) -> None:
        self.tool_name = READ_RESULT.name
        self.is_offered = True
        self._texts: dict[str, str] = {}
        self._check = SchemaCheck(READ_RESULT.input_schema)

    def __bool__(self) -> bool:
        return bool(self._texts) and self.is_offered

    def shown(self, call_id: str, result: ToolResult) -> str:
        """The text for the model: whole, or its head and tail and how to read the rest."""
        text = _text_for_model(result)
        if len(text) <= MAX_RESULT_CHARS:
            return text
        self._texts[call_id] = text
        head = int(MAX_RESULT_CHARS * _HEAD_SHARE)
        tail = len(text) - (MAX_RESULT_CHARS - head)
        how = f'. Read them with {self.tool_name}: {{"result_id": "{call_id}", "start": {head}}}'
        gap = (
            f"\n[... characters {head} to {tail} of {len(text)} are left out here"
            f"{how if self.is_offered else ''} ...]\n"
        )
        return text[:head] + gap + text[tail:]

    def read(self, arguments: JsonObject) -> ToolResult:
        """Answer a call of `READ_RESULT`.

        Raises:
            InvalidArguments: they do not fit; the model should read why.
        """
        schema = READ_RESULT.input_schema
        if problems := self._check.problems(arguments):
            raise InvalidArguments(self.tool_name, problems, signature(schema))
        text, start = self._texts.get(arguments["result_id"]), int(arguments["start"])
        if text is None:
            kept = ", ".join(self._texts)
            return ToolResult.of_text(f"No such result. There are: {kept}.", is_error=True)
        if start >= len(text):
            words = f"The result has only {len(text)} characters."
            return ToolResult.of_text(words, is_error=True)
        page = text[start : start + _PAGE_CHARS]
        left = max(len(text) - start - len(page), 0)
        end = start + len(page)
        more = f"\n[... {left} more characters from {end} on ...]" if left else ""
        return ToolResult.of_text(page + more)


def _text_for_model(result: ToolResult) -> str:
    text = result.text
    has_words = any(isinstance(part, TextPart) and part.text for part in result.parts)
    if result.structured is not None and result.parts and not has_words:
        data = json.dumps(result.structured, ensure_ascii=False, default=str)
        text = f"{text}\n{data}".strip()
    nothing = "The tool failed without saying why." if result.is_error else _NOTHING
    text = "\n".join([text or nothing, *(f"[note: {note}]" for note in result.notes)])
    # Said in the text, because a tool message has no mark of its own for it.
    return f"ERROR: {text}" if result.is_error and not text.startswith("ERROR") else text
