"""Client of one agent over A2A, 1.0 or 0.3, by JSON-RPC or HTTP+JSON: send, stream, get, cancel."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import httpx2

from ...core.backoff import Backoff
from ...core.errors import SourceClosed, SourceFailed
from ...core.json import JsonObject, as_list, as_object, as_text, is_object
from ..polling import NotYet, poll
from .answer import AgentAnswer, Tell
from .card import Card
from .http import MAX_ANSWER_BYTES, AgentHttp
from .messages import (
    AgentRequest,
    Update,
    UpdateReader,
    as_old_rest,
    as_old_rpc,
    build_message,
    snake,
    text_in,
)

_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.1, 5.0
_MOST_MISSES = 3  # in a row: the agent may be restarting

# The methods of JSON-RPC, and method and path of HTTP+JSON.
_RPC_METHODS = {
    "send": "SendMessage", "stream": "SendStreamingMessage", "get": "GetTask",
    "cancel": "CancelTask",
}  # fmt: skip
_OLD_RPC_METHODS = {
    "send": "message/send", "stream": "message/stream", "get": "tasks/get",
    "cancel": "tasks/cancel",
}  # fmt: skip
_REST_METHODS = {
    "send": ("POST", "/message:send"), "stream": ("POST", "/message:stream"),
    "get": ("GET", "/tasks/{id}?historyLength=0"), "cancel": ("POST", "/tasks/{id}:cancel"),
}  # fmt: skip
# Names of errors in HTTP+JSON, with their JSON-RPC codes.
_CODES = {
    "TASK_NOT_FOUND": -32001, "TASK_NOT_CANCELABLE": -32002, "UNSUPPORTED_OPERATION": -32004,
    "CONTENT_TYPE_NOT_SUPPORTED": -32005, "INVALID_PARAMS": -32602, "INTERNAL": -32603,
}  # fmt: skip


class A2aAgent:
    """Client of one agent. All methods raise kinds of `SourceError`."""

    def __init__(self, card: Card, http: AgentHttp) -> None:
        self.card = card
        self.words = http.words
        self._http = http
        self._interface = card.interface
        self._is_rpc = card.interface.binding == "JSONRPC"
        self._reader = UpdateReader(deep_data=card.interface.is_old and not self._is_rpc)

    async def ask(self, request: AgentRequest, answer: AgentAnswer, tell: Tell) -> None:
        """Send a message, and collect updates in `answer` until the task is settled."""
        try:
            async with aclosing(self._send(request)) as updates:
                async for update in updates:
                    answer.take(update)
                    if answer.is_settled:
                        return
                    await tell(update.text)
        except SourceClosed:
            if not answer.task_id:
                raise
            # The task may go on without this connection.
        if not answer.task_id:
            raise self._http.unreadable_error("it has no task that could be polled")
        await self._poll(answer, tell)

    async def cancel(self, task_id: str) -> None:
        """Ask the agent to stop working on a task."""
        await self._call("cancel", {"id": task_id})

    async def _poll(self, answer: AgentAnswer, tell: Tell) -> None:
        """Poll the task until it is settled."""

        async def ask(lost: int) -> AgentAnswer | NotYet:
            words = answer.words
            try:
                answer.take(await self._call("get", {"id": answer.task_id, "historyLength": 0}))
            except (SourceFailed, SourceClosed) as cause:
                if lost + 1 == _MOST_MISSES:
                    raise self._http.lost_error(cause) from cause
                return NotYet(is_lost=True)
            if answer.words != words:
                await tell(text_in(answer.words))
            return answer if answer.is_settled else NotYet()

        if not answer.is_settled:
            await poll(ask, Backoff(_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS))

    async def _send(self, request: AgentRequest) -> AsyncGenerator[Update]:
        """Send a message; yield the updates of a stream, or the only update of a response."""
        streams, message = self.card.streams, build_message(request)
        params: JsonObject = {"configuration": {} if streams else {"returnImmediately": True}}
        if self._interface.is_old:
            params = {"configuration": {"blocking": streams}}
        if self._interface.is_old and not self._is_rpc:
            params["request"] = as_old_rest(message)
        else:
            params["message"] = as_old_rpc(message) if self._interface.is_old else message
        response = await self._request("stream" if streams else "send", params)
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if response.status_code >= 400 or kind != "text/event-stream":
            yield await self._read(response)
            return
        remaining = MAX_ANSWER_BYTES
        async with aclosing(self._http.events(response)) as events:
            async for data in events:
                remaining -= len(data)
                if remaining < 0:
                    raise self._http.size_error()
                yield await self._http.parse(data, self._update)

    async def _call(self, action: str, params: JsonObject) -> Update:
        return await self._read(await self._request(action, params))

    async def _request(self, action: str, params: JsonObject) -> httpx2.Response:
        """Send one request; the response may be a refusal."""
        interface, content = self._interface, b""
        if self._is_rpc:
            methods = _OLD_RPC_METHODS if interface.is_old else _RPC_METHODS
            tenant = {"tenant": interface.tenant} if interface.tenant else {}
            call = {"jsonrpc": "2.0", "id": uuid4().hex, "method": methods[action]}
            method, url = "POST", interface.url
            content = json.dumps({**call, "params": tenant | params}).encode()
        else:
            method, path = _REST_METHODS[action]
            start = (
                "/v1" if interface.is_old else f"/{quote(interface.tenant, safe='')}".rstrip("/")
            )
            url = f"{interface.url.rstrip('/')}{start}{path.format(id=params.get('id', ''))}"
            if method == "POST":
                content = json.dumps(params).encode()
        headers = {
            # 0.3 is the nearest to earlier versions.
            "a2a-version": "0.3"
            if interface.is_old
            else ".".join(interface.version.split(".")[:2]),
            "accept": "text/event-stream" if action == "stream" else "application/json",
        }
        if content:
            headers["content-type"] = "application/json"
        return await self._http.send(method, url, headers, content)

    async def _read(self, response: httpx2.Response) -> Update:
        """Return the update in a whole response."""
        body, status = await self._http.body(response), response.status_code
        if status >= 400:
            self._check_refusal(body)
            raise self._http.status_error(status, body)
        return await self._http.parse(body, self._update)

    def _check_refusal(self, body: bytes) -> None:
        """Raise the error of the protocol, if any, as it says more than the HTTP status."""
        try:
            answer = as_object(json.loads(body))
        except (ValueError, RecursionError):
            return
        code = _code_of(answer)
        if code is not None:
            raise self._http.protocol_error(code, answer.get("error") or answer)

    def _update(self, answer: Any) -> Update:
        """Return the update in the JSON of a response or an event."""
        if not is_object(answer):
            raise self._http.unreadable_error("it is not a JSON object")
        if answer.get("error") is not None:
            raise self._http.protocol_error(_code_of(answer) or 0, answer["error"])
        return self._reader.read(as_object(answer.get("result")) if "jsonrpc" in answer else answer)


def _code_of(answer: JsonObject) -> int | None:
    """Return the JSON-RPC code of an error in it; None if it is not one of the protocol's."""
    error = as_object(answer.get("error"))
    if "jsonrpc" in answer and error:
        code = error.get("code")
        return code if isinstance(code, int) else 0
    reasons = [as_text(as_object(x).get("reason")) for x in as_list(error.get("details"))]
    # 0.3 has a `type` such as TaskNotFoundError instead.
    names = (*reasons, snake(as_text(answer.get("type"))).upper().removesuffix("_ERROR"))
    return next((_CODES[name] for name in names if name in _CODES), None)
