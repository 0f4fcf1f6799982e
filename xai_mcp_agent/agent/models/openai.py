"""A model behind OpenAI's client library, at OpenAI or any compatible service.

Azure, Ollama, vLLM and llama.cpp are reached by `base_url`. `chat.py` and `responses.py` define how
the two APIs write requests and read replies.
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
from ..arguments import read_json
from ..media import kinds_in
from ..messages import Message
from .access import ModelAccess
from .accumulator import ReplySoFar
from .base import ModelReply, ModelRequest, ModelSettings, OnText
from .errors import (
    AttemptFailure,
    ModelService,
    body_failure,
    dropped_failure,
    failure_of,
    unreadable_failure,
    web_page_error,
)
from .quirks import quirks_of
from .retries import RetryingModel

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_MAX_EVENT_BYTES = 64 * 1024 * 1024  # a piece may hold a picture
_DRAIN_SECONDS = 0.1  # for the rest after the last piece, so that the connection can be reused
# Last events of the Responses API; in Chat Completions the token counts may follow the end.
_LAST_EVENTS = {"response.completed", "response.incomplete", "response.failed"}
# The keywords of strict mode; it refuses the whole request for any other.
_STRICT_WORDS = {
    "$defs", "$ref", "additionalProperties", "anyOf", "const", "definitions", "description", "enum",
    "exclusiveMaximum", "exclusiveMinimum", "format", "items", "maxItems", "maximum", "minItems",
    "minimum", "multipleOf", "pattern", "properties", "required", "title", "type",
}  # fmt: skip


class OpenAIModel(RetryingModel):
    """A model of a service; connects at the first reply.

    `base_url` defaults to OPENAI_BASE_URL. The key in OPENAI_API_KEY is for that address, or else
    for OpenAI's own; any other needs `api_key`, except on this machine or network.
    """

    provider: ClassVar[str]
    path: ClassVar[str]
    optional: ClassVar[tuple[str, ...]]
    """Request fields that a service may refuse and the request can do without."""

    def __init__(
        self,
        model: str,
        *,
        base_url: str = "",
        api_key: Secret | None = None,
        settings: ModelSettings | None = None,
    ) -> None:
        access = ModelAccess(self.provider, model, base_url, api_key)
        super().__init__(settings or ModelSettings(), quirks_of(access.bare_url, model))
        self._access = access
        self._model = model
        self._client: AsyncOpenAI | None = None
        self._opening = anyio.Lock()
        self._call_numbers = itertools.count(1)

    async def aclose(self) -> None:
        """Close connections. The next reply opens new ones."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    def _fields(self, request: ModelRequest) -> dict[str, Any]:
        """Return the request in this API's form; None values are not sent."""
        raise NotImplementedError

    def _added_names(self, messages: Collection[Message]) -> set[str]:
        """Return the names of the service's own fields that the messages take back to it."""
        raise NotImplementedError

    def _new_reply(self) -> ReplySoFar:
        raise NotImplementedError

    @property
    def _service(self) -> ModelService:
        return self._access.service(self._settings.timeout_seconds)

    async def _attempt(self, request: ModelRequest, on_text: OnText) -> ModelReply | AttemptFailure:
        client = await self._connect()
        service = self._service
        response = await self._send(client, request, service)
        if isinstance(response, AttemptFailure):
            return response
        reply = self._new_reply()
        async with aclosing(_pieces(response, service)) as pieces:
            async for piece in pieces:
                failure = (
                    piece if isinstance(piece, AttemptFailure) else body_failure(piece, service)
                )
                if failure and not reply.is_whole:
                    return failure
                if not failure and (text := reply.add(piece)):
                    await on_text(text)
        if not reply.has_answer:
            return unreadable_failure("answered without a reply", service)
        return reply.build(self._new_id, self._access.service_id)

    def _new_id(self) -> str:
        return f"call_{next(self._call_numbers)}"

    async def _connect(self) -> AsyncOpenAI:
        async with self._opening:
            if self._client is None:
                limit = self._settings.timeout_seconds
                self._access.check(limit)
                # In a thread: importing openai takes a while and would block the loop.
                self._client = await anyio.to_thread.run_sync(self._access.open, limit)
            return self._client

    async def _send(self, client: AsyncOpenAI, request: ModelRequest, service: ModelService) -> Any:
        """Return the response, body unread; or the failure if no other request is worth a try."""
        # Imported here because they are heavy; making the client has loaded them already.
        import httpx2
        import openai

        is_repaired = False
        while True:
            body = self._body(request)
            try:
                # As raw events, because the client's stream hides whether `[DONE]` came.
                return await client.post(
                    self.path,
                    cast_to=httpx2.Response,
                    body=_without_surrogates(body) if is_repaired else body,
                    stream=True,
                    stream_cls=openai.AsyncStream[Any],
                )
            except UnicodeEncodeError as cause:
                if is_repaired:
                    return failure_of(cause, service)
                is_repaired = True
            except (openai.OpenAIError, TypeError, ValueError) as cause:
                if not self._learn_from_error(cause, body, request):
                    return failure_of(cause, service)

    def _learn_from_error(
        self, cause: Exception, body: Mapping[str, Any], request: ModelRequest
    ) -> bool:
        import openai  # already loaded

        return isinstance(cause, openai.APIStatusError) and self._quirks.learn(
            cause,
            body,
            optional=self.optional,
            added=self._added_names(request.messages),
            media=kinds_in(request.messages),
        )

    def _body(self, request: ModelRequest) -> dict[str, Any]:
        """Return the request without unset fields and fields that the service refuses."""
        fields: dict[str, Any] = {
            "model": self._model,
            "stream": True,
            "temperature": self._temperature(request),
            # The functions stay, so that the service's cache of the request still applies.
            "tool_choice": "none" if request.functions and not request.may_call else None,
            **self._fields(request),
        }
        refused = self._quirks.refused
        body = {k: x for k, x in fields.items() if x is not None and k not in refused}
        return {**body, **self._settings.extra_body}


async def _pieces(response: Any, service: ModelService) -> AsyncGenerator[Any]:
    """Yield the answer's chunks: many from a stream, one from a service without streaming.

    A stream ends with `[DONE]`, or with a final event; a stream without either was dropped, however
    cleanly the connection closed. The last piece is then an `AttemptFailure`.
    """
    import httpx2  # already loaded

    kind = response.headers.get("content-type", "").lower()
    try:
        if "html" in kind:
            yield AttemptFailure(web_page_error(response.status_code, service))
            return
        if "json" in kind and "event-stream" not in kind:
            text = (await response.aread()).decode("utf-8", "replace").strip()
            if not text.startswith("data:"):  # some servers label a stream as JSON
                is_cut = text.startswith("{") and not text.endswith("}")
                yield dropped_failure(service) if is_cut else json.loads(text)
                return
        response.headers["content-type"] = "text/event-stream"  # some omit it
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
            yield dropped_failure(service)
            return
        with anyio.move_on_after(_DRAIN_SECONDS):
            async for _ in events:
                pass
    except httpx2.HTTPError as cause:
        yield failure_of(cause, service)
    except ValueError as cause:
        yield unreadable_failure("sent something that is not JSON", service, str(cause))
    finally:
        with anyio.CancelScope(shield=True):
            await response.aclose()


def arguments_as_object(arguments: Any) -> Any:
    """Return the arguments of an earlier call as the text of a JSON object.

    vLLM, SGLang and llama.cpp refuse a conversation with any other text, in every later request.
    """
    if not isinstance(arguments, str):
        return arguments
    try:
        if is_object(json.loads(arguments)):
            return arguments
    except (ValueError, RecursionError):
        pass
    value = read_json(arguments)
    if isinstance(value, str):  # some services send JSON in a string
        value = read_json(value)
    if value is None:  # some models write `null` for a tool without parameters
        return "{}"
    return json.dumps(value if is_object(value) else {"INVALID_JSON": arguments})


def answer_format(schema: JsonObject | None) -> JsonObject | None:
    """Return the answer's form: name, schema, and whether it is strict.

    Return None for an answer that is no object: no service takes it. The form is strict if the
    schema already requires all properties and allows no others.
    """
    if schema is None or schema.get("type") != "object":
        return None
    own_schema = {name: x for name, x in schema.items() if name != "$schema"}
    strict = _close_schema(own_schema)
    return {"name": "answer", "schema": strict or own_schema, "strict": strict is not None}


def _close_schema(schema: Any) -> JsonObject | None:
    """Return the schema closed to other properties, or None if strict mode refuses it."""
    says_what = {"$ref", "anyOf", "const", "enum", "type"}  # each part has one of these
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
        closed[name] = {x: _close_schema(part) for x, part in closed[name].items()}
        parts += closed[name].values()
    if "anyOf" in closed:
        closed["anyOf"] = [_close_schema(x) for x in closed["anyOf"]]
        parts += closed["anyOf"]
    if "items" in closed:
        closed["items"] = _close_schema(closed["items"])
        parts.append(closed["items"])
    return None if None in parts else closed


def _without_surrogates(value: Any) -> Any:
    """Return the JSON value with characters that UTF-8 cannot encode replaced."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if is_object(value):
        return {_without_surrogates(k): _without_surrogates(x) for k, x in value.items()}
    return [_without_surrogates(x) for x in value] if is_list(value) else value
