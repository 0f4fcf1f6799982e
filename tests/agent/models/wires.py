"""The wires that the contract of a model is tested on, each as a scripted endpoint speaks it.

A further wire: one more `ScriptedWire` in `WIRES`, and its protocol in `tests/support`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio
import pytest

from tests.support.model_endpoint import ModelEndpoint, Script, Step, delta, model_endpoint, says
from xai_mcp_agent import ModelError, Secret
from xai_mcp_agent.agent.conversation import call_message
from xai_mcp_agent.agent.messages import Message
from xai_mcp_agent.agent.models.base import ModelReply, ModelRequest
from xai_mcp_agent.agent.models.chat import ChatModel
from xai_mcp_agent.agent.models.openai import OpenAIModel
from xai_mcp_agent.agent.models.responses import ResponsesModel
from xai_mcp_agent.core.provider_schema import FunctionSpec

KEY = "sk-very-secret-key"
ADD = FunctionSpec("add", "Adds.", {"type": "object", "properties": {"a": {"type": "integer"}}})
ASK: tuple[Message, ...] = ({"role": "user", "content": "go"},)


@dataclass(frozen=True)
class ScriptedWire:
    """One wire: its provider, and the parts that only its protocol has.

    `text_piece` and `error_piece` are events of a stream; `conversation` is what a request holds of
    it, in the protocol's own words; `refusable` are settings that a service may refuse, and how it
    says so.
    """

    kind: type[OpenAIModel]
    text_piece: Callable[[str], dict[str, Any]]
    error_piece: Callable[[Mapping[str, Any] | str], dict[str, Any]]
    conversation: Callable[[Mapping[str, Any]], Sequence[dict[str, Any]]]
    refusable: Mapping[str, dict[str, Any]]
    answers_without_a_reply: tuple[Any, ...]
    text_and_picture: tuple[str, str]  # the types of such parts
    takes_sounds: bool
    form: Callable[[Mapping[str, Any]], Any]  # of the answer, as a request has it

    def model(self, model: str, **options: Any) -> OpenAIModel:
        """A model that is asked by this wire."""
        return self.kind(model, **options)

    @property
    def provider(self) -> str:
        """Return the provider's name."""
        return self.kind.provider

    @asynccontextmanager
    async def model_of(
        self, script: Script, model: str = "small", **options: Any
    ) -> AsyncGenerator[tuple[OpenAIModel, ModelEndpoint]]:
        """A model whose service follows the script."""
        with model_endpoint(script) as endpoint:
            options = {"base_url": endpoint.base_url, "api_key": Secret(KEY), **options}
            subject = self.model(model, **options)
            try:
                with anyio.fail_after(20):
                    yield subject, endpoint
            finally:
                await subject.aclose()

    async def reply(self, *steps: Step) -> ModelReply:
        """Return the reply of a model that may add, if its service answers by these steps."""
        async with self.model_of(steps) as (subject, _):
            return await ask(subject, ADD)

    async def body_of(self, request: ModelRequest, **options: Any) -> dict[str, Any]:
        """Return the body that the service gets for a request."""
        async with self.model_of([says("ok")], **options) as (subject, endpoint):
            await ask_streamed(subject, request)
        return endpoint.requests[0].body

    async def error_of(self, script: Script, **options: Any) -> ModelError:
        """Return the error of a model whose service follows the script."""
        async with self.model_of(script, **options) as (subject, endpoint):
            with pytest.raises(ModelError) as caught:
                await ask(subject, ADD)
            message = str(caught.value)
            assert KEY not in message
            assert f"{self.provider} small" in message
            assert endpoint.base_url in message
            return caught.value


def _response_failed(error: Mapping[str, Any] | str) -> dict[str, Any]:
    if isinstance(error, str):
        return {"type": "error", "code": None, "message": error, "param": None}
    return {"type": "response.failed", "response": {"status": "failed", "error": error}}


_REFUSABLE = {
    "temperature": {"message": "Only the default (1) is supported", "param": "temperature"},
    "stream": {"message": "Your organization must be verified to stream", "param": "stream"},
}
CHAT = ScriptedWire(
    ChatModel,
    text_piece=lambda text: delta({"content": text}),
    error_piece=lambda error: {"error": error},
    conversation=lambda body: body["messages"],
    refusable={
        **_REFUSABLE,
        "stream_options": {"message": "Unknown parameter: stream_options", "param": None},
    },
    answers_without_a_reply=([], {"choices": []}),
    text_and_picture=("text", "image_url"),
    takes_sounds=True,
    form=lambda body: body.get("response_format", {}).get("json_schema"),
)
RESPONSES = ScriptedWire(
    ResponsesModel,
    text_piece=lambda text: {
        "type": "response.output_text.delta", "output_index": 0, "delta": text
    },
    error_piece=_response_failed,
    conversation=lambda body: body["input"],
    refusable={
        **_REFUSABLE,
        "include": {"message": "Encrypted content is not supported", "param": "include"},
    },
    answers_without_a_reply=([], {"status": "in_progress", "output": []}),
    text_and_picture=("input_text", "input_image"),
    takes_sounds=False,
    form=lambda body: body.get("text", {}).get("format"),
)  # fmt: skip
WIRES = (CHAT, RESPONSES)


async def ask(subject: OpenAIModel, *functions: FunctionSpec) -> ModelReply:
    """Say `go` and get the reply."""
    reply, _ = await ask_streamed(subject, ModelRequest(ASK, functions))
    return reply


async def ask_streamed(subject: OpenAIModel, request: ModelRequest) -> tuple[ModelReply, list[str]]:
    """The reply, and its text in the pieces in which it came."""
    pieces: list[str] = []

    async def on_text(text: str) -> None:
        pieces.append(text)

    reply = await subject.reply(request, on_text)
    return reply, pieces


def after(reply: ModelReply) -> tuple[Message, ...]:
    """The conversation after this reply, its calls answered."""
    message = call_message(reply.text, reply.calls, added=reply.added)
    answers = [{"role": "tool", "tool_call_id": x.id, "content": "3"} for x in reply.calls]
    return (*ASK, message, *answers)


async def ignore_text(_text: str) -> None:
    """Ignore streamed text."""
