"""Tool results as the model reads them: honest, short enough, and nothing of them lost."""

from __future__ import annotations

import json

from ..core.results import ToolResult
from ..core.tools import JsonObject, Tool, ToolKey

# About 8,000 tokens: room for several such results in the smallest current context windows.
MAX_RESULT_CHARS = 32_000
# The beginning tells what it is, the end how it came out; errors and totals stand last.
_HEAD_SHARE = 0.7
_PAGE_CHARS = 24_000

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
    """The whole texts of results that were shown in part, for the length of one run."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def __bool__(self) -> bool:
        return bool(self._texts)

    def shown(self, call_id: str, result: ToolResult) -> str:
        """The text for the model: whole, or its head and tail and how to read the rest."""
        text = _text_for_model(result)
        if len(text) <= MAX_RESULT_CHARS:
            return text
        self._texts[call_id] = text
        head = int(MAX_RESULT_CHARS * _HEAD_SHARE)
        tail = len(text) - (MAX_RESULT_CHARS - head)
        gap = (
            f"\n[... characters {head} to {tail} of {len(text)} are left out here. Read them with "
            f'{READ_RESULT.name}: {{"result_id": "{call_id}", "start": {head}}} ...]\n'
        )
        return text[:head] + gap + text[tail:]

    def read(self, arguments: JsonObject) -> ToolResult:
        """Answer a call of `READ_RESULT`."""
        text = self._texts.get(str(arguments.get("result_id")))
        if text is None:
            kept = ", ".join(self._texts)
            return ToolResult.of_text(f"No such result. There are: {kept}.", is_error=True)
        start = int(arguments["start"])
        page = text[start : start + _PAGE_CHARS]
        left = max(len(text) - start - len(page), 0)
        end = start + len(page)
        more = f"\n[... {left} more characters from {end} on ...]" if left else ""
        return ToolResult.of_text(page + more)


def _text_for_model(result: ToolResult) -> str:
    text = result.text
    if not text and not result.is_error:
        text = "The tool ran and gave back nothing."
    if result.structured is not None and not result.parts:
        text = json.dumps(result.structured, ensure_ascii=False)
    text = "\n".join([text, *(f"[note: {note}]" for note in result.notes)])
    # Said in the text, because a tool message has no mark of its own for it.
    return f"ERROR: {text}" if result.is_error and not text.startswith("ERROR") else text
