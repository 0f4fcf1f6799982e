"""Chat Completions: the request as OpenAI and all services that speak this API take it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ...core.json import JsonObject
from ...core.provider_schema import FunctionSpec
from ..media import split, without
from ..messages import Message, with_calls
from .chat_added import added_names, without_private
from .chat_reply import ChatReply
from .openai_format import answer_format
from .wire import Asking

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_REASONING_MODEL = re.compile(r"(?:.*/)?(?:gpt-5|o\d)")


class ChatWire:
    """The messages of a conversation are in this API's own shape."""

    compulsory: Mapping[str, Any] = {"messages": []}
    optional = ("stream_options", "temperature", "tool_choice")

    def create(self, client: AsyncOpenAI) -> Callable[..., Any]:
        """The method that sends a body."""
        return client.chat.completions.with_raw_response.create

    def body(self, asking: Asking) -> dict[str, Any]:
        """The request, with nothing in it that was not set."""
        settings = asking.settings
        limit_name = asking.learned.limit_name or _limit_name(asking.model, asking.base_url)
        return asking.body_of(
            {
                "model": asking.model,
                "messages": _messages(asking),
                "tools": [_function(x) for x in asking.request.functions] or None,
                "tool_choice": asking.tool_choice,
                "stream": True,
                "stream_options": {"include_usage": True},
                "temperature": asking.temperature,
                limit_name: settings.max_output_tokens,
                "reasoning_effort": settings.reasoning_effort,
                "response_format": _format(asking.request.output_schema),
            }
        )

    def added_names(self, asking: Asking) -> set[str]:
        """The fields of messages and calls that this service added."""
        return added_names(asking.request.messages, asking.service)

    def new_reply(self) -> ChatReply:
        """For the chunks of one answer."""
        return ChatReply()


def _messages(asking: Asking) -> list[Message]:
    """The messages; results are text only, so what else they hold follows them as a user's."""
    refused = asking.learned.refused
    sent: list[Message] = []
    shown: list[Any] = []
    for given, call in with_calls(asking.request.messages):
        message = without_private({**given}, asking.service, refused)
        if message["role"] != "tool" and shown:
            sent.append({"role": "user", "content": shown})
            shown = []
        if message["role"] == "tool":
            text, media = split(message := without(message, refused))
            if media:
                message = {**message, "content": text}
                shown += [_head(call), *media]
        sent.append(message)
    return [*sent, {"role": "user", "content": shown}] if shown else sent


def _head(call: Mapping[str, Any]) -> dict[str, Any]:
    name = call["function"]["name"] if call else "a tool"
    return {"type": "text", "text": f"[From the result of {name}, not from the user:]"}


def _format(schema: JsonObject | None) -> JsonObject | None:
    described = answer_format(schema)
    return described and {"type": "json_schema", "json_schema": described}


def _function(spec: FunctionSpec) -> dict[str, Any]:
    described = {"name": spec.name, "description": spec.description, "parameters": spec.parameters}
    return {"type": "function", "function": described}


def _limit_name(model: str, base_url: str) -> str:
    """The parameter that limits the answer: OpenAI renamed it, most others know the old name."""
    host = urlsplit(base_url).hostname or ""
    renamed = host == "api.openai.com" or host.endswith((".openai.azure.com", ".azure.com"))
    return "max_completion_tokens" if renamed or _REASONING_MODEL.match(model) else "max_tokens"
