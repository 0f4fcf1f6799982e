"""Tool results as the model reads them, and pages of those that were shown in part."""

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
# Of all results of one turn; less where the model's window is small.
MAX_TURN_CHARS = 4 * MAX_RESULT_CHARS
# The beginning tells what it is, the end how it came out; errors and totals stand last.
_HEAD_SHARE = 0.7
_PAGE_CHARS = 24_000
_ID_CHARS = 12

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
    """Whole texts of results that were shown in part, and the tool to read them with.

    The tool is there once there is something to read. `usable_name` gives what the model calls
    it by; empty where it may not be called. `texts` are those of a run that goes on, by the
    ids that the model reads them by.
    """

    def __init__(
        self, usable_name: Callable[[ToolKey], str], texts: Mapping[str, str] | None = None
    ) -> None:
        self.texts: Mapping[str, str] = dict(texts or {})
        self._usable_name = usable_name
        self.turn_chars = MAX_TURN_CHARS  # the most that the results of one turn take together

    @property
    def reader(self) -> str:
        """What the model calls the tool by; empty where it may not be called."""
        return self._usable_name(READ_RESULT.key)

    async def tools(self) -> Sequence[Tool]:
        """The one to read with, once there is something for it to read."""
        return _READERS if self.texts else ()

    def known(self) -> Sequence[Tool]:
        """The one to read with."""
        return _READERS

    def shown(self, results: Sequence[ToolResult]) -> list[str]:
        """The texts of one turn's results: whole, or their heads and tails and how to read on."""
        texts = [text_of_result(x) for x in results]
        most = int(min(evenly(map(len, texts), self.turn_chars), MAX_RESULT_CHARS))
        self.keep({id_of(x): x for x in texts if len(x) > most})
        return [_seen(excerpt(x, most, self.reader)) for x in texts]

    def keep(self, texts: Mapping[str, str]) -> None:
        """Have these texts read, too, by their ids."""
        if not texts.keys() <= self.texts.keys():
            self.texts = {**self.texts, **texts}

    async def call(self, invocation: ToolInvocation) -> ToolResult:
        """A page of a text."""
        id_, start = invocation.arguments["result_id"], int(invocation.arguments["start"])
        text = self.texts.get(id_)
        if text is None:
            ids = ", ".join(self.texts)
            return ToolResult.of_text(f"No such result. There are: {ids}.", is_error=True)
        if start >= len(text):
            words = f"The result has only {len(text)} characters."
            return ToolResult.of_text(words, is_error=True)
        end = min(start + _PAGE_CHARS, len(text))
        left = len(text) - end
        more = f"\n[... {left} more characters from {end} on ...]" if left else ""
        return ToolResult.of_text(text[start:end] + more)


def id_of(text: str) -> str:
    """The id that a text is read by; ids of calls are used again by many services."""
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return f"result-{digest[:_ID_CHARS]}"


def excerpt(text: str, most_chars: int, reader: str) -> str:
    """The head and the tail of a text, and how the rest is read with the tool `reader`, if any."""
    if len(text) <= most_chars:
        return text
    head = int(most_chars * _HEAD_SHARE)
    tail = len(text) - (most_chars - head)
    how = f'. Read them with {reader}: {{"result_id": "{id_of(text)}", "start": {head}}}'
    gap = (
        f"\n[... characters {head} to {tail} of {len(text)} are left out here"
        f"{how if reader else ''} ...]\n"
    )
    return text[:head] + gap + text[tail:]


def evenly(sizes: Iterable[int], total: float) -> float:
    """The most that each may take, so that all together take no more than the total."""
    left = sorted(sizes)
    for n, size in enumerate(left):
        if size * (len(left) - n) > total:
            return total / (len(left) - n)
        total -= size
    return math.inf


def _seen(text: str) -> str:
    """The text as it looks to a person, who could not see what else it tells a model."""
    hidden = count_hidden(text)
    note = f"\n[note: {hidden:,} characters that nobody sees are left out]" if hidden else ""
    return visible(text) + note


def text_of_result(result: ToolResult) -> str:
    """All that a model may read of a result: its text, or its data, with notes and its failure."""
    text = result.text
    has_words = any(isinstance(part, TextPart) and part.text for part in result.parts)
    if result.structured is not None and result.parts and not has_words:
        data = json.dumps(result.structured, ensure_ascii=False, default=str)
        text = f"{text}\n{data}".strip()
    nothing = (
        "The tool failed without saying why."
        if result.is_error
        else ("The tool ran and gave back nothing.")
    )
    text = "\n".join([text or nothing, *(f"[note: {note}]" for note in result.notes)])
    # Said in the text, because a tool message has no mark of its own for it.
    return f"ERROR: {text}" if result.is_error and not text.startswith("ERROR") else text
