"""A model behind the Chat Completions API, at OpenAI or at any service that speaks it.

Azure, Ollama, vLLM and llama.cpp are reached by `base_url`; Amazon Bedrock and Google Vertex
AI through the client library's own providers. What a service turns out to refuse is
left out from then on. Keys and addresses are `openai_access.py`, what comes back is read by
`openai_stream.py` and `openai_reply.py`, errors are `openai_errors.py`.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

import anyio
import anyio.to_thread

from ...core.errors import ModelCannotCallFunctions, ModelUnreachable
from ...core.provider_schema import FunctionSpec
from ...core.tools import JsonObject
from ...secrets.secrets import Secret
from . import openai_errors as errors
from .base import AskedAgain, ModelReply, ModelRequest, ModelSettings, OnAgain, OnText
from .openai_access import Access, OpenAIProvider
from .openai_added import added_names, without_private
from .openai_attempts import Attempts
from .openai_format import answer_format, is_about_format
from .openai_reply import ReplySoFar
from .openai_stream import chunks

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_MAX_TEMPERATURE = 2.0
# What services use when none is sent; `extra_temperature` is counted from here.
_USUAL_TEMPERATURE = 1.0
# A service that misses a field in one message names it as one that refuses it does.
_MISSED = re.compile(r"missing|must|required", re.IGNORECASE)
_REASONING_MODEL = re.compile(r"(?:.*/)?(?:gpt-5|o\d)")


class OpenAIModel:
    """One model of one service that speaks Chat Completions; connects at the first reply.

    `base_url` defaults to OPENAI_BASE_URL. The key in OPENAI_API_KEY is for that address, or else
    for OpenAI's own; any other wants `api_key`, except on this machine or network. For `bedrock`
    the region and the credentials come from AWS's usual places, for `vertexai` from Google's
    (GOOGLE_CLOUD_PROJECT, GOOGLE_CLOUD_LOCATION, application default credentials); `api_key` is
    then a bearer token in place of those.
    """

    def __init__(
        self,
        model: str,
        *,
        provider: OpenAIProvider = "openai",
        base_url: str | None = None,
        api_key: Secret | None = None,
        settings: ModelSettings | None = None,
    ) -> None:
        self._settings = settings or ModelSettings()
        self._access = Access(provider, model, base_url or None, api_key or None)
        self._client: AsyncOpenAI | None = None
        self._opening = anyio.Lock()
        self._learned = _Learned()
        self._call_numbers = itertools.count(1)
        self._calls_functions = True

    @property
    def name(self) -> str:
        """The provider and the model, for people."""
        return f"{self._access.provider} {self._access.model}"

    @property
    def calls_functions(self) -> bool:
        """True until the service says that this model cannot."""
        return self._calls_functions

    async def reply(
        self, request: ModelRequest, on_text: OnText, on_again: OnAgain | None = None
    ) -> ModelReply:
        """Ask for the next message; its text goes to `on_text` as it comes.

        A reply that breaks off is asked for anew, which `on_again` is told before: no part of it
        counts.

        Raises:
            ModelCannotCallFunctions: functions were offered to a model that cannot call them.
            ModelError: any other of its kinds, with what to do next.
        """
        limit = self._settings.turn_limit_seconds
        with anyio.move_on_after(limit) as scope:
            try:
                return await self._ask(request, on_text, on_again, scope.deadline)
            except ModelCannotCallFunctions:
                self._calls_functions = False
                raise
        raise errors.turn_error(limit, self._service(self._client))

    async def aclose(self) -> None:
        """Let go of connections. The next reply opens new ones."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def _ask(
        self, request: ModelRequest, on_text: OnText, on_again: OnAgain | None, deadline: float
    ) -> ModelReply:
        client = await self._connected()
        attempts = Attempts(deadline)
        while True:
            came = await self._attempt(client, request, on_text)
            if isinstance(came, ModelReply):
                return came
            pause = attempts.pause_seconds(came)
            if pause is None:
                try:
                    raise came.error
                finally:
                    del came  # the error holds this frame: held by it, both would stay for long
            if on_again:
                await on_again(AskedAgain(came.reason, pause))
            await anyio.sleep(pause)

    async def _attempt(
        self, client: AsyncOpenAI, request: ModelRequest, on_text: OnText
    ) -> ModelReply | errors.Failure:
        service = self._service(client)
        response = await self._send(client, request)
        if isinstance(response, errors.Failure):
            return response
        so_far = ReplySoFar()
        async with aclosing(chunks(response.http_response, service)) as pieces:
            async for piece in pieces:
                if not isinstance(piece, errors.Failure):
                    if text := so_far.add(piece):
                        await on_text(text)
                elif not so_far.is_whole:
                    return piece
        if not so_far.answered:
            step = "Check `base_url` and the server's log."
            words = "answered without a reply in it"
            return errors.Failure(ModelUnreachable(service.says(words, step)))
        service_id = self._access.service_id(client)
        return so_far.finished(lambda: f"call_{next(self._call_numbers)}", service_id)

    async def _connected(self) -> AsyncOpenAI:
        async with self._opening:
            if self._client is None:
                self._access.check(self._settings.timeout_seconds)
                # In a thread: importing openai takes a second, and the loop has others to serve.
                self._client = await anyio.to_thread.run_sync(
                    self._access.open, self._settings.timeout_seconds
                )
            return self._client

    async def _send(self, client: AsyncOpenAI, request: ModelRequest) -> Any:
        """The response, its body not read yet; or the `Failure`, once nothing can be left out."""
        import openai  # Here, because it is heavy; it was loaded when the client was made.

        mended = False
        while True:
            body = self._body(client, request)
            try:
                return await self._post(client, _without_surrogates(body) if mended else body)
            except UnicodeEncodeError as cause:
                if mended:
                    return errors.failure(cause, self._service(client))
                mended = True
            except (openai.OpenAIError, TypeError, ValueError) as cause:
                if not self._learned.from_error(cause, body, self._added_names(client, request)):
                    return errors.failure(cause, self._service(client))

    async def _post(self, client: AsyncOpenAI, body: dict[str, Any]) -> Any:
        create = cast(Any, client.chat.completions.with_raw_response.create)
        # As further fields: the client walks through each message that it is given, on the loop,
        # for a tenth of a millisecond and more.
        known = {name: body[name] for name in ("model", "stream") if name in body}
        further = {**body, **self._settings.extra_body}
        return await create(**known, messages=[], extra_body=further)

    def _body(self, client: AsyncOpenAI, request: ModelRequest) -> dict[str, Any]:
        settings, learned = self._settings, self._learned
        limit_name = learned.limit_name or _limit_name(self._access.model, str(client.base_url))
        wanted: dict[str, Any] = {
            "tools": [_function(x) for x in request.functions] or None,
            "tool_choice": "none" if request.functions and not request.may_call else None,
            "stream": True,
            "stream_options": {"include_usage": True},
            "temperature": _temperature(settings.temperature, request.extra_temperature),
            limit_name: settings.max_output_tokens,
            "reasoning_effort": settings.reasoning_effort,
            "response_format": _response_format(request.output_schema),
        }
        service_id = self._access.service_id(client)
        messages = without_private(request.messages, service_id, learned.refused)
        body = {"model": self._access.sent_model, "messages": messages}
        for name, value in wanted.items():
            if value is not None and name not in learned.refused:
                body[name] = value
        return body

    def _added_names(self, client: AsyncOpenAI, request: ModelRequest) -> set[str]:
        return added_names(request.messages, self._access.service_id(client))

    def _service(self, client: AsyncOpenAI | None) -> errors.Service:
        return self._access.service(client, self._settings.timeout_seconds)


@dataclass
class _Learned:
    """What this service turned out to refuse, kept for the model's life."""

    refused: set[str] = field(default_factory=set[str])
    limit_name: str = ""

    def from_error(self, cause: Exception, body: Mapping[str, Any], added: set[str]) -> bool:
        """Learn from a refusal; True when asking again without what it names makes sense.

        `added` are the fields that went back to the service as it had added them.
        """
        import openai  # Loaded already, see `OpenAIModel._send`.

        if not isinstance(cause, openai.APIStatusError) or cause.status_code not in {400, 422}:
            return False
        words = errors.words_of(cause.body)
        if errors.is_overflow(cause.code, words):
            return False
        if cause.param == "stream" and "stream" in body:
            # OpenAI streams some models to verified organisations only.
            self.refused |= {"stream", "stream_options"}
            return True
        optional = ("stream_options", "temperature", "tool_choice")
        named = [x for x in optional if _names(cause.param, words, x)]
        if is_about_format(cause.param, words):
            named.append("response_format")
        for name in named:
            if name in body:
                self.refused.add(name)
                return True
        if taken := {x for x in added - self.refused if _is_unwanted(words, x)}:
            self.refused |= taken
            return True
        return self._other_limit(cause.param, words, body)

    def _other_limit(self, param: str | None, words: str, body: Mapping[str, Any]) -> bool:
        pair = ("max_tokens", "max_completion_tokens")
        for name, other in (pair, pair[::-1]):
            if name in body and not self.limit_name and _names(param, words, name):
                self.limit_name = other
                return True
        return False


def _function(spec: FunctionSpec) -> dict[str, Any]:
    described = {"name": spec.name, "description": spec.description, "parameters": spec.parameters}
    return {"type": "function", "function": described}


def _response_format(schema: JsonObject | None) -> JsonObject | None:
    described = answer_format(schema)
    return described and {"type": "json_schema", "json_schema": described}


def _temperature(wanted: float | None, extra: float) -> float | None:
    if wanted is None and extra <= 0:
        return None
    base = _USUAL_TEMPERATURE if wanted is None else wanted
    return min(max(base + extra, 0.0), _MAX_TEMPERATURE)


def _limit_name(model: str, base_url: str) -> str:
    """The parameter that limits the answer: OpenAI renamed it, most others know the old name."""
    host = urlsplit(base_url).hostname or ""
    renamed = host == "api.openai.com" or host.endswith((".openai.azure.com", ".azure.com"))
    return "max_completion_tokens" if renamed or _REASONING_MODEL.match(model) else "max_tokens"


def _names(param: str | None, words: str, name: str) -> bool:
    """Whether a refusal is about this parameter."""
    return param == name or bool(re.search(rf"\b{name}\b", words))


def _is_unwanted(words: str, name: str) -> bool:
    """Whether a service that was sent what it added itself refuses this field of it."""
    return bool(re.search(rf"\b{re.escape(name)}\b", words)) and not _MISSED.search(words)


def _without_surrogates(value: Any) -> Any:
    """The same JSON value with what cannot be sent as UTF-8 shown as a replacement character."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, Mapping):
        items = cast(Mapping[str, Any], value).items()
        return {_without_surrogates(k): _without_surrogates(v) for k, v in items}
    if isinstance(value, list | tuple):
        return [_without_surrogates(x) for x in cast(list[Any], value)]
    return value
