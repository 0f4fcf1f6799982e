"""A model behind OpenAI's client library, at OpenAI or at any service that speaks as it does.

Azure, Ollama, vLLM and llama.cpp are reached by `base_url`. How the two APIs write requests and
read replies is in `chat.py` and `responses.py`.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import AsyncGenerator, Collection, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, ClassVar

import anyio
import anyio.to_thread

from ...core.json import JsonObject, as_object, is_list, is_object
from ...secrets.secrets import Secret
from ..media import kinds_in
from ..messages import Message
from .access import Access
from .accumulator import ReplySoFar
from .base import ModelReply, ModelRequest, ModelSettings, OnText
from .errors import (
    Failure,
    Service,
    body_failure,
    dropped,
    failure_of,
    unreadable,
    web_page_error,
)
from .quirks import quirks_of
from .retries import RetryingModel

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_MAX_EVENT_BYTES = 64 * 1024 * 1024  # a piece may hold a picture
_DRAIN_SECONDS = 0.1  # to read to the end after the last piece: the connection serves again
# The last event of the Responses API; in Chat Completions the tokens may follow the end.
_LAST_EVENTS = {"response.completed", "response.incomplete", "response.failed"}
# What strict mode knows; with any other word it refuses the whole request.
_STRICT_WORDS = {
    "$defs", "$ref", "additionalProperties", "anyOf", "const", "definitions", "description", "enum",
    "exclusiveMaximum", "exclusiveMinimum", "format", "items", "maxItems", "maximum", "minItems",
    "minimum", "multipleOf", "pattern", "properties", "required", "title", "type",
}  # fmt: skip


class OpenAIModel(RetryingModel):
    """One model of one service; connects at the first reply.

    `base_url` defaults to OPENAI_BASE_URL. The key in OPENAI_API_KEY is for that address, or else
    for OpenAI's own; any other wants `api_key`, except on this machine or network.
    """

    provider: ClassVar[str]
    path: ClassVar[str]
    optional: ClassVar[tuple[str, ...]]
    """The fields of a request that a service may refuse and can be asked without."""

    def __init__(
        self,
        model: str,
        *,
        base_url: str = "",
        api_key: Secret | None = None,
        settings: ModelSettings | None = None,
    ) -> None:
        access = Access(self.provider, model, base_url or None, api_key or None)
        super().__init__(settings or ModelSettings(), quirks_of(access.bare_url, model))
        self._access = access
        self._model = model
        self._client: AsyncOpenAI | None = None
        self._opening = anyio.Lock()
        self._call_numbers = itertools.count(1)

    async def aclose(self) -> None:
        """Let go of connections. The next reply opens new ones."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    def _fields(self, request: ModelRequest) -> dict[str, Any]:
        """The request as this API has it; what is None is not sent."""
        raise NotImplementedError

    def _added_names(self, messages: Collection[Message]) -> set[str]:
        """What of the messages goes back to the service as it had added it, by name."""
        raise NotImplementedError

    def _new_reply(self) -> ReplySoFar:
        raise NotImplementedError

    @property
    def _service(self) -> Service:
        return self._access.service(self._settings.timeout_seconds)

    def _learn_from(self, failure: Failure, request: ModelRequest) -> bool:
        return self._quirks.learn_media(failure.words, kinds_in(request.messages))

    async def _attempt(self, request: ModelRequest, on_text: OnText) -> ModelReply | Failure:
        client = await self._connected()
        service = self._service
        response = await self._send(client, request, service)
        if isinstance(response, Failure):
            return response
        reply = self._new_reply()
        async with aclosing(_pieces(response, service)) as pieces:
            async for piece in pieces:
                failed = piece if isinstance(piece, Failure) else body_failure(piece, service)
                if failed and not reply.is_whole:
                    return failed
                if not failed and (text := reply.add(piece)):
                    await on_text(text)
        if not reply.answered:
            return unreadable("answered without a reply in it", service)
        return reply.finished(self._new_id, self._access.service_id)

    def _new_id(self) -> str:
        return f"call_{next(self._call_numbers)}"

    async def _connected(self) -> AsyncOpenAI:
        async with self._opening:
            if self._client is None:
                limit = self._settings.timeout_seconds
                self._access.check(limit)
                # In a thread: importing openai takes a while, and the loop has others to serve.
                self._client = await anyio.to_thread.run_sync(self._access.open, limit)
            return self._client

    async def _send(self, client: AsyncOpenAI, request: ModelRequest, service: Service) -> Any:
        """The response, its body not read yet; or the `Failure`, once nothing can be left out."""
        # Here, because they are heavy; they were loaded when the client was made.
        import httpx2
        import openai

        is_mended = False
        while True:
            body = self._body(request)
            try:
                # As raw events, because the client's stream hides whether `[DONE]` came.
                return await client.post(
                    self.path,
                    cast_to=httpx2.Response,
                    body=_without_surrogates(body) if is_mended else body,
                    stream=True,
                    stream_cls=openai.AsyncStream[Any],
                )
            except UnicodeEncodeError as cause:
                if is_mended:
                    return failure_of(cause, service)
                is_mended = True
            except (openai.OpenAIError, TypeError, ValueError) as cause:
                if not self._learn_from_error(cause, body, request):
                    return failure_of(cause, service)

    def _learn_from_error(
        self, cause: Exception, body: Mapping[str, Any], request: ModelRequest
    ) -> bool:
        import openai  # Loaded already.

        return isinstance(cause, openai.APIStatusError) and self._quirks.learn(
            cause,
            body,
            optional=self.optional,
            added=self._added_names(request.messages),
            media=kinds_in(request.messages),
        )

    def _body(self, request: ModelRequest) -> dict[str, Any]:
        """The request, with nothing in it that was not set or that the service refuses."""
        fields: dict[str, Any] = {
            "model": self._model,
            "stream": True,
            "temperature": self._temperature(request),
            # The functions stay, so that the service's cache of the request still serves.
            "tool_choice": "none" if request.functions and not request.may_call else None,
            **self._fields(request),
        }
        refused = self._quirks.refused
        sent = {k: x for k, x in fields.items() if x is not None and k not in refused}
        return {**sent, **self._settings.extra_body}


async def _pieces(response: Any, service: Service) -> AsyncGenerator[Any]:
    """The answer as chunks: many from a stream, one from a service that does not stream.

    A stream ends with `[DONE]`, or with a piece that says so; one that just stops was dropped on
    the way, however cleanly the connection was closed. The last piece is then a `Failure`.
    """
    import httpx2  # Loaded already.

    kind = response.headers.get("content-type", "").lower()
    try:
        if "html" in kind:
            yield Failure(web_page_error(response.status_code, service))
            return
        if "json" in kind and "event-stream" not in kind:
            text = (await response.aread()).decode("utf-8", "replace").strip()
            if not text.startswith("data:"):  # some servers call a stream JSON
                is_cut = text.startswith("{") and not text.endswith("}")
                yield dropped(service) if is_cut else json.loads(text)
                return
        response.headers["content-type"] = "text/event-stream"  # some leave it out
        events = aiter(httpx2.EventSource(response, max_event_size=_MAX_EVENT_BYTES))
        is_last = False
        async for event in events:
            is_last = event.data.startswith("[DONE]")
            if event.data and not is_last:
                yield (chunk := json.loads(event.data))
                is_last = as_object(chunk).get("type") in _LAST_EVENTS
            if is_last:
                break
        if not is_last:
            yield dropped(service)
            return
        with anyio.move_on_after(_DRAIN_SECONDS):
            async for _ in events:
                pass
    except httpx2.HTTPError as cause:
        yield failure_of(cause, service)
    except ValueError as cause:
        yield unreadable("sent what is not JSON", service, str(cause))
    finally:
        with anyio.CancelScope(shield=True):
            await response.aclose()


def answer_format(schema: JsonObject | None) -> JsonObject | None:
    """The form of an answer: name, schema and whether it is strict.

    None for what no service takes: an answer that is no object. Strict where that allows nothing
    else: all properties are required, and others never wanted.
    """
    if schema is None or schema.get("type") != "object":
        return None
    sent = {name: x for name, x in schema.items() if name != "$schema"}
    strict = _closed(sent)
    return {"name": "answer", "schema": strict or sent, "strict": strict is not None}


def _closed(schema: Any) -> JsonObject | None:
    """The schema with no other properties than it names; None where strict mode does not do."""
    says_what = {"$ref", "anyOf", "const", "enum", "type"}  # one of these stands in every part
    if not is_object(schema) or schema.keys() - _STRICT_WORDS or not schema.keys() & says_what:
        return None
    closed: JsonObject = {**schema}
    if "properties" in closed or "object" in str(closed.get("type")):
        properties = as_object(closed.get("properties"))
        if not properties or {*properties} != {*(closed.get("required") or ())}:
            return None
        if closed.setdefault("additionalProperties", False) is not False:
            return None
    parts: list[Any] = []
    for name in closed.keys() & {"properties", "$defs", "definitions"}:
        closed[name] = {x: _closed(part) for x, part in closed[name].items()}
        parts += closed[name].values()
    if "anyOf" in closed:
        closed["anyOf"] = [_closed(x) for x in closed["anyOf"]]
        parts += closed["anyOf"]
    if "items" in closed:
        closed["items"] = _closed(closed["items"])
        parts.append(closed["items"])
    return None if None in parts else closed


def _without_surrogates(value: Any) -> Any:
    """The same JSON value with what cannot be sent as UTF-8 shown as a replacement character."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if is_object(value):
        return {_without_surrogates(k): _without_surrogates(x) for k, x in value.items()}
    return [_without_surrogates(x) for x in value] if is_list(value) else value
