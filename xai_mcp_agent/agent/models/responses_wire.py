"""The Responses API: the request as OpenAI and other services that speak it take it.

Nothing is stored at the service (`store` is false): each request holds the whole conversation, and
what the model thought goes back with it, encrypted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ...core.json import JsonObject
from ...core.provider_schema import FunctionSpec
from ..media import without
from ..messages import Message, text_of
from .fields import mapping, sequence
from .openai_format import answer_format
from .responses_items import added_names, output_items
from .responses_reply import ResponsesReply
from .wire import Asking

if TYPE_CHECKING:
    from openai import AsyncOpenAI


class ResponsesWire:
    """A conversation is a list of items: messages, calls, their outputs, and what was thought."""

    compulsory: Mapping[str, Any] = {}
    optional = ("include", "temperature", "tool_choice")

    def create(self, client: AsyncOpenAI) -> Callable[..., Any]:
        """The method that sends a body."""
        return client.responses.with_raw_response.create

    def body(self, asking: Asking) -> dict[str, Any]:
        """The request, with nothing in it that was not set."""
        settings, messages = asking.settings, asking.request.messages
        prompt = text_of(messages[0]) if messages and messages[0]["role"] == "system" else None
        rest = messages if prompt is None else messages[1:]
        effort = settings.reasoning_effort
        return asking.body_of(
            {
                "model": asking.model,
                "instructions": prompt,
                "input": [item for x in rest for item in _items(x, asking)],
                "tools": [_function(x) for x in asking.request.functions] or None,
                "tool_choice": asking.tool_choice,
                "stream": True,
                "store": False,
                "include": ["reasoning.encrypted_content"],
                "temperature": asking.temperature,
                "max_output_tokens": settings.max_output_tokens,
                "reasoning": {"effort": effort} if effort else None,
                "text": _format(asking.request.output_schema),
            }
        )

    def added_names(self, asking: Asking) -> set[str]:
        """What a service calls its own items where it refuses them."""
        return added_names(asking.request.messages, asking.service)

    def new_reply(self) -> ResponsesReply:
        """For the events of one answer."""
        return ResponsesReply()


def _items(message: Message, asking: Asking) -> list[dict[str, Any]]:
    match message["role"]:
        case "assistant":
            return output_items(message, asking.service, asking.learned.refused)
        case "tool":
            # A result may hold text, pictures and files here, and no sounds.
            told = without(message, {*asking.learned.refused, "audio"})
            answer = {"type": "function_call_output", "call_id": message["tool_call_id"]}
            return [{**answer, "output": _content(told)}]
        case role:
            return [{"role": role, "content": _content(message)}]


def _content(message: Message) -> Any:
    content = message.get("content") or ""
    return [_part(mapping(x)) for x in sequence(content)] if isinstance(content, list) else content


def _part(part: Mapping[str, Any]) -> Mapping[str, Any]:
    """A part in the shape of Chat Completions in that of this API; any other as it is."""
    match part.get("type"):
        case "text":
            return {"type": "input_text", "text": part.get("text")}
        case "image_url":
            image = mapping(part.get("image_url"))
            detail = image.get("detail") or "auto"
            return {"type": "input_image", "image_url": image.get("url"), "detail": detail}
        case "file":
            return {"type": "input_file", **mapping(part.get("file"))}
        case _:
            return part


def _format(schema: JsonObject | None) -> JsonObject | None:
    described = answer_format(schema)
    return described and {"format": {"type": "json_schema", **described}}


def _function(spec: FunctionSpec) -> dict[str, Any]:
    # Not strict: that is this API's default, and it takes only some schemas.
    return {
        "type": "function",
        "name": spec.name,
        "description": spec.description,
        "parameters": spec.parameters,
        "strict": False,
    }
