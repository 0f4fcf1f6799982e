"""The messages of one run: its start, its additions, and the form in which a model gets them.

The start is never modified, and the agent's own system prompt is not part of the outcome; so a
conversation can be handed from one run to the next.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from ..core.errors import XaiMcpError
from ..core.json import JsonObject
from ..core.results import ToolResult
from .media import content_of
from .messages import ADDED, Message, ToolCall, text_of

_ROLES = {"system", "developer", "user", "assistant", "tool", "function"}
_SYSTEM_ROLES = {"system", "developer"}
# Sent to a model if the conversation leaves it nothing to answer.
_BEGIN = "Please begin."
_CONTINUE = "Please continue."


class BadConversation(XaiMcpError):
    """The conversation is not a list of messages; the message says which part is wrong."""


class Conversation:
    """An immutable conversation, made from messages, one message, or plain text.

    `additions` are the messages added since.
    """

    def __init__(self, start: Any, additions: Sequence[Message] = ()) -> None:
        self._start = [_read_message(x, n) for n, x in enumerate(_as_list(start))]
        self._additions = tuple(additions)
        self.chars = _chars_of([*self._start, *self._additions])  # a measure of the work to read it

    @property
    def messages(self) -> list[Message]:
        """All messages, as a new list of new dicts each time."""
        return copy.deepcopy([*self._start, *self._additions])

    @property
    def provided_system(self) -> str:
        """The system messages at the start."""
        return "\n\n".join(text_of(x) for x in self._start[: self._system_count()])

    @property
    def question(self) -> str:
        """The person's last message before the run."""
        texts = (text_of(x) for x in reversed(self._start) if x["role"] == "user")
        return next(filter(None, texts), "")

    @property
    def additions(self) -> list[Message]:
        """The messages added since."""
        return copy.deepcopy(list(self._additions))

    def to_json(self) -> JsonObject:
        """Return the conversation for a file; `from_json` reads it back."""
        return copy.deepcopy({"start": self._start, "additions": self._additions})

    @staticmethod
    def from_json(value: JsonObject) -> Conversation:
        """Return the conversation that `to_json` wrote."""
        return Conversation(value["start"], value["additions"])

    def with_messages(self, *messages: Message) -> Conversation:
        """Return the conversation with these messages added."""
        conversation = copy.copy(self)
        conversation._additions = (*self._additions, *messages)
        conversation.chars = self.chars + _chars_of(messages)
        return conversation

    def turns(self) -> list[Message]:
        """Return the messages after the system message, each call answered right after it.

        A longer conversation begins with the same messages.
        """
        return _answer_each_call([*self._start[self._system_count() :], *self._additions])

    def _system_count(self) -> int:
        others = (n for n, x in enumerate(self._start) if x["role"] not in _SYSTEM_ROLES)
        return next(others, len(self._start))


def messages_to_send(system: str, turns: list[Message]) -> tuple[Message, ...]:
    """Return a system message, unless it is empty, and turns that can be answered."""
    messages: list[Message] = [{"role": "system", "content": system}] if system else []
    messages += turns
    if not turns:
        messages.append({"role": "user", "content": _BEGIN})
    elif turns[-1]["role"] == "assistant":
        messages.append({"role": "user", "content": _CONTINUE})
    return tuple(messages)


def call_message(
    text: str, calls: Sequence[ToolCall], *, added: JsonObject | None = None
) -> Message:
    """Return the assistant's message, with its calls and its service's additions."""
    message: Message = {"role": "assistant", "content": text or None}
    if added:
        message[ADDED] = dict(added)
    if calls:
        message["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments or "{}"},
            }
            for call in calls
        ]
    return message


def result_messages(results: Iterable[tuple[ToolCall, str, ToolResult]]) -> list[Message]:
    """Return messages that answer calls; each item has the call, the text to show, the result."""
    return [
        {"role": "tool", "tool_call_id": call.id, "content": content_of(text, result)}
        for call, text, result in results
    ]


def _as_list(start: Any) -> list[Any]:
    match start:
        case None:
            return []
        case str():
            return [{"role": "user", "content": start}] if start.strip() else []
        case Mapping():
            return [cast(Any, start)]
        case Iterable() if not isinstance(start, bytes | bytearray):
            return list(cast(Iterable[Any], start))
        case _:
            raise BadConversation(
                f"A conversation is a list of messages or a text, not {type(start).__name__}. "
                "Wire a chat literal, a string, or the out_conversation of another agent."
            )


def _read_message(message: Any, number: int) -> Message:
    if isinstance(message, str):
        message = {"role": "user", "content": message}
    if not isinstance(message, Mapping):
        raise BadConversation(
            f"Message {number + 1} of the conversation is {type(message).__name__}, not a "
            'message. Each is a dict such as {"role": "user", "content": "Hello"}.'
        )
    own = _copy(dict(cast(Mapping[str, Any], message)), number)
    role = own.get("role")
    if not isinstance(role, str) or role not in _ROLES:
        raise BadConversation(
            f"Message {number + 1} of the conversation has the role {role!r:.100}. "
            f"Use one of: {', '.join(sorted(_ROLES))}."
        )
    # Absent fields are None in the openai client's `model_dump()`, and vLLM gives `tool_calls: []`;
    # services refuse both.
    own = {name: x for name, x in own.items() if x not in (None, []) or name == "content"}
    _check_calls(own, number)
    if role == "user":
        _check_content(own.get("content"), number)
    if role == "function":
        # The older form has no id to answer to; every model understands it as a message.
        name = own.get("name") or "a function"
        return {"role": "user", "content": f"Result of {name}:\n{text_of(own)}"}
    return own


def _copy(message: Message, number: int) -> Message:
    try:
        return copy.deepcopy(message)
    except (TypeError, ValueError, AttributeError, RecursionError) as cause:
        raise BadConversation(
            f"Message {number + 1} of the conversation cannot be sent: {cause}. Give it "
            "texts, numbers, lists and dicts, nested a few deep."
        ) from cause


def _check_content(content: Any, number: int) -> None:
    """Raise `BadConversation` if a person's message is empty: services refuse that."""
    if content and (isinstance(content, list) or (isinstance(content, str) and content.strip())):
        return
    raise BadConversation(
        f"Message {number + 1} of the conversation is from the user and has no `content`. Give it "
        "what the agent should answer, a text or a list of parts, or leave the message out."
    )


def _check_calls(message: Message, number: int) -> None:
    """Raise `BadConversation` if the calls of a message are not in the loop's form."""
    calls: Any = message.get("tool_calls") or ()
    for call in cast("list[Any]", calls) if isinstance(calls, list | tuple) else [calls]:
        function = cast(Any, call).get("function") if isinstance(call, Mapping) else None
        name = cast(Any, function).get("name") if isinstance(function, Mapping) else None
        if not isinstance(name, str) or not isinstance(cast(Any, call).get("id"), str):
            raise BadConversation(
                f"Message {number + 1} of the conversation has an invalid tool call. "
                "Leave its `tool_calls` as AgentRun gave them, or take them out."
            )


def _answer_each_call(messages: list[Message]) -> list[Message]:
    """Answer each call right after it, and make an answer without a call a user's text.

    Services refuse anything else.
    """
    whole: list[Message] = []
    waiting: list[str] = []
    for message in messages:
        if message["role"] == "tool" and message.get("tool_call_id") in waiting:
            waiting.remove(message["tool_call_id"])
            whole.append(message)
            continue
        whole += [_missing_answer(call_id) for call_id in waiting]
        waiting = [call["id"] for call in message.get("tool_calls") or ()]
        if message["role"] == "tool":
            message = {"role": "user", "content": f"Result of a tool:\n{text_of(message)}"}
        whole.append(message)
    return [*whole, *map(_missing_answer, waiting)]


def _chars_of(messages: Iterable[Message]) -> int:
    return sum(len(text_of(x)) for x in messages)


def _missing_answer(call_id: str) -> Message:
    text = "ERROR: this call was never answered."
    return {"role": "tool", "tool_call_id": call_id, "content": text}
