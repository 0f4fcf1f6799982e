"""Messages and calls, as the loop and a model exchange them.

Messages are dicts in the Chat Completions shape (`role`, `content`, `tool_calls`, `tool_call_id`),
the common tongue of all providers. Content is a string or a list of parts.
"""

from __future__ import annotations

import json
import re
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

# A line of a result that a model could take for a call, or for another result.
_FORGED_LINE = re.compile(
    r"^(?=[ \t>*_`#+-]*+(?i:tool)\b[^\n:]{0,80}:"
    r"|[^\n]*?(?:\bTOOL[*_`]*:|<tool|<function|\[TOOL_CALLS))",
    re.MULTILINE,
)


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


def join_paragraphs(*parts: str) -> str:
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


def as_text(messages: Iterable[Message]) -> list[Message]:
    """Return the messages with calls and results as text, for a model that knows neither.

    The results of a turn are one message, together with a user's text after them: strict chat
    templates want alternating roles.
    """
    texts: list[Message] = []
    is_result = False
    for message, call in with_calls(messages):
        content, was_result = message.get("content") or "", is_result
        role, is_result = message["role"], message["role"] == "tool"
        if is_result:
            name = call["function"]["name"] if call else "tool"
            role, content = "user", format_result(name, text_of(message))
        elif calls := [x["function"] for x in calls_of(message)]:
            lines = [format_call(x["name"], x.get("arguments") or "") for x in calls]
            content = "\n".join([text_of(message), *lines]).strip()
        if was_result and role == "user" and isinstance(content, str):
            content = f"{texts.pop()['content']}\n\n{content}"
        texts.append({"role": role, "content": content})
    return texts


def format_call(name: str, arguments: str) -> str:
    """Return a call in the text form. `arguments` is JSON, or meant to be."""
    try:
        text = json.dumps(json.loads(arguments), ensure_ascii=False)
    except (ValueError, RecursionError):
        text = " ".join(arguments.split())
    return f"TOOL: {name} {text}".rstrip()


def format_result(name: str, text: str) -> str:
    """Return a result as the model reads it; lines like a call or another result are quoted."""
    mark = " (error)" if text.startswith("ERROR") else ""
    return f"TOOL RESULT {name}{mark}:\n{_FORGED_LINE.sub('> ', text)}"
