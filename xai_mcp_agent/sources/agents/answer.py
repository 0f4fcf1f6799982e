"""What an agent answers, collected as it comes, and what a caller gets of it."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, TypeAlias

from ...core.json import JsonObject
from ...core.results import ResultPart, TextPart, ToolResult
from ..plain_json import written

Tell: TypeAlias = Callable[[str], Awaitable[None]]
"""Told in the agent's own words how far it is."""

# Of tasks and contexts. They stand in addresses, so nothing in them may lead elsewhere; and a model
# has to write them.
_ID = re.compile(r"(?!\.+$)[A-Za-z0-9._~:@!$&'()*+,;=|-]{1,200}")
ENDED = ("completed", "failed", "rejected", "canceled")
WAITING = ("input_required", "auth_required")
"""The task goes on once somebody has answered, or has given access."""

_FAILED = {
    "failed": "The agent failed",
    "rejected": "The agent refused the task",
    "canceled": "The task was canceled at the agent",
}


def is_id(text: str) -> bool:
    """Whether it may be the id of a task or a context."""
    return _ID.fullmatch(text) is not None


@dataclass(frozen=True)
class DataPart:
    """JSON that an agent gave, with its numbers as it wrote them."""

    value: Any


AnswerPart: TypeAlias = ResultPart | DataPart


@dataclass(frozen=True)
class Asked:
    """What is sent to an agent. `skill` is the id of the one that was chosen, `remark` says so."""

    message: str
    data: JsonObject | None = None
    task_id: str = ""
    context_id: str = ""
    skill: str = ""
    remark: str = ""


@dataclass
class Answer:
    """What has come so far. `words` is what the agent says of the state it is in."""

    state: str = ""
    task_id: str = ""
    context_id: str = ""
    words: tuple[AnswerPart, ...] = ()
    _artifacts: dict[str, list[AnswerPart]] = field(default_factory=dict[str, list[AnswerPart]])

    @property
    def is_settled(self) -> bool:
        """Whether nothing more comes by itself."""
        return self.state in (*ENDED, *WAITING)

    def note_ids(self, task_id: str, context_id: str) -> None:
        """Whose answer it is. What cannot be an id is none."""
        self.task_id = task_id if is_id(task_id) else self.task_id
        self.context_id = context_id if is_id(context_id) else self.context_id

    def note_state(self, state: str, words: Sequence[AnswerPart]) -> None:
        """The state it is in now; what it said of the one before is over."""
        self.state, self.words = state, tuple(words)

    def add(self, artifact: str, parts: Sequence[AnswerPart], *, is_more: bool) -> None:
        """A thing that was made, in place of what had its id; or `is_more` of it."""
        if is_more:
            self._artifacts.setdefault(artifact, []).extend(parts)
        else:
            self._artifacts[artifact] = list(parts)

    def parts(self) -> Iterator[AnswerPart]:
        """What it said, then what it made."""
        made = [part for parts in self._artifacts.values() for part in _joined(parts)]
        texts = {part.text for part in made if isinstance(part, TextPart)}
        # Many say as their last words what they have made.
        yield from (x for x in self.words if not (isinstance(x, TextPart) and x.text in texts))
        yield from made


def text_in(parts: Sequence[AnswerPart]) -> str:
    """The texts among parts."""
    return "\n".join(part.text for part in parts if isinstance(part, TextPart))


def result_of(answer: Answer) -> ToolResult:
    """What a caller gets. A question of the agent is no error: the model can answer it.

    For a thread: much data takes long to be written.
    """
    parts = list(answer.parts())
    is_error = answer.state not in ("completed", *WAITING)
    shown = [TextPart(written(x.value)) if isinstance(x, DataPart) else x for x in parts]
    if is_error:
        said = _FAILED.get(
            answer.state, f"The agent ended in a state that is unknown here ({answer.state!r})"
        )
        shown.insert(0, TextPart(f"{said}{':' if shown else ', and did not say why.'}"))
    elif not shown:
        shown = [TextPart(_NOTHING[answer.state])]
    data = [part.value for part in parts if isinstance(part, DataPart)]
    return ToolResult(tuple(shown), _structured(answer, data), is_error, tuple(_notes(answer)))


_NOTHING = {
    "completed": "The agent finished, and gave back nothing.",
    "input_required": "The agent waits for something, and did not say what.",
    "auth_required": "The agent wants access to something, and did not say to what.",
}


def _structured(answer: Answer, data: list[Any]) -> JsonObject:
    found = {"state": answer.state, "task_id": answer.task_id, "context_id": answer.context_id}
    ours: JsonObject = {name: value for name, value in found.items() if value}
    return ours | ({"data": data[0] if len(data) == 1 else data} if data else {})


def _notes(answer: Answer) -> Iterator[str]:
    """How the model can go on."""
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


def _joined(parts: list[AnswerPart]) -> Iterator[AnswerPart]:
    """The parts of one artifact. Texts in a row are pieces of a stream: nothing goes between."""
    for is_text, group in groupby(parts, lambda part: isinstance(part, TextPart)):
        if is_text:
            yield TextPart("".join(part.text for part in group if isinstance(part, TextPart)))
        else:
            yield from group
