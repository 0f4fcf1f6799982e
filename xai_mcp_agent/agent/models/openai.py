"""A model behind an API of OpenAI's client library, at OpenAI or at any service that speaks it.

Azure, Ollama, vLLM and llama.cpp are reached by `base_url`; Amazon Bedrock and Google Vertex
AI through the client library's own providers. What a service turns out to refuse is
left out from then on. How an API writes requests and replies is its wire (`wire.py`); keys and
addresses are `openai_access.py`, bodies are read by `openai_stream.py`, errors are
`openai_errors.py`.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, cast

import anyio
import anyio.to_thread

from ...core.errors import ModelCannotCallFunctions, ModelUnreachable
from ...secrets.secrets import Secret
from ..media import kinds_in
from . import openai_errors as errors
from . import openai_failures as failures
from .base import AskedAgain, ModelReply, ModelRequest, ModelSettings, OnAgain, OnText
from .chat_wire import ChatWire
from .learned import Learned
from .openai_access import Access, OpenAIProvider
from .openai_attempts import Attempts
from .openai_stream import chunks
from .responses_wire import ResponsesWire
from .wire import Asking, Wire

if TYPE_CHECKING:
    from openai import AsyncOpenAI


class OpenAIModel:
    """One model of one service; connects at the first reply.

    Asked by Chat Completions, as `openai_responses` by the Responses API.
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
        self._wire: Wire = ResponsesWire() if provider == "openai_responses" else ChatWire()
        self._client: AsyncOpenAI | None = None
        self._opening = anyio.Lock()
        self._learned = Learned()
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
            learned = self._learned.from_words(came.words, kinds_in(request.messages))
            pause = 0.0 if learned else attempts.pause_seconds(came)
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
    ) -> ModelReply | failures.Failure:
        service = self._service(client)
        response = await self._send(client, request)
        if isinstance(response, failures.Failure):
            return response
        so_far = self._wire.new_reply()
        async with aclosing(chunks(response.http_response, service)) as pieces:
            async for piece in pieces:
                if not isinstance(piece, failures.Failure):
                    if text := so_far.add(piece):
                        await on_text(text)
                elif not so_far.is_whole:
                    return piece
        if not so_far.answered:
            step = "Check `base_url` and the server's log."
            words = "answered without a reply in it"
            return failures.Failure(ModelUnreachable(service.says(words, step)))
        service_id = self._access.service_id(client)
        return so_far.finished(lambda: f"call_{next(self._call_numbers)}", service_id)

    async def _connected(self) -> AsyncOpenAI:
        async with self._opening:
            if self._client is None:
                self._access.check(self._settings.timeout_seconds)
                # In a thread: importing openai takes a second, and the loop has others to serve.
                self._client = await anyio.to_thread.run_sync(self._open)
            return self._client

    def _open(self) -> AsyncOpenAI:
        client = self._access.open(self._settings.timeout_seconds)
        self._wire.create(client)  # imports the rest, still in the thread
        return client

    async def _send(self, client: AsyncOpenAI, request: ModelRequest) -> Any:
        """The response, its body not read yet; or the `Failure`, once nothing can be left out."""
        import openai  # Here, because it is heavy; it was loaded when the client was made.

        mended = False
        asking = self._asking(client, request)
        while True:
            body = self._wire.body(asking)
            try:
                return await self._post(client, _without_surrogates(body) if mended else body)
            except UnicodeEncodeError as cause:
                if mended:
                    return failures.failure(cause, self._service(client))
                mended = True
            except (openai.OpenAIError, TypeError, ValueError) as cause:
                if not self._learn(cause, body, asking):
                    return failures.failure(cause, self._service(client))

    async def _post(self, client: AsyncOpenAI, body: dict[str, Any]) -> Any:
        create = self._wire.create(client)
        # As further fields: the client walks through each message that it is given, on the loop,
        # for a tenth of a millisecond and more.
        known = {name: body[name] for name in ("model", "stream") if name in body}
        further = {**body, **self._settings.extra_body}
        return await create(**known, **self._wire.compulsory, extra_body=further)

    def _asking(self, client: AsyncOpenAI, request: ModelRequest) -> Asking:
        return Asking(
            request,
            self._settings,
            self._access.sent_model,
            str(client.base_url),
            self._access.service_id(client),
            self._learned,
        )

    def _learn(self, cause: Exception, body: Mapping[str, Any], asking: Asking) -> bool:
        return self._learned.from_error(
            cause,
            body,
            optional=self._wire.optional,
            added=self._wire.added_names(asking),
            media=kinds_in(asking.request.messages),
        )

    def _service(self, client: AsyncOpenAI | None) -> errors.Service:
        return self._access.service(client, self._settings.timeout_seconds)


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
