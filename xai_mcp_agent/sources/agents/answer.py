"""The answer of an agent, collected as it arrives, and the result for the caller."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, TypeAlias

from ...core.json import JsonObject
from ...core.results import TextPart, ToolResult
from .messages import AnswerPart, DataPart, Update

Tell: TypeAlias = Callable[[str], Awaitable[None]]
"""Reports progress in the agent's own words."""

# Pattern of task and context ids. They become part of addresses, and a model has to write them.
_ID = re.compile(r"(?!\.+$)[A-Za-z0-9._~:@!$&'()*+,;=|-]{1,200}")
# The task continues once somebody has answered or granted access.
_WAITING = ("input_required", "auth_required")
_SETTLED = ("completed", "failed", "rejected", "canceled", *_WAITING)

_FAILED = {
    "failed": "The agent failed",
    "rejected": "The agent refused the task",
    "canceled": "The task was canceled at the agent",
}
_NOTHING = {
    "completed": "The agent finished and returned nothing.",
    "input_required": "The agent is waiting for something, but did not say what.",
    "auth_required": "The agent needs access to something, but did not say what.",
}


def is_id(text: str) -> bool:
    """Return whether a text may be the id of a task or a context."""
    return _ID.fullmatch(text) is not None


@dataclass
class AgentAnswer:
    """The updates so far. `words` are the agent's own about its current state."""

    state: str = ""
    task_id: str = ""
    context_id: str = ""
    words: tuple[AnswerPart, ...] = ()
    _artifacts: dict[str, list[AnswerPart]] = field(default_factory=dict[str, list[AnswerPart]])

    @property
    def is_settled(self) -> bool:
        """Whether the task ended, or waits for somebody."""
        return self.state in _SETTLED

    def take(self, update: Update) -> None:
        """Add an update. Invalid ids are ignored; a new state replaces the words of the old.

        An artifact replaces an earlier one with the same id, unless it is a further piece.
        """
        self.task_id = update.task_id if is_id(update.task_id) else self.task_id
        self.context_id = update.context_id if is_id(update.context_id) else self.context_id
        if update.state:
            self.state, self.words = update.state, update.words
        for artifact in update.artifacts:
            if not artifact.is_more:
                self._artifacts[artifact.id] = []
            self._artifacts.setdefault(artifact.id, []).extend(artifact.parts)

    def parts(self) -> Iterator[AnswerPart]:
        """Yield the parts of its message, then those of its artifacts."""
        results = [part for parts in self._artifacts.values() for part in _join_texts(parts)]
        # Many agents repeat their artifacts in their last message.
        yield from (x for x in self.words if not (isinstance(x, TextPart) and x in results))
        yield from results


def result_of(answer: AgentAnswer) -> ToolResult:
    """Return the result for the caller. A question is not an error: the model can answer it.

    Call it in a thread, because large data takes long to write as JSON.
    """
    parts = list(answer.parts())
    is_error = answer.state in _FAILED
    contents = [
        TextPart(json.dumps(x.value, ensure_ascii=False)) if isinstance(x, DataPart) else x
        for x in parts
    ]
    if is_error:
        end = ":" if contents else ", and did not say why."
        contents.insert(0, TextPart(f"{_FAILED[answer.state]}{end}"))
    elif not contents:
        contents = [TextPart(_NOTHING[answer.state])]
    ids = {"state": answer.state, "task_id": answer.task_id, "context_id": answer.context_id}
    structured: JsonObject = {name: value for name, value in ids.items() if value}
    data: list[Any] = [part.value for part in parts if isinstance(part, DataPart)]
    if data:
        structured["data"] = data[0] if len(data) == 1 else data
    return ToolResult(tuple(contents), structured, is_error, tuple(_notes(answer)))


def _notes(answer: AgentAnswer) -> Iterator[str]:
    """Yield notes on how the model can continue."""
    task, context = answer.task_id, answer.context_id
    of_task = f"task_id {task}" + (f" and context_id {context}" if context else "")
    if answer.state == "input_required" and task:
        yield (
            "The agent asks this before it goes on. To answer, call this tool again with your "
            f"answer as message, {of_task}. Ask the person what only they can know."
        )
    elif answer.state == "auth_required" and task:
        yield (
            "The agent needs access that only a person can give, where it says. When they have, "
            f"call this tool again with a message that says so, {of_task}."
        )
    elif context:
        yield f"To go on with this conversation, call again with context_id {context}."


def _join_texts(parts: list[AnswerPart]) -> Iterator[AnswerPart]:
    """Yield the parts of one artifact; join consecutive texts, which are pieces of a stream."""
    for is_text, group in groupby(parts, lambda part: isinstance(part, TextPart)):
        if is_text:
            yield TextPart("".join(part.text for part in group if isinstance(part, TextPart)))
        else:
            yield from group
