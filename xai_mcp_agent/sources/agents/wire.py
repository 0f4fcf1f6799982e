"""Between the A2A SDK and the connection: every request of the SDK goes over ours.

JSON in data parts is put into one text before the SDK reads it, and taken out afterwards: the SDK
makes floats of all numbers, so that 4 becomes 4.0 and long ones lose their ends, and takes long for
each value, on the event loop. What nobody needs, such as the history of a task, is left out.

A module to be imported in a thread when the first agent is reached: its libraries are heavy.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any, cast

import httpx
import httpx2

from ...core.tools import JsonObject
from .failures import MAX_ANSWER_BYTES
from .http import AgentHttp

_PACKED = "xai-mcp-agent/json"
_NOT_NEEDED = ("history", "metadata", "extensions", "referenceTaskIds", "reference_task_ids")
_PARTS = ("parts", "content")
# Of one answer or event: each takes the SDK a tenth of a millisecond.
_MOST_PARTS = 300
_EXACT = 2**53  # whole numbers below it are as exact in a float
_MOST_LEVELS = 8  # down to a part, in the answers of all versions
_PASSED_ON = ("accept", "content-type", "a2a-version", "a2a-extensions", "x-a2a-extensions")


def packed(value: Any) -> JsonObject:
    """JSON as one text in an object: the SDK passes it on as it is."""
    return {_PACKED: json.dumps(value)}


def unpacked(value: Any) -> Any:
    """What was packed."""
    if not isinstance(value, dict):
        return value
    known = cast(JsonObject, value)
    text = known.get(_PACKED)
    return json.loads(text) if isinstance(text, str) else known


class SdkTransport(httpx.AsyncBaseTransport):
    """What the SDK takes for the network. Whatever goes wrong with ours is raised as it is.

    `deep_data`: the version spoken has the JSON of a data part one level deeper.
    """

    def __init__(self, http: AgentHttp, *, deep_data: bool) -> None:
        self._http = http
        self._deep_data = deep_data

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """The answer to a request of the SDK, whole or event by event."""
        headers = {n: x for n, x in request.headers.items() if n in _PASSED_ON}
        content = _with_values(await request.aread())
        response = await self._http.send(request.method, str(request.url), headers, content)
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if response.status_code < 400 and kind == "text/event-stream":
            stream = _Events(self, self._http, response)
            return httpx.Response(200, headers={"content-type": kind}, stream=stream)
        return await self._whole(response)

    async def lean(self, body: bytes) -> JsonObject:
        """The JSON of an answer or an event, as the SDK is to read it."""
        return await self._http.made_of(body, lambda: _Lean(self._deep_data).of(_read(body)))

    async def _whole(self, response: httpx2.Response) -> httpx.Response:
        body, status = await self._http.body(response), response.status_code
        if status >= 400 and not _is_error_of_a2a(body):
            raise self._http.failures.refused(status, body)
        found = await self.lean(body)
        # Where it is JSON-RPC the error says more than the status, at which the SDK would stop.
        return httpx.Response(200 if "jsonrpc" in found else status, json=found)


class _Events(httpx.AsyncByteStream):
    """A stream of events, each of them made lean."""

    def __init__(self, sdk: SdkTransport, http: AgentHttp, response: httpx2.Response) -> None:
        self._sdk = sdk
        self._http = http
        self._response = response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = MAX_ANSWER_BYTES
        try:
            async for event in httpx2.EventSource(self._response, MAX_ANSWER_BYTES):
                left -= len(event.data)
                if left < 0:
                    raise self._http.failures.too_large()
                if event.data:
                    found = await self._sdk.lean(event.data.encode())
                    yield f"event: {event.event}\ndata: {json.dumps(found)}\n\n".encode()
        except httpx2.SSEError:
            raise self._http.failures.too_large() from None
        except httpx2.HTTPError as cause:
            raise self._http.failures.lost(cause) from cause

    async def aclose(self) -> None:
        """Close the connection."""
        await self._response.aclose()


def _read(body: bytes) -> Any:
    return json.loads(body, parse_float=_number)


def _number(text: str) -> int | float:
    """A number; a whole one as such. Agents made with the SDK write 4.0 for 4."""
    number = float(text)
    return int(number) if abs(number) < _EXACT and number.is_integer() else number


def _with_values(content: bytes) -> bytes:
    """A request, with what was packed in it as it is to be sent."""
    return json.dumps(_sent(json.loads(content))).encode() if content else content


def _sent(value: Any) -> Any:
    if isinstance(value, dict):
        found = unpacked(value)
        known = cast(JsonObject, value)
        return {n: _sent(x) for n, x in known.items()} if found is value else found
    return [_sent(x) for x in cast(list[Any], value)] if isinstance(value, list) else value


def _is_error_of_a2a(body: bytes) -> bool:
    """Whether the SDK finds an error in a refusal: that of JSON-RPC, of 1.0 or of 0.3."""
    try:
        found: Any = json.loads(body)
    except (ValueError, RecursionError):
        return False
    if not isinstance(found, dict):
        return False
    known = cast(JsonObject, found)
    return isinstance(known.get("error"), dict) or isinstance(known.get("type"), str)


class _Lean:
    """One answer without what is not needed, and with the values of data parts packed."""

    def __init__(self, deep_data: bool) -> None:
        self._deep_data = deep_data
        self._parts_left = _MOST_PARTS

    def of(self, value: Any, level: int = 0) -> Any:
        """A value in it; nothing that is deeper than any part."""
        if level > _MOST_LEVELS:
            return None
        if isinstance(value, list):
            return [self.of(x, level + 1) for x in cast(list[Any], value)[:_MOST_PARTS]]
        if not isinstance(value, dict):
            return value
        kept = {n: x for n, x in cast(JsonObject, value).items() if n not in _NOT_NEEDED}
        return {
            name: self._parts(cast(list[Any], x))
            if name in _PARTS and isinstance(x, list)
            else self.of(x, level + 1)
            for name, x in kept.items()
        }

    def _parts(self, found: list[Any]) -> list[Any]:
        taken = found[: self._parts_left]
        self._parts_left -= len(taken)
        return [self._part(x) for x in taken]

    def _part(self, raw: Any) -> Any:
        if not isinstance(raw, dict):
            return raw
        part = cast(JsonObject, raw)
        metadata = part.get("metadata")
        kept = {n: x for n, x in part.items() if n != "metadata"}
        if "data" not in part:
            return kept
        value = part["data"]
        if self._deep_data and isinstance(value, dict):
            value = cast(JsonObject, value).get("data")
        # What is no object was put into one for 0.3.
        is_wrapped = isinstance(metadata, dict) and "data_part_compat" in metadata
        if is_wrapped and isinstance(value, dict):
            value = cast(JsonObject, value).get("value")
        return kept | {"data": {"data": packed(value)} if self._deep_data else packed(value)}
