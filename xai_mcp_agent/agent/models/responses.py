"""The Responses API, for OpenAI and other services that speak it.

The service stores nothing (`store` is false): each request holds the whole conversation as a list
of items. The service's own items go back to it unchanged: a reasoning model needs its reasoning
again, right before the items it led to. Other services get none of it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from ...core.json import JsonObject, as_list, as_object, is_list
from ...core.provider_schema import FunctionSpec
from ..media import without
from ..messages import Message, added_by, text_of
from .accumulator import BETWEEN_TEXTS, ResponsesReply
from .base import ModelRequest
from .openai import OpenAIModel, answer_format, arguments_as_object

# Names of reasoning items in refusals.
_REASONING_NAMES = {
    "reasoning",
    "encrypted_content",
    "encrypted content",
    "invalid_encrypted_content",
}


class ResponsesModel(OpenAIModel):
    """A model reached through the Responses API."""

    provider = "openai_responses"
    path = "/responses"
    optional = ("include", "temperature", "tool_choice")

    def _fields(self, request: ModelRequest) -> dict[str, Any]:
        settings, messages = self._settings, request.messages
        prompt = text_of(messages[0]) if messages and messages[0]["role"] == "system" else None
        rest = messages if prompt is None else messages[1:]
        effort, form = settings.reasoning_effort, answer_format(request.output_schema)
        return {
            "instructions": prompt,
            "input": [item for x in rest for item in self._items(x)],
            "tools": [_function(x) for x in request.functions] or None,
            "store": False,
            "include": ["reasoning.encrypted_content"],
            "max_output_tokens": settings.max_output_tokens,
            "reasoning": {"effort": effort} if effort else None,
            "text": form and {"format": {"type": "json_schema", **form}},
        }

    def _added_names(self, messages: Collection[Message]) -> set[str]:
        service = self._access.service_id
        return (
            _REASONING_NAMES if any(added_by(service, x).get("items") for x in messages) else set()
        )

    def _new_reply(self) -> ResponsesReply:
        return ResponsesReply()

    def _items(self, message: Message) -> list[dict[str, Any]]:
        refused = self._quirks.refused
        match message["role"]:
            case "assistant":
                added = added_by(self._access.service_id, message)
                return _output_items(
                    message, [] if _REASONING_NAMES & refused else added.get("items")
                )
            case "tool":
                # A result here may hold text, pictures and files, but no sounds.
                content = _content(without(message, {*refused, "audio"}))
                answer = {"type": "function_call_output", "call_id": message["tool_call_id"]}
                return [{**answer, "output": content}]
            case role:
                return [{"role": role, "content": _content(message)}]


def _output_items(message: Message, added: Any) -> list[JsonObject]:
    """Return an assistant's message as items: the service's own, and new ones for the rest."""
    calls = {x["id"]: x["function"] for x in message.get("tool_calls") or ()}
    stored = [x for x in map(as_object, as_list(added)) if x.get("type")]
    texts = _texts(message, stored)
    items: list[JsonObject] = []
    for item in stored:
        if item["type"] == "function_call":
            if function := calls.pop(item.get("call_id"), None):
                items.append({**item, **_call_item(item["call_id"], function)})
        elif item["type"] != "message":
            items.append(item)
        elif texts:
            items.append(_message_item(item, texts.pop(0)))
    # Services refuse trailing reasoning.
    while items and items[-1]["type"] == "reasoning":
        items.pop()
    new_messages = [{"role": "assistant", "content": x} for x in texts]
    return [*items, *new_messages, *(_call_item(x, function) for x, function in calls.items())]


def _texts(message: Message, stored: Sequence[JsonObject]) -> list[str]:
    """Return the message's text for each of its items."""
    text = text_of(message)
    own = [str(x.get("text") or "") for x in stored if x["type"] == "message"]
    if len(own) > 1 and BETWEEN_TEXTS.join(own) == text:
        return own
    return [text] if text else []


def _message_item(item: JsonObject, text: str) -> JsonObject:
    part: JsonObject = {"type": "output_text", "text": text, "annotations": []}
    fields = {name: x for name, x in item.items() if name != "text"}
    return {**fields, "role": "assistant", "status": "completed", "content": [part]}


def _call_item(call_id: str, function: JsonObject) -> JsonObject:
    arguments = arguments_as_object(function.get("arguments") or "{}")
    name = function["name"]
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments}


def _content(message: Message) -> Any:
    content = message.get("content") or ""
    return [_part(as_object(x)) for x in content] if is_list(content) else content


def _part(part: JsonObject) -> JsonObject:
    """Convert a Chat Completions part to this API's form; return any other unchanged."""
    match part.get("type"):
        case "text":
            return {"type": "input_text", "text": part.get("text")}
        case "image_url":
            image = as_object(part.get("image_url"))
            detail = image.get("detail") or "auto"
            return {"type": "input_image", "image_url": image.get("url"), "detail": detail}
        case "file":
            return {"type": "input_file", **as_object(part.get("file"))}
        case _:
            return part


def _function(spec: FunctionSpec) -> dict[str, Any]:
    # Not strict, although this API's default is: strict mode takes only some schemas.
    return {
        "type": "function",
        "name": spec.name,
        "description": spec.description,
        "parameters": spec.parameters,
        "strict": False,
    }
