"""Tool results as the model reads them, and pages of the results that it reads in part."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence

from ..core.calls import ToolInvocation
from ..core.results import TextPart, ToolResult
from ..core.tools import META, Tool, ToolKey
from ..core.visible import count_hidden, visible
from .toolsets import Toolset

# About 8,000 tokens: room for several such results in the smallest current context windows.
MAX_RESULT_CHARS = 32_000
# Of all results of one turn; less if the model's window is small.
MAX_TURN_CHARS = 4 * MAX_RESULT_CHARS
# The beginning says what it is, the end how it came out; errors and totals are at the end.
_HEAD_SHARE = 0.7
_PAGE_SHARE = 0.75  # of the most that a result may have: a page is not cut itself
_ID_CHARS = 12
NO_REASON = "The tool failed without saying why."

READ_RESULT = Tool(
    key=ToolKey(META.name, "", "read_result"),
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
_READERS = (READ_RESULT,)


class ResultPages(Toolset):
    """Whole texts of the results that the model reads in part, and the tool to read them with.

    The tool is available once there is something to read. `usable_name` returns the model's name
    for it, or an empty text if the model may not call it. `texts` come from a resumed run, by the
    ids that the model reads them by.
    """

    def __init__(
        self, usable_name: Callable[[ToolKey], str], texts: Mapping[str, str] | None = None
    ) -> None:
        self.texts: Mapping[str, str] = dict(texts or {})
        self._usable_name = usable_name
        self.turn_chars = MAX_TURN_CHARS  # limit on the results of one turn together

    @property
    def reader(self) -> str:
        """The model's name for the tool; empty if the model may not call it."""
        return self._usable_name(READ_RESULT.key)

    async def tools(self) -> Sequence[Tool]:
        """Return the reading tool, once there is something to read."""
        return _READERS if self.texts else ()

    def initial_tools(self) -> Sequence[Tool]:
        """Return the reading tool."""
        return _READERS

    def show(self, results: Sequence[ToolResult]) -> list[str]:
        """Return the texts of one turn's results: whole, or head, tail and how to read on."""
        texts = [text_of_result(x) for x in results]
        limit = int(min(even_limit(map(len, texts), self.turn_chars), MAX_RESULT_CHARS))
        self.keep({id_of(x): x for x in texts if len(x) > limit})
        return [_without_hidden(excerpt(x, limit, self.reader)) for x in texts]

    def keep(self, texts: Mapping[str, str]) -> None:
        """Make these texts readable too, by their ids."""
        if not texts.keys() <= self.texts.keys():
            self.texts = {**self.texts, **texts}

    async def call(self, invocation: ToolInvocation) -> ToolResult:
        """Return a page of a text."""
        id_, start = invocation.arguments["result_id"], int(invocation.arguments["start"])
        text = self.texts.get(id_)
        if text is None:
            ids = ", ".join(self.texts)
            return ToolResult.of_text(f"No such result. There are: {ids}.", is_error=True)
        if start >= len(text):
            problem = f"The result has only {len(text)} characters."
            return ToolResult.of_text(problem, is_error=True)
        page_chars = int(min(self.turn_chars, MAX_RESULT_CHARS) * _PAGE_SHARE)
        end = min(start + page_chars, len(text))
        rest = len(text) - end
        more = f"\n[... {rest} more characters from {end} on ...]" if rest else ""
        return ToolResult.of_text(text[start:end] + more)


def id_of(text: str) -> str:
    """Return the id that a text is read by; many services reuse the ids of calls."""
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return f"result-{digest[:_ID_CHARS]}"


def excerpt(text: str, max_chars: int, reader: str) -> str:
    """Return a text's head and tail, and how to read the rest with the tool `reader`, if any."""
    if len(text) <= max_chars:
        return text
    head = int(max_chars * _HEAD_SHARE)
    tail = len(text) - (max_chars - head)
    how = f'. Read them with {reader}: {{"result_id": "{id_of(text)}", "start": {head}}}'
    gap = (
        f"\n[... characters {head} to {tail} of {len(text)} are left out here"
        f"{how if reader else ''} ...]\n"
    )
    return text[:head] + gap + text[tail:]


def even_limit(sizes: Iterable[int], total: float) -> float:
    """Return the limit per size that keeps the sum within the total."""
    ascending = sorted(sizes)
    for n, size in enumerate(ascending):
        count = len(ascending) - n
        if size * count > total:
            return total / count
        total -= size
    return math.inf


def _without_hidden(text: str) -> str:
    """Return the text as a person would see it, without invisible characters for the model."""
    count = count_hidden(text)
    note = f"\n[note: {count:,} invisible characters are left out]" if count else ""
    return visible(text) + note


def text_of_result(result: ToolResult) -> str:
    """Return a result as the model reads it: its text or data, its notes, and any failure."""
    text = result.text
    has_words = any(isinstance(part, TextPart) and part.text for part in result.parts)
    if result.structured is not None and result.parts and not has_words:
        data = json.dumps(result.structured, ensure_ascii=False, default=str)
        text = f"{text}\n{data}".strip()
    if not text:
        text = NO_REASON if result.is_error else "The tool ran and returned nothing."
    text = "\n".join([text, *(f"[note: {note}]" for note in result.notes)])
    # In the text, because a tool message has no field for it.
    return f"ERROR: {text}" if result.is_error and not text.startswith("ERROR") else text
