"""Between the A2A SDK and the connection: every request of the SDK goes over ours.

JSON in data parts, and what is long, is kept aside before the SDK reads an answer, with a mark in
its place: the SDK makes floats of all numbers, so that 4 becomes 4.0 and long ones lose their ends,
and it reads and writes all of it on the event loop. What nobody needs, such as the history of a
task, is left out.

A module to be imported in a thread when the first agent is reached: its libraries are heavy.
"""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator, Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, cast
from uuid import uuid4

import httpx
import httpx2

from ...core.json import JsonObject
from .failures import MAX_ANSWER_BYTES
from .http import AgentHttp

_PACKED, _KEPT = "xai-mcp-agent/json", "xai-mcp-agent/kept"
_NOT_NEEDED = ("history", "metadata", "extensions", "referenceTaskIds", "reference_task_ids")
_PARTS = ("parts", "content")
_HOLDERS = frozenset((
    *_PARTS, "result", "error", "task", "message", "msg", "status", "statusUpdate", "status_update",
    "artifact", "artifacts", "artifactUpdate", "artifact_update", "update",
))  # fmt: skip
# Of a part; the SDK knows no others.
_PART_KEYS = frozenset((
    "kind", "text", "raw", "url", "data", "file", "filename", "mediaType", "media_type", "bytes",
    "uri", "name", "mimeType", "fileWithBytes", "file_with_bytes", "fileWithUri", "file_with_uri",
    "mime_type",
))  # fmt: skip
_IN_BASE64 = ("raw", "bytes", "fileWithBytes", "file_with_bytes")
_LONG_CHARS = 4_000  # of a text; what is longer is kept aside, or cut where nobody needs it
_MOST_VALUES = 20_000  # of an answer or event, beside those kept aside
# Of one answer or event: each takes the SDK a tenth of a millisecond.
_MOST_PARTS = 300
_EXACT = 2**53  # whole numbers below it are as exact in a float
_MOST_LEVELS = 8  # down to a part, in the answers of all versions
_PASSED_ON = ("accept", "content-type", "a2a-version", "a2a-extensions", "x-a2a-extensions")


def packed(value: Any) -> JsonObject:
    """JSON as one text in an object: the SDK passes it on as it is."""
    return {_PACKED: json.dumps(value)}


def _unpacked(value: Any) -> Any:
    """What was packed."""
    if not isinstance(value, dict):
        return value
    known = cast(JsonObject, value)
    text = known.get(_PACKED)
    return json.loads(text) if isinstance(text, str) else known


# By their marks, the values of one call that the SDK is not shown.
_kept: ContextVar[dict[str, Any] | None] = ContextVar("kept", default=None)


@contextmanager
def values_kept() -> Generator[None]:
    """Keep what is long of the answers in this block, for `kept`."""
    before = _kept.set({})
    try:
        yield
    finally:
        _kept.reset(before)


def kept(mark: Any) -> Any:
    """The value that a mark of the SDK's stands for; itself, where it is none."""
    found = mark.decode("ascii", "replace") if isinstance(mark, bytes) else mark
    if isinstance(found, dict):
        found = cast(JsonObject, found).get(_KEPT, "")
    values = _kept.get() or {}
    return values.get(found, mark) if isinstance(found, str) else mark


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
        return await self._http.made_of(body, _Lean(self._deep_data).of)

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


def _with_whole_numbers(value: Any) -> Any:
    """The value, its whole numbers as such: agents made with the SDK write 4.0 for 4."""
    whole: list[Any] = [value]
    waiting: list[Any] = [whole]
    while waiting:
        one = waiting.pop()
        items = cast(
            Iterable[tuple[Any, Any]], one.items() if isinstance(one, dict) else enumerate(one)
        )
        for key, x in items:
            if isinstance(x, dict | list):
                waiting.append(x)
            elif isinstance(x, float) and abs(x) < _EXACT and x.is_integer():
                one[key] = int(x)
    return whole[0]


def _with_values(content: bytes) -> bytes:
    """A request, with what was packed in it as it is to be sent."""
    return json.dumps(_sent(json.loads(content))).encode() if content else content


def _sent(value: Any) -> Any:
    if isinstance(value, dict):
        found = _unpacked(value)
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
    """One answer without what is not needed, its long values and the JSON of data kept aside."""

    def __init__(self, deep_data: bool) -> None:
        self._deep_data = deep_data
        self._parts_left = _MOST_PARTS
        self._values_left = _MOST_VALUES

    def of(self, value: Any, level: int = 0) -> Any:
        """A value in it; nothing that is deeper than any part."""
        self._values_left -= 1
        if level > _MOST_LEVELS or self._values_left < 0:
            return None
        if isinstance(value, str):
            return value[:_LONG_CHARS]
        if isinstance(value, list):
            return [self.of(x, level + 1) for x in cast(list[Any], value)[:_MOST_PARTS]]
        if not isinstance(value, dict):
            return value
        needed = [x for x in cast(JsonObject, value).items() if x[0] not in _NOT_NEEDED]
        # What we know is first: of the rest there may be very much.
        needed.sort(key=lambda x: isinstance(x[1], dict | list) and x[0] not in _HOLDERS)
        return {
            name: self._parts(cast(list[Any], x))
            if name in _PARTS and isinstance(x, list)
            else self.of(x, level + 1)
            for name, x in needed[:_MOST_PARTS]
        }

    def _parts(self, found: list[Any]) -> list[Any]:
        taken = found[: self._parts_left]
        self._parts_left -= len(taken)
        return [self._part(x) for x in taken]

    def _part(self, raw: Any) -> Any:
        if not isinstance(raw, dict):
            return self.of(raw)
        part = cast(JsonObject, raw)
        found = {n: self._member(n, part[n]) for n in part if n in _PART_KEYS and n != "data"}
        if "data" in part:
            data = {_KEPT: _kept_aside(_with_whole_numbers(self._data(part)))}
            found["data"] = {"data": data} if self._deep_data else data
        return found

    def _member(self, name: str, value: Any) -> Any:
        if isinstance(value, dict):  # a file, of the versions before 1.0
            inner = cast(JsonObject, value)
            return {n: self._member(n, inner[n]) for n in inner if n in _PART_KEYS}
        if not isinstance(value, str) or len(value) <= _LONG_CHARS:
            return self.of(value)
        if name in _IN_BASE64:
            return base64.b64encode(_kept_aside(_base64(value)).encode()).decode()
        return _kept_aside(value) if name == "text" else value[:_LONG_CHARS]

    def _data(self, part: JsonObject) -> Any:
        value, metadata = part["data"], part.get("metadata")
        if self._deep_data and isinstance(value, dict):
            value = cast(JsonObject, value).get("data")
        # What is no object was put into one for 0.3.
        is_wrapped = isinstance(metadata, dict) and "data_part_compat" in metadata
        if is_wrapped and isinstance(value, dict):
            value = cast(JsonObject, value).get("value")
        return value


def _kept_aside(value: Any) -> str:
    """The mark of a value. Nobody can guess it, so no agent can write that of another."""
    mark = f"{_KEPT}:{uuid4().hex}"
    if (values := _kept.get()) is not None:  # else nobody asks for what an answer says
        values[mark] = value
    return mark


def _base64(text: str) -> str:
    """As the SDK reads it, which takes both alphabets."""
    data = base64.urlsafe_b64decode(text.encode() + b"=" * (-len(text) % 4))
    return base64.b64encode(data).decode()
