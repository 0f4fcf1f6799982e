"""Messages and calls, as the loop and a model exchange them.

Messages are dicts in the Chat Completions shape (`role`, `content`, `tool_calls`, `tool_call_id`),
the common tongue of all providers. Content is a string or a list of parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from ..core.json import as_object

Message: TypeAlias = dict[str, Any]

ADDED = "_added"
"""Key of an assistant's message for the fields that its service added to the protocol's.

An object with `service` (its name), `message` (the fields) and `calls` (the fields of its calls, by
id). It is for that service alone: a request to any other service leaves it out.
"""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of the model. `arguments` is the text it wrote: JSON, or meant to be.

    `not_made` tells the model why the call is not made.
    """

    id: str
    name: str
    arguments: str
    not_made: str = ""


def added_by(service: str, message: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that this service added to a message; empty for another service."""
    added = as_object(message.get(ADDED))
    return added if added.get("service") == service else {}


def with_calls(
    messages: Iterable[Mapping[str, Any]],
) -> list[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Pair each message with the call that it answers, or with an empty one.

    That is the last earlier call with its id: many services reuse ids in every turn.
    """
    waiting: dict[str, list[Mapping[str, Any]]] = {}
    pairs: list[tuple[Mapping[str, Any], Mapping[str, Any]]] = []
    for message in messages:
        is_answer = message.get("role") == "tool"
        calls = waiting.get(str(message.get("tool_call_id"))) if is_answer else None
        pairs.append((message, calls.pop(0) if calls else {}))
        new_calls = calls_of(message)
        waiting |= {str(x.get("id")): [] for x in new_calls}
        for call in new_calls:
            waiting[str(call.get("id"))].append(call)
    return pairs


def joined(*parts: str) -> str:
    """Join the non-empty parts as paragraphs."""
    return "\n\n".join(x for x in parts if x)


def calls_of(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the calls of a message, without invalid ones."""
    value = message.get("tool_calls")
    calls = cast(list[Any], value) if isinstance(value, list) else []
    return [cast(Mapping[str, Any], x) for x in calls if isinstance(x, Mapping)]


def text_of(message: Mapping[str, Any]) -> str:
    """Return the text of a message, for content that is a string or a list of parts."""
    content = message.get("content")
    if isinstance(content, list):
        parts = cast(list[Any], content)
        texts = [cast(Mapping[str, Any], x).get("text") for x in parts if isinstance(x, Mapping)]
        return "\n".join(x for x in texts if isinstance(x, str))
    return content if isinstance(content, str) else ""
