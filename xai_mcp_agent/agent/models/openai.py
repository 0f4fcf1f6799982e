"""A model behind the Chat Completions API, at OpenAI or at any service that speaks it.

Azure, Ollama, vLLM and llama.cpp are reached by `base_url`; Amazon Bedrock and Google Vertex
AI through the client library's own providers. What a service turns out to refuse is
left out from then on. Keys and addresses are `openai_access.py`, reading answers is
`openai_reply.py`, errors are `openai_errors.py`.
"""

from __future__ import annotations

import itertools
import json
import random
import re
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

import anyio
import anyio.to_thread

from ...core.errors import ModelCannotCallFunctions, ModelUnreachable
from ...settings.secrets import Secret
from . import openai_errors as errors
from .base import FunctionSpec, ModelReply, ModelRequest, ModelSettings, OnText
from .openai_access import Access, OpenAIProvider, is_local
from .openai_reply import ReplySoFar

if TYPE_CHECKING:
    from openai import AsyncOpenAI

# Not the client's own retries: those sleep through our limit and then hide why they waited.
_RETRIES = 2
_FIRST_PAUSE_SECONDS = 0.5
_MAX_TEMPERATURE = 2.0
# What services use when none is sent; `extra_temperature` is counted from here.
_USUAL_TEMPERATURE = 1.0
_REASONING_MODEL = re.compile(r"(?:.*/)?(?:gpt-5|o\d)")


class OpenAIModel:
    """One model of one service that speaks Chat Completions; connects at the first reply.

    `base_url` and `api_key` default to OPENAI_BASE_URL and OPENAI_API_KEY; a server on this
    machine or network needs no key. For `bedrock` the region and the credentials come from
    AWS's usual places, for `vertexai` from Google's (GOOGLE_CLOUD_PROJECT, GOOGLE_CLOUD_LOCATION,
    application default credentials); `api_key` is then a bearer token in place of those.
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

    async def reply(self, request: ModelRequest, on_text: OnText) -> ModelReply:
        """Ask for the next message; its text goes to `on_text` as it comes.

        Raises:
            ModelCannotCallFunctions: functions were offered to a model that cannot call them.
            ModelError: any other of its kinds, with what to do next.
        """
        limit = self._settings.timeout_seconds
        with anyio.move_on_after(limit) as scope:
            try:
                return await self._ask(request, on_text, scope.deadline)
            except ModelCannotCallFunctions:
                self._calls_functions = False
                raise
        raise errors.timeout_error(limit, self._access.service(self._client))

    async def aclose(self) -> None:
        """Let go of connections. The next reply opens new ones."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def _ask(self, request: ModelRequest, on_text: OnText, deadline: float) -> ModelReply:
        client = await self._connected()
        response = await self._send(client, request, deadline)
        so_far = ReplySoFar()
        service = self._access.service(client)
        async with aclosing(_chunks(response, service)) as chunks:
            async for chunk in chunks:
                if text := so_far.add(chunk):
                    await on_text(text)
        if not so_far.answered:
            step = "Check `base_url` and the server's log."
            raise ModelUnreachable(service.says("answered without a reply in it", step))
        return so_far.finished(lambda: f"call_{next(self._call_numbers)}")

    async def _connected(self) -> AsyncOpenAI:
        async with self._opening:
            if self._client is None:
                # In a thread: importing openai takes a second, and the loop has others to serve.
                self._client = await anyio.to_thread.run_sync(
                    self._access.open, self._settings.timeout_seconds
                )
            return self._client

    async def _send(self, client: AsyncOpenAI, request: ModelRequest, deadline: float) -> Any:
        """The response, its body not read yet; asks again where that can help."""
        import openai  # Here, because it is heavy; it was loaded when the client was made.

        attempts = itertools.count()
        mended = False
        while True:
            body = self._body(client, request)
            try:
                return await self._post(client, _without_surrogates(body) if mended else body)
            except UnicodeEncodeError as cause:
                if mended:
                    raise errors.model_error(cause, self._access.service(client)) from cause
                mended = True
                continue
            except (openai.OpenAIError, TypeError, ValueError) as cause:
                if self._learned.from_error(cause, body):
                    continue
                pause = self._pause_seconds(cause, next(attempts), client)
                if pause is None or anyio.current_time() + pause >= deadline:
                    raise errors.model_error(cause, self._access.service(client)) from cause
            await anyio.sleep(pause)

    async def _post(self, client: AsyncOpenAI, body: dict[str, Any]) -> Any:
        create = cast(Any, client.chat.completions.with_raw_response.create)
        return await create(**body, extra_body=self._settings.extra_body or None)

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
        }
        body = {"model": self._access.sent_model, "messages": list(request.messages)}
        for name, value in wanted.items():
            if value is not None and name not in learned.refused:
                body[name] = value
        return body

    def _pause_seconds(self, cause: Exception, attempt: int, client: AsyncOpenAI) -> float | None:
        """How long to wait before asking once more; None when it would not help."""
        import openai  # Loaded already, see `_send`.

        if attempt >= _RETRIES:
            return None
        pause = _FIRST_PAUSE_SECONDS * 2**attempt * random.uniform(0.75, 1.0)
        if isinstance(cause, openai.APIConnectionError):
            # Where nothing listens on this machine, nothing will in a second.
            return None if is_local(str(client.base_url)) else pause
        if not isinstance(cause, openai.APIStatusError) or cause.code == "insufficient_quota":
            return None
        if cause.response.headers.get("x-should-retry") == "false":
            return None
        if cause.status_code not in {408, 409, 429} and cause.status_code < 500:
            return None
        return errors.retry_after_seconds(cause.response.headers) or pause


@dataclass
class _Learned:
    """What this service turned out to refuse, kept for the model's life."""

    refused: set[str] = field(default_factory=set[str])
    limit_name: str = ""

    def from_error(self, cause: Exception, body: Mapping[str, Any]) -> bool:
        """Learn from a refusal; True when asking again without what it names makes sense."""
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
        for name in named:
            if name in body:
                self.refused.add(name)
                return True
        return self._other_limit(cause.param, words, body)

    def _other_limit(self, param: str | None, words: str, body: Mapping[str, Any]) -> bool:
        pair = ("max_tokens", "max_completion_tokens")
        for name, other in (pair, pair[::-1]):
            if name in body and not self.limit_name and _names(param, words, name):
                self.limit_name = other
                return True
        return False


async def _chunks(response: Any, service: errors.Service) -> AsyncGenerator[Any]:
    """The answer as chunks: many from a stream, one from a service that does not stream.

    The client library's errors become ours; those of the consumer are not touched.
    """
    # Here, because they are heavy; they were loaded when the client was made.
    import httpx2
    import openai

    try:
        async for chunk in _raw_chunks(response, service):
            if error := errors.body_error(chunk, service):
                raise error
            yield chunk
    except (openai.OpenAIError, httpx2.HTTPError) as cause:
        raise errors.model_error(cause, service) from cause
    except ValueError as cause:
        step = "Check `base_url` and the server's log."
        raise ModelUnreachable(service.says("sent what is not JSON", step, str(cause))) from cause


async def _raw_chunks(response: Any, service: errors.Service) -> AsyncIterator[Any]:
    http = response.http_response
    kind = http.headers.get("content-type", "").lower()
    if "html" in kind:
        await http.aclose()
        raise errors.web_page_error(http.status_code, service)
    if "event-stream" not in kind and "json" in kind:
        for chunk in _whole_chunks((await http.aread()).decode("utf-8", "replace")):
            yield chunk
        return
    stream = response.parse()
    async with stream:
        async for chunk in stream:
            yield chunk.model_dump(warnings=False) if hasattr(chunk, "model_dump") else chunk


def _whole_chunks(text: str) -> list[Any]:
    """The chunks in a body that was read whole; some servers call a stream JSON."""
    if not text.lstrip().startswith("data:"):
        return [json.loads(text)]
    lines = [x.strip().removeprefix("data:").strip() for x in text.splitlines() if x.strip()]
    return [json.loads(x) for x in lines if x.startswith("{")]


def _function(spec: FunctionSpec) -> dict[str, Any]:
    described = {"name": spec.name, "description": spec.description, "parameters": spec.parameters}
    return {"type": "function", "function": described}


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
