"""Chat Completions, for OpenAI and all services that speak this API.

A conversation's messages are in this API's own shape. Fields that a service adds to them go back to
it: thought signatures, reasoning texts and encrypted reasoning come in fields outside the protocol,
and their service may refuse the next request without them. Other services may refuse such fields,
so each service gets only its own.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from ...core.json import as_object
from ...core.provider_schema import FunctionSpec
from ..media import split, without
from ..messages import ADDED, Message, added_by, join_paragraphs, with_calls
from .accumulator import ChatReply
from .base import ModelRequest
from .openai import OpenAIModel, answer_format, arguments_as_object

_REASONING_MODEL = re.compile(r"(?:.*/)?(?:gpt-5|o\d)")
_READ = "I have read the results."  # stands between results and a person's text
_RENAMED_LIMIT = ("api.openai.com", ".azure.com")


class ChatModel(OpenAIModel):
    """A model reached through Chat Completions."""

    provider = "openai"
    path = "/chat/completions"
    optional = ("stream_options", "temperature", "tool_choice")

    def _fields(self, request: ModelRequest) -> dict[str, Any]:
        settings, form = self._settings, answer_format(request.output_schema)
        return {
            "messages": self._messages(request.messages),
            "tools": [_function(x) for x in request.functions] or None,
            "stream_options": {"include_usage": True},
            self._limit_name(): settings.max_output_tokens,
            "reasoning_effort": settings.reasoning_effort,
            "response_format": form and {"type": "json_schema", "json_schema": form},
        }

    def _added_names(self, messages: Collection[Message]) -> set[str]:
        names: set[str] = set()
        for message in messages:
            added = added_by(self._access.service_id, message)
            for fields in (added.get("message"), *as_object(added.get("calls")).values()):
                names |= {*as_object(fields)}
        return names - {"function"}

    def _new_reply(self) -> ChatReply:
        return ChatReply()

    def _limit_name(self) -> str:
        """Return the answer limit's parameter: OpenAI renamed it, most use the old name."""
        host = urlsplit(self._access.url or "https://api.openai.com").hostname or ""
        renamed = host.endswith(_RENAMED_LIMIT) or _REASONING_MODEL.match(self._model)
        return self._quirks.limit_name or ("max_completion_tokens" if renamed else "max_tokens")

    def _messages(self, messages: Collection[Message]) -> list[Message]:
        """Return the messages. Media in tool results follow in a user message."""
        refused = self._quirks.refused
        plain: list[Message] = []
        media_parts: list[Any] = []
        for original, call in with_calls(messages):
            message = self._with_added({**original})
            if message["role"] != "tool" and media_parts:
                plain.append({"role": "user", "content": media_parts})
                media_parts = []
            if message["role"] == "tool":
                text, media = split(message := without(message, refused))
                if media:
                    message = {**message, "content": text}
                    name = call["function"]["name"] if call else "a tool"
                    head = f"[From the result of {name}, not from the user:]"
                    media_parts += [{"type": "text", "text": head}, *media]
            plain.append(message)
        if media_parts:
            plain.append({"role": "user", "content": media_parts})
        return _alternating(plain) if self._quirks.alternates else plain

    def _with_added(self, message: Message) -> Message:
        """Return the message with this service's own fields, except the ones it refuses."""
        added, refused = added_by(self._access.service_id, message), self._quirks.refused
        plain = {name: value for name, value in message.items() if name != ADDED}
        if calls := plain.get("tool_calls"):
            of_calls = as_object(added.get("calls"))
            plain["tool_calls"] = [
                _merge(_call(x), as_object(of_calls.get(x["id"])), refused) for x in calls
            ]
        return _merge(plain, as_object(added.get("message")), refused)


def _alternating(messages: Sequence[Message]) -> list[Message]:
    """Return the messages with one of the assistant between any two of the user."""
    turns: list[Message] = []
    for message in messages:
        role, before = message["role"], turns[-1]["role"] if turns else ""
        if role == before == "user":
            message = {"role": role, "content": _join(turns.pop()["content"], message["content"])}
        elif role == "user" and before == "tool":
            turns.append({"role": "assistant", "content": _READ})
        turns.append(message)
    return turns


def _join(first: Any, second: Any) -> Any:
    """Join two contents, each a text or a list of parts."""
    if isinstance(first, str) and isinstance(second, str):
        return join_paragraphs(first, second)
    parts: list[Any] = []
    for content in (first, second):
        parts += [{"type": "text", "text": content}] if isinstance(content, str) else content
    return parts


def _call(call: Mapping[str, Any]) -> dict[str, Any]:
    function = call["function"]
    arguments = arguments_as_object(function.get("arguments") or "{}")
    return {**call, "function": {**function, "arguments": arguments}}


def _merge(
    plain: Mapping[str, Any], added: Mapping[str, Any], refused: Collection[str]
) -> dict[str, Any]:
    """Merge the added fields into the message; the message's own values win."""
    more = {name: value for name, value in added.items() if name not in refused}
    if "function" in more and "function" in plain:
        return {**more, **plain, "function": {**as_object(more["function"]), **plain["function"]}}
    return {**more, **plain}


def _function(spec: FunctionSpec) -> dict[str, Any]:
    function = {"name": spec.name, "description": spec.description, "parameters": spec.parameters}
    return {"type": "function", "function": function}
