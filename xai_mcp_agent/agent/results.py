"""Tool results as the model reads them, and pages of those that were shown in part."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from ..core.calls import ToolInvocation
from ..core.results import TextPart, ToolResult
from ..core.tools import META, Tool, ToolKey
from ..core.visible import count_hidden, visible
from .messages import Message, text_of
from .toolsets import Toolset

# About 8,000 tokens: room for several such results in the smallest current context windows.
MAX_RESULT_CHARS = 32_000
# Of all results of one turn; less where the model's window is small.
MAX_TURN_CHARS = 4 * MAX_RESULT_CHARS
# The beginning tells what it is, the end how it came out; errors and totals stand last.
_HEAD_SHARE = 0.7
_PAGE_CHARS = 24_000
_PLAIN_ID = re.compile(r"[\w.:-]{1,64}", re.ASCII)
_ID_CHARS = 12
_NAMED = re.compile(r'"result_id": "([\w.:-]+)"', re.ASCII)
_NOTHING = "The tool ran and gave back nothing."

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
        self._named: set[str] = set()
        self.turn_chars = MAX_TURN_CHARS  # the most that the results of one turn take together

    @property
    def reader(self) -> str:
        """What the model calls the tool by; empty where it may not be called."""
        return self._usable_name(READ_RESULT.key)

    def begin(self, conversation: Iterable[Message]) -> None:
        """Give no result an id that stands in this conversation already, for another."""
        self._named = {x for message in conversation for x in _NAMED.findall(text_of(message))}

    async def tools(self) -> Sequence[Tool]:
        """The one to read with, once there is something for it to read."""
        return _READERS if self.texts else ()

    def known(self) -> Sequence[Tool]:
        """The one to read with."""
        return _READERS

    def shown(self, call_id: str, result: ToolResult) -> str:
        """The text for the model: whole, or its head and tail and how to read the rest."""
        return self._shown(call_id, _text_for_model(result), MAX_RESULT_CHARS)

    def together(self, shown: Sequence[tuple[str, str]]) -> list[str]:
        """What is shown of one turn's calls, made shorter where all of it is too much."""
        most = evenly((len(x) for _, x in shown), self.turn_chars)
        return [x if len(x) <= most else self._shorter(id_, x, int(most)) for id_, x in shown]

    def keep(self, texts: Mapping[str, str]) -> None:
        """Have these texts read, too, by their ids."""
        if not texts.keys() <= self.texts.keys():
            self.texts = {**texts, **self.texts}

    def _shown(self, call_id: str, text: str, most_chars: int) -> str:
        if len(text) <= most_chars:
            return _seen(text)
        result_id = self._id_of(text, call_id)
        self.texts = {**self.texts, result_id: text}
        return _seen(excerpt(text, most_chars, result_id, self.reader))

    def _shorter(self, call_id: str, shown: str, most_chars: int) -> str:
        for text_id in _NAMED.findall(shown):  # of one that is shown in part already
            whole = self.texts.get(text_id, "")
            if visible(whole[:_PAGE_CHARS]).startswith(shown[: _PAGE_CHARS // 2]):
                return _seen(excerpt(whole, most_chars, text_id, self.reader))
        return self._shown(call_id, shown, most_chars)

    def _id_of(self, text: str, call_id: str) -> str:
        """That of the call, unless it was used before: many services begin anew in every turn."""
        is_used = call_id in self.texts or call_id in self._named
        if _PLAIN_ID.fullmatch(call_id) and not is_used:
            return call_id
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        return f"result-{digest[:_ID_CHARS]}"

    async def call(self, invocation: ToolInvocation) -> ToolResult:
        """A page of a text."""
        wanted, start = invocation.arguments["result_id"], int(invocation.arguments["start"])
        text = self.texts.get(wanted)
        if text is None:
            kept = ", ".join(self.texts)
            return ToolResult.of_text(f"No such result. There are: {kept}.", is_error=True)
        if start >= len(text):
            words = f"The result has only {len(text)} characters."
            return ToolResult.of_text(words, is_error=True)
        end = min(start + _PAGE_CHARS, len(text))
        left = len(text) - end
        more = f"\n[... {left} more characters from {end} on ...]" if left else ""
        return ToolResult.of_text(text[start:end] + more)


def excerpt(text: str, most_chars: int, text_id: str, reader: str) -> str:
    """The head and the tail of a text, and how the rest is read with the tool `reader`."""
    if len(text) <= most_chars:
        return text
    head = int(most_chars * _HEAD_SHARE)
    tail = len(text) - (most_chars - head)
    how = f'. Read them with {reader}: {{"result_id": "{text_id}", "start": {head}}}'
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
