"""An agent's model, lent to a server for a short reply during a call of that agent.

The model sees the server's conversation only: nothing of the agent's own prompt, memory or
conversation is in it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..core.errors import XaiMcpError
from ..core.json import JsonObject, clip
from ..core.provider_schema import FunctionSpec, function_description, function_parameters
from ..core.questions import (
    SamplingMessage,
    SamplingRefused,
    SamplingReply,
    SamplingRequest,
    Stop,
    ToolUse,
    ToolUseResult,
)
from ..core.results import ImagePart, ResultPart, TextPart, ToolResult, describe
from ..core.threads import beside_loop
from ..core.visible import own_names
from .arguments import parse_arguments
from .conversation import call_message
from .media import content_of
from .messages import Message, ToolCall
from .models.base import ModelReply, ModelRequest, TokenUsage
from .models.choice import OFFLINE, AgentModel

_QUOTE_CHARS = 300


@dataclass(frozen=True)
class LentModel:
    """Model of the agent with this name. `tell` gets lines for a person, `count` the usage."""

    model: AgentModel
    agent: str
    env: Mapping[str, str]
    mask: Callable[[str], str]
    tell: Callable[[str], None]
    count: Callable[[TokenUsage], None]


async def sample(lent: LentModel, request: SamplingRequest) -> SamplingReply:
    """Return the reply of this model.

    Raises:
        SamplingRefused: the model cannot take this request, or its service refused.
    """
    model = _model_for(lent.model, request).open(lent.env)
    try:
        if request.tools and not model.calls_functions:
            raise SamplingRefused(f"the model {model.name} cannot call functions")
        has_vision = lent.model.provider != OFFLINE
        model_request = _model_request(request, has_vision=has_vision)
        limit = f"{request.max_tokens} tokens at most"
        quote = _quote(_last_words(request))
        lent.tell(f"{request.server} asks the model of {lent.agent} ({limit}): {quote}")
        try:
            reply = await model.reply(model_request, _drop_text)
        except XaiMcpError as cause:
            raise SamplingRefused(f"the model gave no answer: {cause}") from cause
        lent.count(reply.usage)
        lent.tell(f"it answered {request.server}: {_quote(reply.text or '(a tool)')}")
        # The model knows no secret of ours, but the server's conversation may contain one.
        text, chars = lent.mask(reply.text), sum(len(x.arguments) for x in reply.calls)
        return await beside_loop(chars, lambda: _reply_of(reply, text, model.name, request))
    finally:
        await model.aclose()


def _quote(text: str) -> str:
    return clip(" ".join(text.split()), _QUOTE_CHARS)


def _model_for(own: AgentModel, request: SamplingRequest) -> AgentModel:
    more = {"stop": list(request.stop_sequences)} if request.stop_sequences else {}
    temperature = own.temperature if request.temperature is None else request.temperature
    return replace(
        own,
        max_output_tokens=min(request.max_tokens, own.max_output_tokens or request.max_tokens),
        temperature=temperature,
        extra_body={**own.extra_body, **more},
    )


def _model_request(request: SamplingRequest, *, has_vision: bool) -> ModelRequest:
    messages: list[Message] = []
    if request.system:
        messages.append({"role": "system", "content": request.system})
    for message in request.messages:
        messages += _messages_of(message, has_vision=has_vision)
    functions = tuple(
        FunctionSpec(
            x.name, function_description(x.description), function_parameters(x.input_schema)
        )
        for x in request.tools
    )
    return ModelRequest(tuple(messages), functions, may_call=request.may_use_tools)


def _reply_of(reply: ModelReply, text: str, model: str, request: SamplingRequest) -> SamplingReply:
    if reply.refusal:
        raise SamplingRefused("the model declined to answer")
    schemas = {x.name: x.input_schema for x in request.tools}
    uses = tuple(_use_of(call, schemas.get(call.name, {})) for call in reply.calls)
    stop: Stop = "toolUse" if uses else "endTurn"
    if reply.finish == "length":
        stop = "maxTokens"
    return SamplingReply(text, model, uses, stop)


def _messages_of(message: SamplingMessage, *, has_vision: bool) -> list[Message]:
    """Return a message as models take it: tool results become messages of their own."""
    answers: list[Message] = [
        {
            "role": "tool",
            "tool_call_id": x.id,
            "content": _result_content(x.parts, has_vision=has_vision),
        }
        for x in message.parts
        if isinstance(x, ToolUseResult)
    ]
    uses = [x for x in message.parts if isinstance(x, ToolUse)]
    parts = [x for x in message.parts if not isinstance(x, ToolUse | ToolUseResult)]
    if uses:
        calls = [ToolCall(x.id, x.name, json.dumps(x.arguments)) for x in uses]
        return [call_message(_text(parts), calls)]
    own: Message = {"role": message.role, "content": _content(parts, has_vision=has_vision)}
    return [*answers, own] if parts else answers


def _content(parts: Sequence[ResultPart], *, has_vision: bool) -> Any:
    if all(isinstance(x, TextPart) for x in parts):
        return _text(parts)
    for part in parts:
        if not isinstance(part, TextPart) and not (has_vision and isinstance(part, ImagePart)):
            kind = type(part).__name__.removesuffix("Part").lower()
            raise SamplingRefused(f"this model does not take content of the kind {kind}")
    return [_as_content(x) for x in parts]


def _as_content(part: ResultPart) -> JsonObject:
    if isinstance(part, ImagePart):
        url = f"data:{part.mime_type};base64,{part.data}"
        return {"type": "image_url", "image_url": {"url": url}}
    return {"type": "text", "text": describe(part)}


def _result_content(parts: tuple[ResultPart, ...], *, has_vision: bool) -> Any:
    text = _text(parts)
    return content_of(text, ToolResult(parts)) if has_vision else text


def _text(parts: Sequence[ResultPart]) -> str:
    return "\n".join(describe(x) for x in parts)


def _use_of(call: ToolCall, schema: JsonObject) -> ToolUse:
    try:
        arguments = parse_arguments(call.arguments, {"type": "object"}, tool=call.name)
    except XaiMcpError as cause:
        raise SamplingRefused(f"the model called a tool with broken arguments: {cause}") from cause
    return ToolUse(call.id, call.name, own_names(arguments, schema))


def _last_words(request: SamplingRequest) -> str:
    parts = request.messages[-1].parts if request.messages else ()
    return "\n".join(describe(x) for x in parts if not isinstance(x, ToolUse | ToolUseResult))


async def _drop_text(_text: str) -> None:
    """Drop streamed text: it is not the agent's own."""
