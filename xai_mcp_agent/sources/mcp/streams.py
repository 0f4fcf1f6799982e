"""What passes between the SDK's session and a transport, watched and mended on its way.

The SDK loses a whole listing for one odd tool, and a whole result for one
unknown piece of content; and it tells nobody when a stream ends. So each
message is looked at once here: odd tools are set aside with a reason, unknown
content becomes an empty text that carries the original, and the end is told.

Output schemas stay with us: the SDK would check results on the event loop with
a library whose import alone can hold up every server for seconds.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any, cast

import anyio

from ...core.tools import JsonObject

if TYPE_CHECKING:
    from mcp.shared.message import SessionMessage

    Streams = tuple[Any, Any]
    Transport = AbstractAsyncContextManager[Streams]

RAW = "xai-mcp-agent/raw"
"""Key in `_meta` under which a tool or a content block travels as the server sent it."""

_CONTENT_KINDS = {"text", "image", "audio", "resource_link", "resource"}


class Watch:
    """What was noticed about one connection.

    `ended` is set when nothing more can arrive; `notes` tell what was left out;
    `on_tools_changed` is called for each notice that the list of tools is not what it was.
    """

    def __init__(self) -> None:
        self.ended = anyio.Event()
        self.notes: list[str] = []
        self.on_tools_changed: Callable[[], None] = _nothing

    def note(self, text: str) -> None:
        """Remember a remark for people, once."""
        if text not in self.notes:
            self.notes.append(text)


@asynccontextmanager
async def watched(transport: Transport, watch: Watch) -> AsyncGenerator[Streams]:
    """The same transport, with its messages mended and its end told to `watch`."""
    async with transport as (read, write):
        mender = _Mender(watch)
        try:
            yield _WatchedRead(read, mender, watch.ended), _WatchedWrite(write, mender)
        finally:
            watch.ended.set()


class _WatchedRead:
    def __init__(self, inner: Any, mender: _Mender, ended: anyio.Event) -> None:
        self._inner = inner
        self._mender = mender
        self._ended = ended

    async def __aenter__(self) -> _WatchedRead:
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *exc: Any) -> Any:
        return await self._inner.__aexit__(*exc)

    def __aiter__(self) -> _WatchedRead:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            item: SessionMessage | Exception = await self._inner.__anext__()
        except (StopAsyncIteration, anyio.ClosedResourceError):
            self._ended.set()
            raise
        if not isinstance(item, Exception):
            self._mender.received(item.message)
        return item

    async def receive(self) -> SessionMessage | Exception:
        try:
            return await self.__anext__()
        except StopAsyncIteration:
            raise anyio.EndOfStream from None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class _WatchedWrite:
    def __init__(self, inner: Any, mender: _Mender) -> None:
        self._inner = inner
        self._mender = mender

    async def __aenter__(self) -> _WatchedWrite:
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *exc: Any) -> Any:
        return await self._inner.__aexit__(*exc)

    async def send(self, item: SessionMessage) -> None:
        self._mender.sent(item.message)
        await self._inner.send(item)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class _Mender:
    """Remembers which answers are listings and which are results, and mends them in place."""

    def __init__(self, watch: Watch) -> None:
        self._menders: dict[str, Callable[[JsonObject], None]] = {
            "tools/list": self._mend_listing,
            "tools/call": _mend_result,
        }
        self._method_of: dict[Any, str] = {}
        self._watch = watch

    def sent(self, message: Any) -> None:
        method = getattr(message, "method", None)
        if method in self._menders and getattr(message, "id", None) is not None:
            self._method_of[message.id] = method

    def received(self, message: Any) -> None:
        if getattr(message, "method", None) == "notifications/tools/list_changed":
            self._watch.on_tools_changed()
            return
        method = self._method_of.pop(getattr(message, "id", None), None)
        result = getattr(message, "result", None)
        if method is not None and isinstance(result, dict):
            self._menders[method](cast(JsonObject, result))

    def _mend_listing(self, result: JsonObject) -> None:
        tools = result.get("tools")
        listed = cast(list[Any], tools) if isinstance(tools, list) else []
        result["tools"] = [kept for raw in listed if (kept := self._mend_tool(raw)) is not None]

    def _mend_tool(self, raw: Any) -> JsonObject | None:
        tool = cast(JsonObject, raw) if isinstance(raw, dict) else {}
        name = tool.get("name")
        if not isinstance(name, str) or not name:
            self._watch.note("A tool without a name was left out.")
            return None
        schema = tool.get("inputSchema")
        if (
            not isinstance(schema, dict)
            or cast(JsonObject, schema).get("type", "object") != "object"
        ):
            self._watch.note(
                f"Tool {name!r} was left out: its inputSchema is not an object schema."
            )
            return None
        return {"name": name, "inputSchema": {**schema, "type": "object"}, "_meta": {RAW: tool}}


def _nothing() -> None:
    """Nobody wants to know."""


def _mend_result(result: JsonObject) -> None:
    content = result.get("content")
    if content is None and "resultType" not in result:
        result["content"] = []
    if isinstance(content, list):
        result["content"] = [_mend_block(block) for block in cast(list[Any], content)]


def _mend_block(block: Any) -> Any:
    if isinstance(block, dict) and cast(JsonObject, block).get("type") in _CONTENT_KINDS:
        return cast(JsonObject, block)
    return {"type": "text", "text": "", "_meta": {RAW: block}}
