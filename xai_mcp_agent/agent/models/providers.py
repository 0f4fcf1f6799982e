"""Anthropic, Gemini, Bedrock, Mistral, Groq, Cohere and xAI natively, by pydantic-ai.

It needs the extra `providers`, and is imported only for such a model: the import takes two seconds
and 90 MB. A service's whole response is kept beside its message, so that signed or encrypted parts
go back unchanged.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import AsyncExitStack, aclosing
from typing import Any, cast

import anyio
import anyio.to_thread
from pydantic import ValidationError
from pydantic_ai import exceptions
from pydantic_ai import messages as ai
from pydantic_ai.direct import model_request_stream
from pydantic_ai.models import Model, ModelRequestParameters, infer_model
from pydantic_ai.providers import infer_provider_class
from pydantic_ai.settings import ModelSettings as NativeSettings
from pydantic_ai.tools import ToolDefinition

from ...core.errors import (
    ModelAuthenticationError,
    ModelError,
    ModelUnreachable,
    drop_tracebacks,
)
from ...core.json import as_list, as_object
from ...secrets.secrets import Secret, Secrets
from ..media import without
from ..messages import Message, ToolCall, added_by, text_of, with_calls
from .access import family_of, key_variable
from .base import INSTALL, FinishReason, ModelReply, ModelRequest, ModelSettings, OnText, TokenUsage
from .errors import (
    AttemptFailure,
    ModelService,
    dropped_failure,
    status_failure,
    timeout_error,
    words_of,
)
from .quirks import quirks_of
from .retries import RetryingModel

_PYDANTIC_NAMES = {"vertexai": "google-cloud"}  # the others have the same name there
_EARLY_ENDS: dict[str | None, FinishReason] = {
    "length": "length",
    "content_filter": "content_filter",
}


class NativeModel(RetryingModel):
    """A model of a service, reached through its own API at its own address."""

    def __init__(
        self,
        provider: str,
        model: str,
        *,
        api_key: Secret | None = None,
        settings: ModelSettings | None = None,
    ) -> None:
        super().__init__(settings or ModelSettings(), quirks_of(provider, model))
        self._provider, self._model, self._key = provider, model, api_key
        self._service_id = f"{provider} {family_of(model)}"
        self._native: Model | None = None
        self._connections = AsyncExitStack()
        self._opening = anyio.Lock()

    async def aclose(self) -> None:
        """Close connections. The next reply opens new ones."""
        self._native = None
        await self._connections.aclose()

    @property
    def _service(self) -> ModelService:
        variable = key_variable(self._provider)
        secrets = Secrets([self._key or "", os.environ.get(variable, "")])
        limit = self._settings.timeout_seconds
        return ModelService(
            self._provider, self._model, "", limit, key_variable=variable, secrets=secrets
        )

    async def _attempt(self, request: ModelRequest, on_text: OnText) -> ModelReply | AttemptFailure:
        async with aclosing(self._pieces(request)) as pieces:
            async for piece in pieces:
                if not isinstance(piece, str):
                    return piece
                await on_text(piece)
        return dropped_failure(self._service)

    async def _pieces(
        self, request: ModelRequest
    ) -> AsyncGenerator[str | ModelReply | AttemptFailure]:
        """Yield the text as it comes, and finally the reply or the failure."""
        try:
            async with model_request_stream(
                await self._connect(),
                _history(request.messages, self._service_id, self._quirks.refused),
                model_settings=self._native_settings(request),
                model_request_parameters=_parameters(request),
            ) as stream:
                async for event in stream:
                    match event:
                        case ai.PartStartEvent(part=ai.TextPart(content=text)):
                            yield text
                        case ai.PartDeltaEvent(delta=ai.TextPartDelta(content_delta=text)):
                            yield text
                        case _:
                            pass
                response = stream.get()
            # Each service gives a reason for its end.
            has_reason = response.finish_reason or response.provider_details
            is_whole = response.state == "complete" and has_reason
            yield self._reply(response) if is_whole else dropped_failure(self._service)
        except Exception as cause:  # noqa: BLE001 - each library has errors of its own
            yield _failure_of(cause, self._service)

    async def _connect(self) -> Model:
        async with self._opening:
            if self._native is None:
                # In a thread: it imports the service's own library.
                native = await anyio.to_thread.run_sync(self._open)
                # pydantic-ai closes only the connections of a model that was entered.
                self._native = await self._connections.enter_async_context(native)
            return self._native

    def _open(self) -> Model:
        key = {"api_key": self._key.reveal()} if self._key else {}
        name = _PYDANTIC_NAMES.get(self._provider, self._provider)
        provider = cast(Any, infer_provider_class(name))(**key)
        return infer_model(f"{name}:{self._model}", lambda _: provider)

    def _native_settings(self, request: ModelRequest) -> NativeSettings:
        own = self._settings
        values: dict[str, Any] = {
            "temperature": self._temperature(request),
            "max_tokens": own.max_output_tokens,
            "thinking": own.reasoning_effort,
            "extra_body": own.extra_body or None,
            "timeout": own.timeout_seconds,
            "tool_choice": "none" if request.functions and not request.may_call else None,
            "max_retries": 0,
        }
        return cast(NativeSettings, {name: x for name, x in values.items() if x is not None})

    def _reply(self, response: ai.ModelResponse) -> ModelReply:
        calls, usage = _calls(response), response.usage
        reasoning = usage.details.get("reasoning_tokens", 0)
        (response_json,) = ai.ModelMessagesTypeAdapter.dump_python([response], mode="json")
        return ModelReply(
            _text(response),
            calls,
            _EARLY_ENDS.get(response.finish_reason, "tool_calls" if calls else "stop"),
            usage=TokenUsage(
                usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, reasoning
            ),
            thinking=response.thinking or "",
            added={"service": self._service_id, "response": response_json},
        )


def _parameters(request: ModelRequest) -> ModelRequestParameters:
    functions = [
        ToolDefinition(name=x.name, description=x.description, parameters_json_schema=x.parameters)
        for x in request.functions
    ]
    return ModelRequestParameters(function_tools=functions)


def _history(
    messages: Sequence[Message], service: str, refused: Collection[str]
) -> list[ai.ModelMessage]:
    """Convert the conversation to pydantic-ai's requests, of several parts, and responses."""
    history: list[ai.ModelMessage] = []
    parts: list[ai.ModelRequestPart] = []
    for original, call in with_calls(messages):
        message = dict(original)
        if message["role"] == "assistant":
            # The results of one turn form one request: Anthropic wants them in one message.
            history += [ai.ModelRequest(parts)] if parts else []
            history.append(_response(message, service))
            parts = []
        elif message["role"] == "system":
            parts.append(ai.SystemPromptPart(text_of(message)))
        elif message["role"] == "tool":
            name = as_object(call.get("function")).get("name") or "a_tool"
            content = _content(without(message, refused))
            parts.append(ai.ToolReturnPart(name, content, message["tool_call_id"]))
        else:
            parts.append(ai.UserPromptPart(_content(message)))
    return [*history, ai.ModelRequest(parts)] if parts else history


def _response(message: Message, service: str) -> ai.ModelResponse:
    """Return the service's own response if the message still matches it, else a new one."""
    parts: list[Any] = [ai.TextPart(text_of(message))] if text_of(message) else []
    for call in message.get("tool_calls") or ():
        function = call["function"]
        parts.append(ai.ToolCallPart(function["name"], function["arguments"] or "", call["id"]))
    rebuilt = ai.ModelResponse(parts)
    try:
        responses = [added_by(service, message)["response"]]
        (response,) = cast(Any, ai.ModelMessagesTypeAdapter.validate_python(responses))
    except (KeyError, ValidationError):  # from another service, or edited
        return rebuilt
    is_same = (_text(response), _calls(response)) == (_text(rebuilt), _calls(rebuilt))
    return response if is_same else rebuilt


def _content(message: Message) -> Any:
    """Return a content's text, or its parts with pictures and sounds as bytes."""
    if not isinstance(message.get("content"), list):
        return message.get("content") or ""
    parts: list[Any] = []
    for part in map(as_object, as_list(message["content"])):
        match part:
            case {"image_url": {"url": str(url)}}:
                is_data = url.startswith("data:")
                parts.append(ai.BinaryContent.from_data_uri(url) if is_data else ai.ImageUrl(url))
            case {"input_audio": {"data": str(data), "format": str(kind)}}:
                sound = base64.b64decode(data)
                parts.append(ai.BinaryContent(sound, media_type=f"audio/{kind}"))
            case _:
                parts.append(str(part.get("text") or ""))
    return parts


def _text(response: ai.ModelResponse) -> str:
    return "".join(x.content for x in response.parts if isinstance(x, ai.TextPart))


def _calls(response: ai.ModelResponse) -> tuple[ToolCall, ...]:
    """Return the calls with arguments as written: the model must see its invalid JSON."""
    calls: list[ToolCall] = []
    for part in response.parts:
        if isinstance(part, ai.ToolCallPart):
            args = part.args or "{}"  # one spelling for None, empty text and no fields
            args = args if isinstance(args, str) else json.dumps(args)
            calls.append(ToolCall(part.tool_call_id, part.tool_name, args))
    return tuple(calls)


def _failure_of(cause: Exception, service: ModelService) -> AttemptFailure:
    """Convert an error to a failure. Do not raise the error again: its frames are cleared."""
    words = str(getattr(cause, "message", cause))
    try:
        match cause:
            case exceptions.ModelTimeoutError():
                return AttemptFailure(timeout_error(service))
            case exceptions.ModelConnectionError():
                return dropped_failure(service, words)
            case exceptions.ModelHTTPError():
                pause = {"retry-after": str(cause.retry_after)} if cause.retry_after else {}
                headers = {**(cause.headers or {}), **pause}
                body = as_object(cause.body).get("error") or cause.body or words
                if isinstance(cause, exceptions.ModelQuotaExceededError):
                    body = {"message": words_of(body), "code": "insufficient_quota"}
                return status_failure(cause.status_code, headers, body, service)
            case exceptions.ContentFilterError():
                body = {"message": words, "code": "content_filter"}
                return status_failure(0, {}, body, service)
            case ImportError():
                return AttemptFailure(
                    ModelError(service.message("cannot be asked", INSTALL, words))
                )
            case exceptions.UserError():
                step = f"Set {service.key_places}."
                error = ModelAuthenticationError(service.message("cannot be asked", step, words))
                return AttemptFailure(error)
            case _:
                step = "Check the model's name and its settings."
                error = ModelUnreachable(service.message("could not be used", step, words))
                # pydantic-ai raises NotImplementedError for pictures or sounds of some services.
                return AttemptFailure(error, words=words)
    finally:
        drop_tracebacks(cause)
