"""The items that a service answered with, kept beside its message and sent back to it as they were.

A model that reasons wants its reasoning again, right before what it led to. Of messages and calls
only what the conversation does not know is kept: their ids and their place; what was said and asked
is as the conversation has it now. Other services get neither.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from ...core.json import JsonObject
from ..messages import Message, text_of
from .fields import mapping, sequence
from .wire import added_by

BETWEEN_TEXTS = "\n\n"
# How services name such an item when they refuse it.
_NAMES = {"reasoning", "encrypted_content", "encrypted content", "invalid_encrypted_content"}
_PLAIN = {"type", "id", "call_id", "text"}
_KNOWN = {"message": {"role", "content"}, "function_call": {"name", "arguments"}}


def kept_items(output: Iterable[Mapping[str, Any]], call_ids: Sequence[str]) -> list[JsonObject]:
    """What to keep of an answer; `call_ids` are those of its calls, as we name them.

    Nothing where there are ids only: those are nothing that a service misses.
    """
    ids = iter(call_ids)
    items: list[JsonObject] = []
    texts = [texts_in(x) for x in output if x.get("type") == "message"]
    for item in output:
        kind = str(item.get("type"))
        left_out = {"status", *_KNOWN.get(kind, ())}
        kept = {name: x for name, x in item.items() if x is not None and name not in left_out}
        if kind == "function_call":
            kept["call_id"] = next(ids)
        if kind == "message" and len(texts) > 1:
            kept["text"] = texts_in(item)
        # Reasoning of which only a summary came is unknown to a service that stores nothing.
        if kind != "reasoning" or "encrypted_content" in kept or "content" in kept:
            items.append(kept)
    return items if any(x.keys() - _PLAIN for x in items) else []


def output_items(message: Message, service: str, refused: Collection[str]) -> list[JsonObject]:
    """An assistant's message as items: those of this service as they were, others anew."""
    calls = {x["id"]: x["function"] for x in message.get("tool_calls") or ()}
    found = () if _NAMES & {*refused} else sequence(added_by(service, message).get("items"))
    kept = [x for x in map(mapping, found) if x.get("type")]
    texts = _texts(message, kept)
    items: list[JsonObject] = []
    for item in kept:
        if item["type"] == "function_call":
            if function := calls.pop(item.get("call_id"), None):
                items.append({**item, **_called(item["call_id"], function)})
        elif item["type"] == "message":
            if texts:
                items.append(_said({**item}, texts.pop(0)))
        else:
            items.append({**item})
    said = [{"role": "assistant", "content": x} for x in texts]
    asked = [_called(call_id, function) for call_id, function in calls.items()]
    return [*_without_loose_reasoning(items), *said, *asked]


def added_names(messages: Iterable[Message], service: str) -> set[str]:
    """What a refusal of such items may name, where any of this service go back to it."""
    return _NAMES if any(added_by(service, x).get("items") for x in messages) else set()


def texts_in(item: Mapping[str, Any], kind: str = "output_text") -> str:
    """The text of a message's item; `refusal` for the words it declined with."""
    parts = [x for x in map(mapping, sequence(item.get("content"))) if x.get("type") == kind]
    return "".join(str(x.get("text" if kind == "output_text" else kind) or "") for x in parts)


def _texts(message: Message, kept: Sequence[Mapping[str, Any]]) -> list[str]:
    """What the message says, for each of its items."""
    text = text_of(message)
    own = [str(x.get("text") or "") for x in kept if x.get("type") == "message"]
    if len(own) > 1 and BETWEEN_TEXTS.join(own) == text:
        return own
    return [text] if text else []


def _called(call_id: str, function: Mapping[str, Any]) -> JsonObject:
    named = {"name": function["name"], "arguments": function.get("arguments") or "{}"}
    return {"type": "function_call", "call_id": call_id, **named}


def _said(item: JsonObject, text: str) -> JsonObject:
    item.pop("text", None)
    part: JsonObject = {"type": "output_text", "text": text, "annotations": []}
    return {**item, "role": "assistant", "status": "completed", "content": [part]}


def _without_loose_reasoning(items: Sequence[JsonObject]) -> list[JsonObject]:
    """The items without reasoning that leads to none of them: services refuse that."""
    whole: list[JsonObject] = []
    for item in reversed(items):
        if item["type"] != "reasoning" or whole:
            whole.insert(0, item)
    return whole
